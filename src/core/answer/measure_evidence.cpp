// See measure_evidence.h.
#include "core/answer/measure_evidence.h"

#include "core/answer/interval_parts.h"
#include "core/kernel/normal.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Of a variance seen in few rows: so many of the whole column's are added to them.
constexpr double kRowsAdded = 2;

// A part is counted where it is needed, and once: that is nearly all that an answer costs.
class Answer {
 public:
  Answer(const DensityView& density, const MeasureView& measure, const Range& range)
      : density_(density), measure_(measure), m_(measure.header()), range_(range) {
    everything_ = !range.empty && has_every_row();
  }

  RangeMoments moments() const {
    RangeMoments out = mean_moments();
    if (!everything_ && out.finite > 0) {
      // Not by the mean, which has lost digits where it is far from 0.
      const double offset =
          std::clamp(mean_beyond_origin(), m_.min - m_.origin, m_.max - m_.origin);
      const double width = m_.max - m_.min;
      out.variance = std::clamp(
          m_.unit * m_.unit * part_rows(MeasurePart::squares) / part_rows(MeasurePart::rows) -
              offset * offset,
          0.0, width * width / 4);
    }
    return out;
  }

  // For an interval of sums or means: the variance where it has a part in that.
  RangeMoments moments_of_means() const { return is_sampled() ? moments() : mean_moments(); }

  // All but the variance.
  RangeMoments mean_moments() const {
    RangeMoments out;
    if (everything_) {
      out.count = out.finite = m_.rows;
      out.mean = m_.mean;
      out.variance = m_.variance;
      return out;
    }
    const double rows = part_rows(MeasurePart::rows);
    if (!(counted() > 0) || !(rows > 0)) return out;
    out.count = out.finite = counted();
    out.mean = std::clamp(m_.origin + mean_beyond_origin(), m_.min, m_.max);
    return out;
  }

  double rows() const { return everything_ ? m_.rows : counted(); }

  Interval count(const IntervalOptions& given) const {
    if (m_.nulls == 0) {
      Interval out = count_as_fitted(density_, range_, all_rows(), given);
      out.lower = out.estimate - std::hypot(out.estimate - out.lower, unseen_nulls(given));
      out.lower = std::max(out.lower, 0.0);
      return out;
    }
    Interval out = count_as_fitted(measure_.part(MeasurePart::rows), range_,
                                   part_rows(MeasurePart::rows), given);
    for (double* x : {&out.estimate, &out.lower, &out.upper}) *x *= m_.scale;
    return out;
  }

  // How far the mean of the rows seen may be from that of all, by what is stored: a bound.
  double stored(const RangeMoments& m, double fewest) const {
    return stored_beyond_origin(m, fewest, rounding(m) * m.finite);
  }

  // Of the mean of y - origin, whose sum double precision may have off by `rounding`.
  double stored_beyond_origin(const RangeMoments& m, double fewest, double rounding) const {
    const auto rounded = [this](MeasurePart p) {
      if (!m_.has(p)) return 0.0;
      const Header& h = measure_.part(p).header();
      return h.error * h.rows * ends_cut(h);
    };
    const double sums =
        m_.scale * m_.unit *
            (rounded(MeasurePart::above) + rounded(MeasurePart::below) + sum_within_cells()) +
        ends_cut() * m_.slack;
    const double error = sums + std::fabs(m.mean - m_.origin) * count_error() + rounding;
    return error > 0 ? error / std::max(fewest, 0.0) : 0;
  }

  // By double precision, of everything too.
  double rounding(const RangeMoments& m) const {
    const bool known = m_.decimals != kNoDecimals;
    // A sum over everything has all digits of doubles and whole numbers.
    const bool exact =
        known ? everything_ && m_.decimals == 0 && is_told_by_mean(m) : are_doubles(m_.value_type);
    const double values = exact ? 0 : std::max(std::fabs(m_.min), std::fabs(m_.max));
    const double origin = everything_ || !known ? 0 : std::fabs(m_.origin);
    const double off = sum_rounding(m.finite, values + origin, known ? m_.unit : 0);
    return (off + (everything_ ? 0 : parts_rounding())) / m.finite;
  }

  // By sampling: z times the standard error.
  double sampled(const RangeMoments& m, const IntervalOptions& options) const {
    const double z = normal_central_quantile(options.confidence);
    const double read = rows_read();
    const double all = rows_all();
    // One row tells nothing of how others differ.
    if (read < 2) return kInfinity;
    if (everything_)
      return (z + student_excess(z, std::max(together(read, m_.mean_variance[0]) - 1, 1.0))) *
             m_.mean_error;
    if (!(read > 0) || !(all > 0)) return 0;
    const double p = std::clamp(part_rows(MeasurePart::rows) / all, 0.0, 1.0);
    double v = p < 1 ? ratio_at(m_.mean_variance, std::min(p, 0.5)) : m_.mean_variance[0];
    if (!(v > 0) || !(p > 0)) return 0;
    if (measure_.effects() != nullptr)
      v *= not_too_sure(density_.header(), v, RangeEffects(measure_.effects()).mean_ratio(place()));
    const double rows = together(read * p, v);
    const double variance = (rows * m.variance + kRowsAdded * m_.variance) / (rows + kRowsAdded);
    const double deviations = z + student_excess(z, std::max(rows - 1, 2.0));
    return std::hypot(deviations * std::sqrt(v / (read * p)) * std::sqrt(variance),
                      z * ends_error(m));
  }

  // Of the errors of the count and of the mean by sampling.
  double correlation() const {
    if (everything_ || measure_.effects() == nullptr) return 0;
    return RangeEffects(measure_.effects()).correlation(place());
  }

  // Of the mean of the rows read, which is within [min, max] whatever is stored.
  Reach stored_of_mean(const RangeMoments& m) const {
    if (everything_) return {rounding(m), rounding(m)};
    // As many rows as were seen for certain; one at least.
    const double one = rows_read() > 0 ? m_.scale * rows_all() / rows_read() : 0;
    const double error = stored(m, std::max(m.finite - count_error(), std::min(one, m.finite)));
    return {std::min(error, std::max(m.mean - m_.min, 0.0)),
            std::min(error, std::max(m_.max - m.mean, 0.0))};
  }

  DrawnRows drawn(double confidence) const {
    if (m_.nulls == 0) return drawn_rows(density_.header(), confidence);
    DrawnRows out = drawn_rows(measure_.part(MeasurePart::rows).header(), confidence);
    out.all *= m_.scale;
    return out;
  }

  bool everything() const { return everything_; }
  // Not of every row.
  bool is_sampled() const { return m_.mean_error > 0 || m_.mean_variance[0] > 0; }

  // Twice the parts' errors in the squares.
  double stored_variance(const RangeMoments& m, double fewest) const {
    const double squares = m_.scale * m_.unit * m_.unit * part_error(MeasurePart::squares);
    const double error = squares + m.variance * count_error() +
                         m_.scale * m_.unit * m_.unit * part_rounding(MeasurePart::squares);
    // Of whole numbers y - origin is exact.
    const double mean = stored_beyond_origin(
        m, fewest, m_.decimals == 0 ? parts_rounding() : rounding(m) * m.finite);
    return (error > 0 ? error / std::max(fewest, 0.0) : 0) +
           mean * (2 * std::fabs(m.mean - m_.origin) + mean);
  }

  // At both ends.
  double count_error() const {
    if (!std::isnan(count_error_)) return count_error_;
    const Reach stored = stored_reach(
        m_.has(MeasurePart::rows) ? measure_.part(MeasurePart::rows) : density_, range_);
    const double scale = m_.has(MeasurePart::rows) ? m_.scale : 1;
    return count_error_ = scale * std::max(stored.below, stored.above);
  }

 private:
  // Among the cells of the column's list, over which effects of means are known.
  EffectPlace place() const {
    return place_of(RangeEffects(density_.effects()), density_.header(), range_);
  }

  // Rows that lie together are one.
  static double together(double rows, double v) { return rows / std::max(v, 1.0); }

  bool has_every_row() const {
    const Header& h = density_.header();
    if (range_.lower_unbounded && range_.upper_unbounded) return true;
    return h.nans + h.negative_infinities + h.positive_infinities == 0 &&
           has_every_finite_value(h, range_);
  }

  // Rows of the range that may be NULL though a sample met no NULL among its n there, 0 of every
  // row: the upper end of Clopper and Pearson (1934) for 0 of n, 1 - (alpha/2)^(1/n). Blocks count
  // for fewer rows, as for other counts.
  double unseen_nulls(const IntervalOptions& options) const {
    if (!m_.has(MeasurePart::rows) || !(all_rows() > 0)) return 0;
    const double blocks = measure_.part(MeasurePart::rows)
                              .header()
                              .count_variance[static_cast<int>(Shape::two_ends)][0];
    const double n =
        together(rows_read(), blocks) * std::min(all_rows() / density_.header().rows, 1.0);
    return n > 0 ? -std::expm1(std::log((1 - options.confidence) / 2) / n) * all_rows()
                 : all_rows();
  }

  // Of the column's own rows, whether y is NULL in them or not.
  double all_rows() const {
    if (std::isnan(all_rows_)) all_rows_ = kde::count(density_, range_);
    return all_rows_;
  }

  double mean_beyond_origin() const {
    const double sum = part_rows(MeasurePart::above) - part_rows(MeasurePart::below);
    return m_.unit * sum / part_rows(MeasurePart::rows);
  }

  // What a part has in the range.
  double part_rows(MeasurePart p) const {
    double& known = part_rows_[static_cast<int>(p)];
    if (std::isnan(known))
      known = m_.has(p)                ? kde::count(measure_.part(p), range_)
              : p == MeasurePart::rows ? all_rows() / m_.scale
                                       : 0;
    return known;
  }

  double counted() const {
    return m_.nulls != 0 ? m_.scale * part_rows(MeasurePart::rows) : all_rows();
  }

  // What rows that an end takes in or leaves out, where blocks lie in the order of x, do to the
  // mean: one standard deviation.
  double ends_error(const RangeMoments& m) const {
    const Header& h = density_.header();
    if (!(h.end_variance > 0)) return 0;
    const double end = std::sqrt(h.end_variance) * h.rows / m.finite;
    const double below = range_.lower_unbounded ? 0 : cdf(density_, range_.lower);
    const double through = range_.upper_unbounded ? 1 : cdf(density_, range_.upper);
    return end * std::hypot(mean_near(below) - m.mean, mean_near(through) - m.mean);
  }

  // Of y where x is near its quantile.
  double mean_near(double q) const {
    constexpr double kNear = 0.01;
    Range near;
    near.lower_unbounded = near.upper_unbounded = false;
    near.lower = quantile(density_, std::max(q - kNear, 0.0));
    near.upper = quantile(density_, std::min(q + kNear, 1.0));
    const RangeMoments m = Answer(density_, measure_, near).mean_moments();
    return m.finite > 0 ? m.mean : m_.mean;
  }

  // What double precision may lose of a part's weights, where they are not whole or too large: in
  // the difference of two sums over the rows below, and in the range itself with each row.
  double part_rounding(MeasurePart p) const {
    if (!m_.has(p)) return 0;
    const double all = measure_.part(p).header().rows;
    if (m_.decimals != kNoDecimals && all <= 0x1p53) return 0;
    return kRoundoff * (4 * all + part_rows(MeasurePart::rows) * part_rows(p));
  }
  double parts_rounding() const {
    return m_.scale * m_.unit *
           (part_rounding(MeasurePart::above) + part_rounding(MeasurePart::below));
  }

  // At both ends, in the part's weights.
  double part_error(MeasurePart p) const {
    if (!m_.has(p)) return 0;
    const Reach stored = stored_reach(measure_.part(p), range_);
    return std::max(stored.below, stored.above);
  }

  // How far the sum of y - origin may be off, in units, where ends cut cells: of k of a cell's n rows
  // it is at most sqrt(n sum of its squares), by Cauchy's and Schwarz's inequality, and so is its
  // distance from their share of the whole.
  double sum_within_cells() const {
    if (std::isnan(sum_within_)) sum_within_ = added_within_cells();
    return sum_within_;
  }
  double added_within_cells() const {
    if (!density_.header().has_exact_ends() || !m_.has(MeasurePart::squares)) return 0;
    const DensityView rows =
        m_.has(MeasurePart::rows) ? measure_.part(MeasurePart::rows) : density_;
    const DensityView squares = measure_.part(MeasurePart::squares);
    const double rounded = 2 * squares.header().error * squares.header().rows;
    double out = 0;
    for (const End& end : {lower_end(range_), upper_end(range_)}) {
      if (end.open) continue;
      const bool inclusive = end.inclusive == end.upper;
      const double n = cut_cell(rows, end.x, inclusive).rows;
      if (n > 0) out += std::sqrt(n * (cut_cell(squares, end.x, inclusive).rows + rounded));
    }
    return out;
  }

  int ends_cut(const Header& h) const {
    return int{lower_end(range_).cuts(h)} + int{upper_end(range_).cuts(h)};
  }
  int ends_cut() const {
    const auto inside = [this](const End& end) {
      return std::isfinite(end.x) && !end.is_exact(density_.header()) ? 1 : 0;
    };
    return inside(lower_end(range_)) + inside(upper_end(range_));
  }

  // Of the sample, and of the part that counts them.
  double rows_read() const {
    return m_.has(MeasurePart::rows) ? measure_.part(MeasurePart::rows).header().sample_rows
                                     : density_.header().sample_rows;
  }
  double rows_all() const {
    return m_.has(MeasurePart::rows) ? measure_.part(MeasurePart::rows).header().rows
                                     : density_.header().rows;
  }

  const DensityView& density_;
  const MeasureView& measure_;
  const MeasureHeader& m_;
  const Range& range_;
  bool everything_;
  // NaN: not counted yet. All but the rows in units.
  mutable double all_rows_ = kNan;
  mutable double part_rows_[kMeasureParts] = {kNan, kNan, kNan, kNan};
  mutable double count_error_ = kNan, sum_within_ = kNan;
};

// Whether values that differ may be one double.
bool lost_digits(const MeasureHeader& h) {
  if (are_doubles(h.value_type)) return false;
  return h.decimals == kNoDecimals || stands_for_several(h.value_type, h.min) ||
         stands_for_several(h.value_type, h.max);
}

double variance_half(const Answer& answer, const MeasureHeader& h, const Header& all,
                     const RangeMoments& m, double fewest, double sampled, double confidence) {
  double half = 0;
  if (!answer.everything()) half += answer.stored_variance(m, fewest);
  if (answer.is_sampled()) {
    // That of a mean of (y - mean)^2, whose own variance is not known: of the most that values in
    // [min, max] can have with this mean square, (m4 - m2^2) <= m2 (w^2 - m2), w the farthest.
    const double farthest = std::max(h.max - m.mean, m.mean - h.min);
    const double spread = std::max(farthest * farthest - m.variance, 0.0);
    // As many independent values as would leave the mean's error.
    const double root = sampled / normal_central_quantile(confidence);
    const double values = root > 0 ? m.variance / root / root : kInfinity;
    const bool told = tells_fourth_moment(farthest * farthest, m.variance, values);
    half += std::isinf(sampled) || !told ? kInfinity : sampled * std::sqrt(spread);
  }
  const bool exact = h.decimals == 0 || are_doubles(h.value_type);
  if ((all.flags & kFitted) == 0 || !exact)
    half += variance_rounding(h.min, h.max, lost_digits(h), h.variance, m.variance);
  return half;
}

// y lies anywhere, wherever x does.
ChangedRows changed_y(const DensityView& density, const MeasureHeader& m,
                      const IntervalOptions& options) {
  const bool every = (density.header().flags & kEveryRowRead) != 0;
  return m.rows > 0 || !every ? changed_rows(every, m.min, m.max, options)
                              : changed_rows(true, kInfinity, -kInfinity, options);
}

}  // namespace

RangeMoments measure_moments(const DensityView& density, const MeasureView& measure,
                             const Range& range) {
  return Answer(density, measure, range).moments();
}

double measure_count(const DensityView& density, const MeasureView& measure, const Range& range) {
  return Answer(density, measure, range).rows();
}

double measure_count_error(const DensityView& density, const MeasureView& measure,
                           const Range& range) {
  return Answer(density, measure, range).count_error();
}

Evidence evidence_of(Wanted wanted, const DensityView& density, const MeasureView& measure,
                     const Range& range, const IntervalOptions& options) {
  Evidence e;
  if (is_empty(range)) return e;
  const Answer answer(density, measure, range);
  const MeasureHeader& h = measure.header();
  e.changed = changed_y(density, h, with_unsure_ends(density, range, options));
  e.count = answer.count(options);
  e.drawn = answer.drawn(options.confidence);
  if (wanted == Wanted::count) return e;
  const bool known = (density.header().flags & kEveryRowRead) != 0 && h.rows > 0;
  e.values =
      known ? ValueBounds{h.min, h.max} : ValueBounds{options.least_value, options.greatest_value};
  const RangeMoments m = wanted >= Wanted::variance ? answer.moments() : answer.moments_of_means();
  if (!(m.finite > 0)) {
    e.unseen = std::max(e.count.upper, 0.0);
    e.unseen_values = e.values;
    return e;
  }
  e.rows = m.finite;
  e.mean = e.varying = m.mean;
  e.more = {m.mean, m.mean};
  e.variance = m.variance;
  const double stored =
      m.finite * (answer.everything() ? answer.rounding(m) : answer.stored(m, m.finite));
  e.stored_sum = {stored, stored};
  e.stored_mean = answer.stored_of_mean(m);
  const double sampled = answer.is_sampled() ? answer.sampled(m, options) : 0;
  e.sampled = {sampled, sampled};
  e.correlation = answer.correlation();
  if (wanted >= Wanted::variance)
    e.variance_half =
        variance_half(answer, h, density.header(), m, e.count.lower, sampled, options.confidence);
  return e;
}

}  // namespace kde
