// The engines of kernel_estimate.h.
//
// A point more than kKernelSumSpan bandwidths from the medians would be known too badly in their
// frame. Such points are few where there are any: they are left out of it, and the reference's loop
// adds their terms. A query beyond twice that distance is so far from all others that it has no
// other terms.
#include "core/estimate/kernel_estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <span>
#include <vector>

#include "core/status.h"
#include "core/stopwatch.h"
#include "core/sums/sums_device.h"
#include "core/sums/device_retry.h"
#include "core/sums/finite.h"
#include "core/sums/gaussian_sums.h"
#include "core/sums/kernel_sums.h"
#include "core/sums/ordered_sum.h"
#include "core/guarded.h"

namespace kde {
namespace {

// Points in units of a bandwidth matrix H = L L': z = L^-1 (x - from), so that
//   (q - x)' H^-1 (q - x) = |z_q - z_x|^2.
//
// Rows of L are divided by powers of two, and differences of coordinates with them, which rounds
// nothing and lets coordinates of any magnitude (1e300, 1e-300) pass. z comes by forward
// substitution, of which the error is
//   |dz| <= (d + 1) eps cond(L) |z|,  cond(L) = || |L^-1| |L| ||,  eps = 2^-53
// Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms (2002), theorem 8.5.
class FactorFrame {
 public:
  // factor: L, d x d lower triangular, row-major, finite, with a positive diagonal that is no less
  // than 2^-1000 of its row's largest element; 1 <= d <= 16. Errors: invalid_argument.
  Status make(std::span<const double> factor, int d);

  // d finite numbers each. False where some |z_k| is above `most`, which is at most 2^60; z is then
  // unspecified.
  bool whiten(const double* x, const double* from, double most, double* z) const;

  // sum n^-1 (2 pi)^(-d/2) det(L)^-1: infinite or 0 where the product is beyond double's range.
  double density(double sum, double n) const;

  int d() const { return d_; }

 private:
  int d_ = 0;
  int exponent_[kMaxDimensions];               // row k is divided by 2^exponent_[k]
  double l_[kMaxDimensions * kMaxDimensions];  // the rows so divided, d x d
  double volume_ = 1;                          // (2 pi)^(d/2) det(L) = volume_ 2^volume_exponent_
  int volume_exponent_ = 0;
};

constexpr double kWidestDifference = 0x1p64;
constexpr double kLeastDiagonal = 0x1p-1000;

// (a - b) 2^-exponent, the difference itself overflowing only if the result does.
double scaled_difference(double a, double b, int exponent) {
  const double difference = a - b;
  if (std::isfinite(difference)) return std::ldexp(difference, -exponent);
  return std::ldexp(a / 2 - b / 2, 1 - exponent);
}

Status not_a_factor(int d) {
  return Status::error(Code::invalid_argument,
                       "the factor of the bandwidth must be %d by %d, finite and lower triangular "
                       "with a positive diagonal",
                       d, d);
}

Status FactorFrame::make(std::span<const double> factor, int d) {
  if (d < 1 || d > kMaxDimensions) {
    return Status::error(Code::invalid_argument, "there must be 1 to %d dimensions",
                         kMaxDimensions);
  }
  const auto size = static_cast<std::size_t>(d);
  if (factor.size() != size * size) return not_a_factor(d);
  d_ = d;
  volume_ = std::pow(2 * std::numbers::pi, 0.5 * d);
  volume_exponent_ = 0;
  for (std::size_t k = 0; k < size; ++k) {
    const auto row = factor.subspan(k * size, size);
    double largest = 0;
    for (std::size_t j = 0; j < size; ++j) {
      if (!std::isfinite(row[j]) || (j > k && row[j] != 0)) return not_a_factor(d);
      largest = std::max(largest, std::fabs(row[j]));
    }
    std::frexp(largest, &exponent_[k]);
    for (std::size_t j = 0; j < size; ++j) l_[k * size + j] = std::ldexp(row[j], -exponent_[k]);
    if (!(l_[k * size + k] >= kLeastDiagonal)) return not_a_factor(d);
    int exponent = 0;
    volume_ *= std::frexp(row[k], &exponent);
    volume_exponent_ += exponent;
  }
  return Status::success();
}

bool FactorFrame::whiten(const double* x, const double* from, double most, double* z) const {
  const auto size = static_cast<std::size_t>(d_);
  for (std::size_t k = 0; k < size; ++k) {
    double u = scaled_difference(x[k], from[k], exponent_[k]);
    if (!(std::fabs(u) <= kWidestDifference)) return false;
    for (std::size_t j = 0; j < k; ++j) u -= l_[k * size + j] * z[j];
    z[k] = u / l_[k * size + k];
    if (!(std::fabs(z[k]) <= most)) return false;
  }
  return true;
}

double FactorFrame::density(double sum, double n) const {
  return std::ldexp(sum / (n * volume_), -volume_exponent_);
}

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kAsymmetry = 1e-9;

constexpr std::size_t kTermsBetweenPolls = 100'000;  // a few milliseconds
constexpr std::size_t kPointsAtATime = 4096;

// exp(-z^2/2) = 0 from 38.6 on.
constexpr double kNoTerm = 64;

double widest(std::span<const double> values) {
  double most = 0;
  for (const double v : values) most = std::max(most, std::fabs(v));
  return most;
}

class Estimate {
 public:
  Estimate(const FactorFrame& frame, std::span<const double> points, std::span<const double> at,
           const Control& control, std::span<double> out)
      : frame_(frame),
        d_(static_cast<std::size_t>(frame.d())),
        points_(points),
        at_(at),
        control_(control),
        out_(out) {}

  Status by_reference() {
    std::fill(out_.begin(), out_.end(), 0.0);
    std::vector<std::size_t> all(points_.size() / d_);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    if (Status s = add_terms(all); !s.ok()) return s;
    finish();
    return Status::success();
  }

  Status by_vectors(const Engine& engine) {
    if (Status s = whiten(); !s.ok()) return s;
    std::fill(out_.begin(), out_.end(), 0.0);
    if (!near_points_.empty() && !near_queries_.empty()) {
      std::vector<double> sums(near_at_.size());
      if (Status s = sum(engine, sums); !s.ok()) return s;
      for (std::size_t k = 0; k < sums.size(); ++k) out_[near_at_[k]] = sums[k];
    }
    if (Status s = add_terms(far_); !s.ok()) return s;
    finish();
    return Status::success();
  }

 private:
  // out += sum of the terms of these points, each as the formula is printed.
  Status add_terms(const std::vector<std::size_t>& which) {
    std::size_t terms = kTermsBetweenPolls;  // so that the first polls
    double z[kMaxDimensions] = {};
    for (std::size_t k = 0; k < out_.size(); ++k) {
      double sum = 0;
      for (const std::size_t i : which) {
        terms += d_ * d_;
        if (terms >= kTermsBetweenPolls) {
          if (control_.stop_requested()) return cancelled();
          terms = 0;
        }
        if (!frame_.whiten(&at_[k * d_], &points_[i * d_], kNoTerm, z)) continue;
        double s = 0;
        for (std::size_t l = 0; l < d_; ++l) s += z[l] * z[l];
        sum += std::exp(-s / 2);
      }
      out_[k] += sum;
    }
    return Status::success();
  }

  void finish() {
    const std::size_t points = points_.size() / d_;
    const double n = static_cast<double>(points);
    for (double& f : out_) f = frame_.density(f, n);
  }

  // Fills near_points_, far_, near_queries_ and near_at_.
  Status whiten() {
    std::vector<double> centre(d_);
    const std::size_t n = points_.size() / d_;
    std::vector<double> column(n);
    for (std::size_t k = 0; k < d_; ++k) {
      if (control_.stop_requested()) return cancelled();
      for (std::size_t i = 0; i < n; ++i) column[i] = points_[i * d_ + k];
      const auto middle = column.begin() + static_cast<std::ptrdiff_t>(n / 2);
      std::nth_element(column.begin(), middle, column.end());
      centre[k] = *middle;
    }
    std::vector<std::size_t> near;
    if (Status s = whiten_all(points_, centre, kKernelSumSpan, &near_points_, &near, &far_);
        !s.ok())
      return s;
    return whiten_all(at_, centre, 2 * kKernelSumSpan, &near_queries_, &near_at_, nullptr);
  }

  // Those of x within `most` of the centre, whitened, and which they are; and which are not.
  Status whiten_all(std::span<const double> x, const std::vector<double>& centre, double most,
                    std::vector<double>* whitened, std::vector<std::size_t>* near,
                    std::vector<std::size_t>* far) {
    const std::size_t count = x.size() / d_;
    std::vector<double> all(x.size());
    std::vector<char> within(count);
    const auto work = [&](std::int64_t item, double*) {
      const std::size_t begin = static_cast<std::size_t>(item) * kPointsAtATime;
      for (std::size_t i = begin; i < std::min(count, begin + kPointsAtATime); ++i)
        within[i] = frame_.whiten(&x[i * d_], centre.data(), most, &all[i * d_]) ? 1 : 0;
    };
    // Nothing is added up: it lends its threads and its polls.
    const auto items = static_cast<std::int64_t>((count + kPointsAtATime - 1) / kPointsAtATime);
    if (Status s = ordered_sum(control_, items, work, {}); !s.ok()) return s;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (within[i] == 0) {
        if (far != nullptr) far->push_back(i);
        continue;
      }
      near->push_back(i);
      if (kept != i) std::copy_n(&all[i * d_], d_, &all[kept * d_]);
      ++kept;
    }
    all.resize(kept * d_);
    *whitened = std::move(all);
    return Status::success();
  }

  // sums[k]: over the near points, of the near queries.
  Status sum(const Engine& engine, std::span<double> sums) {
    std::size_t done = 0;
    if (engine.kind == Engine::Kind::device) {
      if (Status s = sum_by_device(engine, sums, &done); !s.ok()) return s;
    }
    if (done == sums.size()) return Status::success();
    if (engine.use != nullptr) ++engine.use->processor_sums;
    const std::int64_t target = engine.target == 0 ? simd_targets().front().target : engine.target;
    return tiled_kernel_sums(near_points_, std::span(near_queries_).subspan(done * d_),
                             static_cast<int>(d_), target, engine.precision, control_,
                             sums.subspan(done));
  }

  // *done: how many sums it computed; the others are for the processor. Errors: cancelled; the
  // device's, where nobody should go on (sums/device_retry.h).
  Status sum_by_device(const Engine& engine, std::span<double> sums, std::size_t* done) {
    const int d = static_cast<int>(d_);
    // Fewer than two points are no sample to a device.
    if (near_points_.size() / d_ < 2) return Status::success();
    std::vector<double> unit(d_ * d_, 0.0);
    for (std::size_t k = 0; k < d_; ++k) unit[k * d_ + k] = 1;
    // Single precision would round points far from the origin too much.
    const Precision precision =
        widest(near_points_) <= kSingleRadius && widest(near_queries_) <= kSingleRadius
            ? engine.precision
            : Precision::full;
    std::unique_ptr<DeviceSample> sample;
    Stopwatch since;
    Status s = engine.device->load(near_points_, d, control_, &sample);
    for (;;) {
      if (s.ok()) {
        s = densities_by_device(sample.get(), unit, precision, engine.use, sums, done, &since);
      }
      if (s.ok() || s.code == Code::cancelled) return s;
      const SumsWork left{std::ssize(near_points_) / d, d, 1, precision,
                          static_cast<std::int64_t>(sums.size() - *done)};
      if (s.code == Code::invalid_argument || !is_worth_return(engine, left, control_.threads)) {
        note_trouble(engine, s);
        return Status::success();
      }
      s = load_again(engine, left, s, since.ms(), near_points_, control_, &sample);
      if (!s.ok()) return s;
    }
  }

  Status densities_by_device(DeviceSample* sample, const std::vector<double>& unit,
                             Precision precision, DeviceUse* use, std::span<double> sums,
                             std::size_t* done, Stopwatch* since) {
    while (*done < sums.size()) {
      *since = {};
      const std::size_t some = std::min(sums.size() - *done, static_cast<std::size_t>(kMaxQueries));
      const auto queries = std::span(near_queries_).subspan(*done * d_, some * d_);
      if (Status s = sample->density(unit, queries, precision, control_, sums.subspan(*done, some));
          !s.ok())
        return s;
      *done += some;
      if (use != nullptr) ++use->device_sums;
    }
    return Status::success();
  }

  const FactorFrame& frame_;
  std::size_t d_;
  std::span<const double> points_;
  std::span<const double> at_;
  const Control& control_;
  std::span<double> out_;
  std::vector<double> near_points_, near_queries_;  // whitened
  std::vector<std::size_t> near_at_;                // whose queries those are
  std::vector<std::size_t> far_;                    // points that are not near
};

Status check(const Engine& engine, std::span<const double> points, int d,
             std::span<const double> at, std::size_t results) {
  const auto size = static_cast<std::size_t>(d);
  if (points.size() % size != 0 || at.size() % size != 0) {
    return Status::error(Code::invalid_argument, "every point must have %d coordinates", d);
  }
  if (points.empty()) return Status::error(Code::invalid_argument, "an estimate needs a point");
  if (results != at.size() / size) {
    return Status::error(Code::invalid_argument, "there must be room for each result, and no more");
  }
  if (!all_finite(points) || !all_finite(at)) {
    return Status::error(Code::invalid_argument, "values must be finite");
  }
  if (engine.kind == Engine::Kind::spectral) {
    return Status::error(Code::invalid_argument,
                         "the spectral engine evaluates no estimate at given points");
  }
  if (engine.kind == Engine::Kind::reference || engine.target == 0) return Status::success();
  if (!is_simd_target(engine.target)) {
    return Status::error(Code::invalid_argument,
                         "this processor or build has no such vector instruction set");
  }
  return Status::success();
}

}  // namespace

Status kernel_estimate(const Engine& engine, std::span<const double> points, int d,
                       std::span<const double> factor, std::span<const double> at,
                       const Control& control, std::span<double> out) noexcept {
  return guarded([&] {
    FactorFrame frame;
    if (Status s = frame.make(factor, d); !s.ok()) return s;
    if (Status s = check(engine, points, d, at, out.size()); !s.ok()) return s;
    Estimate estimate(frame, points, at, control, out);
    return engine.kind == Engine::Kind::reference ? estimate.by_reference()
                                                  : estimate.by_vectors(engine);
  });
}

Status factorise_bandwidth(std::span<const double> h, int d, std::span<double> factor) {
  if (d < 1 || d > kMaxDimensions) {
    return Status::error(Code::invalid_argument, "there must be 1 to %d dimensions",
                         kMaxDimensions);
  }
  const auto size = static_cast<std::size_t>(d);
  if (h.size() != size * size || factor.size() != h.size()) {
    return Status::error(Code::invalid_argument, "the bandwidth matrix must be %d by %d", d, d);
  }
  if (!all_finite(h)) {
    return Status::error(Code::invalid_argument, "the bandwidth matrix must be finite");
  }
  // H_ij 2^-(e_i + e_j), of which the diagonal is in [1/4, 1): no product overflows.
  int exponent[kMaxDimensions];
  const auto scaled = [&](std::size_t i, std::size_t j) {
    return std::ldexp(h[i * size + j], -exponent[i] - exponent[j]);
  };
  for (std::size_t k = 0; k < size; ++k) {
    if (!(h[k * size + k] > 0)) {
      return Status::error(Code::invalid_argument,
                           "the bandwidth matrix must be positive definite");
    }
    std::frexp(std::sqrt(h[k * size + k]), &exponent[k]);
  }
  std::fill(factor.begin(), factor.end(), 0.0);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double unit = std::sqrt(scaled(i, i)) * std::sqrt(scaled(j, j));
      if (!(std::fabs(scaled(i, j) - scaled(j, i)) <= kAsymmetry * unit)) {
        return Status::error(Code::invalid_argument, "the bandwidth matrix must be symmetric");
      }
      double left = scaled(i, j);
      for (std::size_t l = 0; l < j; ++l) left -= factor[i * size + l] * factor[j * size + l];
      if (j < i) {
        factor[i * size + j] = left / factor[j * size + j];
        continue;
      }
      if (!(left > d * kEpsilon * scaled(i, i))) {
        return Status::error(Code::invalid_argument,
                             "the bandwidth matrix must be positive definite");
      }
      factor[i * size + i] = std::sqrt(left);
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j)
      factor[i * size + j] = std::ldexp(factor[i * size + j], exponent[i]);
  }
  return Status::success();
}

}  // namespace kde
