// See interval.h. With n points, the fraction p of the rows in the box, s and R the density's
// sampling and reading variances, c and q its ratios of errors at p (count_error, mean_error):
//
//   count      Wilson's interval for p with p (1 - p) (s c + R)/n; quadrature's error in addition
//   mean       variance of the target within the box times (s q + R)/(n p), Student's for the few
//              points of a small box
//   sum        count times mean, in quadrature, as in integrate/interval.h
//   variance   (fourth central moment - variance^2) (s q + R)/(n p)
//
// What a column's own distribution answers is subject to the reading of rows alone, and to the
// histogram's Header::error.
#include "core/joint/interval.h"

#include "core/integrate/interval_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Points of the target's overall spread that a box's few are joined by, as far as the error is
// the sample's: two, as for one column.
constexpr double kPointsAdded = 2;
// Shares of the rows below that are as good as none; their inverse does not overflow.
constexpr double kLeastFinite = 1e-100;

class Uncertainty {
 public:
  Uncertainty(const JointView& density, const JointMoments& m, const IntervalOptions& options)
      : density_(density), h_(density.header()), m_(m), z_(normal_quantile(options.confidence)) {
    const double rows = h_.rows > 0 ? h_.rows : 1;
    p_ = std::clamp(m.count / rows, 0.0, 1.0);
    finite_ = std::clamp(m.finite / rows, 0.0, 1.0);
  }

  Interval count(double changed) const {
    Interval out;
    out.estimate = out.lower = out.upper = m_.count;
    double low, high;
    wilson_interval(p_, unit_variance(h_.count_error, p_, m_.count_is_marginal), z_, &low, &high);
    const double stored = stored_error() + z_ * m_.quadrature_error;
    out.lower = std::clamp(low * h_.rows - stored, 0.0, m_.count);
    out.upper = std::max(std::min(high * h_.rows + stored, h_.rows), m_.count);
    out.lower = std::max(out.lower - changed, 0.0);
    out.upper += changed;
    return out;
  }

  // Half the width of the mean's interval.
  double mean_half(double least, double most) const {
    const double points = h_.points * finite_;
    const double raw = raw_share();
    const double added = kPointsAdded * raw;
    const double spread = spread_beyond(least, most);
    // Of standard deviations, whose squares may overflow where they do not.
    const double share = points + added > 0 ? points / (points + added) : 1;
    const double deviation =
        std::hypot(std::sqrt(share * m_.variance), std::sqrt(1 - share) * spread);
    const double v = mean_variance();
    const double deviations = z_ + raw * student_excess(z_, std::max(points - 1, 2.0));
    return v > 0 && deviation > 0 ? deviations * std::sqrt(v) * deviation : 0;
  }

  double variance_half() const {
    const double v = mean_variance();
    // Not a number where both overflow.
    const double excess = m_.fourth - m_.variance * m_.variance;
    const double points = std::max(h_.points * finite_ - 1, 2.0);
    if (!(v > 0) || excess <= 0) return 0;
    if (!std::isfinite(excess)) return std::numeric_limits<double>::infinity();
    return (z_ + student_excess(z_, points)) * std::sqrt(v) * std::sqrt(excess);
  }

  double stored_error() const {
    if (!m_.count_is_marginal) return 0;
    double error = 0;
    for (int k = 0; k < density_.columns(); ++k)
      error = std::max(error, density_.marginal(k)->error);
    return 2 * error * h_.rows;
  }

 private:
  // (s c + R)/n.
  double unit_variance(const float (&ratios)[kErrorScales], double p, bool marginal) const {
    const double sampled = marginal ? 0 : h_.sampling_variance * error_ratio(ratios, p);
    return (sampled + h_.reading_variance) / h_.points;
  }

  // The variance of a mean in units of the target's. However well halves predicted, a mean of few
  // points varies as one of that many (Kish's effective size).
  double mean_variance() const {
    const double measured = unit_variance(h_.mean_error, finite_, m_.moments_are_marginal) /
                            std::max(finite_, kLeastFinite);
    if (m_.moments_are_marginal || !(m_.effective_points > 0)) return measured;
    return std::max(measured, h_.sampling_variance / m_.effective_points);
  }

  // How far the mean's error is the raw sample's.
  double raw_share() const {
    return std::min<double>(error_ratio(h_.mean_error, std::max(finite_, 1e-9)), 1.0);
  }

  // The standard deviation of values of which nothing is known but that they lie between the
  // target's bounds, or that they are the column's.
  double spread_beyond(double least, double most) const {
    if (m_.target < 0) return 0;
    const Header& column = *density_.marginal(m_.target);
    const double low = std::max(least, column.min);
    const double high = std::min(most, column.max);
    const double even = high > low ? (high - low) / std::sqrt(12.0) : 0;
    return std::min(even, std::sqrt(std::max(column.variance, 0.0)));
  }

  const JointView& density_;
  const JointHeader& h_;
  const JointMoments& m_;
  double z_, p_, finite_;
};

}  // namespace

Interval joint_count_interval(const JointView& density, const JointMoments& m,
                              const IntervalOptions& options) {
  return Uncertainty(density, m, options).count(options.changed_rows);
}

Interval joint_sum_interval(const JointView& density, const JointMoments& m, double least,
                            double most, const IntervalOptions& options) {
  if (!(m.finite > 0)) return {kNan, kNan, kNan};
  const Uncertainty uncertainty(density, m, options);
  const Interval count = uncertainty.count(0);
  Interval out;
  out.estimate = m.mean * m.finite;
  const double share = m.count > 0 ? m.finite / m.count : 1;
  const double mean_half = uncertainty.mean_half(least, most) * m.finite;
  const double fewer = std::fabs(m.mean) * (count.estimate - count.lower) * share;
  const double more = std::fabs(m.mean) * (count.upper - count.estimate) * share;
  out.lower = out.estimate - std::hypot(m.mean < 0 ? more : fewer, mean_half);
  out.upper = out.estimate + std::hypot(m.mean < 0 ? fewer : more, mean_half);
  const Header& column = *density.marginal(m.target);
  // Rows of a column on one side of 0 have a sum on that side.
  if (std::max(least, column.min) >= 0)
    out.lower = std::max(out.lower, std::min(0.0, out.estimate));
  if (std::min(most, column.max) <= 0) out.upper = std::min(out.upper, std::max(0.0, out.estimate));
  if (options.changed_rows > 0) {
    const double magnitude =
        std::max(std::fabs(std::max(least, column.min)), std::fabs(std::min(most, column.max)));
    const double reach = std::max(magnitude, column.max - column.min) * options.changed_rows;
    out.lower -= reach;
    out.upper += reach;
  }
  return out;
}

Interval joint_mean_interval(const JointView& density, const JointMoments& m, double least,
                             double most, const IntervalOptions& options) {
  if (!(m.finite > 0)) return {kNan, kNan, kNan};
  const Uncertainty uncertainty(density, m, options);
  const Header& column = *density.marginal(m.target);
  const double low = std::max(least, column.min);
  const double high = std::min(most, column.max);
  double half = uncertainty.mean_half(least, most);
  if (options.changed_rows > 0)
    half += std::min(options.changed_rows / m.finite, 1.0) * (high - low);
  Interval out;
  out.estimate = m.mean;
  out.lower = std::min(std::max(m.mean - half, low), m.mean);
  out.upper = std::max(std::min(m.mean + half, high), m.mean);
  return out;
}

Interval joint_variance_interval(const JointView& density, const JointMoments& m,
                                 const IntervalOptions& options) {
  if (!(m.finite > 0)) return {kNan, kNan, kNan};
  const double half = Uncertainty(density, m, options).variance_half();
  Interval out;
  out.estimate = m.variance;
  out.lower = half < m.variance ? m.variance - half : 0;
  out.upper = m.variance + half;
  return out;
}

}  // namespace kde
