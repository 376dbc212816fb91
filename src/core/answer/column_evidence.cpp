// See column_evidence.h.
#include "core/answer/column_evidence.h"

#include "core/integrate/histogram_kernel.h"
#include "core/answer/interval_parts.h"
#include "core/density/single_values.h"
#include "core/kernel/normal.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>

namespace kde {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Of numbers >= 0: 0 of anything is 0, of what overflows as well.
double product(double a, double b) { return a > 0 && b > 0 ? a * b : 0; }

// The few rows of a sample may all have one value where the range holds several: so many, spread
// evenly over the range, are added to them.
constexpr double kRowsAdded = 2;

// A range, less what is known row by row at both ends of the column.
struct Middle {
  Range range;
  bool open_below, open_above;  // no end within what was sampled
  bool is_all = true;           // nothing is known row by row
  bool shut_below, shut_above;  // rows that are not finite lie beyond

  Middle(const Header& h, const Range& r)
      : range(r),
        open_below(lower_end(r).is_exact(h)),
        open_above(upper_end(r).is_exact(h)),
        shut_below(h.negative_infinities > 0 && !holds(lower_end(r), -kInfinity)),
        shut_above((h.nans > 0 && !holds(upper_end(r), kNan)) ||
                   (h.positive_infinities > 0 && !holds(upper_end(r), kInfinity))) {
    if (std::isfinite(h.known_below) && (open_below || r.lower < h.known_below)) {
      range.lower = h.known_below;
      range.lower_unbounded = false;
      range.lower_inclusive = true;
      open_below = true;
      is_all = shut_below = false;
    }
    if (std::isfinite(h.known_above) && (open_above || r.upper > h.known_above)) {
      range.upper = h.known_above;
      range.upper_unbounded = false;
      range.upper_inclusive = true;
      open_above = true;
      is_all = shut_above = false;
    }
  }

  // Shares are of all rows: a range that leaves infinite ones out is not open to their side.
  Shape shape() const {
    if (open_below && !shut_below) return Shape::below;
    return open_above && !shut_above ? Shape::above : Shape::two_ends;
  }

 private:
  // Whether the range up to an end takes the last of the order in.
  static bool holds(const End& end, double last) {
    return end.open || (end.inclusive &&
                        (std::isnan(last) ? std::isnan(end.x) : !(std::abs(end.x) < kInfinity)));
  }
};

// All that is sampled.
Range sampled_range(const Header& h) {
  Range all;
  if (std::isfinite(h.known_below)) {
    all.lower_unbounded = false;
    all.lower = h.known_below;
  }
  if (std::isfinite(h.known_above)) {
    all.upper_unbounded = false;
    all.upper = h.known_above;
  }
  return all;
}

// What the sample says, before changed rows: of one call.
class Sampling {
 public:
  Sampling(const DensityView& density, const IntervalOptions& options)
      : density_(density),
        h_(density.header()),
        z_(normal_central_quantile(options.confidence)),
        rows_(kde::count(density, sampled_range(h_))),
        of_share_(options.of_share) {
    if (const RangeEffectsHeader* effects = density.effects()) effects_.emplace(effects);
  }

  // Rows that are sampled, not known one by one.
  double rows() const { return rows_; }

  // v/n: the variance of a count given their number, over rows()^2 p (1 - p). 0 where the ratio is
  // 0. What a range open to one side leaves out is open to the other, and off by as much.
  double unit_variance(Shape shape, double p) const {
    const double v = usual_variance(h_, shape, p);
    return v > 0 ? v / h_.sample_rows : 0;
  }

  // What that of this range is more, which has the share p of those rows; and of its mean.
  double count_ratio(const Range& r, Shape shape, double p) const {
    if (!effects_) return 1;
    return not_too_sure(h_, usual_variance(h_, shape, p),
                        effects_->count_ratio(h_, place_of(*effects_, h_, r), p));
  }
  double mean_ratio(const Range& r) const {
    return has_means() ? effects_->mean_ratio(place_of(*effects_, h_, r)) : 1;
  }
  double correlation(const Range& r) const {
    return has_means() ? effects_->correlation(place_of(*effects_, h_, r)) : 0;
  }

  bool has_variance() const {
    for (const auto& shape : h_.count_variance)
      for (const auto v : shape)
        if (v > 0) return true;
    return false;
  }

  // The upper end is the largest share that the sample does not speak against by the variance of
  // that very share: rows that lie together are seen together or not at all.
  void wilson(Shape shape, double p, double ratio, double* low, double* high) const {
    *low = *high = p;
    if (!has_variance()) return;
    const double own = ratio * unit_variance(shape, p);
    wilson_interval(p, own, z_, low, high);
    double most = own;
    // From the smallest scale to the largest, four shares to each.
    constexpr int kSteps = 4 * (kErrorScales - 1);
    for (int i = 0; i <= kSteps; ++i) {
      const double share = std::exp2(-2.0 * kErrorScales + 0.5 * i);
      if (share <= p) continue;
      const double there = unit_variance(shape, share);
      if (there <= most) continue;
      double unused;
      double reach;
      wilson_interval(p, there, z_, &unused, &reach);
      if (reach < share) continue;
      most = there;
      *high = std::max(*high, reach);
    }
  }

  // z times the standard deviation of the share of the sample's rows below a value that has the
  // share p below it.
  double share_half(double p, double ratio) const {
    return z_ * std::sqrt(product(ratio * unit_variance(Shape::below, p), p * (1 - p)));
  }

  // z times the standard deviation of a mean of the share p of the rows, whose variance within the
  // range of that width it is given. Of most rows those that lie together are not told by how many
  // are left out: by halves of them, and by the mean of all.
  double mean_half(Shape shape, double p, double ratio, double variance, double width) const {
    double unit = unit_variance(shape, p);
    if (p > 0.5) {
      unit = std::max(unit_variance(Shape::below, 0.5), unit_variance(Shape::above, 0.5));
      if (h_.variance > 0) unit = std::max(unit, h_.mean_error / h_.variance * h_.mean_error);
    }
    unit *= not_too_sure(h_, unit * h_.sample_rows, ratio);
    // Those that lie together are one.
    const double rows = std::min(h_.sample_rows * p, unit > 0 ? p / unit : h_.sample_rows);
    if (width > 0 && std::isfinite(variance))
      variance = (rows * variance + kRowsAdded * width * width / 12) / (rows + kRowsAdded);
    const double deviations = z_ + student_excess(z_, std::max(rows - 1, 2.0));
    return product(deviations * std::sqrt(unit / p), std::sqrt(variance));
  }

  // z times the standard error of the mean of all finite rows.
  double whole_mean_half() const {
    // One row tells nothing of how others differ.
    if ((h_.flags & kEveryRowRead) == 0 && h_.sample_rows < 2) return kInfinity;
    return z_ * h_.mean_error;
  }

  // z times the standard deviation of the rows below a value that belongs to an end, in rows. A count
  // is as uncertain as its ends together, at least: of a narrow range whose rows are mixed they are less
  // than of the column.
  double end_half(const Middle& middle, const Interval& count) const {
    const int ends = (middle.open_below ? 0 : 1) + (middle.open_above ? 0 : 1);
    const double own = std::max(count.upper - count.estimate, count.estimate - count.lower);
    return std::min(z_ * std::sqrt(h_.end_variance) * h_.rows, own / std::sqrt(std::max(ends, 1)));
  }

  // The count's ends from the sample and what is stored. The range is not empty and has `estimate`
  // rows.
  Interval count(const Range& range, double estimate) const {
    Interval out;
    out.estimate = out.lower = out.upper = estimate;
    if (!(h_.rows > 0)) return out;
    const Middle middle(h_, range);
    if (!(middle.open_below && middle.open_above) && !is_empty(middle.range) && rows_ > 0) {
      const double rows =
          std::min(middle.is_all ? out.estimate : kde::count(density_, middle.range), rows_);
      double low;
      double high;
      const double p = rows / rows_;
      const Shape shape = middle.shape();
      wilson(shape, p, count_ratio(middle.range, shape, p), &low, &high);
      // Of what is known, if anything is. Nothing uncertain is not even rounded.
      const double known = out.estimate - rows;
      if (low < p) out.lower = known + low * rows_;
      if (high > p) out.upper = known + high * rows_;
    }
    // That the number of all rows was estimated, which is independent of their shares.
    if (h_.rows_variance > 0 && !of_share_) {
      const double all = z_ * std::sqrt(h_.rows_variance) * out.estimate;
      out.lower = out.estimate - std::hypot(out.estimate - out.lower, all);
      out.upper = out.estimate + std::hypot(out.upper - out.estimate, all);
    }
    const Reach stored = stored_reach(density_, range);
    out.lower -= stored.below;
    out.upper += stored.above;
    out.lower = std::clamp(out.lower, 0.0, out.estimate);
    if (h_.rows_variance == 0) out.upper = std::min(out.upper, h_.rows);
    out.upper = std::max(out.upper, out.estimate);
    return out;
  }

 private:
  const DensityView& density_;
  const Header& h_;
  double z_;
  double rows_;
  bool of_share_;
  std::optional<RangeEffects> effects_;

  bool has_means() const { return effects_ && effects_->has_means(); }
};

bool has_lower(const Range& r) { return !r.lower_unbounded && std::isfinite(r.lower); }
bool has_upper(const Range& r) { return !r.upper_unbounded && std::isfinite(r.upper); }

// Where the range's finite rows lie: its own ends, or the column's where it has none.
struct Hull {
  double low, high;
  double column_low, column_high;  // of all finite rows

  Hull(const DensityView& d, const Range& r) : low(d.header().min), high(d.header().max) {
    // Of a density that is not bounded the kernel has rows beyond the values read.
    if ((d.header().flags & kBounded) == 0) {
      const double bandwidth = histogram::acting_bandwidth(d.header());
      low = histogram::kernel_least(d.header(), bandwidth);
      high = histogram::kernel_greatest(d.header(), bandwidth);
    }
    column_low = low;
    column_high = high;
    if (has_lower(r)) low = r.lower;
    if (has_upper(r)) high = r.upper;
  }

  double width() const { return high - low; }
  double magnitude() const { return std::max(std::fabs(low), std::fabs(high)); }
};

// With round ends E is at most the rows of x's own cell, and between its ends three quarters of that
// on average.
constexpr double kMeanWithin = 0.75;

// What the error of the mass beyond each end does to a sum of |x - about|, in rows times x. With E
// the error of the rows below x, int (x - about) dF is off by [(x - about) E] - int E dx.
double stored_error(const DensityView& d, const Range& r, const Hull& hull, double about) {
  const Header& h = d.header();
  const double rows = h.error * h.rows;
  double out = 0;
  for (const End& end : {lower_end(r), upper_end(r)}) {
    if (end.cuts(h)) out += product(rows, std::fabs(end.x - about));
    const CutCell cut = end.open ? CutCell{} : cut_cell(d, end.x, end.inclusive == end.upper);
    out += product(std::max(cut.below, cut.rows - cut.below), std::fabs(end.x - about));
  }
  out += kMeanWithin * rows_times_width(d, r);
  return out +
         product(rows, std::min(hull.high, hull.column_high) - std::max(hull.low, hull.column_low));
}

// The mean of a range and its uncertainty, from the sample alone.
struct MeanParts {
  Interval count;
  double within = 0;   // half the interval of the sampled rows' mean, times their share of the rows
  double between = 0;  // that of how many of the rows are sampled ones, which lie elsewhere
  double correlation = 0;  // of their mean's and their number's errors
  double mean;             // of the rows that are not known one by one, if there are any
  double least, greatest;  // what rows more than the estimate's may be, on average

  // How far the mean is off, and the sum for a number of rows that is right.
  double half() const { return std::hypot(within, between); }
};

MeanParts mean_parts(const DensityView& d, const Sampling& sampling, const Range& range,
                     const RangeMoments& m) {
  MeanParts out;
  out.count = sampling.count(range, m.count);
  const Middle middle(d.header(), range);
  const RangeMoments inner = middle.is_all ? m : moments(d, middle.range);
  out.mean = out.least = out.greatest = inner.finite > 0 ? inner.mean : m.mean;
  // Of all rows the count has no error but that of their number.
  if (has_every_finite_value(d.header(), range)) {
    out.within = sampling.whole_mean_half();
    return out;
  }
  if (middle.open_below && middle.open_above) return out;
  if (!(sampling.rows() > 0)) return out;
  if (!(inner.finite > 0)) {
    // Rows that were not seen may be anywhere in it.
    const Hull hull(d, middle.range);
    const double more = out.count.upper - out.count.estimate;
    if (!(more > 0) || !(hull.width() >= 0)) return out;
    out.least = hull.low;
    out.greatest = hull.high;
    out.between = product(std::max(std::fabs(hull.low - m.mean), std::fabs(hull.high - m.mean)),
                          more / (m.finite + more));
    return out;
  }
  const double p = std::min(inner.finite / sampling.rows(), 1.0);
  const double share = std::min(inner.finite / m.finite, 1.0);
  const double width = Hull(d, middle.range).width();
  out.within = share * sampling.mean_half(middle.shape(), p, sampling.mean_ratio(middle.range),
                                          inner.variance, width);
  out.correlation = sampling.correlation(middle.range);
  // What rows that an end takes in or leaves out, far from the mean, do to it; those beyond the
  // least and the greatest that were read as well.
  const Header& h = d.header();
  const double end = sampling.end_half(middle, out.count) / m.finite;
  const double low = middle.open_below ? h.min : range.lower;
  const double high = middle.open_above ? h.max : range.upper;
  for (const double x : {low, high}) {
    if (std::isfinite(x))
      out.within = std::hypot(out.within, product(end, std::fabs(x - inner.mean)));
  }
  if (share < 1) {
    // The mean moves towards that of the sampled rows by what they are more.
    const double more =
        std::max(out.count.upper - out.count.estimate, out.count.estimate - out.count.lower);
    out.between = product(std::fabs(inner.mean - m.mean), more / m.finite);
  }
  return out;
}

// The mean of (x - about)^4 over the range's finite rows, from slices between quantiles, closer to
// one another the closer they are to either end, where the fourth power has most of its weight. A
// quantile's own rows, where there are some, are a slice; what lies between two is taken for
// normal.
double fourth_moment(const DensityView& d, const Range& range, double about) {
  constexpr int kHalvings = 24;
  Range below = range;
  below.lower_unbounded = true;
  below.upper_unbounded = range.lower_unbounded;
  below.upper = range.lower;
  below.upper_inclusive = !range.lower_inclusive;
  const double first = range.lower_unbounded ? 0 : kde::count(d, below);
  const double rows = kde::count(d, range);
  double sum = 0;
  double finite = 0;
  const auto add = [&](const Range& slice) {
    const RangeMoments m = moments(d, slice);
    if (!(m.finite > 0)) return;
    const double offset = (m.mean - about) * (m.mean - about);
    sum += m.finite * (offset * offset + 6 * offset * m.variance + 3 * m.variance * m.variance);
    finite += m.finite;
  };
  Range rest = range;
  for (int i = 1 - kHalvings; i < kHalvings; ++i) {
    const double share = i < 0 ? std::ldexp(0.5, i) : 1 - std::ldexp(0.5, -i);
    const double edge = quantile(d, std::min((first + share * rows) / d.header().rows, 1.0));
    const bool passed =
        !rest.lower_unbounded && (rest.lower_inclusive ? edge < rest.lower : edge <= rest.lower);
    if (passed || !std::isfinite(edge) || (!range.upper_unbounded && edge >= range.upper)) continue;
    Range slice = rest;
    slice.upper_unbounded = slice.upper_inclusive = false;
    slice.upper = edge;
    add(slice);
    slice.lower_unbounded = false;
    slice.lower_inclusive = slice.upper_inclusive = true;
    slice.lower = edge;
    add(slice);
    rest.lower_unbounded = rest.lower_inclusive = false;
    rest.lower = edge;
  }
  add(rest);
  return finite > 0 ? sum / finite : 0;
}

// Half the interval of a variance from the sample: that of the mean of (x - mean)^2.
double variance_half(const DensityView& d, const Sampling& sampling, const Range& range,
                     const RangeMoments& m) {
  const Header& h = d.header();
  const Middle middle(h, range);
  const RangeMoments inner = middle.is_all ? m : moments(d, middle.range);
  if (!(sampling.rows() > 0) || !(inner.finite > 0)) return 0;
  const auto squared = [&](double x) { return (x - m.mean) * (x - m.mean); };
  const double center = inner.variance + squared(inner.mean);
  const double spread = std::max(fourth_moment(d, middle.range, m.mean) - center * center, 0.0);
  const Hull hull(d, middle.range);
  const double p = std::min(inner.finite / sampling.rows(), 1.0);
  const double share = std::min(inner.finite / m.finite, 1.0);
  const double width = std::max(squared(hull.low), squared(hull.high));
  if (!tells_fourth_moment(width, inner.variance, inner.finite / sampling.rows() * h.sample_rows))
    return kInfinity;
  double half = share * sampling.mean_half(middle.shape(), p, sampling.mean_ratio(middle.range),
                                           spread, width);
  const MeanParts mean = mean_parts(d, sampling, range, m);
  const double end = sampling.end_half(middle, mean.count) / m.finite;
  for (const double x : {hull.low, hull.high}) half = std::hypot(half, product(end, squared(x)));
  const double more =
      std::max(mean.count.upper - mean.count.estimate, mean.count.estimate - mean.count.lower);
  if (share < 1) half = std::hypot(half, product(std::fabs(center - m.variance), more / m.finite));
  return half;
}

// Whether the answer over the range's finite rows is that of the totals of every row.
bool is_total(const Header& h, const Range& r) {
  return (h.flags & kEveryRowRead) != 0 && has_every_finite_value(h, r);
}

// Between which those rows lie that were not drawn.
double least_unseen(const Header& h) {
  if (std::isfinite(h.known_below)) return h.known_below;
  return (h.flags & kEveryRowRead) != 0 ? h.min : -kInfinity;
}

double greatest_unseen(const Header& h) {
  if (std::isfinite(h.known_above)) return h.known_above;
  return (h.flags & kEveryRowRead) != 0 ? h.max : kInfinity;
}

}  // namespace

bool stands_for_several(ValueType type, double x) {
  switch (type) {
    case ValueType::int8:
      return std::fabs(x) >= 0x1p53;
    case ValueType::timestamp:
    case ValueType::timestamptz:
    case ValueType::interval:
      return std::fabs(x) >= 0x1p33 && (std::bit_cast<std::uint64_t>(x) & 1) != 0;
    case ValueType::numeric: {
      char text[32];
      std::snprintf(text, sizeof text, "%.*g", std::numeric_limits<double>::digits10, x);
      return std::strtod(text, nullptr) != x;
    }
    default:
      return false;
  }
}

DrawnRows drawn_rows(const Header& h, double confidence) {
  const bool is_sample = h.count_variance[static_cast<int>(Shape::two_ends)][0] > 0;
  const double all = h.finite_rows();
  const double unread = is_sample && all > 0 ? 1 - h.sample_rows / all : 0;
  if (!(unread > 0)) return {};
  return {h.rows, unread / h.sample_rows, normal_central_quantile(confidence)};
}

bool is_unsure(const Header& h, double x) {
  if (!std::isfinite(x) || !(x >= h.min && x <= h.max)) return false;
  if (stands_for_several(h.value_type, x)) return true;
  double k;
  return h.lattice_step > 0 && h.is_at_lattice_point(x, &k) && x != h.lattice_point(k);
}

IntervalOptions with_unsure_ends(const DensityView& density, const Range& range,
                                 const IntervalOptions& options) {
  IntervalOptions out = options;
  const Header& h = density.header();
  const auto add = [&](double x) {
    if (!is_unsure(h, x)) return;
    Range at;
    at.lower_unbounded = at.upper_unbounded = false;
    at.lower = at.upper = x;
    // All that may be there.
    out.changed_rows += count_as_fitted(density, at, count(density, at), options).upper;
  };
  if (range.empty) return out;
  if (!range.lower_unbounded) add(range.lower);
  if (!range.upper_unbounded && (range.lower_unbounded || range.upper != range.lower))
    add(range.upper);
  return out;
}

Interval count_as_fitted(const DensityView& density, const Range& range, double rows,
                         const IntervalOptions& options) {
  return is_empty(range) ? Interval() : Sampling(density, options).count(range, rows);
}

namespace {

bool has_whole_numbers(const Header& h) {
  const auto is_whole = [](double x) { return x == std::nearbyint(x); };
  return h.lattice_step > 0 && is_whole(h.lattice_step) && is_whole(h.lattice_offset);
}

// How far double precision may have a sum off; doubles without a lattice are as SQL adds them up.
double rounding_of_sum(const Header& h, const Range& range, const Hull& hull,
                       const RangeMoments& m) {
  if (h.value_type > ValueType::numeric) return 0;
  const bool whole = has_whole_numbers(h);
  const double unit = whole ? 1 : h.lattice_scale > 0 ? 1 / h.lattice_scale : 0;
  if (unit == 0 && are_doubles(h.value_type)) return 0;
  const bool total = is_total(h, range);
  // A fit adds whole numbers up with all their digits.
  if (total && whole && (h.flags & kFitted) != 0 && is_told_by_mean(m)) return 0;
  const double largest = total ? std::max(std::fabs(h.min), std::fabs(h.max))
                               : std::max(std::fabs(hull.low), std::fabs(hull.high));
  return sum_rounding(m.finite, largest, unit);
}

ValueBounds values_in(const DensityView& d, const Range& range, const IntervalOptions& options) {
  ValueBounds out = {options.least_value, options.greatest_value};
  if ((d.header().flags & kEveryRowRead) != 0) {
    const Hull hull(d, Range());
    out = {hull.low, hull.high};
  }
  out.narrow(range);
  return out;
}

// Of a range in which no finite row was seen, but may be.
void add_unseen(const DensityView& d, Evidence* e) {
  const bool any_finite = e->values.low < kInfinity && e->values.high > -kInfinity;
  if (!any_finite || !(d.header().finite_rows() > 0)) return;
  e->unseen = e->count.upper;
  e->unseen_values = e->values;
}

double variance_half(const DensityView& d, const Range& range, const Hull& hull,
                     const RangeMoments& m, const IntervalOptions& options) {
  const Header& h = d.header();
  const bool total = is_total(h, range);
  double half = 0;
  if (!total) {
    half = variance_half(d, Sampling(d, options), range, m);
    // (x - mean)^2 falls and rises by its greatest value on either side of the mean.
    const double farthest = std::max(hull.high - m.mean, m.mean - hull.low);
    bool cuts = false;
    for (const End& end : {lower_end(range), upper_end(range)}) cuts |= end.cuts(h);
    if (h.error > 0)
      half += product(h.error * h.rows / m.finite, (cuts ? 4 : 2) * farthest * farthest);
    const Reach stored = h.error > 0 ? Reach{} : stored_reach(d, range);
    // And the mean, by which the variance is less by its square.
    const double within = kMeanWithin * rows_times_width(d, range) / m.finite;
    const double cut = std::max(stored.below, stored.above) / m.finite;
    const double mean = within + product(cut, farthest);
    half += product(2 * within, farthest) + product(2 * cut, farthest * farthest) + mean * mean;
  }
  // A fit has the totals of the values themselves, where these are doubles.
  const bool exact = has_whole_numbers(h) || are_doubles(h.value_type);
  if ((h.flags & kFitted) == 0 || !total || !exact)
    half += variance_rounding(h.min, h.max, may_have_lost_digits(h), h.variance, m.variance);
  return half;
}

}  // namespace

Evidence evidence_of(Wanted wanted, const DensityView& density, const Range& range,
                     const IntervalOptions& options) {
  Evidence e;
  if (is_empty(range)) return e;
  e.changed = changed_rows(density.header(), range, with_unsure_ends(density, range, options));
  e.drawn = drawn_rows(density.header(), options.confidence);
  if (wanted == Wanted::count) {
    e.count = count_as_fitted(density, range, count(density, range), options);
    return e;
  }
  const RangeMoments m = moments(density, range);
  e.values = values_in(density, range, options);
  if (!(m.finite > 0)) {
    e.count = count_as_fitted(density, range, m.count, options);
    add_unseen(density, &e);
    return e;
  }
  e.rows = m.finite;
  e.mean = m.mean;
  e.variance = m.variance;
  const Hull hull(density, range);
  const double rounding = rounding_of_sum(density.header(), range, hull, m);
  double stored = 0;
  if (is_total(density.header(), range)) {
    e.count = {m.count, m.count, m.count};
  } else {
    const MeanParts parts = mean_parts(density, Sampling(density, options), range, m);
    e.count = parts.count;
    e.sampled = {parts.within, parts.within};
    e.moved = parts.between;
    e.varying = parts.mean;
    e.correlation = parts.correlation;
    e.more = {parts.least, parts.greatest};
    stored = stored_error(density, range, hull, m.mean);
  }
  // Of a bound, that for the fewest rows there may be.
  const double of_mean = (stored > 0 ? stored / e.fewest() : 0) + rounding / m.finite;
  e.stored_sum = {stored + rounding, stored + rounding};
  e.stored_mean = {of_mean, of_mean};
  if (wanted >= Wanted::variance) e.variance_half = variance_half(density, range, hull, m, options);
  return e;
}

Interval quantile_interval(const DensityView& density, double q, const IntervalOptions& options) {
  const Header& h = density.header();
  Interval out;
  out.estimate = quantile(density, q);
  if (!(h.rows > 0)) return {kNan, kNan, kNan};
  const ChangedRows changed = changed_rows(h, Range(), options);
  const Sampling sampling(density, options);
  double low = q;
  double high = q;
  bool unseen_below = false;
  bool unseen_above = false;
  Range known;
  known.upper_unbounded = known.upper_inclusive = false;
  known.upper = h.known_below;
  const double below = std::isfinite(h.known_below) ? kde::count(density, known) : 0;
  const double p = (q * h.rows - below) / sampling.rows();
  if (p >= 0 && p <= 1) {
    Range through;
    through.upper_unbounded = false;
    through.upper = out.estimate;
    const double ratio = sampling.count_ratio(through, Shape::below, p);
    sampling.wilson(Shape::below, p, ratio, &low, &high);
    const double half = sampling.share_half(p, ratio);
    const bool sampled = sampling.unit_variance(Shape::below, p) > 0;
    unseen_below = sampled && p - half <= 0;
    unseen_above = sampled && p + half >= 1;
    low = (below + std::clamp(p - half, 0.0, low) * sampling.rows()) / h.rows;
    high = (below + std::clamp(p + half, high, 1.0) * sampling.rows()) / h.rows;
  }
  // Rows changed from below the quantile to above it, or the other way, move it by their number.
  // Where that is beyond all rows that there were, it is among those that came.
  const double reach = h.error + changed.rows / h.rows;
  out.lower = quantile(density, std::max(low - reach, 0.0));
  out.upper = quantile(density, std::min(high + reach, 1.0));
  // Within a cell a value may be anywhere, and the last of its rows is told as its end.
  const CutCell first = cut_cell(density, std::nextafter(out.lower, -kInfinity), true);
  const CutCell at_first = cut_cell(density, out.lower, false);
  const CutCell last = cut_cell(density, out.upper, true);
  for (const CutCell& cell : {first, at_first})
    if (cell.rows > 0) out.lower = std::min(out.lower, cell.low);
  if (last.rows > 0) out.upper = std::max(out.upper, last.high);
  if (unseen_below) out.lower = std::min(out.lower, least_unseen(h));
  if (unseen_above) out.upper = std::max(out.upper, greatest_unseen(h));
  // A quantile may be put together of two rows.
  const double one = 1 / h.rows;
  if (changed.rows > 0 && low - reach < one) out.lower = std::min(out.lower, changed.came.low);
  if (changed.rows > 0 && high + reach > 1 - one)
    out.upper = std::max(out.upper, changed.came.high);
  if (out.lower > out.estimate) out.lower = out.estimate;
  if (out.upper < out.estimate) out.upper = out.estimate;
  return out;
}

ExpectedErrors expected_errors(const DensityView& density, double share) {
  constexpr int kPlaces = 5;
  const Header& h = density.header();
  ExpectedErrors out = {kNan, kNan, kNan};
  if (!(h.finite_rows() > 0) || !(h.min < h.max)) return out;
  const auto half = [](const Interval& i) { return i.upper / 2 - i.lower / 2; };
  // Among the finite rows, which may be few beside NaN and the infinities.
  const auto place = [&](double q) {
    return quantile(density, (h.negative_infinities + q * h.finite_rows()) / h.rows);
  };
  const double deviation = std::sqrt(h.variance);
  double count = 0;
  double one_sided = 0;
  double mean = 0;
  for (int i = 0; i < kPlaces; ++i) {
    const double q = (1 - share) * (i + 0.5) / kPlaces;
    Range r;
    r.lower_unbounded = r.upper_unbounded = false;
    r.lower = place(q);
    r.upper = place(q + share);
    const Interval c = interval_of(Wanted::count, density, r, IntervalOptions());
    const Interval m = interval_of(Wanted::mean, density, r, IntervalOptions());
    // A range of repeated values may hold more than the share.
    if (c.estimate > 0) count += half(c) / c.estimate / kPlaces;
    if (deviation > 0 && std::isfinite(deviation)) mean += half(m) / deviation / kPlaces;
  }
  for (const bool above : {false, true}) {
    Range r;
    (above ? r.lower_unbounded : r.upper_unbounded) = false;
    (above ? r.lower : r.upper) = place(above ? 1 - share : share);
    const Interval c = interval_of(Wanted::count, density, r, IntervalOptions());
    if (c.estimate > 0) one_sided += half(c) / c.estimate / 2;
  }
  return {count, one_sided, mean};
}

double most_unseen(const GroupsHeader& groups, double confidence) {
  return groups.unseen + normal_central_quantile(confidence) * groups.unseen_error;
}

}  // namespace kde
