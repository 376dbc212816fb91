// The CSV reader of table.h.
#include "table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace kde::accuracy {

namespace {

constexpr double kSecondsPerDay = 86400;

// The fields of one record; `at` moves to the next one.
std::vector<std::string> next_record(const std::string& text, std::size_t* at) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  std::size_t i = *at;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        fields.back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        fields.back() += c;
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      fields.emplace_back();
    } else if (c == '\n') {
      break;
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  *at = i + 1;
  return fields;
}

bool is_null(const std::string& field) { return field.empty() || field == "NA"; }

// The whole of `text` as a number.
template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> as_integer(std::string_view text) {
  const std::optional<std::int64_t> value = number<std::int64_t>(text);
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

std::optional<double> as_decimal(std::string_view text) {
  const std::optional<double> value = number<double>(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return value;
}

std::optional<double> as_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = number<int>(text.substr(0, 4));
  const auto month = number<unsigned>(text.substr(5, 2));
  const auto day = number<unsigned>(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(*month),
                                         std::chrono::day(*day)};
  if (!date.ok()) return std::nullopt;
  return kSecondsPerDay *
         static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

// hh:mm:ss[.f] in seconds.
std::optional<double> as_time(std::string_view text) {
  if (text.size() < 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto hours = number<unsigned>(text.substr(0, 2));
  const auto minutes = number<unsigned>(text.substr(3, 2));
  const auto seconds = number<double>(text.substr(6));
  if (!hours || !minutes || !seconds) return std::nullopt;
  return 3600.0 * *hours + 60.0 * *minutes + *seconds;
}

std::optional<double> as_timestamp(std::string_view text) {
  if (text.size() < 19 || (text[10] != ' ' && text[10] != 'T')) return std::nullopt;
  const auto day = as_date(text.substr(0, 10));
  const auto time = as_time(text.substr(11));
  if (!day || !time) return std::nullopt;
  return *day + *time;
}

// ... followed by Z, +hh, +hh:mm or +hhmm.
std::optional<double> as_timestamptz(std::string_view text) {
  const std::size_t zone = text.find_first_of("Z+-", 11);
  if (zone == std::string_view::npos) return std::nullopt;
  const auto local = as_timestamp(text.substr(0, zone));
  if (!local) return std::nullopt;
  if (text.substr(zone) == "Z") return local;
  std::string digits(text.substr(zone + 1));
  digits.erase(std::remove(digits.begin(), digits.end(), ':'), digits.end());
  const auto offset = number<unsigned>(digits);
  if (!offset || (digits.size() != 2 && digits.size() != 4)) return std::nullopt;
  const unsigned minutes = digits.size() == 2 ? 60 * *offset : 60 * (*offset / 100) + *offset % 100;
  return *local - (text[zone] == '+' ? 60.0 : -60.0) * minutes;
}

using Parser = std::optional<double> (*)(std::string_view);
struct TypeParser {
  ColumnType type;
  Parser parse;
};
// The first that reads every value is the column's type.
constexpr std::array<TypeParser, 5> kParsers = {{
    {ColumnType::integer, as_integer},
    {ColumnType::decimal, as_decimal},
    {ColumnType::date, as_date},
    {ColumnType::timestamp, as_timestamp},
    {ColumnType::timestamptz, as_timestamptz},
}};

bool parse_all(const std::vector<std::string>& fields, Parser parse, std::vector<double>* values) {
  values->clear();
  for (const std::string& field : fields) {
    if (is_null(field)) continue;
    const std::optional<double> value = parse(field);
    if (!value) return false;
    values->push_back(*value);
  }
  return !values->empty();
}

Column make_column(const std::string& name, const std::vector<std::string>& fields) {
  Column column;
  column.name = name;
  for (std::size_t row = 0; row < fields.size(); ++row)
    if (is_null(fields[row])) column.null_rows.push_back(row);
  column.nulls = static_cast<std::int64_t>(column.null_rows.size());
  for (const TypeParser& candidate : kParsers) {
    if (parse_all(fields, candidate.parse, &column.values)) {
      column.type = candidate.type;
      return column;
    }
  }
  column.values.clear();
  return column;
}

std::string name_of(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (const char* suffix : {".gz", ".csv"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - std::string_view(suffix).size());
  }
  return name;
}

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace

const char* sql_type(ColumnType type) {
  switch (type) {
    case ColumnType::integer:
      return "bigint";
    case ColumnType::decimal:
      return "double precision";
    case ColumnType::date:
      return "date";
    case ColumnType::timestamp:
      return "timestamp";
    case ColumnType::timestamptz:
      return "timestamptz";
    case ColumnType::text:
      break;
  }
  return "text";
}

std::string read_text(const std::string& path) {
  if (!path.ends_with(".gz")) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) throw std::runtime_error("could not read " + path);
    return text.str();
  }
  FILE* pipe = popen(("gzip -dc -- " + shell_quoted(path)).c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("could not run gzip");
  std::string text;
  std::array<char, 65536> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), n);
  if (pclose(pipe) != 0) throw std::runtime_error("gzip could not read " + path);
  return text;
}

Table parse_table(const std::string& name, const std::string& text) {
  Table table;
  table.name = name;
  std::size_t at = 0;
  const std::vector<std::string> names = next_record(text, &at);
  if (text.empty() || names.front().empty()) throw std::runtime_error(name + " has no header");
  std::vector<std::vector<std::string>> columns(names.size());
  while (at < text.size()) {
    std::vector<std::string> record = next_record(text, &at);
    ++table.rows;
    if (record.size() != names.size())
      throw std::runtime_error(name + ": row " + std::to_string(table.rows) + " has " +
                               std::to_string(record.size()) + " fields");
    for (std::size_t c = 0; c < names.size(); ++c) columns[c].push_back(std::move(record[c]));
  }
  for (std::size_t c = 0; c < names.size(); ++c)
    table.columns.push_back(make_column(names[c], columns[c]));
  return table;
}

Table read_table(const std::string& path) {
  Table table = parse_table(name_of(path), read_text(path));
  table.path = path;
  return table;
}

std::vector<std::string> list_tables(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".csv") || path.ends_with(".csv.gz")) paths.push_back(path);
  }
  if (error) throw std::runtime_error("could not read the folder " + folder);
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace kde::accuracy
