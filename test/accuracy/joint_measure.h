// Everything that is measured of one set of columns of a table, and the run over all sets.
//
// A case is what is asked of a set: its boxes' COUNT, or the SUM or AVG of one target column over
// them. The target is the set's first column, or one outside the set. The density is fitted to the
// set's columns and, where it is another, the target: what a user would fit for that question.
#pragma once

#include "joint_boxes.h"
#include "joint_estimators.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace kde::accuracy {

// kJointWide: auto's, of one density over all the table's columns that are measured, where these
// are more than the case's own.
enum JointEstimator {
  kJointAuto,
  kJointMatrix,
  kJointScalar,
  kJointPlugin,
  kJointWide,
  kJointRaw,
  kJointPlanner
};
inline constexpr int kJointEstimators = 7;
inline constexpr std::array<const char*, kJointEstimators> kJointEstimatorNames = {
    "auto", "lscv_matrix", "lscv", "plugin_product", "auto, wide", "raw sample", "planner"};

// How many rows the scan read, from all of which auto knows each column by itself.
enum Reading { kReadAll, kReadThreefold, kReadSample };
inline constexpr int kReadings = 3;
inline constexpr std::array<const char*, kReadings> kReadingNames = {"every row", "3 n rows",
                                                                     "the sample's n rows"};

inline constexpr int kJointLevels = 2;
inline constexpr std::array<std::size_t, kJointLevels> kJointRows = {1000, 10000};

struct JointPlan {
  std::array<std::size_t, kJointLevels> rows = kJointRows;
  std::array<int, kJointLevels> repetitions = {6, 3};        // every row read
  std::array<int, kJointLevels> other_repetitions = {2, 1};  // fewer read; other estimators
  std::uint64_t seed = 1;
  BoxRule rule;
};

struct JointCase {
  Quantity quantity = kCount;
  int target = -1;  // of the table; -1 with COUNT alone
  // A repetition each: the mean error over the boxes, NaN where the method has no bandwidth for
  // that sample. Those of an estimator are of the first repetitions, the planner's single. Empty:
  // not measured.
  std::array<std::vector<double>, kJointEstimators> errors;
};

struct JointLevel {
  bool measured = false;
  std::vector<JointCase> cases;
  std::array<Coverage, kQuantities> coverage;  // of auto, all cases
  std::size_t bytes = 0;                       // auto's largest
  double fit_ms = 0;                           // auto's longest select and estimate
};

struct JointSet {
  const JointTable* table = nullptr;  // outlives it
  std::vector<int> column;
  std::vector<BoxQuestion> questions;
  std::array<std::array<JointLevel, kJointLevels>, kReadings> levels;

  std::string name() const;  // table(a, b)
};

// All sets of 2 and of 3 of the table's columns, questions made, nothing measured yet.
std::vector<JointSet> joint_sets(const JointTable& table, const JointPlan& plan);

// What is asked of a set, without errors: COUNT, and SUM and AVG of every target.
std::vector<JointCase> cases_of(const JointSet& set);

// The question a case asks of a box. Its range is where a mean lies that nobody knows: the
// target's own bounds, or else the mean of the whole column, twice.
Question question_of(const JointSet& set, const BoxQuestion& box, const JointCase& of);

// Measures all that needs no server, over sets and samples in parallel; the results do not depend
// on the number of threads. Samples of as many rows as the table or more are left out. Throws
// std::runtime_error.
void measure_joint(const JointPlan& plan, std::vector<JointSet>* sets);

}  // namespace kde::accuracy
