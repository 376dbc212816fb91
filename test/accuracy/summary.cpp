// The figures over all columns, each beside the one that is asked for.
#include "report.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde::accuracy {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kFewDistinct = 100;      // the column's alphabet
constexpr std::size_t kDigestDistinct = 1000;  // columns on which a digest is compared

// What is asked for.
constexpr double kCountGeometricMean[2] = {0.68, 0.92};  // at n = 1,000 and 10,000
constexpr double kWorst = 1.10, kWorstFewDistinct = 1.03;
constexpr double kOtherQuantities = 0.05;  // SUM and AVG may be that much above
constexpr double kDigestGeometricMean = 0.25, kDigestWorst = 0.5;
// Above that only of intervals no wider than kWidth: they are the sample's around better estimates.
constexpr double kPooledLow = 0.93, kPooledHigh = 0.98, kColumnCoverage = 0.90;
constexpr double kWidth = 1.1;
constexpr double kBytes = 16384, kFitMs = 150;

void line(std::FILE* out, const std::string& what, double figure, const char* format,
          const std::string& asked, bool ok, const std::string& note) {
  char text[32] = "-";
  if (!std::isnan(figure)) std::snprintf(text, sizeof text, format, figure);
  const char* verdict = std::isnan(figure) ? "-" : ok ? "ok" : "SHORT";
  if (asked.empty()) verdict = "";
  std::fprintf(out, "  %-58s %9s   %-12s %-6s %s\n", what.c_str(), text, asked.c_str(), verdict,
               note.c_str());
}

std::string at_most(const char* format, double x) {
  char text[32];
  std::snprintf(text, sizeof text, format, x);
  return std::string("<= ") + text;
}

// A figure a column.
struct Figure {
  const ColumnResult* column;
  double value;
};

std::vector<double> values_of(const std::vector<Figure>& figures) {
  std::vector<double> values;
  for (const Figure& figure : figures) values.push_back(figure.value);
  return values;
}

Figure largest(const std::vector<Figure>& figures) {
  Figure worst{nullptr, kNan};
  for (const Figure& figure : figures)
    if (worst.column == nullptr || figure.value > worst.value) worst = figure;
  return worst;
}

std::string name_of(const Figure& figure) {
  return figure.column == nullptr ? "no such column" : figure.column->name();
}

std::string of_columns(std::size_t n) { return std::to_string(n) + " columns"; }

// mean error of `estimator` at `level` over the mean error of `other` at `other_level`, where both
// are measured and the latter is not 0.
std::vector<Figure> error_ratios(const std::vector<ColumnResult>& columns, Quantity quantity,
                                 Estimator estimator, int level, Estimator other, int other_level) {
  std::vector<Figure> ratios;
  for (const ColumnResult& column : columns) {
    const ErrorSummary& a = column.levels[level].errors[estimator][quantity];
    const ErrorSummary& b = column.levels[other_level].errors[other][quantity];
    if (a.measured > 0 && b.measured > 0 && b.mean > 0)
      ratios.push_back({&column, a.mean / b.mean});
  }
  return ratios;
}

std::vector<Figure> with_distinct(const std::vector<Figure>& figures, std::size_t least,
                                  std::size_t most) {
  std::vector<Figure> kept;
  for (const Figure& figure : figures)
    if (figure.column->distinct >= least && figure.column->distinct <= most) kept.push_back(figure);
  return kept;
}

const char* level_name(int level) {
  return level == kLevel1000 ? "n = 1,000" : level == kLevel10000 ? "n = 10,000" : "all rows";
}

void print_errors(const std::vector<ColumnResult>& columns, std::FILE* out) {
  std::fprintf(out, "Mean error of auto over the raw sample's\n");
  for (int level = kLevel1000; level <= kLevel10000; ++level) {
    for (int q = 0; q < kQuantities; ++q) {
      const Quantity quantity = static_cast<Quantity>(q);
      const double more = q == kCount ? 0 : kOtherQuantities;
      const auto all = error_ratios(columns, quantity, kAuto, level, kRaw, level);
      const auto many = with_distinct(all, kFewDistinct + 1, SIZE_MAX);
      const Figure worst = largest(all);
      const Figure few = largest(with_distinct(all, 0, kFewDistinct));
      const std::string head = std::string(kQuantityNames[q]) + ", " + level_name(level) + ", ";
      const double mean = geometric_mean(values_of(many));
      const double asked = kCountGeometricMean[level] + more;
      line(out, head + "geometric mean, > 100 distinct", mean, "%.3f", at_most("%.2f", asked),
           mean <= asked, of_columns(many.size()));
      line(out, head + "worst column", worst.value, "%.3f", at_most("%.2f", kWorst + more),
           worst.value <= kWorst + more, name_of(worst));
      line(out, head + "worst of <= 100 distinct", few.value, "%.3f",
           at_most("%.2f", kWorstFewDistinct + more), few.value <= kWorstFewDistinct + more,
           name_of(few));
    }
  }
}

void print_others(const std::vector<ColumnResult>& columns, std::FILE* out) {
  std::fprintf(out, "For comparison, mean error of COUNT over the raw sample's, > 100 distinct\n");
  for (int level = kLevel1000; level <= kLevel10000; ++level) {
    std::fprintf(out, "  %-12s", level_name(level));
    for (const Estimator estimator : {kAuto, kPlugin, kPlanner, kUnitKernel}) {
      const auto ratios = with_distinct(
          error_ratios(columns, kCount, estimator, level, kRaw, level), kFewDistinct + 1, SIZE_MAX);
      const double mean = geometric_mean(values_of(ratios));
      if (std::isnan(mean)) {
        std::fprintf(out, "%s -   ", kEstimatorNames[estimator]);
      } else {
        std::fprintf(out, "%s %.3f   ", kEstimatorNames[estimator], mean);
      }
    }
    std::fprintf(out, "\n");
  }
}

void print_digest(const std::vector<ColumnResult>& columns, std::FILE* out) {
  std::fprintf(out,
               "Mean error of auto over t-digest's (every row read, same bytes), <= 1,000 "
               "distinct\n");
  for (const int level : {kLevel10000, kLevelAll}) {
    for (int q = 0; q < kQuantities; ++q) {
      const auto ratios = with_distinct(
          error_ratios(columns, static_cast<Quantity>(q), kAuto, level, kDigest, kLevelAll), 0,
          kDigestDistinct);
      const std::string head = std::string(kQuantityNames[q]) + ", " + level_name(level) + ", ";
      const double mean = geometric_mean(values_of(ratios));
      const Figure worst = largest(ratios);
      const bool asked = q == kCount && level == kLevel10000;
      line(out, head + "geometric mean", mean, "%.3f",
           asked ? at_most("%.2f", kDigestGeometricMean) : "", mean <= kDigestGeometricMean,
           of_columns(ratios.size()));
      line(out, head + "worst column", worst.value, "%.3f",
           asked ? at_most("%.2f", kDigestWorst) : "", worst.value <= kDigestWorst, name_of(worst));
    }
  }
}

void print_pooled(const std::vector<ColumnResult>& columns, std::FILE* out) {
  std::fprintf(out, "Coverage of auto's 95 %% intervals, in percent, and their width\n");
  for (int level = kLevel1000; level <= kLevelAll; ++level) {
    for (int q = 0; q < kQuantities; ++q) {
      Coverage pooled;
      std::vector<Figure> missed;
      for (const ColumnResult& column : columns) {
        const Coverage& coverage = column.levels[level].coverage[q];
        pooled.add(coverage);
        const Tally total = coverage.density_total();
        if (total.total > 0) missed.push_back({&column, 1 - total.share()});
      }
      const std::string head = std::string(kQuantityNames[q]) + ", " + level_name(level) + ", ";
      const double share = pooled.density_total().share();
      const Figure worst = largest(missed);
      // Of densities of every row nothing is asked.
      const bool asked = level != kLevelAll;
      const double width = quantile_of(pooled.width_ratios(), 0.5);
      const bool pooled_ok = share >= kPooledLow && (share <= kPooledHigh || width <= kWidth);
      line(out, head + "pooled", 100 * share, "%.2f", asked ? "93 - 98" : "", pooled_ok,
           of_columns(missed.size()));
      line(out, head + "worst column", 100 * (1 - worst.value), "%.2f", asked ? ">= 90" : "",
           1 - worst.value >= kColumnCoverage, name_of(worst));
      if (!asked) continue;
      line(out, head + "median width over the textbook's", width, "%.3f", at_most("%.2f", kWidth),
           width <= kWidth, "");
    }
  }
}

void print_costs(const std::vector<ColumnResult>& columns, std::FILE* out) {
  std::vector<Figure> bytes;
  std::vector<Figure> milliseconds;
  for (const ColumnResult& column : columns) {
    for (const Level& level : column.levels)
      bytes.push_back({&column, static_cast<double>(level.auto_bytes)});
    milliseconds.push_back({&column, column.fit_ms});
  }
  std::fprintf(out, "Cost of auto\n");
  const Figure large = largest(bytes);
  const Figure slow = largest(milliseconds);
  line(out, "largest density, bytes", large.value, "%.0f", at_most("%.0f", kBytes),
       large.value <= kBytes, name_of(large));
  line(out, "slowest column's fit of 100,000 rows, two threads, ms", slow.value, "%.1f",
       at_most("%.0f", kFitMs), slow.value <= kFitMs, name_of(slow));
  line(out, "median column's", quantile_of(values_of(milliseconds), 0.5), "%.1f", "", true, "");
}

void print_sql(const std::vector<ColumnResult>& columns, std::FILE* out) {
  std::vector<Figure> differences;
  for (const ColumnResult& column : columns)
    if (column.sql_difference >= 0) differences.push_back({&column, column.sql_difference});
  const Figure worst = largest(differences);
  std::fprintf(out, "SQL\n");
  line(out, "largest relative difference of approx_count from the core", worst.value, "%.1e",
       "<= 1e-9", worst.value <= 1e-9, name_of(worst));
}

}  // namespace

void print_coverage(const std::vector<ColumnResult>& columns, std::FILE* out) {
  std::fprintf(out,
               "\nCoverage of 95 %% intervals in percent, auto's and (in brackets) the raw "
               "sample's textbook ones, and the median of their widths' ratio\n");
  std::fprintf(out, "  %-12s %-6s", "", "");
  for (const char* name : kClassNames) std::fprintf(out, " %22s", name);
  std::fprintf(out, "\n");
  for (int level = kLevel1000; level <= kLevelAll; ++level) {
    for (int q = 0; q < kQuantities; ++q) {
      Coverage pooled;
      for (const ColumnResult& column : columns) pooled.add(column.levels[level].coverage[q]);
      std::fprintf(out, "  %-12s %-6s", q == 0 ? level_name(level) : "", kQuantityNames[q]);
      for (int c = 0; c < kClasses; ++c) {
        const std::vector<double> ratios(pooled.width_ratio[c].begin(),
                                         pooled.width_ratio[c].end());
        std::fprintf(out, " %7.2f", 100 * pooled.density[c].share());
        if (pooled.textbook[c].total > 0) {
          std::fprintf(out, " (%5.2f) %6.3f", 100 * pooled.textbook[c].share(),
                       quantile_of(ratios, 0.5));
        } else {
          std::fprintf(out, " %14s", "");
        }
      }
      std::fprintf(out, "\n");
    }
  }
}

void print_summary(const std::vector<ColumnResult>& columns, const ComparatorOutcome& outcome,
                   std::FILE* out) {
  std::fprintf(out, "\n%-60s %9s   %-12s\n", ("Over " + of_columns(columns.size())).c_str(),
               "figure", "asked");
  print_errors(columns, out);
  print_others(columns, out);
  if (outcome.digest) print_digest(columns, out);
  print_pooled(columns, out);
  print_costs(columns, out);
  if (outcome.sql) print_sql(columns, out);
}

}  // namespace kde::accuracy
