// Rows of several columns: a table's, or a sample of them, as the joint part measures them.
#pragma once

#include "core/integrate/integrate.h"

#include "slice.h"
#include "table.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kde::accuracy {

struct RowSet {
  int columns = 0;
  std::size_t rows = 0;
  std::vector<double> value;        // rows x columns, row by row; 0 where NULL
  std::vector<std::uint16_t> null;  // rows; bit k: column k is NULL

  const double* row(std::size_t i) const { return value.data() + i * columns; }
  bool is_null(std::size_t i, int k) const { return (null[i] >> k & 1) != 0; }
};

struct JointTable {
  std::string name;
  std::vector<std::string> column_name;
  std::vector<ColumnType> type;
  std::vector<double> mean;  // of each column's values that are not NULL; NaN of none
  RowSet rows;

  int columns() const { return rows.columns; }
};

// Those columns of the table, in that order. Throws std::runtime_error: there is no such column, it
// is text, or there are more than 16.
JointTable joint_table(const Table& table, const std::vector<std::string>& names);

// The columns numbered so, of the rows numbered so, in those orders.
RowSet part_of(const RowSet& rows, const std::vector<int>& columns,
               const std::vector<std::size_t>& numbers);

// Bounds on some columns. A row whose value is NULL is in no range.
struct Box {
  std::vector<int> column;  // no column twice
  std::vector<Range> range;
};

// What a box holds: the truth over a table, the raw sample's answer over a sample.
struct BoxTotals {
  std::size_t rows = 0;
  std::vector<Slice> slice;  // of every column, over the rows in the box where it is not NULL
};

// By a loop over all rows. The ranges' ends are inclusive and bounded.
BoxTotals totals_of(const RowSet& rows, const Box& box);

}  // namespace kde::accuracy
