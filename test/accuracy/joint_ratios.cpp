// The ratios of joint_ratios.h.
#include "joint_ratios.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde::accuracy {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Of the repetitions in which the estimator was measured but the one left out: the mean of
// `values`. NaN of none.
double mean_where(const std::vector<double>& measured, const std::vector<double>& values,
                  int left_out) {
  double sum = 0;
  std::size_t terms = 0;
  for (std::size_t i = 0; i < std::min(measured.size(), values.size()); ++i) {
    if (static_cast<int>(i) == left_out || std::isnan(measured[i])) continue;
    sum += values[i];
    ++terms;
  }
  return terms == 0 ? kNan : sum / static_cast<double>(terms);
}

std::vector<double> ratios_of(const std::vector<CaseOfSet>& cases, JointEstimator estimator,
                              int left_out) {
  std::vector<double> ratios;
  for (const CaseOfSet& c : cases) {
    const double ratio = ratio_of(*c.of, estimator, left_out);
    if (!std::isnan(ratio)) ratios.push_back(ratio);
  }
  return ratios;
}

double jackknife(const std::vector<CaseOfSet>& cases, JointEstimator estimator, int repetitions) {
  if (repetitions < 2) return kNan;
  std::vector<double> without;
  double mean = 0;
  for (int r = 0; r < repetitions; ++r) {
    without.push_back(geometric_mean(ratios_of(cases, estimator, r)));
    mean += without.back() / repetitions;
  }
  double spread = 0;
  for (const double g : without) spread += (g - mean) * (g - mean);
  return std::sqrt(spread * (repetitions - 1) / repetitions);
}

}  // namespace

std::string CaseOfSet::name() const {
  if (of->target < 0) return set->name();
  return set->table->column_name[of->target] + " | " + set->name();
}

std::vector<CaseOfSet> cases_among(const std::vector<JointSet>& sets, Reading reading, int level,
                                   Quantity quantity, const JointTable* table) {
  std::vector<CaseOfSet> cases;
  for (const JointSet& set : sets) {
    if (table != nullptr && set.table != table) continue;
    for (const JointCase& of : set.levels[reading][level].cases)
      if (of.quantity == quantity) cases.push_back({&set, &of});
  }
  return cases;
}

double ratio_of(const JointCase& of, JointEstimator estimator, int left_out) {
  const std::vector<double>& errors = of.errors[estimator];
  const std::vector<double>& raw = of.errors[kJointRaw];
  const bool sampled = estimator != kJointPlanner;
  const double other = mean_where(sampled ? errors : raw, raw, left_out);
  if (other == 0) return kNan;
  return mean_where(errors, errors, sampled ? left_out : -1) / other;
}

RatioSummary summarise_ratios(const std::vector<CaseOfSet>& cases, JointEstimator estimator) {
  RatioSummary summary;
  summary.mean = geometric_mean(ratios_of(cases, estimator, -1));
  summary.worst = kNan;
  std::size_t repetitions = 0;
  for (const CaseOfSet& c : cases) {
    const double ratio = ratio_of(*c.of, estimator);
    if (std::isnan(ratio)) continue;
    ++summary.cases;
    repetitions = std::max(repetitions, c.of->errors[estimator].size());
    if (!(ratio > summary.worst || std::isnan(summary.worst))) continue;
    summary.worst = ratio;
    summary.worst_name = c.name();
  }
  summary.standard_error = jackknife(cases, estimator, static_cast<int>(repetitions));
  return summary;
}

double mean_error(const std::vector<CaseOfSet>& cases, JointEstimator estimator) {
  std::vector<double> means;
  for (const CaseOfSet& c : cases)
    means.push_back(mean_where(c.of->errors[estimator], c.of->errors[estimator], -1));
  return summarise(means).mean;
}

}  // namespace kde::accuracy
