// Plain loops over the values.
#include "slice.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde::accuracy {

Slice slice_of(std::span<const double> sorted, const Range& range) {
  const auto first = range.lower_unbounded
                         ? sorted.begin()
                         : std::lower_bound(sorted.begin(), sorted.end(), range.lower);
  const auto end =
      range.upper_unbounded ? sorted.end() : std::upper_bound(first, sorted.end(), range.upper);
  return slice_of(std::span(first, end));
}

Slice slice_of(std::span<const double> values) {
  Slice slice;
  slice.rows = values.size();
  if (values.empty()) {
    slice.mean = std::numeric_limits<double>::quiet_NaN();
    return slice;
  }
  // Long double, so that large values (seconds since 1970) leave the mean its digits.
  long double sum = 0, absolute = 0, squares = 0;
  for (const double x : values) {
    sum += x;
    absolute += std::fabs(x);
    squares += static_cast<long double>(x) * x;
  }
  const long double mean = sum / static_cast<long double>(slice.rows);
  long double spread = 0;
  for (const double x : values) spread += (x - mean) * (x - mean);
  slice.sum = static_cast<double>(sum);
  slice.absolute_sum = static_cast<double>(absolute);
  slice.square_sum = static_cast<double>(squares);
  slice.mean = static_cast<double>(mean);
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  slice.deviation =
      *least == *greatest
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
