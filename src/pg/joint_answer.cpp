// approx_count, approx_sum, approx_avg, approx_variance and approx_stddev of a table's rows in a
// box, and their intervals.
#include "pg/joint_answer.h"

#include "pg/answer.h"
#include "pg/intervals.h"

#include "core/joint/interval.h"

#include <cmath>
#include <span>

extern "C" {
#include "utils/float.h"
}

namespace kde_pg {

namespace {

kde::JointMoments joint_moments_of(const kde::JointView& density, const Box& box) {
  return kde::joint_moments(density, std::span(box.side, static_cast<std::size_t>(box.sides)),
                            box.target);
}

// What a call asks: the arguments of its function, which are relation, [target,] columns, lower,
// upper, by_name_only, [confidence, changed_rows,] filter.
struct Call {
  Question question;
  JointTarget target;
  kde::Range ranges[kde::kMaxColumns];
  kde::IntervalOptions options;
};

enum class Of { rows, target };
enum class With { answer, interval };

void read_call(FunctionCallInfo fcinfo, Of of, With with, Call* call) {
  const int columns = of == Of::target ? 2 : 1;
  const int options = columns + 4;
  const int filter = with == With::interval ? options + 2 : options;
  call->question = read_question(fcinfo, 0, of == Of::target ? 1 : -1, columns, filter);
  read_ranges(fcinfo, columns + 1, columns + 2, call->question, call->ranges);
  if (with == With::interval) call->options = read_interval_options(fcinfo, options);
  call->target = find_joint_target(call->question);
}

// False where no row has a value of the target.
bool read_call_moments(FunctionCallInfo fcinfo, With with, Call* call, kde::RangeMoments* m) {
  read_call(fcinfo, Of::target, with, call);
  *m = moments_of(call->question, call->target, call->ranges);
  return m->finite + m->nans + m->negative_infinities + m->positive_infinities > 0;
}

Datum give(FunctionCallInfo fcinfo, const Result& result) {
  fcinfo->isnull = result.is_null;
  return result.is_null ? 0 : result.value;
}

Result answer_count(FunctionCallInfo fcinfo) {
  Call call;
  read_call(fcinfo, Of::rows, With::answer, &call);
  return Result::number(count_of(call.question, call.target, call.ranges));
}

Result answer_sum(FunctionCallInfo fcinfo) {
  Call call;
  kde::RangeMoments m;
  Result special;
  if (!read_call_moments(fcinfo, With::answer, &call, &m)) return Result::null();
  if (special_values(m, "sum", &special)) return special;
  const double sum = m.mean * m.finite;
  if (std::isinf(sum)) float_overflow_error();
  return Result::number(sum);
}

Result answer_avg(FunctionCallInfo fcinfo) {
  Call call;
  kde::RangeMoments m;
  Result special;
  if (!read_call_moments(fcinfo, With::answer, &call, &m)) return Result::null();
  if (special_values(m, "mean", &special)) return special;
  return Result::number(m.mean);
}

// SQL's sample variance is that of the rows times *correction. False if it is null.
bool has_variance(const kde::RangeMoments& m, double* correction) {
  Result special;
  if (special_values(m, "variance", &special)) {
    if (!special.is_null)
      ereport(NOTICE, (errmsg("the range includes infinities, so its variance is null")));
    return false;
  }
  *correction = m.finite / (m.finite - 1);
  return m.finite > 1;
}

Result answer_variance(FunctionCallInfo fcinfo, bool root) {
  Call call;
  kde::RangeMoments m;
  double correction;
  if (!read_call_moments(fcinfo, With::answer, &call, &m)) return Result::null();
  if (!has_variance(m, &correction)) return Result::null();
  const double variance = m.variance * correction;
  if (std::isinf(variance)) float_overflow_error();
  return Result::number(root ? std::sqrt(variance) : variance);
}

Result answer_count_ci(FunctionCallInfo fcinfo) {
  Call call;
  read_call(fcinfo, Of::rows, With::interval, &call);
  return interval_record(fcinfo,
                         count_interval_of(call.question, call.target, call.ranges, call.options));
}

Result answer_moment_ci(FunctionCallInfo fcinfo, Moment moment, const char* what) {
  Call call;
  kde::RangeMoments m;
  Result special;
  if (!read_call_moments(fcinfo, With::interval, &call, &m)) return Result::null();
  if (special_values(m, what, &special)) return interval_record_of(fcinfo, special);
  const kde::Interval interval =
      moment_interval_of(moment, call.question, call.target, call.ranges, call.options);
  if (std::isnan(interval.estimate)) return Result::null();
  if (std::isinf(interval.estimate)) float_overflow_error();
  return interval_record(fcinfo, interval);
}

Result answer_variance_ci(FunctionCallInfo fcinfo) {
  Call call;
  kde::RangeMoments m;
  double correction;
  if (!read_call_moments(fcinfo, With::interval, &call, &m)) return Result::null();
  if (!has_variance(m, &correction)) return Result::null();
  kde::Interval interval =
      moment_interval_of(Moment::variance, call.question, call.target, call.ranges, call.options);
  for (double* x : {&interval.estimate, &interval.lower, &interval.upper}) *x *= correction;
  if (std::isinf(interval.estimate)) float_overflow_error();
  return interval_record(fcinfo, interval);
}

// Rows without a value are in a range that has no bound at all: it asks nothing of the column, as a
// joint density has it too.
double nulls_in(const kde::Header& density, const kde::Range& range) {
  return range.lower_unbounded && range.upper_unbounded ? density.nulls : 0;
}

}  // namespace

double count_of(const Question& q, const JointTarget& target, const kde::Range* ranges) {
  if (target.joint == nullptr)
    return kde::count(kde::DensityView(target.one_column), ranges[0]) +
           nulls_in(*target.one_column, ranges[0]);
  const kde::JointView density(target.joint);
  return joint_moments_of(density, box_of(q, target, ranges)).count;
}

kde::Interval count_interval_of(const Question& q, const JointTarget& target,
                                const kde::Range* ranges, const kde::IntervalOptions& options) {
  if (target.joint == nullptr) {
    kde::Interval out =
        kde::count_interval(kde::DensityView(target.one_column), ranges[0], options);
    const double nulls = nulls_in(*target.one_column, ranges[0]);
    for (double* x : {&out.estimate, &out.lower, &out.upper}) *x += nulls;
    return out;
  }
  const kde::JointView density(target.joint);
  const kde::JointMoments m = joint_moments_of(density, box_of(q, target, ranges));
  return kde::joint_count_interval(density, m, options);
}

kde::RangeMoments moments_of(const Question& q, const JointTarget& target,
                             const kde::Range* ranges) {
  if (target.joint == nullptr) return kde::moments(kde::DensityView(target.one_column), ranges[0]);
  const kde::JointMoments m =
      joint_moments_of(kde::JointView(target.joint), box_of(q, target, ranges));
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

kde::Interval moment_interval_of(Moment moment, const Question& q, const JointTarget& target,
                                 const kde::Range* ranges, const kde::IntervalOptions& options) {
  if (target.joint == nullptr) {
    const kde::DensityView density(target.one_column);
    if (moment == Moment::variance)
      ereport(ERROR,
              (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
               errmsg("a density of one column has no interval for a variance"),
               errhint("Name another column without bounds, of a density of several columns.")));
    return moment == Moment::sum ? kde::sum_interval(density, ranges[0], options)
                                 : kde::mean_interval(density, ranges[0], options);
  }
  const kde::JointView density(target.joint);
  const Box box = box_of(q, target, ranges);
  const kde::JointMoments m = joint_moments_of(density, box);
  switch (moment) {
    case Moment::sum:
      return kde::joint_sum_interval(density, m, box.least, box.most, options);
    case Moment::mean:
      return kde::joint_mean_interval(density, m, box.least, box.most, options);
    default:
      return kde::joint_variance_interval(density, m, options);
  }
}

}  // namespace kde_pg

KDE_FUNCTION(approx_count_joint) { return kde_pg::give(fcinfo, kde_pg::answer_count(fcinfo)); }
KDE_FUNCTION(approx_sum_joint) { return kde_pg::give(fcinfo, kde_pg::answer_sum(fcinfo)); }
KDE_FUNCTION(approx_avg_joint) { return kde_pg::give(fcinfo, kde_pg::answer_avg(fcinfo)); }
KDE_FUNCTION(approx_variance_joint) {
  return kde_pg::give(fcinfo, kde_pg::answer_variance(fcinfo, false));
}
KDE_FUNCTION(approx_stddev_joint) {
  return kde_pg::give(fcinfo, kde_pg::answer_variance(fcinfo, true));
}
KDE_FUNCTION(approx_count_ci_joint) {
  return kde_pg::give(fcinfo, kde_pg::answer_count_ci(fcinfo));
}
KDE_FUNCTION(approx_sum_ci_joint) {
  return kde_pg::give(fcinfo, kde_pg::answer_moment_ci(fcinfo, kde_pg::Moment::sum, "sum"));
}
KDE_FUNCTION(approx_avg_ci_joint) {
  return kde_pg::give(fcinfo, kde_pg::answer_moment_ci(fcinfo, kde_pg::Moment::mean, "mean"));
}
KDE_FUNCTION(approx_variance_ci_joint) {
  return kde_pg::give(fcinfo, kde_pg::answer_variance_ci(fcinfo));
}
