// Plain loops over the rows in the range.
#include "slice.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde::accuracy {

Slice slice_of(std::span<const double> sorted, const Range& range) {
  const auto first = std::lower_bound(sorted.begin(), sorted.end(), range.lower);
  const auto last = std::upper_bound(first, sorted.end(), range.upper);
  Slice slice;
  slice.rows = static_cast<std::size_t>(last - first);
  if (slice.rows == 0) {
    slice.mean = std::numeric_limits<double>::quiet_NaN();
    return slice;
  }
  // Long double, so that large values (seconds since 1970) leave the mean its digits.
  long double sum = 0, absolute = 0, squares = 0;
  for (auto x = first; x != last; ++x) {
    sum += *x;
    absolute += std::fabs(*x);
    squares += static_cast<long double>(*x) * *x;
  }
  const long double mean = sum / static_cast<long double>(slice.rows);
  long double spread = 0;
  for (auto x = first; x != last; ++x) spread += (*x - mean) * (*x - mean);
  slice.sum = static_cast<double>(sum);
  slice.absolute_sum = static_cast<double>(absolute);
  slice.square_sum = static_cast<double>(squares);
  slice.mean = static_cast<double>(mean);
  slice.deviation =
      *first == *(last - 1)
          ? 0
          : static_cast<double>(std::sqrt(spread / static_cast<long double>(slice.rows)));
  return slice;
}

Range closed_range(double lower, double upper) {
  Range range;
  range.lower = lower;
  range.upper = upper;
  range.lower_unbounded = range.upper_unbounded = false;
  return range;
}

}  // namespace kde::accuracy
