// A picture of a column: its histogram, and over it the density that was fitted to a sample.
#pragma once

#include "measure.h"

#include <string>

namespace kde::accuracy {

// Writes folder/TABLE.COLUMN.svg. Bars: all rows; line: what the density counts in each bar. Both
// tails beyond 0.2 % of the rows are left out where they are
// long. Throws std::runtime_error.
void draw_column(const ColumnResult& column, const std::string& folder);

// Between 4 and 9 round numbers that cover as much of [low, high] as they can; low < high.
std::vector<double> axis_ticks(double low, double high);

}  // namespace kde::accuracy
