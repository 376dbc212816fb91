// The one way to ask a density: a box, a target, and what is wanted of the target's values over the
// rows in the box. Each form's file says what it knows (evidence.h), interval.h makes intervals.
#pragma once

#include "core/ask/any_density.h"
#include "core/joint/joint_moments.h"

#include <span>

namespace kde {

// Of the columns that are bounded, or of which values are asked for; none for all rows. A density of
// one column has one side at most.
using Box = std::span<const BoxSide>;

// With room for its sides.
struct OwnBox {
  BoxSide side[kMaxColumns];
  int sides = 0;

  void add(int column, const Range& range, const WordSet* words) {
    side[sides++] = {column, range, words};
  }
  Box box() const { return {side, static_cast<std::size_t>(sides)}; }
};

// The rows without a target.
inline constexpr int kRowsThemselves = -1;

// target: a column, or beyond columns() a measure, whose NULLs do not count; of columns numbers.
// Where only counts are wanted it may be kRowsThemselves, or of a joint density is not looked at.
double count_in(const AnyDensity& density, Box box, int target);
RangeMoments moments_in(const AnyDensity& density, Box box, int target);
Evidence ask(Wanted wanted, const AnyDensity& density, Box box, int target,
             const IntervalOptions& options);

}  // namespace kde
