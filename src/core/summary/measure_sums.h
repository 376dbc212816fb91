// What rows have in sum of a measure: the number, the sum and the sum of squares of y, so that SUM, AVG,
// COUNT and the variance of y can be told. Sums are counted about an origin, a value that occurred, so
// that a variance survives values far from 0.
#pragma once

#include <cstdint>

namespace kde {

// Rows whose y is not NULL, and their sums of y - origin and of its square.
struct MeasureSums {
  double rows = 0, sum = 0, squares = 0;

  void add(const MeasureSums& other) {
    rows += other.rows;
    sum += other.sum;
    squares += other.squares;
  }
  void add_value(double y) {
    rows += 1;
    sum += y;
    squares += y * y;
  }
  MeasureSums times(double share) const { return {rows * share, sum * share, squares * share}; }
  // About an origin that lies `by` higher.
  MeasureSums moved(double by) const {
    const double moved = squares - by * (2 * sum - by * rows);
    return {rows, sum - by * rows, moved <= 0 ? 0 : moved};  // NaN stays
  }
};

// Values of x that are in no cell.
enum class SpecialX : std::uint8_t { nan = 0, negative_infinity = 1, positive_infinity = 2 };
inline constexpr int kSpecialX = 3;

}  // namespace kde
