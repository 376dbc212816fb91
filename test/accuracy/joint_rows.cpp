// Plain loops over rows.
#include "joint_rows.h"

#include "core/density/joint_format.h"

#include <algorithm>
#include <stdexcept>

namespace kde::accuracy {

namespace {

const Column& column_of(const Table& table, const std::string& name) {
  for (const Column& column : table.columns)
    if (column.name == name && column.type != ColumnType::text) return column;
  throw std::runtime_error(table.name + " has no column " + name + " of numbers");
}

bool holds(const RowSet& rows, std::size_t i, const Box& box) {
  for (std::size_t side = 0; side < box.column.size(); ++side) {
    const int k = box.column[side];
    const double x = rows.row(i)[k];
    if (rows.is_null(i, k) || x < box.range[side].lower || x > box.range[side].upper) return false;
  }
  return true;
}

}  // namespace

JointTable joint_table(const Table& table, const std::vector<std::string>& names) {
  if (names.size() > static_cast<std::size_t>(kMaxColumns))
    throw std::runtime_error("more than 16 columns of " + table.name);
  JointTable joint;
  joint.name = table.name;
  joint.column_name = names;
  RowSet& rows = joint.rows;
  rows.columns = static_cast<int>(names.size());
  rows.rows = table.rows;
  rows.value.resize(table.rows * names.size());
  rows.null.resize(table.rows);
  for (int k = 0; k < rows.columns; ++k) {
    const Column& column = column_of(table, names[k]);
    joint.type.push_back(column.type);
    joint.mean.push_back(slice_of(column.values).mean);
    for (const std::size_t i : column.null_rows)
      rows.null[i] = static_cast<std::uint16_t>(rows.null[i] | 1U << k);
    std::size_t next = 0;
    for (std::size_t i = 0; i < table.rows; ++i)
      if (!rows.is_null(i, k)) rows.value[i * rows.columns + k] = column.values.at(next++);
  }
  return joint;
}

RowSet part_of(const RowSet& rows, const std::vector<int>& columns,
               const std::vector<std::size_t>& numbers) {
  RowSet part;
  part.columns = static_cast<int>(columns.size());
  part.rows = numbers.size();
  for (const std::size_t i : numbers) {
    unsigned null = 0;
    for (std::size_t k = 0; k < columns.size(); ++k) {
      part.value.push_back(rows.row(i)[columns[k]]);
      if (rows.is_null(i, columns[k])) null |= 1U << k;
    }
    part.null.push_back(static_cast<std::uint16_t>(null));
  }
  return part;
}

BoxTotals totals_of(const RowSet& rows, const Box& box) {
  BoxTotals totals;
  std::vector<std::vector<double>> values(rows.columns);
  for (std::size_t i = 0; i < rows.rows; ++i) {
    if (!holds(rows, i, box)) continue;
    ++totals.rows;
    for (int k = 0; k < rows.columns; ++k)
      if (!rows.is_null(i, k)) values[k].push_back(rows.row(i)[k]);
  }
  for (const std::vector<double>& column : values) totals.slice.push_back(slice_of(column));
  return totals;
}

}  // namespace kde::accuracy
