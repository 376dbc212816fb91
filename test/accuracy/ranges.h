// The ranges an accuracy is measured over.
//
// The rule: the lower end is a random row's value, and so is the upper one, a fraction of the rows
// further up in rank; that fraction is log-uniform on [lowest, highest]. Then either end is moved
// by up to `jitter` times the range's width, either way. The range is kept if what it truly holds
// (ties included) is a fraction of [lowest, highest]. A column is measured if that gives at least
// `least_distinct` different ranges.
#pragma once

#include "slice.h"

#include <cstdint>
#include <vector>

namespace kde::accuracy {

struct RangeRule {
  double lowest = 0.003, highest = 0.1;  // fractions of the rows
  double jitter = 0.02;                  // of the range's width
  int ranges = 400;
  int least_distinct = 50;
  int attempts = 40000;
  double grid = 0;  // > 0: ends are rounded to multiples of it
};

// A range and what it truly holds.
struct Question {
  Range range;
  Slice truth;
  double fraction = 0;  // of the rows
};

// sorted: ascending, not empty. At most rule.ranges questions; empty if there are too few distinct
// ranges.
std::vector<Question> make_questions(const std::vector<double>& sorted, const RangeRule& rule,
                                     std::uint64_t seed);

}  // namespace kde::accuracy
