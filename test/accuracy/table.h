// A table from a CSV file (RFC 4180, plain or gzip-compressed): the values of its columns as
// numbers, as the extension sees them.
//
// The first line names the columns. An empty field or NA is NULL. A column is
//   integer      whole numbers only
//   decimal      other numbers
//   date         yyyy-mm-dd; seconds since 1970-01-01, a multiple of 86,400
//   timestamp    yyyy-mm-dd hh:mm:ss[.f], `T` for the blank allowed; seconds since 1970-01-01 00:00
//   timestamptz  the same with Z or an offset; seconds since 1970-01-01 00:00 UTC
// if all its values are, and else text, which is not measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kde::accuracy {

enum class ColumnType { text, integer, decimal, date, timestamp, timestamptz };

// As PostgreSQL names the type the column is loaded as.
const char* sql_type(ColumnType type);

struct Column {
  std::string name;
  ColumnType type = ColumnType::text;
  std::vector<double> values;  // not NULL, in the file's order; empty for text
  std::int64_t nulls = 0;
  std::vector<std::size_t> null_rows;  // their positions in the file, ascending from 0
};

struct Table {
  std::string name;  // the file's, without folder, .csv and .gz
  std::string path;
  std::size_t rows = 0;
  std::vector<Column> columns;
};

// The whole file, decompressed by gzip(1) if its name ends in .gz. Throws std::runtime_error.
std::string read_text(const std::string& path);

// Throws std::runtime_error: unreadable, no header, or a line of another number of fields.
Table read_table(const std::string& path);
Table parse_table(const std::string& name, const std::string& text);

// The .csv and .csv.gz files right in the folder, in order. Throws std::runtime_error.
std::vector<std::string> list_tables(const std::string& folder);

}  // namespace kde::accuracy
