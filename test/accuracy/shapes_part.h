// The shapes part of `make accuracy`: every shape of question (shapes.h) on the tables' columns and
// on made ones, beside what is asked for:
//
//   coverage  of a class over all columns 93 to 98 %, more where intervals are no wider than
//             `width`; of each column and class 88 %, 85 % where a sample may hold fewer than five
//             rows of the range
//   error     over that of counting the rows drawn: 1.05 in the geometric mean of the columns; 1.15
//             of each, but for quantiles, of which there is one a sample
//   width     of COUNT over Wilson's of the rows drawn: 1.1 in the median
//
// Of blocks no textbook's width is known. A column's coverage of wide ranges, and of quantiles, is
// known within some 6 %, two standard deviations of 60 samples: answers of one sample go together.
#pragma once

#include "table.h"

#include <string>
#include <vector>

namespace kde::accuracy {

// Measures, prints, and writes shapes.csv to `folder`. Throws std::runtime_error.
void run_shapes(std::vector<Table> tables, const std::string& folder);

}  // namespace kde::accuracy
