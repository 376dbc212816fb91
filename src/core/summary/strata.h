// How sure counts of many densities' sum are: parts are strata, each sampled by itself, so that the
// variance of a count is the sum of theirs (W. G. Cochran, Sampling Techniques, 3rd ed. 1977,
// sections 5.3 and 5.9),
//
//   V(R) = sum_k N_k^2 p_k (1 - p_k) v_k(p_k) / n_k  +  sum_k p_k^2 V(N_k),
//
// p_k the share of the part's rows in the range R, v_k what the part has of that scale and shape
// (Header::count_variance), V(N_k) of its number of rows, where that was estimated. It is computed
// of ranges of each shape and scale all over the rows, and about the middle of those parts whose
// counts are the least sure; a merged density has of each scale the largest V(R) / (N p (1 - p)), p
// the share of all rows. V(N) = sum_k V(N_k) is Header::rows_variance's, which takes p^2 of it:
// here is what there is beside.
//
// The largest N_k v_k / n_k of all parts (CountSampling::add) bounds the first term as p (1 - p)
// is concave, where v_k do not depend on the scale. But of parts that are alike it takes the
// largest of many noisy numbers, each from few blocks, where V(R) has their mean; and of parts with
// values of their own p_k is larger than p, and v_k there may be as well.
//
// The mean of a measure y over R, of which E_k is the part's variance, has
//
//   sum_k N_k p_k E_k w_k(p_k) / sum_k N_k p_k E_k
//
// in the place of each part's w_k = N_k v_k / n_k, v_k that of its mean (MeanVariance).
#pragma once

#include "core/density/histogram_view.h"
#include "core/summary/added_sampling.h"

#include <cstddef>
#include <span>
#include <vector>

namespace kde {

class Strata {
 public:
  // densities: of one column each, valid. grid: ascending; mass: about what rows of all parts are
  // at each or between it and the one before. All outlive this. Throws std::bad_alloc.
  Strata(std::span<const Header* const> densities, std::span<const double> grid,
         std::span<const double> mass);

  // Each part's cells, as decode_histogram() gives them; none where it has no finite rows.
  void add(std::size_t part, std::span<const HistogramCell> cells);
  // measured: of each measure.
  void describe(CountSampling* rows, std::vector<MeanSampling>* measured) const;

 private:
  // Of the rows of x, or of those where a measure is not NULL, of one range.
  struct Sums {
    double rows = 0;                         // in the range
    double variance = 0;                     // of those, given each part's number
    double number_variance = 0;              // sum_k p_k^2 V(N_k)
    double spread = 0, weighted_spread = 0;  // sum_k N_k p_k E_k, and with w_k
  };
  // (low, high] between ends, or open.
  struct Asked {
    std::size_t low, high;
    Shape shape;
  };
  static constexpr std::size_t kOpen = static_cast<std::size_t>(-1);

  void choose(std::span<const double> mass);
  void ask_two_ends(double first, double share);
  void ask_one_end(std::size_t at);
  std::size_t place(double p) const;
  std::vector<std::size_t> least_sure() const;
  void find_shares(const Header& h, std::span<const HistogramCell> cells);
  void add_counts(std::size_t of, const Header& h);
  CountSampling counts_of(std::size_t of, const CountSampling& largest, double end) const;

  std::span<const Header* const> densities_;
  std::span<const double> grid_;
  std::vector<double> cumulative_;
  std::size_t kinds_ = 1;  // the rows of x, and each measure's
  std::vector<Asked> asked_;
  std::vector<Sums> sums_;            // range by range, kinds_ of each
  std::vector<std::size_t> ends_;     // of the grid
  std::vector<double> through_;       // the part's share up to each
  std::vector<double> end_variance_;  // kinds_ of each
  std::vector<double> rows_;          // of all parts, of each kind
};

}  // namespace kde
