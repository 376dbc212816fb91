// Sums of the cards against those of the processor in double, within bounds derived here.
//
// c is 1e-6 in single precision and 1e-12 in double. In single precision a coordinate, the square,
// the exponential and short runs of additions are each rounded by some 2^-24 of a term or of its
// greatest possible value, of either sign (core/sums/gaussian_simd.cpp has the parts); 1e-6 of all
// terms holds where all have the same sign, and with a few points, where a term may be wrong by
// its slope times the rounding of a coordinate, n joins them: each point's term with itself, which
// every estimate adds. In double it is what the reference leaves: it adds N terms to one sum, each
// addition rounded by up to half an ulp, either way, which makes some sqrt(N) eps of the sum.
//
//   derivatives  c (n |K^(r)(0)| + S),  S >= sum |K^(r)(z)|, by Cramer's inequality
//                |He_r(z)| exp(-z^2/4) <= 1.0865 sqrt(r!)  (Abramowitz & Stegun 22.14.17), so
//                S = 1.0865 sqrt(r!) sum K^(0)(z/sqrt 2), a sum at bandwidth sqrt(2) g
//   sweep, full  c (n + S),  S the sum itself: its terms are positive. Of sum S e, whose terms are
//                4 h^2/e at most (2 h^2/e those of sum S e^2), c (4 h^2/e n + sum S e)
//                In single precision these hold for points within 20 sqrt(n) bandwidths of their
//                centre, for which 2^-24 R, the rounding of a coordinate, is averaged away; with R
//                beyond that, c is so many times as large (core/sums/gaussian_simd.cpp)
//   scatter      M = sum_i V_i y_i', V_i = sum_j w (y_i - y_j) over all j. Terms of element (k, l)
//                are wrong by c |w y_k y_l|, in all sqrt(D_k D_l) with D_k = sum |w| y_k^2
//                (Cauchy-Schwarz); and V_ik, wrong by c sum_j |w y_k|, is multiplied by y_il from
//                the centre, R_l at most: R_l sum |w y_k| <= R_l sqrt(W D_k), W = sum |w|. So
//                c (sqrt(D_k D_l) + R_l sqrt(W D_k) + n), the mean of both triangles
//                By matrix units V_i = (sum_j w) y_i - sum_j w y_j, each part wrong by c R sum w at
//                most. Either way, and averaged away, but for points of few places, of which equal
//                terms are rounded alike: c R_k R_l W more
//   density      Of points in whitened coordinates within R of the centre either coordinate of a
//                difference is wrong by eps/2 R each, |y| by eps R sqrt(d), a term by
//                |y| exp(-|y|^2/2) <= sqrt(2/e) exp(-|y|^2/4) times that: with eps <= c/8,
//                c (1 + (1 + R sqrt(d)/8) sum exp(-|y|^2/4))
#pragma once

#include <gtest/gtest.h>

#include <numbers>
#include <span>
#include <utility>

#include "cards.h"
#include "core/sums/gaussian_derivatives.h"
#include "core/sums/gaussian_sums.h"

namespace kde {

inline double relative(Precision precision) {
  return precision == Precision::single ? 1e-6 : 1e-12;
}

// Whether `too_large`, another engine's work, is as good as the right answer.
enum class Refusal { no, allowed };

// Whether there is a sum to look at.
inline bool answered(const Status& status, Refusal refusal) {
  if (refusal == Refusal::allowed && status.code == Code::too_large) return false;
  EXPECT_TRUE(status.ok()) << status.message;
  return status.ok();
}

// All sums of derivatives of sample at g, in both precisions, asked for twice. Returns S/n of r = 0
// in units of K(0): how many neighbours a point has.
inline double expect_derivatives(DeviceSample& sample, const std::vector<double>& x, double g,
                                 Refusal refusal = Refusal::no) {
  const auto n = static_cast<double>(x.size());
  std::unique_ptr<PairSums> reference;
  Engine engine = truth(n * n / 2);
  // Exact sums would take long; these are nearly exact, below c S (core/sums/spectral.h).
  if (n > 40000) engine.kind = Engine::Kind::spectral;
  EXPECT_TRUE(make_pair_sums(engine, x, threads(), &reference).ok());
  double near = 0;
  EXPECT_TRUE(reference->derivative(0, std::numbers::sqrt2 * g, &near).ok());
  double factorial = 1;
  for (int r = 0; r <= kMaxDerivative; r += 2) {
    if (r > 0) factorial *= (r - 1) * r;
    double expected = 0;
    EXPECT_TRUE(reference->derivative(r, g, &expected).ok());
    const double most = std::fabs(hermite_at_zero(r)) / std::sqrt(2 * std::numbers::pi);
    const double moduli = 1.0865 * std::sqrt(factorial) * near;
    for (const Precision precision : kPrecisions) {
      double actual = 0, again = 0;
      if (!answered(sample.derivative(r, g, precision, {}, &actual), refusal)) continue;
      EXPECT_NEAR(actual, expected, relative(precision) * (n * most + moduli))
          << "n = " << n << " r = " << r << " g = " << g << " S/n = " << moduli / n;
      EXPECT_TRUE(sample.derivative(r, g, precision, {}, &again).ok());
      EXPECT_EQ(actual, again);
    }
  }
  return near * std::sqrt(2 * std::numbers::pi) / n;
}

inline std::unique_ptr<DeviceSample> load(const std::vector<double>& x, int d = 1,
                                          cuda::MatrixUnits most = cuda::MatrixUnits::group) {
  std::unique_ptr<DeviceSample> sample;
  const Status s = cards(most).load(x, d, {}, &sample);
  EXPECT_TRUE(s.ok()) << s.message;
  return sample;
}

inline double expect_derivatives(const std::vector<double>& x, double g,
                                 Refusal refusal = Refusal::no) {
  return expect_derivatives(*load(x), x, g, refusal);
}

// Sums in d dimensions of one sample. Its functions return the greatest sum e over n that they saw.
class GaussianCheck {
 public:
  GaussianCheck(const std::vector<double>& x, int d, Refusal refusal = Refusal::no)
      : x_(x), d_(static_cast<std::size_t>(d)), refusal_(refusal) {
    for (const cuda::MatrixUnits most : kUnits) samples_.push_back(load(x, d, most));
  }

  double sweep(std::span<const double> h) {
    const auto reference = engine(static_cast<double>(h.size()));
    std::vector<GaussianSlopes> expected(h.size());
    EXPECT_TRUE(reference->sweep_slopes(h, expected).ok());
    std::vector<double> unit(d_ * d_);
    for (std::size_t k = 0; k < d_; ++k) unit[k * d_ + k] = 1;
    const double radius = length(extents(unit, x_));
    for (const Precision precision : kPrecisions) {
      std::vector<double> sums(2 * h.size()), slopes(4 * h.size());
      const bool plain = answered(samples_.back()->sweep(h, false, precision, {}, sums), refusal_);
      const bool with_slopes =
          answered(samples_.back()->sweep(h, true, precision, {}, slopes), refusal_);
      for (std::size_t k = 0; k < h.size(); ++k) {
        const GaussianSums& e = expected[k].sums;
        const double c = relative_within(radius / h[k], precision);
        if (plain) {
          EXPECT_NEAR(sums[2 * k], e.once, c * (n() + e.once)) << n() << " " << h[k];
          EXPECT_NEAR(sums[2 * k + 1], e.twice, c * (n() + e.twice)) << n() << " " << h[k];
        }
        if (with_slopes) {
          const double most = n() * 4 * h[k] * h[k] / std::numbers::e;
          const double once_s = expected[k].once_s, twice_s = expected[k].twice_s;
          EXPECT_NEAR(slopes[4 * k], e.once, c * (n() + e.once)) << n() << " " << h[k];
          EXPECT_NEAR(slopes[4 * k + 1], e.twice, c * (n() + e.twice)) << n() << " " << h[k];
          EXPECT_NEAR(slopes[4 * k + 2], once_s, c * (most + once_s)) << n() << " " << h[k];
          EXPECT_NEAR(slopes[4 * k + 3], twice_s, c * (most + twice_s)) << n() << " " << h[k];
        }
      }
    }
    double most = 0;
    for (const GaussianSlopes& e : expected) most = std::max(most, e.sums.once / n());
    return most;
  }

  // full and scatter, with weights of either sign. few_places: so many points are equal that theirs
  // are most terms.
  double matrix(std::span<const double> a, double once = -0.5, double twice = 2,
                bool few_places = false) {
    const std::size_t dd = d_ * d_;
    const auto reference = engine(1 + static_cast<double>(dd) / 8);
    GaussianSums e;
    std::vector<double> expected(dd), moduli(dd);
    EXPECT_TRUE(reference->full_scatter(a, std::fabs(once), std::fabs(twice), &e, moduli).ok());
    EXPECT_TRUE(reference->full_scatter(a, once, twice, &e, expected).ok());
    const double weights = std::fabs(once) * e.once + std::fabs(twice) * e.twice;
    const std::vector<double> reach = extents(a, x_);
    for (const auto& [precision, sample] : ways()) {
      const double c = relative_within(length(reach), precision);
      // samples_ begins with those without matrix units.
      const bool alike = few_places && sample != samples_[0].get();
      std::vector<double> sums(2), more(2 + dd);
      if (answered(sample->full(a, precision, {}, sums), refusal_)) {
        EXPECT_NEAR(sums[0], e.once, c * (n() + e.once)) << n() << " " << a[0];
        EXPECT_NEAR(sums[1], e.twice, c * (n() + e.twice)) << n() << " " << a[0];
      }
      if (!answered(sample->scatter(a, once, twice, precision, {}, more), refusal_)) continue;
      EXPECT_NEAR(more[0], e.once, c * (n() + e.once)) << n() << " " << a[0];
      EXPECT_NEAR(more[1], e.twice, c * (n() + e.twice)) << n() << " " << a[0];
      for (std::size_t k = 0; k < d_; ++k) {
        for (std::size_t l = 0; l < d_; ++l) {
          const double own = moduli[k * d_ + k], other = moduli[l * d_ + l];
          const double sides =
              (reach[l] * std::sqrt(weights * own) + reach[k] * std::sqrt(weights * other)) / 2;
          EXPECT_NEAR(more[2 + k * d_ + l], expected[k * d_ + l],
                      c * (std::sqrt(own * other) + sides + n() +
                           (alike ? weights * reach[k] * reach[l] : 0)))
              << n() << " " << a[0] << " element " << k << ", " << l;
        }
      }
    }
    return e.once / n();
  }

  // Returns the greatest density over n.
  double density(std::span<const double> a, const std::vector<double>& queries) {
    std::vector<double> expected, wide;
    for (std::size_t q = 0; q < queries.size(); q += d_) {
      double f = 0, f_wide = 0;
      for (std::size_t i = 0; i < x_.size(); i += d_) {
        double s = 0;
        for (std::size_t k = 0; k < d_; ++k) {
          double y = 0;
          for (std::size_t l = 0; l <= k; ++l) y += a[k * d_ + l] * (queries[q + l] - x_[i + l]);
          s += y * y;
        }
        f += std::exp(-s / 2);
        f_wide += std::exp(-s / 4);
      }
      expected.push_back(f);
      wide.push_back(f_wide);
    }
    double radius = 0;
    for (const double r : extents(a, x_)) radius = std::max(radius, r);
    for (const double r : extents(a, queries)) radius = std::max(radius, r);
    std::vector<double> out(expected.size());
    for (const auto& [precision, sample] : ways()) {
      if (!answered(sample->density(a, queries, precision, {}, out), refusal_)) continue;
      for (std::size_t q = 0; q < out.size(); ++q) {
        const double share = 1 + radius * std::sqrt(static_cast<double>(d_)) / 8;
        EXPECT_NEAR(out[q], expected[q], relative(precision) * (1 + share * wide[q]))
            << n() << " " << q;
      }
    }
    return *std::max_element(expected.begin(), expected.end()) / n();
  }

 private:
  // Double precision has no matrix units.
  std::vector<std::pair<Precision, DeviceSample*>> ways() const {
    std::vector<std::pair<Precision, DeviceSample*>> out{{Precision::full, samples_[0].get()}};
    for (const auto& sample : samples_) out.emplace_back(Precision::single, sample.get());
    return out;
  }

  double n() const { return static_cast<double>(x_.size() / d_); }

  // c for points within so many bandwidths of their centre.
  double relative_within(double radius, Precision precision) const {
    const double beyond = precision == Precision::single ? radius / (20 * std::sqrt(n())) : 0;
    return relative(precision) * std::max(1.0, beyond);
  }

  static double length(const std::vector<double>& y) {
    double squares = 0;
    for (const double v : y) squares += v * v;
    return std::sqrt(squares);
  }

  std::unique_ptr<GaussianPairSums> engine(double sums) const {
    std::unique_ptr<GaussianPairSums> out;
    const Engine engine = truth(n() * n() / 2 * sums);
    EXPECT_TRUE(make_gaussian_sums(engine, x_, static_cast<int>(d_), threads(), &out).ok());
    return out;
  }

  // R_k: the largest |(A (p - mean))_k| over some points, mean that of the sample.
  std::vector<double> extents(std::span<const double> a, const std::vector<double>& of) const {
    std::vector<double> mean(d_), out(d_);
    for (std::size_t i = 0; i < x_.size(); ++i) mean[i % d_] += x_[i] / n();
    for (std::size_t i = 0; i < of.size(); i += d_) {
      for (std::size_t k = 0; k < d_; ++k) {
        double y = 0;
        for (std::size_t l = 0; l <= k; ++l) y += a[k * d_ + l] * (of[i + l] - mean[l]);
        out[k] = std::max(out[k], std::fabs(y));
      }
    }
    return out;
  }

  const std::vector<double> x_;
  const std::size_t d_;
  const Refusal refusal_;
  std::vector<std::unique_ptr<DeviceSample>> samples_;  // by kUnits
};

}  // namespace kde
