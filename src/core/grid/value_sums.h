// What the rows of one value have in sum of a measure, counted where nothing else of them is: in a
// group of GROUP BY. As in GridCells, sums of decimal fractions are whole numbers of 10^-decimals
// about an origin that is one.
//
// It is its bytes: without pointers, to be copied and sent as they are.
#pragma once

#include "core/density/measure_format.h"
#include "core/summary/measure_sums.h"
#include "core/summary/totals.h"

#include <cstdint>
#include <span>
#include <type_traits>

namespace kde {

// 10^decimals, or 1 of kNoDecimals.
double power_of(int decimals);
// The least, no less than that, so that all of these are such fractions, or kNoDecimals.
int decimals_of(std::span<const double> y, int decimals);
// What sums about an origin may lose where it moves, of rows times the distance.
inline constexpr double kRoundingOfMove = 0x1p-51;

struct ValueSums {
  // finite
  void add(double y) {
    waiting[waits++] = y;
    if (waits == kMost) settle();
  }
  // Adds what another has seen; both are settled then.
  void merge(ValueSums other);
  // Counts the rows that wait.
  void settle();
  // Settled, of one row at least: from here on in units of that many digits, no fewer than before,
  // about that origin.
  void agree(std::int32_t digits, double to);
  // Whether nothing that bytes of unknown origin have is out of its bounds, and whether all of it is
  // what rows may leave behind.
  bool is_in_bounds() const {
    return decimals >= 0 && decimals <= kNoDecimals && waits >= 0 && waits < kMost;
  }
  bool valid() const;

  static constexpr std::int32_t kMost = 8;  // rows that wait

  SummaryTotals totals;
  MeasureSums sums;
  double origin = 0;     // in units
  double sum_error = 0;  // how far the sum may be off
  std::int32_t decimals = 0, waits = 0;
  double waiting[kMost] = {};
};
static_assert(std::is_trivially_copyable_v<ValueSums>);

}  // namespace kde
