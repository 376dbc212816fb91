// The exact totals of a range of sorted values: the truth, and what a raw sample answers.
#pragma once

#include "core/integrate/integrate.h"

#include <cstddef>
#include <span>

namespace kde::accuracy {

struct Slice {
  std::size_t rows = 0;
  double sum = 0, absolute_sum = 0, square_sum = 0;  // of x, |x|, x^2
  double mean = 0;                                   // NaN where there are no rows
  double deviation = 0;                              // divisor rows, by two passes
};

// Of the values in the range, whose bounds are in it; sorted: ascending.
Slice slice_of(std::span<const double> sorted, const Range& range);

// Of all the values, in any order.
Slice slice_of(std::span<const double> values);

// A range with both bounds in it.
Range closed_range(double lower, double upper);

}  // namespace kde::accuracy
