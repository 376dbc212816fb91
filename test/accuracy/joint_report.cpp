// The tables of joint_report.h.
#include "joint_report.h"

#include "grouped.h"
#include "joint_ratios.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace kde::accuracy {

namespace {

// Classes of coverage.h, whose ends are the boxes'.
constexpr std::array<const char*, kClasses> kBoxClasses = {"0.5-1 %", "1-3 %", "3-20 %"};

// What is asked for.
constexpr double kCountMean = 1.0, kCountMeanSmall = 0.7, kAverageMean = 0.8, kWorst = 1.15;
constexpr double kPooledLow = 0.93, kPooledHigh = 0.97;
constexpr const char* kSmallTable = "ccpp";  // on which kCountMeanSmall is asked, at n = 1,000

std::string size_name(int level) { return "n = " + grouped(kJointRows[level]); }

std::string figure(const char* format, double x) {
  if (std::isnan(x)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

bool has_level(const std::vector<JointSet>& sets, int level, const JointTable* table = nullptr) {
  return !cases_among(sets, kReadAll, level, kCount, table).empty();
}

void print_ratios(const std::string& head, const std::vector<CaseOfSet>& cases, std::FILE* out) {
  const RatioSummary ours = summarise_ratios(cases, kJointAuto);
  std::fprintf(out, "  %-13s %-6s %5zu %8s %7s %6s %7s", head.c_str(),
               kQuantityNames[cases.front().of->quantity], cases.size(),
               figure("%.2f", 100 * mean_error(cases, kJointRaw)).c_str(),
               figure("%.3f", ours.mean).c_str(), figure("%.3f", ours.standard_error).c_str(),
               figure("%.3f", ours.worst).c_str());
  for (const JointEstimator e :
       {kJointWide, kJointMatrix, kJointScalar, kJointPlugin, kJointPlanner})
    std::fprintf(out, " %14s", figure("%.3f", summarise_ratios(cases, e).mean).c_str());
  std::fprintf(out, "   %s\n", ours.worst_name.c_str());
}

void print_tables(const std::vector<JointTable>& tables, const std::vector<JointSet>& sets,
                  std::FILE* out) {
  std::fprintf(out,
               "\nEvery row read: the raw sample's mean error in percent (COUNT of the count, SUM "
               "of the sum of |x|, AVG of the standard deviation in the box), and the mean errors "
               "of the others over it, geometric means over cases; se: of auto's mean, over "
               "samples\n  %-13s %-6s %5s %8s %7s %6s %7s",
               "", "", "cases", "raw, %", "auto", "se", "worst");
  for (const JointEstimator e :
       {kJointWide, kJointMatrix, kJointScalar, kJointPlugin, kJointPlanner})
    std::fprintf(out, " %14s", kJointEstimatorNames[e]);
  std::fprintf(out, "   auto's worst case\n");
  for (int level = 0; level < kJointLevels; ++level) {
    if (!has_level(sets, level)) continue;
    std::fprintf(out, "%s\n", size_name(level).c_str());
    for (const JointTable& table : tables) {
      if (!has_level(sets, level, &table)) continue;
      for (const Quantity q : {kCount, kSum, kMean})
        print_ratios(q == kCount ? table.name : "", cases_among(sets, kReadAll, level, q, &table),
                     out);
    }
  }
}

void print_readings(const std::vector<JointTable>& tables, const std::vector<JointSet>& sets,
                    std::FILE* out) {
  std::fprintf(out,
               "\nWhat the scan read: auto's mean error over the raw sample's, geometric mean and "
               "worst case. Columns by themselves are known from all rows that were read\n  %-13s "
               "%-12s %-6s",
               "", "", "");
  for (const char* name : kReadingNames) std::fprintf(out, "   %22s", name);
  std::fprintf(out, "\n");
  for (const JointTable& table : tables) {
    for (int level = 0; level < kJointLevels; ++level) {
      if (!has_level(sets, level, &table)) continue;
      for (const Quantity q : {kCount, kSum, kMean}) {
        std::fprintf(out, "  %-13s %-12s %-6s", q == kCount ? table.name.c_str() : "",
                     q == kCount ? size_name(level).c_str() : "", kQuantityNames[q]);
        for (int r = 0; r < kReadings; ++r) {
          const RatioSummary s = summarise_ratios(
              cases_among(sets, static_cast<Reading>(r), level, q, &table), kJointAuto);
          std::fprintf(out, "   %6s +- %5s %6s", figure("%.3f", s.mean).c_str(),
                       figure("%.3f", s.standard_error).c_str(), figure("%.3f", s.worst).c_str());
        }
        std::fprintf(out, "\n");
      }
    }
  }
}

Coverage pooled_coverage(const std::vector<JointSet>& sets, Reading reading, int level, int q,
                         const JointTable* table = nullptr) {
  Coverage pooled;
  for (const JointSet& set : sets)
    if (table == nullptr || set.table == table) pooled.add(set.levels[reading][level].coverage[q]);
  return pooled;
}

void print_coverage_line(const std::string& head, int q, const Coverage& coverage, std::FILE* out) {
  std::fprintf(out, "  %-34s %-6s %6s", head.c_str(), kQuantityNames[q],
               figure("%.2f", 100 * coverage.density_total().share()).c_str());
  for (int c = 0; c < kClasses; ++c) {
    const std::vector<double> widths(coverage.width_ratio[c].begin(),
                                     coverage.width_ratio[c].end());
    std::fprintf(out, "   %6s (%5s) %6s", figure("%.2f", 100 * coverage.density[c].share()).c_str(),
                 figure("%.2f", 100 * coverage.textbook[c].share()).c_str(),
                 figure("%.3f", quantile_of(widths, 0.5)).c_str());
  }
  std::fprintf(out, "\n");
}

void print_joint_coverage(const std::vector<JointTable>& tables, const std::vector<JointSet>& sets,
                          std::FILE* out) {
  std::fprintf(out,
               "\nCoverage of 95 %% intervals in percent: auto's pooled; by the fraction of the "
               "rows auto's, (in brackets) the raw sample's textbook ones, and the median of their "
               "widths' ratio\n  %-34s %-6s %6s",
               "", "", "pooled");
  for (const char* name : kBoxClasses) std::fprintf(out, "   %22s", name);
  std::fprintf(out, "\n");
  for (int level = 0; level < kJointLevels; ++level) {
    if (!has_level(sets, level)) continue;
    for (int r = 0; r < kReadings; ++r) {
      const std::string head = size_name(level) + ", " + kReadingNames[r];
      for (int q = 0; q < kQuantities; ++q)
        print_coverage_line(q == 0 ? head : "", q,
                            pooled_coverage(sets, static_cast<Reading>(r), level, q), out);
    }
    for (const JointTable& table : tables) {
      if (!has_level(sets, level, &table)) continue;
      for (int q = 0; q < kQuantities; ++q)
        print_coverage_line(q == 0 ? "  " + table.name + ", every row" : "", q,
                            pooled_coverage(sets, kReadAll, level, q, &table), out);
    }
  }
}

void line(std::FILE* out, const std::string& what, const std::string& value,
          const std::string& asked, bool ok, const std::string& note) {
  std::fprintf(out, "  %-58s %9s   %-12s %-6s %s\n", what.c_str(), value.c_str(), asked.c_str(),
               value == "-" ? "-"
               : ok         ? "ok"
                            : "SHORT",
               note.c_str());
}

void bound(std::FILE* out, const std::string& what, double value, double asked,
           const std::string& note) {
  line(out, what, figure("%.3f", value), figure("<= %.2f", asked), value <= asked, note);
}

std::string of_cases(const RatioSummary& s) {
  return std::to_string(s.cases) + " cases, se " + figure("%.3f", s.standard_error);
}

void print_asked(const std::vector<JointTable>& tables, const std::vector<JointSet>& sets,
                 std::FILE* out) {
  std::fprintf(out,
               "\n%-60s %9s   %-12s\nMean error of auto over the raw sample's, every row "
               "read\n",
               ("Over " + std::to_string(sets.size()) + " sets of columns").c_str(), "figure",
               "asked");
  for (int level = 0; level < kJointLevels; ++level) {
    if (!has_level(sets, level)) continue;
    const RatioSummary count =
        summarise_ratios(cases_among(sets, kReadAll, level, kCount), kJointAuto);
    const RatioSummary average =
        summarise_ratios(cases_among(sets, kReadAll, level, kMean), kJointAuto);
    const std::string tail = ", " + size_name(level) + ", ";
    bound(out, "COUNT" + tail + "geometric mean", count.mean, kCountMean, of_cases(count));
    for (const JointTable& table : tables) {
      if (level > 0 || table.name != kSmallTable) continue;
      const RatioSummary small =
          summarise_ratios(cases_among(sets, kReadAll, level, kCount, &table), kJointAuto);
      bound(out, "COUNT" + tail + "geometric mean on " + table.name, small.mean, kCountMeanSmall,
            of_cases(small));
    }
    bound(out, "COUNT" + tail + "worst set", count.worst, kWorst, count.worst_name);
    if (level == 0)
      bound(out, "AVG" + tail + "geometric mean", average.mean, kAverageMean, of_cases(average));
    bound(out, "AVG" + tail + "worst target and set", average.worst, kWorst, average.worst_name);
  }
  std::fprintf(out, "Coverage of auto's 95 %% intervals, pooled, in percent\n");
  for (int level = 0; level < kJointLevels; ++level) {
    if (!has_level(sets, level)) continue;
    for (int q = 0; q < kQuantities; ++q) {
      const double share = pooled_coverage(sets, kReadAll, level, q).density_total().share();
      line(out, std::string(kQuantityNames[q]) + ", " + size_name(level),
           figure("%.2f", 100 * share), "93 - 97", share >= kPooledLow && share <= kPooledHigh, "");
    }
  }
  std::size_t bytes = 0;
  double fit_ms[kJointLevels] = {};
  for (const JointSet& set : sets) {
    for (int level = 0; level < kJointLevels; ++level) {
      bytes = std::max(bytes, set.levels[kReadAll][level].bytes);
      fit_ms[level] = std::max(fit_ms[level], set.levels[kReadAll][level].fit_ms);
    }
  }
  std::fprintf(out,
               "Largest density: %s bytes. Longest fit on one thread, ms:", grouped(bytes).c_str());
  for (int level = 0; level < kJointLevels; ++level)
    if (has_level(sets, level))
      std::fprintf(out, " %.0f at %s;", fit_ms[level], size_name(level).c_str());
  std::fprintf(out, "\n");
}

std::string columns_text(const JointSet& set) {
  std::string text;
  for (const int k : set.column) text += (text.empty() ? "" : " ") + set.table->column_name[k];
  return text;
}

}  // namespace

void print_joint(const std::vector<JointTable>& tables, const std::vector<JointSet>& sets,
                 const JointPlan& plan, std::FILE* out) {
  std::fprintf(out, "\nJoint densities: %zu sets of 2 and 3 columns, up to %d boxes each.",
               sets.size(), plan.rule.boxes);
  for (int level = 0; level < kJointLevels; ++level)
    std::fprintf(out, " %s: %d samples (%d of them for other estimators and readings).",
                 size_name(level).c_str(), plan.repetitions[level], plan.other_repetitions[level]);
  std::fprintf(out, "\n");
  print_tables(tables, sets, out);
  print_readings(tables, sets, out);
  print_joint_coverage(tables, sets, out);
  print_asked(tables, sets, out);
}

void write_joint_csv(const std::vector<JointSet>& sets, const std::string& path) {
  std::FILE* out = std::fopen(path.c_str(), "w");
  if (out == nullptr) throw std::runtime_error("could not write " + path);
  std::fprintf(out, "table,columns,n,read,quantity,target,estimator,samples,error,ratio\n");
  for (const JointSet& set : sets) {
    for (int r = 0; r < kReadings; ++r) {
      for (int level = 0; level < kJointLevels; ++level) {
        for (const JointCase& of : set.levels[r][level].cases) {
          for (int e = 0; e < kJointEstimators; ++e) {
            if (of.errors[e].empty()) continue;
            const JointEstimator estimator = static_cast<JointEstimator>(e);
            std::fprintf(out, "%s,\"%s\",%zu,%s,%s,%s,\"%s\",%zu,%.6g,%.6g\n",
                         set.table->name.c_str(), columns_text(set).c_str(), kJointRows[level],
                         kReadingNames[r], kQuantityNames[of.quantity],
                         of.target < 0 ? "" : set.table->column_name[of.target].c_str(),
                         kJointEstimatorNames[e], of.errors[e].size(),
                         mean_error({{&set, &of}}, estimator), ratio_of(of, estimator));
          }
        }
      }
    }
  }
  if (std::fclose(out) != 0) throw std::runtime_error("could not write " + path);
}

}  // namespace kde::accuracy
