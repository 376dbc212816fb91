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

kde::Interval scaled(kde::Interval interval, double by) {
  for (double* x : {&interval.estimate, &interval.lower, &interval.upper}) *x *= by;
  return interval;
}

kde::Interval rooted(kde::Interval interval) {
  for (double* x : {&interval.estimate, &interval.lower, &interval.upper})
    *x = std::sqrt(std::max(*x, 0.0));
  return interval;
}

kde::Interval one_column_interval(Aggregate aggregate, const kde::DensityView& density,
                                  const kde::Range& range, const kde::IntervalOptions& options) {
  switch (aggregate) {
    case Aggregate::count:
      return kde::count_interval(density, range, options);
    case Aggregate::sum:
      return kde::sum_interval(density, range, options);
    case Aggregate::avg:
      return kde::mean_interval(density, range, options);
    default:
      return kde::variance_interval(density, range, options);
  }
}

kde::MeasureView measure_of(const Question& q, const AnsweringDensity& density) {
  return kde::MeasureView(density.one_column, density.measured(q));
}

kde::Interval measured_interval(Aggregate aggregate, const kde::DensityView& density,
                                const kde::MeasureView& measure, const kde::Range& range,
                                const kde::IntervalOptions& options) {
  switch (aggregate) {
    case Aggregate::count:
      return kde::measure_count_interval(density, measure, range, options);
    case Aggregate::sum:
      return kde::measure_sum_interval(density, measure, range, options);
    case Aggregate::avg:
      return kde::measure_mean_interval(density, measure, range, options);
    default:
      return kde::measure_variance_interval(density, measure, range, options);
  }
}

kde::Interval words_interval(Aggregate aggregate, const Question& q,
                             const AnsweringDensity& density, const kde::IntervalOptions& options) {
  const kde::DensityView view = density.view();
  const kde::WordsView words(density.one_column);
  const kde::WordSet& set = *density.words;
  if (density.measured(q) < 0) return kde::words_count_interval(view, words, set, options);
  const kde::MeasureView measure = measure_of(q, density);
  switch (aggregate) {
    case Aggregate::count:
      return kde::words_measure_count_interval(view, words, measure, set, options);
    case Aggregate::sum:
      return kde::words_measure_sum_interval(view, words, measure, set, options);
    case Aggregate::avg:
      return kde::words_measure_mean_interval(view, words, measure, set, options);
    default:
      return kde::words_measure_variance_interval(view, words, measure, set, options);
  }
}

kde::Interval joint_interval(Aggregate aggregate, const kde::JointView& density, const Box& box,
                             const kde::IntervalOptions& options) {
  const kde::JointMoments m = kde::joint_moments(density, box.all(), box.measure);
  switch (aggregate) {
    case Aggregate::count:
      return kde::joint_count_interval(density, box.all(), m, options);
    case Aggregate::sum:
      return kde::joint_sum_interval(density, box.all(), m, options);
    case Aggregate::avg:
      return kde::joint_mean_interval(density, box.all(), m, options);
    default:
      return kde::joint_variance_interval(density, box.all(), m, options);
  }
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
  return kde::joint_moments(kde::JointView(density.joint), box.all(), -1).count;
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
  const kde::JointMoments m =
      kde::joint_moments(kde::JointView(density.joint), box.all(), box.measure);
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

kde::ChangedRows changes_of(const Question& q, const AnsweringDensity& density,
                            const kde::Range* ranges, const kde::IntervalOptions& options) {
  const kde::IntervalOptions given = with_value_bounds(q, q.measure, options);
  if (density.words != nullptr) {
    if (density.measured(q) < 0) return kde::words_changed_rows(*density.words, given);
    return kde::words_measure_changed_rows(density.view(), measure_of(q, density), *density.words,
                                           given);
  }
  if (density.measured(q) >= 0)
    return kde::measure_changed_rows(density.view(), measure_of(q, density), ranges[0], given);
  if (density.joint == nullptr) return kde::changed_rows(*density.one_column, ranges[0], given);
  const Box box = box_of(q, density, ranges);
  return kde::joint_changed_rows(kde::JointView(density.joint), box.all(), box.measure, given);
}

kde::Interval interval_of(Aggregate aggregate, const Question& q, const AnsweringDensity& density,
                          const kde::Range* ranges, const kde::IntervalOptions& given) {
  if (aggregate != Aggregate::count) check_measure(q);
  const kde::IntervalOptions options =
      aggregate == Aggregate::count ? given : with_value_bounds(q, q.measure, given);
  const kde::Interval interval =
      density.words != nullptr ? words_interval(aggregate, q, density, options)
      : density.measured(q) >= 0
          ? measured_interval(aggregate, density.view(), measure_of(q, density), ranges[0], options)
      : density.joint == nullptr
          ? one_column_interval(aggregate, density.view(), ranges[0], options)
          : joint_interval(aggregate, kde::JointView(density.joint), box_of(q, density, ranges),
                           options);
  if (aggregate != Aggregate::variance && aggregate != Aggregate::stddev) return interval;
  const double rows = moments_of(q, density, ranges).finite;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const double changed = options.changed_rows;
  // One row has none.
  if (!(rows > 1) && !(changed > 0)) return {kNone, kNone, kNone};
  kde::Interval sample = scaled(interval, rows > 1 ? rows / (rows - 1) : kNone);
  if (changed > 0) {
    const auto factor = [](double n) { return n > 2 ? n / (n - 1) : 2; };
    sample.lower = rows > 1 ? interval.lower * factor(rows + changed) : 0;
    sample.upper = interval.upper * factor(rows - changed);
  }
  return aggregate == Aggregate::stddev ? rooted(sample) : sample;
}

}  // namespace kde_pg
