// The reference engine: the sums by their formulas as they are printed, in plain double loops. It
// shares nothing with the vector code that it is there to check.
//
//   LSCV_h: exp(-S/(4 h^2)) and exp(-S/(2 h^2)), S = |x_i - x_j|^2
//   LSCV_H: exp(-y'y/4) and exp(-y'y/2), y = A (x_i - x_j)
//
// Source: Andrzejewski, Gramacki & Gramacki, AMCS 23(4), 2013, eqs. (13)-(33).
#include <cmath>
#include <vector>

#include "core/sums/gaussian_parts.h"
#include "core/guarded.h"

namespace kde {
namespace {

constexpr std::size_t kTermsBetweenPolls = 200'000;  // a few milliseconds

// A product in which exp(-S/..) = 0 wins over an S that has overflowed.
double times(double factor, double exponential) {
  return exponential == 0 ? 0 : factor * exponential;
}

class ReferenceSums : public GaussianPairSums {
 public:
  ReferenceSums(std::span<const double> points, int d, const Control& control)
      : x_(points.begin(), points.end()),
        d_(static_cast<std::size_t>(d)),
        n_(x_.size() / d_),
        control_(control) {}

  Status sweep(std::span<const double> h, std::span<GaussianSums> out) override {
    if (Status s = check_sweep(h, out.size()); !s.ok()) return s;
    return guarded([&] {
      std::vector<GaussianSlopes> slopes(h.size());
      if (Status s = sum_over_pairs(h, slopes); !s.ok()) return s;
      for (std::size_t k = 0; k < h.size(); ++k) out[k] = slopes[k].sums;
      return Status::success();
    });
  }

  Status sweep_slopes(std::span<const double> h, std::span<GaussianSlopes> out) override {
    if (Status s = check_sweep(h, out.size()); !s.ok()) return s;
    return sum_over_pairs(h, out);
  }

  Status full(std::span<const double> a, GaussianSums* out) override {
    double scatter[kMaxDimensions * kMaxDimensions];
    return full_scatter(a, 0, 0, out, {scatter, d_ * d_});
  }

  Status full_scatter(std::span<const double> a, double once, double twice, GaussianSums* out,
                      std::span<double> scatter) override {
    const int d = static_cast<int>(d_);
    if (Status s = check_full(d, a); !s.ok()) return s;
    if (Status s = check_scatter(d, once, twice, scatter.size()); !s.ok()) return s;
    GaussianSums total;
    for (double& v : scatter) v = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i + 1; j < n_; ++j) {
        if (stop_after(d_ * d_, i, 1)) return cancelled();
        double y[kMaxDimensions];
        double s = 0;
        for (std::size_t k = 0; k < d_; ++k) {
          y[k] = 0;
          for (std::size_t l = 0; l <= k; ++l) {
            y[k] += a[k * d_ + l] * (x_[i * d_ + l] - x_[j * d_ + l]);
          }
          s += y[k] * y[k];
        }
        const double e = std::exp(-s / 4);
        const double e2 = std::exp(-s / 2);
        total.once += e;
        total.twice += e2;
        const double weight = once * e + twice * e2;
        for (std::size_t k = 0; k < d_; ++k) {
          for (std::size_t l = 0; l < d_; ++l) scatter[k * d_ + l] += times(y[k] * y[l], weight);
        }
      }
    }
    control_.tell(all_pairs(1), all_pairs(1).total);
    *out = total;
    return Status::success();
  }

 private:
  Status sum_over_pairs(std::span<const double> h, std::span<GaussianSlopes> out) {
    for (GaussianSlopes& sums : out) sums = {};
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i + 1; j < n_; ++j) {
        if (stop_after(d_ + 4 * h.size(), i, h.size())) return cancelled();
        double s = 0;
        for (std::size_t k = 0; k < d_; ++k) {
          const double u = x_[i * d_ + k] - x_[j * d_ + k];
          s += u * u;
        }
        for (std::size_t k = 0; k < h.size(); ++k) {
          // The square of a quotient, because h^2 may underflow.
          const double z = std::sqrt(s) / h[k];
          const double e = std::exp(-z * z / 4);
          const double e2 = std::exp(-z * z / 2);
          out[k].sums.once += e;
          out[k].sums.twice += e2;
          out[k].once_s += times(s, e);
          out[k].twice_s += times(s, e2);
        }
      }
    }
    control_.tell(all_pairs(h.size()), all_pairs(h.size()).total);
    return Status::success();
  }

  // Counts `terms` more, and asks whether to stop once there are enough. i: the pair's first point.
  bool stop_after(std::size_t terms, std::size_t i, std::size_t bandwidths) {
    terms_ += terms;
    if (terms_ < kTermsBetweenPolls) return false;
    terms_ = 0;
    // Those with the points before i.
    control_.tell(all_pairs(bandwidths),
                  static_cast<std::int64_t>(i * (2 * n_ - i - 1) / 2 * bandwidths));
    return control_.stop_requested();
  }

  WorkAmount all_pairs(std::size_t bandwidths) const {
    return pairs_of(static_cast<std::int64_t>(n_), static_cast<std::int64_t>(bandwidths));
  }

  std::vector<double> x_;
  std::size_t d_;
  std::size_t n_;
  Control control_;
  std::size_t terms_ = kTermsBetweenPolls;  // so that the first pair polls
};

}  // namespace

std::unique_ptr<GaussianPairSums> make_reference_gaussian_sums(std::span<const double> points,
                                                               int d, const Control& control) {
  return std::make_unique<ReferenceSums>(points, d, control);
}

}  // namespace kde
