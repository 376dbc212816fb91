// What may be asked about the rows in a box, and an interval as it is answered.
#pragma once

#include <cstdint>
#include <limits>

namespace kde {

// What is asked of the target's finite values; `count` of rows. The variance's divisor is their
// number, of the sample variance one less.
enum class Wanted : std::uint8_t { count, sum, mean, variance, sample_variance };

struct Interval {
  double estimate = 0;
  double lower = 0, upper = 0;  // lower <= estimate <= upper
};

struct IntervalOptions {
  double confidence = 0.95;  // in (0, 1)
  // Rows inserted, deleted or updated since the fit (an update counts once), finite, >= 0: each may
  // have moved into, out of or within the box, so every interval takes in the worst of it
  // (changed_rows.h).
  double changed_rows = 0;
  // Between which the target's values lie, whatever they are: by its type and its constraints.
  double least_value = -std::numeric_limits<double>::infinity();
  double greatest_value = std::numeric_limits<double>::infinity();
  // Of a count: of the share that it is of all rows, whose number is taken as it is.
  bool of_share = false;
};

// The options, but of no changed row.
inline IntervalOptions unchanged(IntervalOptions options) {
  options.changed_rows = 0;
  return options;
}

}  // namespace kde
