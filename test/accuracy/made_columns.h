// Columns made by rule, for what the tables at hand do not show: long tails, steps, heaps, rows in
// the order of time, rows that lie together. kMadeRows rows each, by fixed seeds.
#pragma once

#include "table.h"

#include <cstddef>

namespace kde::accuracy {

inline constexpr std::size_t kMadeRows = 200000;

// Named "made"; rows in the order in which they lie in the table.
Table made_columns();

}  // namespace kde::accuracy
