// One interface to the core's answers for one column and for several.
#include "pg/answer/moments.h"

#include "pg/answer/value_bounds.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace kde_pg {

namespace {

// The question as a joint density has it.
struct Box {
  kde::BoxSide side[kde::kMaxColumns];
  int sides;
  int measure;  // -1: none

  std::span<const kde::BoxSide> all() const { return {side, static_cast<std::size_t>(sides)}; }
};

Box box_of(const Question& q, const AnsweringDensity& density, const kde::Range* ranges) {
  Box box;
  box.measure = q.measure < 0 ? -1 : density.place[q.measure];
  box.sides = q.sides;
  for (int i = 0; i < box.sides; ++i)
    box.side[i] = {density.place[i], ranges[i], density.side_words[i]};
  return box;
}

void check_measure(const Question& q) {
  if (q.measure < 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("a density of several columns needs a measure"),
                    errdetail("Which of its columns or measures is added up cannot be told."),
                    errhint("Pass measure => 'column', one of the density's or another.")));
}

kde::MeasureView measure_of(const Question& q, const AnsweringDensity& density) {
  return kde::MeasureView(density.one_column, density.measured(q));
}

kde::JointMoments moments_in(const AnsweringDensity& density, const Box& box, int measure) {
  return kde::joint_moments(kde::JointView(density.joint), box.all(), measure);
}

}  // namespace

double count_of(const Question& q, const AnsweringDensity& density, const kde::Range* ranges) {
  if (density.words != nullptr) {
    const kde::DensityView view = density.view();
    const kde::WordsView words(density.one_column);
    return density.measured(q) < 0
               ? kde::words_count(view, words, *density.words)
               : kde::words_measure_moments(view, words, measure_of(q, density), *density.words)
                     .count;
  }
  if (density.measured(q) >= 0) {
    const kde::DensityView view = density.view();
    return kde::measure_count(view, measure_of(q, density), ranges[0]);
  }
  if (density.joint == nullptr) return density.scale * kde::count(density.view(), ranges[0]);
  const Box box = box_of(q, density, ranges);
  return moments_in(density, box, -1).count;
}

kde::RangeMoments moments_of(const Question& q, const AnsweringDensity& density,
                             const kde::Range* ranges) {
  check_measure(q);
  if (density.words != nullptr && density.measured(q) >= 0) {
    const kde::DensityView view = density.view();
    return kde::words_measure_moments(view, kde::WordsView(density.one_column),
                                      measure_of(q, density), *density.words);
  }
  if (density.measured(q) >= 0) {
    const kde::DensityView view = density.view();
    return kde::measure_moments(view, measure_of(q, density), ranges[0]);
  }
  if (density.joint == nullptr) return kde::moments(density.view(), ranges[0]);
  const Box box = box_of(q, density, ranges);
  const kde::JointMoments m = moments_in(density, box, box.measure);
  kde::RangeMoments out;
  out.count = m.count;
  out.mean = m.mean;
  out.variance = m.variance;
  out.finite = m.finite;
  out.nans = m.nans;
  out.negative_infinities = m.negative_infinities;
  out.positive_infinities = m.positive_infinities;
  return out;
}

kde::Evidence evidence_of(kde::Wanted wanted, const Question& q, const AnsweringDensity& density,
                          const kde::Range* ranges, const kde::IntervalOptions& given) {
  const bool counts = wanted == kde::Wanted::count;
  if (!counts) check_measure(q);
  const kde::IntervalOptions options = counts ? given : with_value_bounds(q, q.measure, given);
  if (density.joint != nullptr) {
    const Box box = box_of(q, density, ranges);
    return kde::evidence_of(wanted, kde::JointView(density.joint), box.all(),
                            moments_in(density, box, box.measure), options);
  }
  const kde::DensityView view = density.view();
  const bool measured = density.measured(q) >= 0;
  if (density.words != nullptr) {
    const kde::WordsView words(density.one_column);
    if (!measured) return kde::evidence_of(wanted, view, words, *density.words, options);
    return kde::evidence_of(wanted, view, words, measure_of(q, density), *density.words, options);
  }
  if (!measured) return kde::evidence_of(wanted, view, ranges[0], options);
  return kde::evidence_of(wanted, view, measure_of(q, density), ranges[0], options);
}

kde::Interval interval_of(Aggregate aggregate, const kde::Evidence& evidence) {
  kde::Interval out = kde::interval_of(wanted_by(aggregate), evidence);
  if (aggregate == Aggregate::stddev)
    for (double* x : {&out.estimate, &out.lower, &out.upper}) *x = std::sqrt(std::max(*x, 0.0));
  return out;
}

kde::Interval interval_of(Aggregate aggregate, const Question& q, const AnsweringDensity& density,
                          const kde::Range* ranges, const kde::IntervalOptions& options) {
  return interval_of(aggregate, evidence_of(wanted_by(aggregate), q, density, ranges, options));
}

}  // namespace kde_pg
