// Everything that is measured of one column, and the run over all columns.
#pragma once

#include "coverage.h"
#include "estimators.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace kde::accuracy {

enum Estimator { kAuto, kPlugin, kRaw, kPlanner, kDigest, kUnitKernel };
inline constexpr int kEstimators = 6;
inline constexpr std::array<const char*, kEstimators> kEstimatorNames = {
    "auto", "plugin", "raw sample", "planner", "t-digest", "KDE h=1"};

// The sample sizes: index into ColumnResult::levels. 0 stands for every row.
inline constexpr int kLevels = 3;
inline constexpr std::array<std::size_t, kLevels> kLevelRows = {1000, 10000, 0};
inline constexpr int kLevel1000 = 0, kLevel10000 = 1, kLevelAll = 2;

struct Plan {
  int error_samples = 5;
  int coverage_samples = 50;  // >= error_samples; 1 where every row is read
  std::uint64_t seed = 1;
  std::size_t timed_rows = 100000;
  int timed_fits = 5;
  int timed_threads = 2;
};

// Of one column at one sample size.
struct Level {
  bool measured = false;
  std::size_t sample_rows = 0;
  // Not measured: 0 errors.
  std::array<std::array<ErrorSummary, kQuantities>, kEstimators> errors{};
  std::array<Coverage, kQuantities> coverage;
  std::size_t auto_bytes = 0, plugin_bytes = 0;  // the largest of the samples'
  Fitted density;                                // auto's, of the first sample
};

struct ColumnResult {
  std::string table, column;
  ColumnType type = ColumnType::text;
  std::vector<double> values;
  std::int64_t nulls = 0;
  std::size_t distinct = 0;
  std::vector<Question> questions;
  std::array<Level, kLevels> levels;
  double fit_ms = 0;           // select and estimate, of plan.timed_rows rows; the median
  int digest_bytes = 0;        // 0: not measured
  double sql_difference = -1;  // the largest relative one of approx_count; < 0: not measured

  std::size_t rows() const { return values.size(); }
  std::string name() const { return table + "." + column; }
  // What a picture shows: the largest sample that is not all rows, if there is one.
  const Level& shown() const {
    for (int level = kLevelAll - 1; level >= 0; --level)
      if (levels[level].measured) return levels[level];
    return levels[kLevelAll];
  }
};

// The table's columns that are numbers and have enough distinct ranges, questions made, nothing
// measured yet. Takes the values out of the table.
std::vector<ColumnResult> columns_to_measure(Table* table, std::uint64_t seed);

// Measures all that needs no server, over columns and samples in parallel; the results do not
// depend on the number of threads. Then times the fits, one after the other.
// Throws std::runtime_error.
void measure(const Plan& plan, std::vector<ColumnResult>* columns);

}  // namespace kde::accuracy
