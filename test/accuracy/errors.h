// What an error is, and how many are summed up.
//
//   COUNT  |estimate - truth| / truth
//   SUM    |estimate - truth| / sum of |x| in the range: sums of both signs cancel, their error not
//   AVG    |estimate - truth| / the standard deviation in the range
//
// An error is not measured where its divisor is 0. Who has no average (a sample without a row in
// the range) is taken to answer the range's middle, or its only end, which is what is known without
// asking.
#pragma once

#include "ranges.h"

#include <array>
#include <string>
#include <vector>

namespace kde::accuracy {

enum Quantity { kCount, kSum, kMean };
inline constexpr int kQuantities = 3;
inline constexpr std::array<const char*, kQuantities> kQuantityNames = {"COUNT", "SUM", "AVG"};

struct Answers {
  std::array<double, kQuantities> value{};  // NaN: none
};

// NaN where it is not measured, and where there is no answer but an average's.
double error_of(Quantity quantity, const Answers& answers, const Question& question);

// The q-th quantile of values in any order, q in [0, 1]: linear between order statistics at
// (n - 1) q. R. Hyndman & Y. Fan, The American Statistician 50 (1996), type 7. NaN of none.
double quantile_of(std::vector<double> values, double q);

struct ErrorSummary {
  std::size_t measured = 0;
  double mean = 0, median = 0, p95 = 0;  // NaN of none
};
// Leaves out NaN.
ErrorSummary summarise(const std::vector<double>& errors);

// exp(mean(log ratio)). Ratios below 1e-3 count as that, so that one exact answer is not
// everything.
double geometric_mean(const std::vector<double>& ratios);

}  // namespace kde::accuracy
