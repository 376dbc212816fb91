// See box_evidence.h. With n points, the fraction p of the rows in the box, s, R and V the density's
// sampling_variance, reading_variance and rows_variance, c and q its ratios of errors at p
// (count_error, mean_error; of `auto` at least 1, as what smoothing gains is known on average alone,
// and not of this box), E the design effect of the box's columns or of the target at p:
//
//   count      Wilson's interval for p with p (1 - p) (s c + R E)/n; p^2 V, the variance of the
//              number of rows, which is independent, in quadrature; quadrature's error in addition.
//              E of three columns or more is the largest of any two
//   mean       variance of the target within the box times
//                max((s + R min(E, 1)) q/(n p), (s + R min(E, 1))/n') + R max(E - 1, 0)/(n p),
//              n' being Kish's effective number of points, and Student's for the few of a small box
//              or the few blocks of rows that are alike: what halves of the sample tell of a mean's
//              error holds for the rows that were read as well, but not for what these have in
//              common with their block
//   variance   (fourth central moment - variance^2) times the mean's factor
//
// Few points of a heavy tail do not tell its variance: they are joined by as many points of the
// column's own as a variance is uncertain beside a normal sample's, (kurtosis - 1)/2 times two. And
// the mean lies farther from theirs towards the longer tail, by the skewness times
// (2 z^2 + 1)/(6 z sqrt(n')) of the interval's half: N. J. Johnson, JASA 73 (1978).
//
// What a column's own distribution answers has its evidence.
//
// Where a density has contrasts (contrasts.h) E is that of this very box: what is known of boxes of
// the columns is then no more than how far it may be below 1. Else it is that of boxes that hold p.
//
// Of a category's values E of a count is at least theirs, thinned to the share p/p_0 of their rows that is in the box: 1 +
// (E_0 - 1) p/p_0, E_0 being the design effect of all of them. And no box has more rows than its
// values have by themselves. Rows of a value are few, and such a box is asked for because they are
// there: of k points, p n over the variance's factor, the lower end is at most Byar's of a Poisson
// number, k (1 - 1/(9 k) - z/(3 sqrt(k)))^3 (K. J. Rothman & J. D. Boice, Epidemiologic Analysis
// with a Programmable Calculator, 1979), as Wilson's is too high of one or two.
//
// Values that are not kept, or were not met, may have from none to all of the rows that such values
// have in the box, and as many as a sample may miss: what is known of the others is added to that.
#include "core/joint/box_evidence.h"

#include "core/answer/interval_parts.h"
#include "core/density/single_values.h"
#include "core/kernel/normal.h"
#include "core/sampling/block_variance.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Points of the target's overall spread that a box's few are joined by, as far as the error is
// the sample's: two, as for one column.
constexpr double kPointsAdded = 2;
constexpr double kElsewhere = 8;
// Shares of the rows below that are as good as none; their inverse does not overflow.
constexpr double kLeastFinite = 1e-100;

// What the box asks of column k; without bounds where it asks nothing.
Range range_of(std::span<const BoxSide> sides, int k) {
  for (const BoxSide& side : sides) {
    if (side.column == k) return side.range;
  }
  return {};
}

bool asks_values(const BoxSide& side) { return side.words != nullptr; }

// Whether a column was NULL wherever it was read, and need not be elsewhere.
bool is_unmet(const JointView& density, int column) {
  const Header& h = *density.marginal(column);
  return h.rows == 0 && (h.flags & kEveryRowRead) == 0;
}

// How many of the values that are asked for are not known, or are kept (an enum's labels are) but
// were not met among the rows read.
double unmet(const JointView& density, const BoxSide& side) {
  if (!asks_values(side)) return 0;
  double out = side.words->unknown;
  const DensityView marginal(density.marginal(side.column));
  const WordsView words = density.words(side.column);
  const WordsHeader& h = words.header();
  const bool all_met = h.words == h.distinct - h.others;
  if (all_met || (marginal.header().flags & kEveryRowRead) != 0) return out;
  for (const std::uint32_t& rank : side.words->ranks) {
    if (!(words_count(marginal, words, {{&rank, 1}, 0}) > 0)) ++out;
  }
  return out;
}

bool any_unmet(const JointView& density, std::span<const BoxSide> sides) {
  return std::any_of(sides.begin(), sides.end(),
                     [&](const BoxSide& side) { return unmet(density, side) > 0; });
}

// A box with other values of its categories in the place of those that were not met.
class OtherBox {
 public:
  OtherBox(const JointView& density, std::span<const BoxSide> sides, double unknown)
      : count_(sides.size()) {
    for (std::size_t i = 0; i < count_; ++i) {
      side_[i] = sides[i];
      if (unmet(density, side_[i]) > 0) set(i, {side_[i].words->ranks, unknown});
    }
  }
  // With a value that was not met in the place of all values of a category of which none was.
  OtherBox(const JointView& density, std::span<const BoxSide> sides) : count_(sides.size()) {
    for (std::size_t i = 0; i < count_; ++i) {
      side_[i] = sides[i];
      const int k = sides[i].column;
      if (!asks_values(side_[i]) && density.column(k).is_category() && is_unmet(density, k))
        set(i, {{}, 1});
    }
  }
  OtherBox(const OtherBox&) = delete;
  OtherBox& operator=(const OtherBox&) = delete;
  std::span<const BoxSide> sides() const { return {side_, count_}; }

 private:
  void set(std::size_t i, const WordSet& words) {
    words_[i] = words;
    side_[i].words = &words_[i];
  }

  std::size_t count_;
  BoxSide side_[kMaxColumns];
  WordSet words_[kMaxColumns];
};

// Of the rows that have a category's values, in the table.
Interval value_count(const JointView& density, const BoxSide& side, const WordSet& words,
                     double confidence) {
  IntervalOptions options;
  options.confidence = confidence;
  Interval out = interval_of(Wanted::count, DensityView(density.marginal(side.column)),
                             density.words(side.column), words, options);
  for (double* x : {&out.estimate, &out.lower, &out.upper})
    *x *= density.marginal_scale(side.column);
  return out;
}

// Where the target's values were, those that were read.
struct Bounds {
  double low, high;

  Bounds(const JointView& density, std::span<const BoxSide> sides, int target)
      : low(density.marginal(target)->min), high(density.marginal(target)->max) {
    const Range own = range_of(sides, target);
    if (!own.lower_unbounded) low = std::max(low, own.lower);
    if (!own.upper_unbounded) high = std::min(high, own.upper);
  }
};

// Where they lie, read or not.
ValueBounds values_of(const JointView& density, std::span<const BoxSide> sides, int target,
                      const IntervalOptions& options) {
  const Header& h = *density.marginal(target);
  ValueBounds out = {options.least_value, options.greatest_value};
  if ((h.flags & kEveryRowRead) != 0) out = {h.min, h.max};
  out.narrow(range_of(sides, target));
  return out;
}

class Uncertainty {
 public:
  Uncertainty(const JointView& density, std::span<const BoxSide> sides, const JointMoments& m,
              const IntervalOptions& options)
      : density_(density),
        h_(density.header()),
        sides_(sides),
        m_(m),
        options_(options),
        z_(normal_central_quantile(options.confidence)) {
    const double rows = h_.rows > 0 ? h_.rows : 1;
    p_ = std::clamp(m.count / rows, 0.0, 1.0);
    finite_ = std::clamp(m.finite / rows, 0.0, 1.0);
  }

  Interval count() const {
    Interval out = m_.count_is_marginal ? marginal_count() : count_of_points();
    if (!m_.count_is_marginal)
      out.upper = std::max(std::min(out.upper, most_by_values()), m_.count);
    return out;
  }

  // How far the mean may be below the estimate, and above it.
  Reach mean_reach() const {
    const double points = std::max(h_.points * finite_, m_.effective_points);
    const double raw = raw_share();
    const double kurtosis = m_.variance > 0 ? m_.fourth / m_.variance / m_.variance : 0;
    const double added = kPointsAdded * raw * std::max((kurtosis - 1) / 2, 1.0);
    const double spread = spread_beyond();
    // Of standard deviations, whose squares may overflow where they do not.
    const double share = points + added > 0 ? points / (points + added) : 1;
    const double deviation =
        std::hypot(std::sqrt(share * m_.variance), std::sqrt(1 - share) * spread);
    const double v = mean_variance();
    // Rows that are alike in their blocks are as many as these tell apart.
    const double apart = h_.points * finite_ / std::max(1 - h_.sampling_variance, kLeastFinite) /
                         std::max(mean_effect(), 1.0);
    const double degrees = h_.reading_variance > 0 ? std::min(points, apart) : points;
    const double deviations = z_ + raw * student_excess(z_, std::max(degrees - 1, 2.0));
    const double rounding = value_rounding();
    if (!(v > 0 && deviation > 0)) return {rounding, rounding};
    const double half = deviations * std::sqrt(v) * deviation + rounding;
    const double root = std::sqrt(m_.variance);
    const double skewness = root > 0 ? m_.third / m_.variance / root : 0;
    const double tail = raw * skewness * (2 * z_ * z_ + 1) / (6 * z_ * std::sqrt(points));
    // Of moments that overflow nothing is known.
    if (!std::isfinite(tail)) return {half, half};
    return {half * (1 + std::max(-tail, 0.0)), half * (1 + std::max(tail, 0.0))};
  }

  double variance_half() const {
    const double off = value_rounding();
    return sampled_variance_half() + off * (2 * std::sqrt(m_.variance) + off);
  }

  double points_upper() const { return count_of_points().upper; }

 private:
  double sampled_variance_half() const {
    const double v = mean_variance();
    // Not a number where both overflow.
    const double excess = m_.fourth - m_.variance * m_.variance;
    const double points = std::max(h_.points * finite_ - 1, 2.0);
    if (!(v > 0) || excess <= 0) return 0;
    const Bounds at(density_, sides_, m_.target);
    const double farthest = std::max(at.high - m_.mean, m_.mean - at.low);
    if (!tells_fourth_moment(farthest * farthest, m_.variance, points))
      return std::numeric_limits<double>::infinity();
    if (!std::isfinite(excess)) return std::numeric_limits<double>::infinity();
    return (z_ + student_excess(z_, points)) * std::sqrt(v) * std::sqrt(excess);
  }

  Interval count_of_points() const {
    Interval out;
    out.estimate = m_.count;
    double low, high;
    const double unit = count_variance() / h_.points;
    wilson_interval(p_, unit, z_, &low, &high);
    if (unit > 0 && std::any_of(sides_.begin(), sides_.end(), asks_values))
      low = std::min(low, unit * fewest_of(p_ / unit));
    const double all = z_ * std::sqrt(h_.rows_variance) * m_.count;
    const double quadrature = z_ * m_.quadrature_error;
    out.lower = m_.count - std::hypot(m_.count - low * h_.rows, all) - quadrature;
    out.upper = m_.count + std::hypot(high * h_.rows - m_.count, all) + quadrature;
    if (h_.rows_variance == 0) out.upper = std::min(out.upper, h_.rows);
    out.lower = std::clamp(out.lower, 0.0, m_.count);
    out.upper = std::max(out.upper, m_.count);
    return out;
  }

  double fewest_of(double points) const {
    if (!(points > 0)) return 0;
    return points * std::pow(std::max(1 - 1 / (9 * points) - z_ / (3 * std::sqrt(points)), 0.0), 3);
  }

  // Of all rows, or those of one column's range.
  Interval marginal_count() const {
    for (const BoxSide& side : sides_) {
      if (is_condition(side)) return marginal_count(side);
    }
    const double all = z_ * std::sqrt(h_.rows_variance) * m_.count;
    return {m_.count, std::max(m_.count - all, 0.0), m_.count + all};
  }

  Interval marginal_count(const BoxSide& side) const {
    if (asks_values(side)) return value_count(density_, side, *side.words, options_.confidence);
    if (is_unmet(density_, side.column)) return count_of_points();
    IntervalOptions options;
    options.confidence = options_.confidence;
    const double scale = density_.marginal_scale(side.column);
    // Rows beside its ends come with those changed.
    const DensityView marginal(density_.marginal(side.column));
    Interval out = evidence_of(Wanted::count, marginal, side.range, options).count;
    for (double* x : {&out.estimate, &out.lower, &out.upper}) *x *= scale;
    return out;
  }

  bool is_condition(const BoxSide& side) const {
    if (density_.column(side.column).is_category())
      return asks_values(side) || density_.marginal(side.column)->nulls > 0;
    return !side.range.lower_unbounded || !side.range.upper_unbounded ||
           density_.marginal(side.column)->nulls > 0;
  }

  // Of p, times n/(p (1 - p)).
  double count_variance() const {
    double effect = 0;
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      for (const BoxSide& other : sides_.first(i)) {
        if (is_condition(sides_[i]) && is_condition(other))
          effect =
              std::max(effect, ratio_at(density_.count_effect(sides_[i].column, other.column), p_));
      }
    }
    if (effect == 0) effect = 1;  // one column, by name
    effect = effect_here(m_.count_effect, effect);
    for (const BoxSide& side : sides_) effect = std::max(effect, effect_of_values(side));
    return h_.sampling_variance * error_ratio(h_.count_error, p_) + h_.reading_variance * effect;
  }

  // By what is known of the rows of a category's values; 0: nothing.
  double effect_of_values(const BoxSide& side) const {
    if (!asks_values(side) || !(h_.reading_variance > 0)) return 0;
    const DensityView marginal(density_.marginal(side.column));
    const WordsView words = density_.words(side.column);
    const double rows = words_count(marginal, words, *side.words);
    const double read = marginal.header().sample_rows;
    if (!(rows > 0 && read > 0)) return 0;
    const double all =
        words_spread(marginal, words, *side.words) * h_.points / read / h_.reading_variance;
    const double share = std::min(m_.count / (rows * density_.marginal_scale(side.column)), 1.0);
    return 1 + (all - 1) * share;
  }

  double most_by_values() const {
    double most = std::numeric_limits<double>::infinity();
    for (const BoxSide& side : sides_) {
      if (asks_values(side))
        most = std::min(most, value_count(density_, side, *side.words, options_.confidence).upper);
    }
    return most;
  }

  double mean_effect() const {
    if (m_.target < 0) return 1;
    const Range own = range_of(sides_, m_.target);
    const bool bounded = !own.lower_unbounded || !own.upper_unbounded;
    return effect_here(m_.mean_effect, ratio_at(density_.mean_effect(m_.target, bounded), finite_));
  }

  // Of the rows that were read, by what this box's points have, if they tell: with as many degrees of
  // freedom as there are contrasts. Few of them that have some of the points may show too little, by
  // chance: they are joined by what boxes of the columns show elsewhere, as kElsewhere contrasts. That
  // neighbours are alike in order, which makes it less than 1, is believed as far as it is so elsewhere.
  double effect_here(double of_points, double elsewhere) const {
    if (!(of_points > 0)) return elsewhere;
    const double drawn = std::max(1 - h_.sampling_variance, kLeastFinite);
    const double effect = without_thinning(of_points, drawn);
    const double few = 1 + student_excess(z_, std::max(h_.contrasts - 1.0, 2.0)) / z_;
    const double joined =
        (m_.contrasts * effect + kElsewhere * elsewhere) / (m_.contrasts + kElsewhere);
    return std::max({1 + (effect - 1) * few * few, joined, std::min(elsewhere, 1.0)});
  }

  // The variance of a mean in units of the target's. However well halves predicted, a mean of few
  // points varies as one of that many.
  double mean_variance() const {
    const double effect = mean_effect();
    const double points = h_.points * std::max(finite_, kLeastFinite);
    const double mixed = h_.sampling_variance + h_.reading_variance * std::min(effect, 1.0);
    const double told = m_.mean_effect > 0 ? m_.effective_points : points;
    const double alike = h_.reading_variance * std::max(effect - 1, 0.0) / told;
    const double measured = mixed * error_ratio(h_.mean_error, finite_) / points;
    const double least = m_.effective_points > 0 ? mixed / m_.effective_points : 0;
    return std::max(measured, least) + alike;
  }

  // How far the mean's error is the raw sample's.
  double raw_share() const {
    return std::min<double>(error_ratio(h_.mean_error, std::max(finite_, 1e-9)), 1.0);
  }

  double error_ratio(const float (&measured)[kErrorScales], double share) const {
    const double ratio = ratio_at(measured, share);
    return density_.has_values() ? std::max(ratio, 1.0) : ratio;
  }

  // How far the mean of values as they are stored may be from that of the values, or one from the
  // other.
  double value_rounding() const {
    const JointColumn& c = density_.column(m_.target);
    if (c.value_bytes == 0) return 0;
    const double farthest = std::hypot(m_.mean - c.value_center, std::sqrt(m_.variance));
    if ((c.flags & kLatticeValues) == 0)
      return raw_slack(c.value_bytes) * farthest + kRoundoff * std::fabs(c.value_center);
    const double largest = std::fabs(c.value_center) + std::fabs(m_.mean) + farthest;
    const double lost =
        may_have_lost_digits(*density_.marginal(m_.target)) ? kRoundoff * largest : 0;
    return lost + (m_.finite > 0 ? sum_rounding(m_.finite, largest, c.value_unit) / m_.finite : 0);
  }

  // The standard deviation of values of which nothing is known but that they lie between the
  // target's bounds, or that they are the column's.
  double spread_beyond() const {
    if (m_.target < 0) return 0;
    const Bounds at(density_, sides_, m_.target);
    const double even = at.high > at.low ? (at.high - at.low) / std::sqrt(12.0) : 0;
    return std::min(even, std::sqrt(std::max(density_.marginal(m_.target)->variance, 0.0)));
  }

  const JointView& density_;
  const JointHeader& h_;
  std::span<const BoxSide> sides_;
  const JointMoments& m_;
  const IntervalOptions& options_;
  double z_, p_, finite_;
};

// Of values that were met; m: of points, with finite ones.
Evidence evidence_of_met(const JointView& density, std::span<const BoxSide> sides,
                         const JointMoments& m, const IntervalOptions& options) {
  const Uncertainty uncertainty(density, sides, m, options);
  Evidence e;
  const Interval count = uncertainty.count();
  const double share = m.count > 0 ? m.finite / m.count : 1;
  e.count = {m.finite, m.finite - (count.estimate - count.lower) * share,
             m.finite + (count.upper - count.estimate) * share};
  e.rows = m.finite;
  e.mean = e.varying = m.mean;
  e.more = {m.mean, m.mean};
  e.variance = m.variance;
  e.sampled = uncertainty.mean_reach();
  e.variance_half = uncertainty.variance_half();
  return e;
}

// A box with values that are not known, by what is known of its others.
class PartlyKnown {
 public:
  PartlyKnown(const JointView& density, std::span<const BoxSide> sides, const JointMoments& m,
              const IntervalOptions& options)
      : density_(density), m_(m), options_(options), known_(density, sides, 0) {
    const OtherBox all(density, sides, std::numeric_limits<double>::infinity());
    known_moments_ = joint_moments(density, known_.sides(), m.target);
    known_count_ = Uncertainty(density, known_.sides(), known_moments_, options).count();
    const JointMoments most = joint_moments(density, all.sides(), -1);
    // Of points alone: by themselves values have no such bound.
    double upper = Uncertainty(density, all.sides(), most, options).points_upper();
    double by_values = std::numeric_limits<double>::infinity();
    for (const BoxSide& side : sides) {
      if (!asks_values(side)) continue;
      const WordSet unknown = {{}, unmet(density, side)};
      if ((density.marginal(side.column)->flags & kEveryRowRead) == 0)
        upper += value_count(density, side, unknown, options.confidence).upper;
      by_values =
          std::min(by_values, value_count(density, side, *side.words, options.confidence).upper);
    }
    count_.estimate = m.count;
    count_.lower = std::min(known_count_.lower, m.count);
    count_.upper = std::max(std::min(upper, by_values), m.count);
  }

  Interval count() const { return count_; }

  // The others' rows are unseen, though an estimate has them.
  Evidence evidence() const {
    Evidence e;
    if (known_moments_.finite > 0)
      e = evidence_of_met(density_, known_.sides(), known_moments_, options_);
    const double known_mean = e.rows > 0 ? e.mean : m_.mean;
    const double mean_shift = m_.mean - known_mean;
    const double sum_shift = m_.mean * m_.finite - (e.rows > 0 ? e.mean * e.rows : 0);
    e.stored_mean = {std::max(mean_shift, 0.0), std::max(-mean_shift, 0.0)};
    e.stored_sum = {std::max(sum_shift, 0.0), std::max(-sum_shift, 0.0)};
    e.unseen = std::max(count_.upper - known_count_.lower, 0.0);
    e.rows = m_.finite;
    e.mean = m_.mean;
    e.variance = m_.variance;
    e.count = {m_.finite, e.count.lower, std::max(e.count.upper, m_.finite)};
    return e;
  }

 private:
  const JointView& density_;
  const JointMoments& m_;
  const IntervalOptions& options_;
  const OtherBox known_;
  JointMoments known_moments_;
  Interval known_count_, count_;
};

Interval count_as_fitted(const JointView& density, std::span<const BoxSide> sides,
                         const JointMoments& m, const IntervalOptions& options) {
  const OtherBox box(density, sides);
  if (!m.count_is_marginal && any_unmet(density, box.sides()))
    return PartlyKnown(density, box.sides(), m, options).count();
  return Uncertainty(density, box.sides(), m, options).count();
}

// Rows at an end of a side's range, on which side of it is not known: those of which is_unsure(), and
// of points that are every row those whose stored value is the end's.
double unsure_rows(const JointView& d, const BoxSide& side) {
  const JointColumn& c = d.column(side.column);
  const Range& range = side.range;
  if (c.is_category() || range.empty) return 0;
  const Header& h = *d.marginal(side.column);
  const DensityView marginal(&h);
  const bool every_row = d.header().sampling_variance == 0 && d.header().reading_variance == 0;
  const bool by_value = every_row && c.value_bytes > 0 && (c.flags & kLatticeValues) == 0;
  const auto between = [](double lower, double upper) {
    Range r;
    r.lower_unbounded = r.upper_unbounded = false;
    r.lower = lower;
    r.upper = upper;
    return r;
  };
  double rows = 0;
  const auto add = [&](double x) {
    if (is_unsure(h, x)) {
      rows += count(marginal, between(x, x));
    } else if (by_value && x >= h.min && x <= h.max) {
      const double slack = raw_slack(c.value_bytes) * std::fabs(x - c.value_center);
      const double near =
          count(marginal, between(x - slack, x + slack)) - count(marginal, between(x, x));
      rows += h.error > 0 ? std::max(near, 1.0) : near;
    }
  };
  if (!range.lower_unbounded) add(range.lower);
  if (!range.upper_unbounded && (range.lower_unbounded || range.upper != range.lower))
    add(range.upper);
  return rows * d.marginal_scale(side.column);
}

IntervalOptions with_unsure_ends(const JointView& d, std::span<const BoxSide> sides,
                                 IntervalOptions options) {
  for (const BoxSide& side : sides) options.changed_rows += unsure_rows(d, side);
  return options;
}

bool is_empty(std::span<const BoxSide> sides) {
  return std::any_of(sides.begin(), sides.end(), [](const BoxSide& side) {
    return side.words != nullptr ? side.words->ranks.empty() && side.words->unknown == 0
                                 : kde::is_empty(side.range);
  });
}

}  // namespace

Evidence evidence_of(Wanted wanted, const JointView& density, std::span<const BoxSide> sides,
                     const JointMoments& m, const IntervalOptions& options) {
  const bool empty = is_empty(sides);
  const IntervalOptions changed = with_unsure_ends(density, sides, options);
  if (wanted == Wanted::count) {
    Evidence e;
    e.count = count_as_fitted(density, sides, m, options);
    if (!empty) e.changed = changed_rows(true, kInfinity, -kInfinity, changed);
    return e;
  }
  const Header& target = *density.marginal(m.target);
  const Range own = range_of(sides, m.target);
  Evidence e;
  if (m.moments_are_marginal) {
    e = evidence_of(wanted, DensityView(&target), own, options);
    e.scale(density.marginal_scale(m.target));
  } else if (m.finite > 0) {
    e = any_unmet(density, sides) ? PartlyKnown(density, sides, m, options).evidence()
                                  : evidence_of_met(density, sides, m, options);
    e.values = values_of(density, sides, m.target, options);
    if (e.unseen > 0) e.unseen_values = e.values;
  } else if (!empty) {
    e.unseen = std::max(count_as_fitted(density, sides, m, options).upper, 0.0);
    e.unseen_values = values_of(density, sides, m.target, options);
    if (e.unseen_values.low > e.unseen_values.high) e.unseen = 0;
  }
  e.changed = empty ? ChangedRows() : changed_rows(target, own, changed);
  return e;
}

}  // namespace kde
