// The binned Taylor sums of kernel_grid.h.
#include "core/estimate/kernel_grid.h"

#include "core/estimate/normal.h"
#include "core/estimate/reflection.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

constexpr double kReach = 7;
constexpr double kNodesPerBandwidth = 16;
// Where the bandwidth is wide, so that a cell between two nodes holds little enough for its slopes'
// precision (see smooth.cpp).
constexpr double kFewestSteps = 512;

}  // namespace

KernelGrid::KernelGrid(double h, double start, double end) : h_(h), start_(start) {
  const double steps = std::max(kFewestSteps, std::ceil((end - start) * kNodesPerBandwidth / h));
  delta_ = (end - start) / steps;
  last_node_ = static_cast<std::int64_t>(steps);
  reach_ = static_cast<int>(std::ceil(kReach * h / delta_));
  nodes_per_h_ = static_cast<int>(std::lround(h / delta_));
  factors_.reserve(2 * static_cast<std::size_t>(reach_) + 1);
  for (int d = -reach_; d <= reach_; ++d) {
    const double z = d * delta_ / h;
    const double p = normal_pdf(z);
    factors_.push_back({{normal_cdf(z), p, -z * p, (z * z - 1) * p, -(z * z - 3) * z * p}});
  }
}

KernelGrid KernelGrid::unbounded(std::span<const WeightedValue> values, double h) {
  const double start = values.front().value - kReach * h;
  const double end = values.back().value + kReach * h;
  KernelGrid grid(h, start, end);
  grid.fill(values, start, end, false);
  return grid;
}

KernelGrid KernelGrid::bounded(std::span<const WeightedValue> values, double h, double lower,
                               double upper) {
  KernelGrid grid(h, lower, upper);
  grid.fill(values, lower, upper, true);
  return grid;
}

void KernelGrid::fill(std::span<const WeightedValue> values, double start, double end,
                      bool mirrored) {
  std::vector<WeightedValue> images;
  if (mirrored) images = mirror_images(values, start, end, kReach * h_);

  double before = 0;
  const auto put = [&](const WeightedValue& v) {
    const double at = std::round((v.value - start_) / delta_);
    const auto node = static_cast<std::int64_t>(at);
    if (bins_.empty() || bins_.back().node != node) bins_.push_back({node, {0, 0, 0, 0}, before});
    const double eps = (v.value - (start_ + at * delta_)) / h_;
    double power = v.weight;
    for (double& m : bins_.back().m) {
      m += power;
      power *= eps;
    }
    before += v.weight;
  };
  auto image = images.begin();
  for (const WeightedValue& v : values) {
    for (; image != images.end() && image->value < v.value; ++image) put(*image);
    put(v);
  }
  for (; image != images.end(); ++image) put(*image);

  find_stretches(last_node_);
  const Sums low = sums_at(0);
  const Sums high = sums_at(last_node_);
  base_ = low.below + low.cdf;
  total_ = high.below + high.cdf - base_;
  base_moments_ = raw_moments(0);
}

void KernelGrid::find_stretches(std::int64_t last_node) {
  for (const Bin& bin : bins_) {
    const std::int64_t first = std::clamp<std::int64_t>(bin.node - reach_, 0, last_node);
    const std::int64_t last = std::clamp<std::int64_t>(bin.node + reach_, 0, last_node);
    if (!stretches_.empty() && first <= stretches_.back().last + 1) {
      stretches_.back().last = std::max(stretches_.back().last, last);
    } else {
      stretches_.push_back({first, last, 0});
    }
  }
  // The ends are always nodes, so that F runs from 0 to 1.
  if (stretches_.front().first > 0) stretches_.insert(stretches_.begin(), {0, 0, 0});
  if (stretches_.back().last < last_node) stretches_.push_back({last_node, last_node, 0});
  for (Stretch& s : stretches_) {
    s.offset = nodes_;
    nodes_ += s.last - s.first + 1;
  }
}

std::int64_t KernelGrid::node_of(std::int64_t q) const {
  const auto after =
      std::upper_bound(stretches_.begin(), stretches_.end(), q,
                       [](std::int64_t at, const Stretch& s) { return at < s.offset; });
  const Stretch& s = *(after - 1);
  return s.first + (q - s.offset);
}

double KernelGrid::position(std::int64_t q) const {
  return start_ + static_cast<double>(node_of(q)) * delta_;
}

KernelGrid::Sums KernelGrid::sums_at(std::int64_t node) const {
  const auto by_node = [](const Bin& bin, std::int64_t at) { return bin.node < at; };
  const auto first = std::lower_bound(bins_.begin(), bins_.end(), node - reach_, by_node);
  Sums sums{0, 0, 0, static_cast<std::size_t>(first - bins_.begin()), bins_.size()};
  if (first == bins_.end()) {
    sums.below = bins_.empty() ? 0 : bins_.back().before + bins_.back().m[0];
    return sums;
  }
  sums.below = first->before;
  for (std::size_t i = sums.first; i < bins_.size(); ++i) {
    const Bin& bin = bins_[i];
    const std::int64_t distance = node - bin.node;
    if (distance < -reach_) {
      sums.end = i;
      break;
    }
    const double* t = factors_[static_cast<std::size_t>(distance + reach_)].t;
    const double* m = bin.m;
    sums.cdf += m[0] * t[0] - m[1] * t[1] + m[2] / 2 * t[2] - m[3] / 6 * t[3];
    sums.pdf += m[0] * t[1] - m[1] * t[2] + m[2] / 2 * t[3] - m[3] / 6 * t[4];
  }
  return sums;
}

KernelGrid::Value KernelGrid::value(std::int64_t q) const {
  const Sums sums = sums_at(node_of(q));
  return {std::clamp((sums.below + sums.cdf - base_) / total_, 0.0, 1.0),
          std::max(sums.pdf / (total_ * h_), 0.0)};
}

KernelGrid::Moments KernelGrid::raw_moments(std::int64_t node) const {
  const Sums sums = sums_at(node);
  const double t = start_ + static_cast<double>(node) * delta_;
  Moments out;
  // Bins wholly below: sum w x and sum w (x^2 + h^2).
  for (std::size_t i = 0; i < sums.first; ++i) {
    const Bin& bin = bins_[i];
    const double x = start_ + static_cast<double>(bin.node) * delta_;
    const double* m = bin.m;
    out.first += x * m[0] + h_ * m[1];
    out.second += x * x * m[0] + 2 * x * h_ * m[1] + h_ * h_ * (m[2] + m[0]);
  }
  // Within reach: the closed forms of kernel_sum.h with Phi, phi expanded in eps.
  for (std::size_t i = sums.first; i < sums.end; ++i) {
    const Bin& bin = bins_[i];
    const double x = start_ + static_cast<double>(bin.node) * delta_;
    const double* m = bin.m;
    const double* f = factors_[static_cast<std::size_t>(node - bin.node + reach_)].t;
    const double phi0 = m[0] * f[0] - m[1] * f[1] + m[2] / 2 * f[2] - m[3] / 6 * f[3];
    const double phi1 = m[1] * f[0] - m[2] * f[1] + m[3] / 2 * f[2];  // sum w eps Phi
    const double phi2 = m[2] * f[0] - m[3] * f[1];                    // sum w eps^2 Phi
    const double pdf0 = m[0] * f[1] - m[1] * f[2] + m[2] / 2 * f[3] - m[3] / 6 * f[4];
    const double pdf1 = m[1] * f[1] - m[2] * f[2] + m[3] / 2 * f[3];  // sum w eps phi
    out.first += x * phi0 + h_ * phi1 - h_ * pdf0;
    out.second += x * x * phi0 + 2 * x * h_ * phi1 + h_ * h_ * (phi2 + phi0) -
                  h_ * ((t + x) * pdf0 + h_ * pdf1);
  }
  return out;
}

KernelGrid::Moments KernelGrid::moments(std::int64_t q) const {
  const Moments raw = raw_moments(node_of(q));
  return {(raw.first - base_moments_.first) / total_, (raw.second - base_moments_.second) / total_};
}

}  // namespace kde
