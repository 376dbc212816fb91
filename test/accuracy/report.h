// What `make accuracy` prints and writes of the measured columns.
#pragma once

#include "comparators.h"
#include "measure.h"

#include <cstdio>
#include <string>
#include <vector>

namespace kde::accuracy {

// A block of lines a column: errors in percent as mean/median/95th percentile, coverage, widths.
void print_columns(const std::vector<ColumnResult>& columns, std::FILE* out);

// The coverage by fraction of the rows, then the figures that are asked for, with `ok` or `SHORT`.
void print_coverage(const std::vector<ColumnResult>& columns, std::FILE* out);
void print_summary(const std::vector<ColumnResult>& columns, const ComparatorOutcome& outcome,
                   std::FILE* out);

// One line a column, sample size, estimator and quantity; errors as fractions. NA: not measured.
// Throws std::runtime_error.
void write_csv(const std::vector<ColumnResult>& columns, const std::string& path);

}  // namespace kde::accuracy
