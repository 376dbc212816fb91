// approx_count, approx_sum, approx_avg, approx_variance and approx_stddev of a table's rows in a
// box, and their intervals.
#include "pg/answer/joint_answer.h"

#include "pg/answer/answer.h"
#include "pg/answer/beyond_fit.h"
#include "pg/answer/intervals.h"

#include "core/kde.h"

extern "C" {
#include "utils/float.h"
}

#include <cmath>
#include <span>

namespace kde_pg {

namespace {

std::span<const kde::BoxSide> sides_of(const Box& box) {
  return {box.side, static_cast<std::size_t>(box.sides)};
}

kde::JointMoments joint_moments_of(const kde::JointView& density, const Box& box) {
  return kde::joint_moments(density, sides_of(box), box.target);
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
  check_beyond_fit(call->question, call->target, call->ranges);
  if (with == With::interval) take_in_changes(call->target.fit, &call->options);
}

// False where no row has a value of the target.
bool read_call_moments(FunctionCallInfo fcinfo, With with, Call* call, kde::RangeMoments* m) {
  read_call(fcinfo, Of::target, with, call);
  *m = moments_of(call->question, call->target, call->ranges);
  return m->finite + m->nans + m->negative_infinities + m->positive_infinities > 0;
}

// names: the arguments that say what is asked about: relation, [target,] columns.
Datum give(FunctionCallInfo fcinfo, int names, Result (*answer)(FunctionCallInfo)) {
  if (is_null_density(fcinfo, names)) PG_RETURN_NULL();
  const Result result = answer(fcinfo);
  if (result.is_null) PG_RETURN_NULL();
  return result.value;
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

Result variance_or_root(FunctionCallInfo fcinfo, bool root) {
  Call call;
  kde::RangeMoments m;
  double correction;
  if (!read_call_moments(fcinfo, With::answer, &call, &m)) return Result::null();
  if (!has_variance(m, &correction)) return Result::null();
  const double variance = m.variance * correction;
  if (std::isinf(variance)) float_overflow_error();
  return Result::number(root ? std::sqrt(variance) : variance);
}

Result answer_variance(FunctionCallInfo fcinfo) { return variance_or_root(fcinfo, false); }

Result answer_stddev(FunctionCallInfo fcinfo) { return variance_or_root(fcinfo, true); }

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

Result answer_sum_ci(FunctionCallInfo fcinfo) {
  return answer_moment_ci(fcinfo, Moment::sum, "sum");
}

Result answer_avg_ci(FunctionCallInfo fcinfo) {
  return answer_moment_ci(fcinfo, Moment::mean, "mean");
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

}  // namespace

double count_of(const Question& q, const JointTarget& target, const kde::Range* ranges) {
  if (target.joint == nullptr) return kde::count(kde::DensityView(target.one_column), ranges[0]);
  const kde::JointView density(target.joint);
  return joint_moments_of(density, box_of(q, target, ranges)).count;
}

kde::Interval count_interval_of(const Question& q, const JointTarget& target,
                                const kde::Range* ranges, const kde::IntervalOptions& options) {
  if (target.joint == nullptr)
    return kde::count_interval(kde::DensityView(target.one_column), ranges[0], options);
  const kde::JointView density(target.joint);
  const Box box = box_of(q, target, ranges);
  const kde::JointMoments m = joint_moments_of(density, box);
  return kde::joint_count_interval(density, sides_of(box), m, options);
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
      return kde::joint_sum_interval(density, sides_of(box), m, options);
    case Moment::mean:
      return kde::joint_mean_interval(density, sides_of(box), m, options);
    default:
      return kde::joint_variance_interval(density, sides_of(box), m, options);
  }
}

}  // namespace kde_pg

#define KDE_JOINT_ANSWER(name, names, answer) \
  KDE_FUNCTION(name##_joint) { return kde_pg::give(fcinfo, names, kde_pg::answer); }

KDE_JOINT_ANSWER(approx_count, 2, answer_count)
KDE_JOINT_ANSWER(approx_sum, 3, answer_sum)
KDE_JOINT_ANSWER(approx_avg, 3, answer_avg)
KDE_JOINT_ANSWER(approx_variance, 3, answer_variance)
KDE_JOINT_ANSWER(approx_stddev, 3, answer_stddev)
KDE_JOINT_ANSWER(approx_count_ci, 2, answer_count_ci)
KDE_JOINT_ANSWER(approx_sum_ci, 3, answer_sum_ci)
KDE_JOINT_ANSWER(approx_avg_ci, 3, answer_avg_ci)
KDE_JOINT_ANSWER(approx_variance_ci, 3, answer_variance_ci)
