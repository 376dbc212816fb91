// Where the nodes of compact_nodes.h lie, and the sums at each.
#include "core/estimate/compact_nodes.h"

#include "core/estimate/kernel.h"
#include "core/estimate/kernel_forms.h"
#include "core/estimate/reflection.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

using kernel_forms::with_compact;

constexpr int kFineNodes = 64, kCoarseNodes = 16;  // a bandwidth
// Where the bandwidth is wide, so that a cell between two nodes holds little enough for its slopes'
// precision (see smooth.cpp).
constexpr double kFewestSteps = 512;
constexpr double kMostGridNodes = 0x1p20;
constexpr std::int64_t kTestedNodes = std::int64_t{1} << 17;
// Of a bandwidth: how far from a jump its nodes lie, and how near two nodes may be. Nearer ones
// would differ by too few units of the stored mass to leave their slopes their freedom.
constexpr double kBesideJump = 2e-5;
constexpr double kNearest = 1.5e-5;
// Of a merged point: its width in bandwidths and its weight.
constexpr double kMerged = 1.0 / 1024;
// Sums between two polls: a few milliseconds, be they of sines.
constexpr std::size_t kTermsPerPoll = std::size_t{1} << 17;

double sum_of_weights(std::span<const WeightedValue> values) {
  double sum = 0;
  for (const WeightedValue& v : values) sum += v.weight;
  return sum;
}

// Places for nodes. Fixed ones, at breakpoints, go before those of the grid.
class Places {
 public:
  Places(double start, double end) : start_(start), end_(end) {}

  void grid(double u) { places_.push_back({u, false}); }
  void fixed(double u) {
    if (u > start_ && u < end_) places_.push_back({u, true});
  }

  // In ascending order from start to end, as they can be stored, none within `nearest` of another
  // or of what positions near it resolve.
  std::vector<double> finish(double nearest) {
    std::sort(places_.begin(), places_.end(),
              [](const Place& a, const Place& b) { return a.u < b.u; });
    const double first = truncate_position(start_);
    const double last = truncate_position(end_);
    std::vector<Place> kept = {{first, true}};
    for (const Place& p : places_) {
      const Place here = {truncate_position(p.u), p.fixed};
      const double apart = std::max(nearest, std::fabs(here.u) * 0x1p-34);
      if (last - here.u < apart) continue;
      if (here.u - kept.back().u >= apart) {
        kept.push_back(here);
      } else if (here.fixed && !kept.back().fixed) {
        kept.back() = here;
      }
    }
    std::vector<double> out;
    out.reserve(kept.size() + 1);
    for (const Place& p : kept) out.push_back(p.u);
    out.push_back(last);
    return out;
  }

 private:
  struct Place {
    double u;
    bool fixed;
  };

  double start_, end_;
  std::vector<Place> places_;
};

}  // namespace

Status CompactNodes::unbounded(Kernel kernel, std::span<const WeightedValue> values, double h,
                               const Control& control, CompactNodes* out) {
  *out = {};
  out->kernel_ = kernel;
  out->h_ = h;
  out->start_ = values.front().value - h;
  out->end_ = values.back().value + h;
  out->weight_ = sum_of_weights(values);
  out->points_.assign(values.begin(), values.end());
  out->merge_points();
  out->place_nodes();
  return out->compute_values(control);
}

Status CompactNodes::bounded(Kernel kernel, std::span<const WeightedValue> values, double h,
                             double lower, double upper, const Control& control,
                             CompactNodes* out) {
  *out = {};
  out->kernel_ = kernel;
  out->h_ = h;
  out->start_ = lower;
  out->end_ = upper;
  out->weight_ = sum_of_weights(values);
  const std::vector<WeightedValue> images = mirror_images(values, lower, upper, h);
  out->points_.resize(values.size() + images.size());
  std::merge(values.begin(), values.end(), images.begin(), images.end(), out->points_.begin(),
             [](const WeightedValue& a, const WeightedValue& b) { return a.value < b.value; });
  out->merge_points();
  out->place_nodes();
  return out->compute_values(control);
}

void CompactNodes::merge_points() {
  if (points_.size() <= kExactPoints) return;
  const double width = kMerged * h_;
  const double most = kMerged * weight_;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); ++kept) {
    const double from = points_[i].value;
    double weight = points_[i].weight;
    double moment = 0;  // about the first: the mean of equal values is that value
    for (++i; i < points_.size(); ++i) {
      const WeightedValue& p = points_[i];
      if (p.value - from > width || weight + p.weight > most) break;
      weight += p.weight;
      moment += p.weight * (p.value - from);
    }
    points_[kept] = {from + moment / weight, weight};
  }
  points_.resize(kept);
}

std::vector<CompactNodes::Stretch> CompactNodes::stretches() const {
  std::vector<Stretch> out;
  for (const WeightedValue& p : points_) {
    const double low = std::max(p.value - h_, start_);
    const double high = std::min(p.value + h_, end_);
    if (low >= high) continue;
    if (!out.empty() && low <= out.back().high) {
      out.back().high = std::max(out.back().high, high);
    } else {
      out.push_back({low, high});
    }
  }
  return out;
}

void CompactNodes::place_nodes() {
  const std::vector<Stretch> with_mass = stretches();
  const bool jumps = kernel_ == Kernel::uniform;
  Places places(start_, end_);
  const auto breakpoint = [&](double at, bool both_sides) {
    if (both_sides) {
      places.fixed(at - kBesideJump * h_);
      places.fixed(at + kBesideJump * h_);
    } else {
      places.fixed(at);
    }
  };

  double covered = 0;
  for (const Stretch& s : with_mass) covered += s.high - s.low;
  int per_bandwidth = points_.size() <= kExactPoints ? kFineNodes : kCoarseNodes;
  while (per_bandwidth > 1 && covered / h_ * per_bandwidth > kMostGridNodes) per_bandwidth /= 2;
  const double step = std::min(h_ / per_bandwidth, (end_ - start_) / kFewestSteps);
  for (const Stretch& s : with_mass) {
    for (double k = std::ceil((s.low - start_) / step); start_ + k * step <= s.high; ++k)
      places.grid(start_ + k * step);
    breakpoint(s.low, jumps);
    breakpoint(s.high, jumps);
  }

  const double breakpoints = jumps ? kManyBreakpoints : kFewBreakpoints;
  double passed_over = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const WeightedValue& p = points_[i];
    passed_over += p.weight;
    if (static_cast<double>(points_.size()) > breakpoints && passed_over * breakpoints < weight_)
      continue;
    passed_over = 0;
    if (kernel_ == Kernel::triangular) places.fixed(p.value);
    const bool heavy = p.weight * kManyBreakpoints >= weight_;
    breakpoint(p.value - h_, jumps && heavy);
    breakpoint(p.value + h_, jumps && heavy);
  }
  position_ = places.finish(kNearest * h_);
}

Status CompactNodes::compute_values(const Control& control) {
  value_.resize(position_.size());
  // Raw sums first. Nodes and points ascend, so the points within reach only move on.
  double below = 0;  // weight of the points whose kernels end below the node
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t terms = 0;
  const auto sums_at = [&](double t) {
    for (; first < points_.size() && (t - points_[first].value) / h_ > 1; ++first)
      below += points_[first].weight;
    end = std::max(end, first);
    while (end < points_.size() && (points_[end].value - t) / h_ <= 1) ++end;
    terms += end - first + 1;
    Value raw = {below, 0};
    with_compact(kernel_, [&](auto form) {
      for (std::size_t i = first; i < end; ++i) {
        const double u = (t - points_[i].value) / h_;
        raw.mass += points_[i].weight * form.cdf(u);
        raw.density += points_[i].weight * form.pdf(u);
      }
    });
    return raw;
  };
  for (std::size_t q = 0; q < position_.size(); ++q) {
    if (q == 0 || terms > kTermsPerPoll) {
      if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
      control.tell({WorkUnit::steps, std::ssize(position_)}, static_cast<std::int64_t>(q));
      terms = 0;
    }
    value_[q] = sums_at(position_[q]);
  }
  const double base = value_.front().mass;
  total_ = value_.back().mass - base;
  for (Value& v : value_) {
    v.mass = std::clamp((v.mass - base) / total_, 0.0, 1.0);
    v.density /= total_ * h_;
  }
  base_moments_ = raw_moments(position_.front());
  return Status::success();
}

CompactNodes::Moments CompactNodes::raw_moments(double t) const {
  Moments out;
  with_compact(kernel_, [&](auto form) {
    const double spread = h_ * h_ * kernel_variance(kernel_);
    for (const WeightedValue& p : points_) {
      const double x = p.value;
      const double u = (t - x) / h_;
      if (u < -1) break;
      if (u > 1) {
        out.first += p.weight * x;
        out.second += p.weight * (x * x + spread);
      } else {
        const double m0 = form.cdf(u);
        const double m1 = h_ * form.first(u);
        out.first += p.weight * (x * m0 + m1);
        out.second += p.weight * (x * (x * m0 + 2 * m1) + h_ * h_ * form.second(u));
      }
    }
  });
  return out;
}

NodeSource::Moments CompactNodes::moments(std::int64_t q) const {
  const Moments raw = raw_moments(position(q));
  return {(raw.first - base_moments_.first) / total_, (raw.second - base_moments_.second) / total_};
}

int CompactNodes::test_stride() const {
  return static_cast<int>(std::max<std::int64_t>(1, nodes() / kTestedNodes));
}

}  // namespace kde
