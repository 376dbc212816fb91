// The beginning of a script for psql: the tables that are measured and the ranges asked about.
#pragma once

#include "measure.h"
#include "table.h"

#include <ostream>
#include <string>
#include <vector>

namespace kde::accuracy {

// In double quotes, those within doubled: an SQL identifier, or a field of CSV.
std::string identifier(const std::string& name);
std::string csv_field(const std::string& text);

// As a user would write a range's bound for a column of that type: integers and dates between the
// same values, since nothing lies between them.
std::string bound_text(ColumnType type, double x, bool lower);

// The table as it is in its file, created as public.NAME.
void write_table(const Table& table, std::ostream& out);

// The table range(column_id, range_id, low, high, low_x, high_x, rows, sum, absolute_sum, mean,
// deviation), columns and questions by their positions: bounds as a user would write them for the
// column's type, the same as numbers, and what the range truly holds (Slice).
void write_ranges(const std::vector<ColumnResult>& columns, std::ostream& out);

}  // namespace kde::accuracy
