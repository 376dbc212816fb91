// How sure densities that are added up were of their counts and means. The variance of a count is the sum
// of theirs,
//
//   sum_k N_k^2 p_k (1 - p_k) v_k / n_k  <=  max_k (N_k v_k / n_k)  N p (1 - p),
//
// as p (1 - p) is concave: what is kept is that maximum, by shape and scale (Header::count_variance);
// strata.h has less of many at once.
#pragma once

#include "core/density/measure_format.h"

#include <cstdint>
#include <limits>

namespace kde {

// A weight N v / n, or a variance, in single precision: finite, whatever its parts are.
inline float finite_float(double x) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return x < kMost ? static_cast<float>(x) : kMost;
}

struct CountSampling {
  // Of the number of rows, and of an end, in rows squared.
  double rows_variance = 0, end_variance = 0;
  double sum_error = 0;                      // the standard error of the sum of finite values
  float weight[kShapes][kErrorScales] = {};  // N_k v_k / n_k
  std::uint32_t any = 0;                     // 1: one of them has no exact ends
  std::uint32_t unread = 0;                  // 1: of one not every row was read

  void add(const Header& h);
  void add(const CountSampling& other);
  // Of bytes of unknown origin: whether every number is one there can be.
  bool valid() const;
  // Header::count_variance, rows_variance, end_variance and mean_error; its rows and sample_rows
  // are set, rows > 0.
  void describe(Header* h) const;
};

// The same of means, of weights N v / n.
struct MeanSampling {
  double sum_error = 0;  // the standard error of the sum of y
  float weight[kErrorScales] = {};
  CountSampling counts;  // of the rows where y is not NULL

  void add(const MeanSampling& other);
  bool valid() const;
};

// What a density says of the rows where a measure is not NULL, and how sure it is of sums of them.
// density: with that measure, of which there are some rows.
Header counted_rows(const Header& density, const MeasureView& measure);
MeanSampling mean_sampling(const Header& density, const MeasureView& measure);

}  // namespace kde
