// Errors of joint densities beside the raw sample's, over cases.
#pragma once

#include "joint_measure.h"

#include <optional>
#include <string>
#include <vector>

namespace kde::accuracy {

struct CaseOfSet {
  const JointSet* set;
  const JointCase* of;

  std::string name() const;  // of COUNT table(a, b), else column | table(a, b)
};

// The cases of that quantity among the sets that were measured; table: only of that one.
std::vector<CaseOfSet> cases_among(const std::vector<JointSet>& sets, Reading reading, int level,
                                   Quantity quantity, const JointTable* table = nullptr);

// The mean error over the raw sample's, both over the repetitions in which the estimator was
// measured (the planner's, which has no sample of that size: over all of the raw sample's), but
// for one left out where that is not -1. NaN: not measured, or the raw sample has no error.
double ratio_of(const JointCase& of, JointEstimator estimator, int left_out = -1);

struct RatioSummary {
  std::size_t cases = 0;
  double mean = 0;            // geometric; NaN of none
  double standard_error = 0;  // the jackknife's over repetitions (J. Tukey, 1958); NaN of one
  double worst = 0;
  std::string worst_name;
};
RatioSummary summarise_ratios(const std::vector<CaseOfSet>& cases, JointEstimator estimator);

// The mean error over cases and repetitions. NaN of none.
double mean_error(const std::vector<CaseOfSet>& cases, JointEstimator estimator);

}  // namespace kde::accuracy
