// What SQL is told of tables and ranges (script.h).
#include "script.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace kde::accuracy {

namespace {

constexpr double kSecondsPerDay = 86400;

std::string printed(const char* format, double x) {
  char text[64];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

std::string date_text(double seconds) {
  const std::chrono::sys_days day{
      std::chrono::days{static_cast<long>(std::floor(seconds / kSecondsPerDay))}};
  const std::chrono::year_month_day date{day};
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text;
}

// Of whole seconds.
std::string timestamp_text(double seconds) {
  const double day = std::floor(seconds / kSecondsPerDay) * kSecondsPerDay;
  const int rest = static_cast<int>(seconds - day);
  char text[96];
  std::snprintf(text, sizeof text, "%s %02d:%02d:%02d", date_text(seconds).c_str(), rest / 3600,
                rest / 60 % 60, rest % 60);
  return text;
}

}  // namespace

std::string bound_text(ColumnType type, double x, bool lower) {
  switch (type) {
    case ColumnType::integer:
      return printed("%.0f", lower ? std::ceil(x) : std::floor(x));
    case ColumnType::date:
      return date_text(lower ? kSecondsPerDay * std::ceil(x / kSecondsPerDay) : x);
    case ColumnType::timestamp:
    case ColumnType::timestamptz:
      return timestamp_text(x);
    default:
      return printed("%.17g", x);
  }
}

std::string identifier(const std::string& name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csv_field(const std::string& text) { return identifier(text); }

// Staging columns are text, so that NA and empty fields may both be NULL. In the transaction that
// creates a table COPY leaves no row for gaps in earlier pages: a summary depends on the order of
// the rows (summary/summary.h), and SQL's answers are compared with those of the file's.
void write_table(const Table& table, std::ostream& out) {
  out << "BEGIN;\nCREATE TEMP TABLE staging (";
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    out << (c > 0 ? ", " : "") << identifier(table.columns[c].name) << " text";
  out << ");\nCOPY staging FROM STDIN (FORMAT csv, HEADER);\n";
  // COPY wants one kind of line end throughout.
  std::string text = read_text(table.path);
  text.erase(std::remove(text.begin(), text.end(), '\r'), text.end());
  out << text << (text.ends_with('\n') ? "" : "\n") << "\\.\n";
  out << "CREATE TABLE public." << identifier(table.name) << " AS SELECT ";
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const std::string name = identifier(table.columns[c].name);
    out << (c > 0 ? ", " : "") << "nullif(nullif(" << name
        << ", 'NA'), '')::" << sql_type(table.columns[c].type) << " AS " << name;
  }
  out << " FROM staging;\nDROP TABLE staging;\nCOMMIT;\n";
}

void write_ranges(const std::vector<ColumnResult>& columns, std::ostream& out) {
  out << "CREATE TABLE range (column_id integer, range_id integer, low text, high text, "
         "low_x double precision, high_x double precision, rows bigint, sum double precision, "
         "absolute_sum double precision, mean double precision, deviation double precision);\n"
         "COPY range FROM STDIN (FORMAT csv);\n";
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (std::size_t r = 0; r < columns[c].questions.size(); ++r) {
      const Question& question = columns[c].questions[r];
      const Range& range = question.range;
      const Slice& truth = question.truth;
      out << c << ',' << r << ',' << bound_text(columns[c].type, range.lower, true) << ','
          << bound_text(columns[c].type, range.upper, false);
      for (const double x : {range.lower, range.upper}) out << ',' << printed("%.17g", x);
      out << ',' << truth.rows;
      for (const double x : {truth.sum, truth.absolute_sum, truth.mean, truth.deviation})
        out << ',' << printed("%.17g", x);
      out << '\n';
    }
  }
  out << "\\.\nCREATE INDEX ON range (column_id);\nANALYZE range;\n";
}

}  // namespace kde::accuracy
