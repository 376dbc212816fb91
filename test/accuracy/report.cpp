// The lines a column, and the CSV.
#include "report.h"

#include "grouped.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace kde::accuracy {

namespace {

// Percent with three digits.
std::string percent(double x) {
  if (std::isnan(x)) return "-";
  char text[32];
  const double p = 100 * x;
  const int decimals = p < 10 ? 2 : p < 100 ? 1 : 0;
  std::snprintf(text, sizeof text, p < 1e5 ? "%.*f" : "%.*e", p < 1e5 ? decimals : 1, p);
  return text;
}

std::string cell(const ErrorSummary& summary) {
  if (summary.measured == 0) return "-";
  return percent(summary.mean) + "/" + percent(summary.median) + "/" + percent(summary.p95);
}

void print_level(const Level& level, bool every_row, std::FILE* out) {
  const std::string n = every_row ? "all" : grouped(level.sample_rows);
  for (int q = 0; q < kQuantities; ++q) {
    std::fprintf(out, "  %7s %-6s", q == 0 ? n.c_str() : "", kQuantityNames[q]);
    for (int e = 0; e < kEstimators; ++e)
      std::fprintf(out, " %19s", cell(level.errors[e][q]).c_str());
    const Coverage& coverage = level.coverage[q];
    std::fprintf(out, " %7s", percent(coverage.density_total().share()).c_str());
    const double width = quantile_of(coverage.width_ratios(), 0.5);
    if (!std::isnan(width)) std::fprintf(out, " %7.2f", width);
    std::fprintf(out, "\n");
  }
}

std::string csv_number(double x) {
  if (std::isnan(x)) return "NA";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", x);
  return text;
}

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::size_t bytes_of(const ColumnResult& column, const Level& level, int estimator) {
  switch (estimator) {
    case kAuto:
      return level.auto_bytes;
    case kPlugin:
      return level.plugin_bytes;
    case kDigest:
      return static_cast<std::size_t>(column.digest_bytes);
    case kRaw:
    case kUnitKernel:
      return 8 * level.sample_rows;
    default:
      return 0;
  }
}

void write_csv_line(const ColumnResult& column, const Level& level, int e, int q, std::FILE* out) {
  const ErrorSummary& error = level.errors[e][q];
  std::fprintf(out, "%s,%s,%s,%zu,%zu,%zu,%s,%s,%zu,%s,%s,%s", csv_text(column.table).c_str(),
               csv_text(column.column).c_str(), sql_type(column.type), column.rows(),
               column.distinct, level.sample_rows, kEstimatorNames[e], kQuantityNames[q],
               error.measured, csv_number(error.mean).c_str(), csv_number(error.median).c_str(),
               csv_number(error.p95).c_str());
  const std::size_t bytes = bytes_of(column, level, e);
  std::fprintf(out, ",%s", bytes > 0 ? std::to_string(bytes).c_str() : "NA");
  const Coverage& coverage = level.coverage[q];
  const bool ours = e == kAuto;
  if (ours || e == kRaw) {
    const Tally total = ours ? coverage.density_total() : coverage.textbook_total();
    std::fprintf(out, ",%s", csv_number(total.share()).c_str());
    for (int c = 0; c < kClasses; ++c)
      std::fprintf(out, ",%s",
                   csv_number((ours ? coverage.density : coverage.textbook)[c].share()).c_str());
  } else {
    std::fprintf(out, ",NA,NA,NA,NA");
  }
  std::fprintf(out, ",%s",
               csv_number(ours ? quantile_of(coverage.width_ratios(), 0.5) : NAN).c_str());
  std::fprintf(out, ",%s\n", csv_number(ours ? column.fit_ms : NAN).c_str());
}

}  // namespace

void print_columns(const std::vector<ColumnResult>& columns, std::FILE* out) {
  std::fprintf(out,
               "Errors in percent, mean/median/95th percentile: COUNT of the count, SUM of the sum "
               "of |x|, AVG of the standard deviation in the range.\n"
               "Coverage: percent of auto's 95 %% intervals that hold the truth; width: their "
               "median width over the raw sample's textbook interval.\n");
  for (const ColumnResult& column : columns) {
    std::fprintf(out, "\n%s  %s, %s rows, %s NULL, %s distinct values, %zu ranges\n",
                 column.name().c_str(), sql_type(column.type), grouped(column.rows()).c_str(),
                 grouped(static_cast<std::size_t>(column.nulls)).c_str(),
                 grouped(column.distinct).c_str(), column.questions.size());
    std::fprintf(out, "  %7s %-6s", "n", "");
    for (const char* name : kEstimatorNames) std::fprintf(out, " %19s", name);
    std::fprintf(out, " %7s %7s\n", "cover", "width");
    for (int l = 0; l < kLevels; ++l) {
      if (column.levels[l].measured) print_level(column.levels[l], kLevelRows[l] == 0, out);
    }
    std::fprintf(out, "  bytes: auto");
    for (const Level& level : column.levels)
      if (level.measured) std::fprintf(out, " %s", grouped(level.auto_bytes).c_str());
    if (column.digest_bytes > 0)
      std::fprintf(out, "; t-digest %s", grouped(column.digest_bytes).c_str());
    std::fprintf(out, ". Fit of 100,000 rows: %.1f ms.\n", column.fit_ms);
  }
}

void write_csv(const std::vector<ColumnResult>& columns, const std::string& path) {
  std::FILE* out = std::fopen(path.c_str(), "w");
  if (out == nullptr) throw std::runtime_error("could not write " + path);
  std::fprintf(out,
               "table,column,type,rows,distinct,n,estimator,quantity,measured,mean,median,p95,"
               "bytes,coverage,coverage_003_01,coverage_01_03,coverage_03_10,width,fit_ms\n");
  for (const ColumnResult& column : columns) {
    for (const Level& level : column.levels) {
      if (!level.measured) continue;
      for (int e = 0; e < kEstimators; ++e) {
        for (int q = 0; q < kQuantities; ++q)
          if (level.errors[e][q].measured > 0) write_csv_line(column, level, e, q, out);
      }
    }
  }
  if (std::fclose(out) != 0) throw std::runtime_error("could not write " + path);
}

}  // namespace kde::accuracy
