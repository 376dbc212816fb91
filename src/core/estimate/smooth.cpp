// Choosing and writing the knots of smooth.h.
#include "core/estimate/smooth.h"

#include "core/density/cell.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

// Remembers node values up to this many nodes (16 MB).
constexpr std::int64_t kRemembered = std::int64_t{1} << 20;
// Steps in which the tolerance of a density with corners grows, to one beyond any density.
constexpr double kDensityStep = 8;
constexpr double kAnyDensity = 1e4;
// From this tolerance on, slopes at corners are cut where that matters less than the tolerance:
// between cells whose widths differ by many powers of ten, no others are monotone.
constexpr double kSlopesGiveWay = 1e-3;

class Builder {
 public:
  Builder(const NodeSource& source, const Control& control) : source_(source), control_(control) {
    if (source.nodes() <= kRemembered)
      memo_.assign(static_cast<std::size_t>(source.nodes()),
                   {std::numeric_limits<double>::quiet_NaN(), 0});
    step_ = source.test_stride();
  }

  Status run(std::size_t limit, SmoothPart* out) {
    find_peak();
    // Each retry needs fewer knots; at tolerance 1 two knots do.
    double tolerance = kMassTolerance;
    while (!stopped_) {
      if (choose(tolerance, limit)) {
        write(out);
        if (stopped_) break;
        // The second look may see more than the choice did: tighten once where there is room.
        if (out->error <= 1.2 * kMassTolerance || tolerance != kMassTolerance) return {};
        if (choose(0.5 * kMassTolerance, limit)) write(out);
        if (!stopped_) return {};
      }
      if (source_.has_corners() && density_slack_ < kAnyDensity) {
        density_slack_ *= kDensityStep;
      } else {
        tolerance *= 1.5;
      }
    }
    return Status::error(Code::cancelled, "cancelled");
  }

 private:
  NodeSource::Value value(std::int64_t q) {
    if (memo_.empty()) return compute(q);
    NodeSource::Value& v = memo_[static_cast<std::size_t>(q)];
    if (std::isnan(v.mass)) v = compute(q);
    return v;
  }

  NodeSource::Value compute(std::int64_t q) {
    // About a microsecond each; poll every few milliseconds.
    if ((++computed_ & 0xfff) == 0 && control_.stop_requested()) stopped_ = true;
    return source_.value(q);
  }

  std::int64_t last() const { return source_.nodes() - 1; }

  void find_peak() {
    const std::int64_t stride = std::max<std::int64_t>(step_, source_.nodes() / 65536);
    for (std::int64_t q = 0; q <= last() && !stopped_; q += stride)
      peak_ = std::max(peak_, value(q).density);
  }

  // Whether one cubic serves for nodes q0 .. q1.
  bool serves(std::int64_t q0, std::int64_t q1, double tolerance) {
    if (q1 - q0 <= 1) return true;
    const double u0 = source_.position(q0);
    const double u1 = source_.position(q1);
    const NodeSource::Value v0 = value(q0);
    const NodeSource::Value v1 = value(q1);
    const double rise = v1.mass - v0.mass;
    const double steepest = 3 * rise / (u1 - u0);
    // A slope beyond the monotone limit would be cut when stored; where that matters, refuse.
    // At a corner the slope may matter to the next cell where it does not to this one.
    const bool give_way = !source_.has_corners() || tolerance > kSlopesGiveWay;
    const double matters = give_way ? tolerance : 0;
    if (rise > matters && (v0.density > steepest || v1.density > steepest)) return false;
    const double slope0 = std::min(v0.density, steepest);
    const double slope1 = std::min(v1.density, steepest);
    // A stored slope is up to 2^-11 too small, which costs up to 4/27 of its cell's width in mass.
    const double stored = give_way ? std::max(slope0, slope1) : std::max(v0.density, v1.density);
    if (stored * (u1 - u0) * (0x1p-11 * 4 / 27) > tolerance / 2) return false;
    const Cell cell = Cell::hermite(u0, u1, v0.mass, v1.mass, slope0, slope1);
    const std::int64_t stride = std::clamp<std::int64_t>((q1 - q0) / 8, 1, step_);
    // Where the knots do not suffice, the density gives way with the mass: else no tolerance would
    // do.
    const double slope_tolerance =
        kDensityTolerance * peak_ * std::max(tolerance / kMassTolerance, density_slack_);
    const auto fits = [&](std::int64_t q) {
      const NodeSource::Value v = value(q);
      const double s = cell.local(source_.position(q));
      return std::fabs(cell.value(s) - v.mass) <= tolerance &&
             std::fabs(cell.slope(s) - v.density) <= slope_tolerance;
    };
    if (!fits(q0 + (q1 - q0) / 2)) return false;  // where a cubic usually fails first
    for (std::int64_t q = q0 + stride; q < q1; q += stride) {
      if (!fits(q)) return false;
    }
    return true;
  }

  // False if the knots exceed the limit.
  bool choose(double tolerance, std::size_t limit) {
    chosen_.assign(1, 0);
    std::int64_t length = step_;
    while (chosen_.back() < last()) {
      // Once all values are known, nothing else asks.
      if (control_.stop_requested()) stopped_ = true;
      if (stopped_ || chosen_.size() == limit) return false;
      const std::int64_t from = chosen_.back();
      const std::int64_t longest = last() - from;
      std::int64_t good = 1;
      std::int64_t bad = longest + 1;
      length = std::min(std::max<std::int64_t>(length, 1), longest);
      // Grow or shrink geometrically until bracketed, then halve the bracket.
      while (good < longest && bad == longest + 1 && !stopped_) {
        if (serves(from, from + length, tolerance)) {
          good = length;
          length = std::min(2 * length, longest);
        } else {
          bad = length;
        }
      }
      while (bad - good > std::max<std::int64_t>(1, good / 16) && !stopped_) {
        const std::int64_t middle = good + (bad - good) / 2;
        (serves(from, from + middle, tolerance) ? good : bad) = middle;
      }
      chosen_.push_back(from + good);
      length = good;
    }
    return true;
  }

  // Of nodes that stored positions do not tell apart one is kept, and the last node always.
  void merge_coinciding() {
    const auto stored = [this](std::int64_t q) { return truncate_position(source_.position(q)); };
    std::size_t kept = 1;
    for (std::size_t i = 1; i < chosen_.size(); ++i) {
      if (stored(chosen_[i]) > stored(chosen_[kept - 1])) {
        chosen_[kept++] = chosen_[i];
      } else if (i + 1 == chosen_.size() && kept > 1) {
        chosen_[kept - 1] = chosen_[i];
      }
    }
    chosen_.resize(kept);
  }

  void write(SmoothPart* out) {
    merge_coinciding();
    const std::size_t n = chosen_.size();
    *out = {};
    out->knot_u.resize(n);
    out->knot_mass.resize(n);
    out->knot_slope.resize(n);
    std::vector<double> slope(n);
    for (std::size_t i = 0; i < n; ++i) {
      const NodeSource::Value v = value(chosen_[i]);
      const double u = source_.position(chosen_[i]);
      out->knot_u[i] = truncate_position(u);
      const double mass = std::clamp(v.mass + v.density * (out->knot_u[i] - u), 0.0, 1.0);
      auto raw = static_cast<std::uint32_t>(std::lround(mass * kMassOne));
      if (i == 0) raw = 0;
      if (i + 1 == n) raw = kMassOne;
      out->knot_mass[i] = i > 0 ? std::max(raw, out->knot_mass[i - 1]) : raw;
      slope[i] = v.density;
    }
    // The monotone limit on both sides of each knot, from the numbers as stored.
    for (std::size_t i = 0; i + 1 < n; ++i) {
      const double rise = (out->knot_mass[i + 1] - out->knot_mass[i]) / double{kMassOne};
      const double limit = 3 * rise / (out->knot_u[i + 1] - out->knot_u[i]);
      slope[i] = std::min(slope[i], limit);
      slope[i + 1] = std::min(slope[i + 1], limit);
    }
    const double steepest = *std::max_element(slope.begin(), slope.end());
    out->slope_unit = steepest > 0 ? steepest / kMaxPackedSlope : 1;
    for (std::size_t i = 0; i < n; ++i) out->knot_slope[i] = pack_slope(slope[i] / out->slope_unit);
    check(out);
    write_moments(out);
  }

  Cell stored_cell(const SmoothPart& part, std::size_t i) const {
    return Cell::hermite(part.knot_u[i], part.knot_u[i + 1], part.knot_mass[i] / double{kMassOne},
                         part.knot_mass[i + 1] / double{kMassOne},
                         unpack_slope(part.knot_slope[i]) * part.slope_unit,
                         unpack_slope(part.knot_slope[i + 1]) * part.slope_unit);
  }

  void check(SmoothPart* out) {
    for (std::size_t i = 0; i + 1 < chosen_.size() && !stopped_; ++i) {
      const Cell cell = stored_cell(*out, i);
      const std::int64_t q0 = chosen_[i];
      const std::int64_t q1 = chosen_[i + 1];
      const std::int64_t stride = std::clamp<std::int64_t>((q1 - q0) / 6, 1, step_);
      for (std::int64_t q = q0 + std::max<std::int64_t>(stride / 2, 1); q < q1; q += stride) {
        const double g = cell.value(cell.local(source_.position(q)));
        out->error = std::max(out->error, std::fabs(g - value(q).mass));
      }
    }
  }

  void write_moments(SmoothPart* out) const {
    const std::size_t cells = chosen_.size() - 1;
    NodeSource::Moments low = source_.moments(chosen_[0]);
    double low_mass = source_.value(chosen_[0]).mass;
    for (std::size_t i = 0; i < cells; i += kBlockCells) {
      const std::size_t end = std::min(i + kBlockCells, cells);
      const NodeSource::Moments high = source_.moments(chosen_[end]);
      const double high_mass = source_.value(chosen_[end]).mass;
      // About the middle: far from u = 0 the rounding of the masses would outweigh the moments.
      const double middle = (out->knot_u[i] + out->knot_u[end]) / 2;
      const double mass = high_mass - low_mass;
      const double first = high.first - low.first;
      const double second = high.second - low.second;
      StretchMoments stored;
      for (std::size_t k = i; k < end; ++k) {
        const StretchMoments m = stored_cell(*out, k).moments(0, 1, middle);
        stored.m1 += m.m1;
        stored.m2 += m.m2;
      }
      out->block_moment.push_back(static_cast<float>(first - middle * mass - stored.m1));
      out->block_moment.push_back(
          static_cast<float>(second - middle * (2 * first - middle * mass) - stored.m2));
      low = high;
      low_mass = high_mass;
    }
  }

  const NodeSource& source_;
  const Control& control_;
  std::vector<NodeSource::Value> memo_;
  std::vector<std::int64_t> chosen_;  // nodes that become knots
  std::int64_t step_;                 // nodes between tests, at most
  double density_slack_ = 1;          // factor of kDensityTolerance
  double peak_ = 0;
  std::uint64_t computed_ = 0;
  bool stopped_ = false;
};

}  // namespace

Status fit_smooth(const NodeSource& source, std::size_t limit, const Control& control,
                  SmoothPart* out) {
  return Builder(source, control).run(limit, out);
}

}  // namespace kde
