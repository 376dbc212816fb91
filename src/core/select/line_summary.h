// What the one-dimensional bandwidth rules need to know of a sample besides the sums over its
// pairs.
#pragma once

#include <cstdint>
#include <span>

#include "core/status.h"

namespace kde {

struct LineSummary {
  std::int64_t n = 0;     // rows: the sum of the weights, rounded
  double sigma = 0;       // standard deviation, divisor n - 1, in units of x; > 0
  double iqr = 0;         // interquartile range, R's type 7, in units of x; may be 0
  double tied_pairs = 0;  // pairs of equal values

  // The smaller of sigma and iqr/divisor (1.34 or 1.349: the normal's own iqr); sigma if iqr is 0
  // or, beside sigma, too near to it for a range of bandwidths between them.
  double robust_scale(double divisor) const;
};

// sorted: two or more finite values, ascending, not all equal. weights: as many, positive and
// finite, or none for ones; a weight stands for so many equal values.
// Errors: invalid_argument; degenerate (all equal, or a spread that double cannot hold).
Status summarize_line(std::span<const double> sorted, std::span<const double> weights,
                      LineSummary* out);

}  // namespace kde
