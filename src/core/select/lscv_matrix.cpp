// LSCV_H: from the local minima of g along multiples of Sigma, which a coarse sweep finds, to those
// over all bandwidth matrices. Another start than the normal reference alone because g of a full H
// has several minima, and what a search finds depends on where it begins: T. Duong & M. L.
// Hazelton, Cross-validation bandwidth matrices for multivariate kernel density estimation, Scand.
// J. Statist. 32 (2005).
//
// In single precision g is rounded to some 1e-7 of its terms, which leaves parameters uncertain by
// 1e-4 or so. From there a few steps in double do the rest.
#include <eigen3/Eigen/Cholesky>
#include <eigen3/Eigen/SVD>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "core/select/lscv.h"
#include "core/select/lscv_factors.h"
#include "core/select/lscv_frame.h"
#include "core/select/optimise.h"
#include "core/select/matrix.h"
#include "core/guarded.h"

namespace kde {
namespace {

// Where the searches begin: the minima of g along multiples of Sigma. A coarse sweep is enough, in
// one pass over the pairs: h0 times 2, 1, 1/2, ... down to the least h searched. Where the
// derivative changes its sign between two of them, the minimum of the cubic through values and
// derivatives in log h is taken: Nocedal & Wright, Numerical Optimization (2006), eq. (3.59). Where
// g is lowest at the least h, and falls on from there, that is a start too.
struct LscvStarts {
  std::vector<double> h;          // descending
  Criterion lowest{0, HUGE_VAL};  // the lowest g swept, without det(Sigma)^(-1/2)
  bool falls_on = false;          // it is that of the least h, the last in h
};

// Between two points with slope >= 0 above and < 0 below.
double cubic_minimum(const Criterion& below, const Criterion& above) {
  const double width = std::log(above.h / below.h);
  const double d1 = below.slope + above.slope - 3 * (above.value - below.value) / width;
  const double d2 = std::sqrt(d1 * d1 - below.slope * above.slope);
  const double fraction = 1 - (above.slope + d2 - d1) / (above.slope - below.slope + 2 * d2);
  return below.h * std::exp(width * fraction);
}

Status lscv_starts(GaussianPairSums& sums, const LscvFactors& factors, int d, double h0,
                   double least, LscvStarts* out) {
  std::vector<double> h;
  double next = 2 * h0;
  while (next > least) {
    h.push_back(next);
    next /= 2;
  }
  h.push_back(least);
  std::vector<GaussianSlopes> slopes(h.size());
  if (Status s = sums.sweep_slopes(h, slopes); !s.ok()) return s;
  Criterion above;
  for (std::size_t k = 0; k < h.size(); ++k) {
    const Criterion here = factors.at(slopes[k], d, h[k], h[k]);
    if (k > 0 && here.slope < 0 && above.slope >= 0) out->h.push_back(cubic_minimum(here, above));
    if (here.value < out->lowest.value) out->lowest = here;
    above = here;
  }
  out->falls_on = above.slope >= 0 && out->lowest.h == above.h;
  if (out->falls_on) out->h.push_back(above.h);
  return Status::success();
}

// g and its gradient over a whitened sample, by whatever engine.
//
// With y = A (w_i - w_j), A the factor of lscv_frame.h, and a change dT = T B of the triangle,
//   g = exp(-log det) bracket,   dg = tr(B G),   G = exp(-log det) (W - bracket I),
//   W = sum (once e/2 + twice e^2) y y',
// since y changes by -B y, and e = exp(-y'y/4) by (e/2) y'B y. `bracket` and its factors are those
// of lscv_factors.h.
class MatrixObjective {
 public:
  // g is given without det(Sigma)^(-1/2), which may be beyond double.
  MatrixObjective(GaussianPairSums& sums, const LscvFactors& factors)
      : sums_(sums), factors_(factors) {}

  Status value(const LscvFrame& frame, const Matrix& triangle, double* g);
  // *gradient with respect to the frame's parameters.
  Status gradient(const LscvFrame& frame, const Matrix& triangle, double* g, Vector* gradient);

 private:
  GaussianPairSums& sums_;
  LscvFactors factors_;
};

std::span<const double> elements(const Matrix& m) {
  return {m.data(), static_cast<std::size_t>(m.size())};
}

Status MatrixObjective::value(const LscvFrame& frame, const Matrix& triangle, double* g) {
  GaussianSums sums;
  if (Status s = sums_.full(elements(frame.whitening(triangle)), &sums); !s.ok()) return s;
  *g = std::exp(-frame.log_det(triangle)) * factors_.bracket(sums);
  return Status::success();
}

Status MatrixObjective::gradient(const LscvFrame& frame, const Matrix& triangle, double* g,
                                 Vector* gradient) {
  GaussianSums sums;
  Matrix w(frame.d(), frame.d());
  if (Status s =
          sums_.full_scatter(elements(frame.whitening(triangle)), factors_.once / 2, factors_.twice,
                             &sums, {w.data(), static_cast<std::size_t>(w.size())});
      !s.ok())
    return s;
  const double bracket = factors_.bracket(sums);
  const double scale = std::exp(-frame.log_det(triangle));
  *g = scale * bracket;
  *gradient =
      frame.gradient(triangle, scale * (w - bracket * Matrix::Identity(w.rows(), w.cols())));
  return Status::success();
}

constexpr double kAtBound = 1e-3;  // a log eigenvalue this near to a bound sits on it
constexpr double kNoValue = 1;     // and this far beyond it, g is not asked for
constexpr double kDeep = 4;        // times the first value: deeper than an interior minimum
constexpr int kSimplexPatience = 20;

// The step in the parameters that may be left, in single precision and in double. In single,
// gradients are uncertain by some 1e-7 to 2e-6.
constexpr int kNoLimit = std::numeric_limits<int>::max();
constexpr SmoothStop kRough{.tolerance = 3e-6,
                            .least_step = 3e-5,
                            .held_tolerance = 1e-3,
                            .patience = 4,
                            .evaluations = kNoLimit};
constexpr SmoothStop kExact{.tolerance = 3e-8, .least_step = 1e-8, .evaluations = kNoLimit};
// The searches aside: as far as tells which of them is lowest, and which lower than what is known,
// by so many of g's units. Many of them end at a bound.
constexpr SmoothStop kAside{
    .tolerance = 3e-2, .least_step = 1e-3, .evaluations = 25, .freely = false};
constexpr double kLower = 1e-4;
constexpr int kAsideDimensions = 6;
constexpr double kAsidePairs = 0x1p24;  // times searches, at most
// The side of the simplex: g itself tells no more than the root of its rounding.
constexpr double kFirstSimplex = 0.25;
constexpr double kRoughSimplex = 1e-2;
constexpr double kExactSimplex = 1e-8;

class MatrixLscv {
 public:
  MatrixLscv(const WhiteSample& sample, const Engine& engine, const LscvMatrixOptions& options,
             const Control& control)
      : sample_(sample),
        engine_(engine),
        options_(options),
        control_(control),
        factors_(sample.n, sample.d, options.divisor),
        h0_(lscv_reference_h(sample.n, sample.d)) {}

  Status run(LscvMatrix* out) {
    if (Status s = make_gaussian_sums(engine_, sample_.w, sample_.d, control_, &sums_); !s.ok())
      return s;
    if (is_single(engine_)) {
      Engine full = engine_;
      full.precision = Precision::full;
      if (Status s = make_gaussian_sums(full, sample_.w, sample_.d, control_, &exact_sums_);
          !s.ok())
        return s;
    }
    const double least = h0_ * std::min(std::exp(lowest() / 2), 1.0);
    if (Status s = lscv_starts(*sums_, factors_, sample_.d, h0_, least, &starts_); !s.ok())
      return s;
    for (const double h : starts_.h) {
      if (evaluations_left() == 0) break;
      if (Status s = search_from(h); !s.ok()) return s;
    }
    // Nothing along multiples of Sigma, or it led to a bound: what is left is the normal reference.
    if (!best_ || (best_->end != LscvEnd::converged && evaluations_left() > 0)) {
      if (Status s = search_from(h0_); !s.ok()) return s;
    }
    if (Status s = search_aside(); !s.ok()) return s;
    if (Status s = compare_with_the_sweep(); !s.ok()) return s;
    return finish(out);
  }

 private:
  struct Found {
    LscvFrame frame;
    Matrix triangle;
    double value;
    LscvEnd end;  // converged, at_bound or iteration_limit
  };

  Status search_from(double h) {
    const double within = std::clamp(h, h0_ * std::exp(lowest() / 2) * (1 + kAtBound),
                                     h0_ * std::exp(highest() / 2) * (1 - kAtBound));
    const LscvFrame frame(sample_, options_.shape, within);
    return options_.optimiser == LscvOptimiser::nelder_mead ? simplex(frame) : descend(frame);
  }

  // g in units of its curvature: LscvFrame::normal_units.
  double unit_of_g(const LscvFrame& frame) const {
    return (sample_.d + 4) * factors_.diagonal * std::pow(frame.h(), -sample_.d);
  }

  // Logarithms of the least and the greatest eigenvalue of (H, H_NS), and of the bounds.
  struct Eigenvalues {
    double least, greatest;
  };
  double lowest() const { return std::log(options_.lowest) + 2 * std::log(sample_.robust_scale); }
  double highest() const { return std::log(options_.highest); }

  Eigenvalues eigenvalues(const LscvFrame& frame, const Vector& singular_values) const {
    const double scale = 2 * std::log(frame.h() / h0_);
    return {2 * std::log(singular_values(singular_values.size() - 1)) + scale,
            2 * std::log(singular_values(0)) + scale};
  }

  bool beyond(const Eigenvalues& e, double by) const {
    return !(e.least >= lowest() - by && e.greatest <= highest() + by);
  }

  int evaluations_left() const {
    const int patience = options_.optimiser == LscvOptimiser::nelder_mead ? kSimplexPatience : 1;
    return std::max(options_.evaluations * patience - evaluations_, 0);
  }

  Status descend(const LscvFrame& frame) {
    const SmoothStart start{Vector::Zero(frame.size()), frame.normal_units()};
    SmoothStart at = start;
    Minimum minimum;
    const SmoothStop first = exact_sums_ ? kRough : kExact;
    if (Status s = descend(frame, *sums_, first, &at, &minimum); !s.ok()) return s;
    if (exact_sums_ && evaluations_left() > 0) {
      // Which bound a search ends at, or where it is lost, is not for rounding to decide.
      if (!is_interior(frame, minimum)) at = start;
      if (Status s = descend(frame, *exact_sums_, kExact, &at, &minimum); !s.ok()) return s;
    }
    keep(frame, frame.triangle(minimum.at), minimum.value * unit_of_g(frame), minimum.stationary);
    return Status::success();
  }

  bool is_interior(const LscvFrame& frame, const Minimum& minimum) const {
    return minimum.stationary &&
           !beyond(eigenvalues(frame, singular_values(frame.triangle(minimum.at))), -kAtBound);
  }

  // From H that is no multiple of Sigma: one axis of the frame, in which a normal sample is round,
  // half or twice as wide. All roughly, and the lowest to the end if it is lower than what is
  // known.
  Status search_aside() {
    const int d = sample_.d;
    const double n = static_cast<double>(sample_.n);
    if (options_.optimiser != LscvOptimiser::quasi_newton || d < 2 || d > kAsideDimensions ||
        n * (n - 1) * d > kAsidePairs)
      return Status::success();
    const LscvFrame frame = best_->frame;
    const double unit = unit_of_g(frame);
    const double known = best_->end == LscvEnd::converged ? best_->value / unit : HUGE_VAL;
    SmoothStart lowest;
    double value = known - kLower;
    for (int k = 0; k < 2 * d && evaluations_left() > 0; ++k) {
      SmoothStart at{Vector::Zero(frame.size()), frame.normal_units()};
      at.at(k / 2) = (k % 2 == 0 ? -1 : 1) * std::numbers::ln2;
      if (beyond(eigenvalues(frame, singular_values(frame.triangle(at.at))), 0)) continue;
      Minimum minimum;
      if (Status s = descend(frame, *sums_, kAside, &at, &minimum); !s.ok()) return s;
      const bool inside =
          !beyond(eigenvalues(frame, singular_values(frame.triangle(minimum.at))), -kAtBound);
      if (!inside || !(minimum.value < value)) continue;
      value = minimum.value;
      lowest = std::move(at);
    }
    if (lowest.at.size() == 0 || evaluations_left() == 0) return Status::success();
    Minimum minimum;
    GaussianPairSums& sums = exact_sums_ ? *exact_sums_ : *sums_;
    if (Status s = descend(frame, sums, kExact, &lowest, &minimum); !s.ok()) return s;
    keep(frame, frame.triangle(minimum.at), minimum.value * unit, minimum.stationary);
    return Status::success();
  }

  // Where g along multiples of Sigma still falls at the least h, and is lowest there, no H is
  // returned that is worse; unless it falls without bound along tied values.
  Status compare_with_the_sweep() {
    if (!starts_.falls_on || sample_.tied_in_column > factors_.tied_pairs_bound())
      return Status::success();
    const bool full = options_.shape == LscvShape::full;
    if (full && !(starts_.lowest.value < best_->value)) return Status::success();
    const LscvFrame frame(sample_, options_.shape, starts_.lowest.h);
    const Matrix triangle = Matrix::Identity(sample_.d, sample_.d);
    const Eigenvalues e = eigenvalues(frame, singular_values(triangle));
    if (beyond(e, kAtBound)) return Status::success();
    double g = 0;
    MatrixObjective objective(exact_sums_ ? *exact_sums_ : *sums_, factors_);
    if (Status s = objective.value(frame, triangle, &g); !s.ok()) return s;
    if (!(g < best_->value)) return Status::success();
    if (lowest_ && lowest_->value <= g) {
      best_ = std::move(lowest_);
    } else {
      best_.emplace(Found{frame, triangle, g,
                          beyond(e, -kAtBound) ? LscvEnd::at_bound : LscvEnd::iteration_limit});
    }
    return Status::success();
  }

  // Where g falls without bound it does so as a power of H: by its logarithm from -deep on, it
  // falls as straight a line as the bounds are that stop it. Increasing in g: minima stay.
  static void flatten(double deep, double* value, Vector* gradient) {
    if (*value >= -deep) return;
    *gradient *= deep / -*value;
    *value = -deep * (1 + std::log(-*value / deep));
  }
  static double unflatten(double deep, double value) {
    return value >= -deep ? value : -deep * std::exp(-value / deep - 1);
  }

  Status descend(const LscvFrame& frame, GaussianPairSums& sums, SmoothStop stop, SmoothStart* at,
                 Minimum* minimum) {
    MatrixObjective objective(sums, factors_);
    const double unit = unit_of_g(frame);
    double deep = 0;  // from the first value
    const SmoothFunction f = [&](const Vector& x, double* value, Vector* gradient) {
      const Matrix t = frame.triangle(x);
      *value = HUGE_VAL;
      gradient->setZero();
      if (!t.allFinite() || beyond(eigenvalues(frame, singular_values(t)), kNoValue))
        return Status::success();
      Status s = objective.gradient(frame, t, value, gradient);
      *value /= unit;
      *gradient /= unit;
      if (deep == 0) deep = kDeep * std::max(std::fabs(*value), 1.0);
      flatten(deep, value, gradient);
      return s;
    };
    const Constraints bounds = [&](const Vector& x, Vector* c, Matrix* jacobian) {
      const Matrix t = frame.triangle(x);
      const Eigen::JacobiSVD<Matrix, Eigen::NoQRPreconditioner> svd(
          t, jacobian != nullptr ? Eigen::ComputeFullU | Eigen::ComputeFullV : 0);
      // All of them: where two are on a bound together, either alone leads astray.
      const Vector log_values =
          2 * (svd.singularValues() * (frame.h() / h0_)).array().log().matrix();
      for (Eigen::Index k = 0; k < log_values.size(); ++k) {
        (*c)(2 * k) = lowest() - log_values(k);
        (*c)(2 * k + 1) = log_values(k) - highest();
        if (jacobian == nullptr) continue;
        // dlog s^2 = 2 u' dT v/s, with dT = T A and u'T = s v': 2 v' A v = tr(A 2 v v').
        const Vector v = svd.matrixV().col(k);
        jacobian->row(2 * k + 1) = frame.gradient(t, 2 * v * v.transpose());
        jacobian->row(2 * k) = -jacobian->row(2 * k + 1);
      }
    };
    stop.evaluations = std::min(stop.evaluations, evaluations_left());
    SmoothStart next;
    if (Status s = minimise_smooth(f, bounds, 2 * sample_.d, *at, stop, minimum, &next); !s.ok())
      return s;
    evaluations_ += minimum->evaluations;
    minimum->value = unflatten(deep, minimum->value);
    *at = std::move(next);
    return Status::success();
  }

  // Over M = T T', of which H is a multiple in the frame.
  Status simplex(const LscvFrame& frame) {
    const int d = sample_.d;
    Vector at = Vector::Zero(frame.size());
    at.head(d).setOnes();
    Minimum minimum;
    const double first = exact_sums_ ? kRoughSimplex : kExactSimplex;
    if (Status s = simplex(frame, *sums_, at, kFirstSimplex, first, &minimum); !s.ok()) return s;
    if (exact_sums_ && evaluations_left() > 0) {
      at = minimum.at;
      if (Status s = simplex(frame, *exact_sums_, at, kRoughSimplex, kExactSimplex, &minimum);
          !s.ok())
        return s;
    }
    keep(frame, *triangle_of(frame, minimum.at), minimum.value * unit_of_g(frame),
         minimum.stationary);
    return Status::success();
  }

  Status simplex(const LscvFrame& frame, GaussianPairSums& sums, const Vector& start, double step,
                 double tolerance, Minimum* minimum) {
    MatrixObjective objective(sums, factors_);
    const Function f = [&](const Vector& x, double* value) {
      *value = HUGE_VAL;
      const std::optional<Matrix> t = triangle_of(frame, x);
      if (!t || beyond(eigenvalues(frame, singular_values(*t)), 0)) return Status::success();
      Status s = objective.value(frame, *t, value);
      *value /= unit_of_g(frame);
      return s;
    };
    Status s = minimise_simplex(f, start, step, tolerance, evaluations_left(), minimum);
    evaluations_ += minimum->evaluations;
    return s;
  }

  // T of M = T T' whose diagonal is x_0 ... x_(d-1), the lower triangle by rows what follows.
  static std::optional<Matrix> triangle_of(const LscvFrame& frame, const Vector& x) {
    Matrix m = x.head(frame.d()).asDiagonal();
    if (frame.shape() == LscvShape::full) {
      Eigen::Index next = frame.d();
      for (int i = 0; i < frame.d(); ++i) {
        for (int j = 0; j < i; ++j) m(i, j) = x(next++);
      }
    }
    const Eigen::LLT<Matrix> cholesky(m);
    if (cholesky.info() != Eigen::Success) return std::nullopt;
    return Matrix(cholesky.matrixL());
  }

  static Vector singular_values(const Matrix& t) {
    return Eigen::JacobiSVD<Matrix, Eigen::NoQRPreconditioner>(t).singularValues();
  }

  // An interior minimum is better than any bound, of the same kind the lower is.
  void keep(const LscvFrame& frame, const Matrix& triangle, double value, bool stationary) {
    Found found{frame, triangle, value, LscvEnd::converged};
    if (!stationary) {
      found.end = LscvEnd::iteration_limit;
    } else if (beyond(eigenvalues(frame, singular_values(triangle)), -kAtBound)) {
      found.end = LscvEnd::at_bound;
    }
    if (!lowest_ || found.value < lowest_->value) lowest_ = found;
    const auto rank = [](const Found& f) { return f.end == LscvEnd::converged ? 0 : 1; };
    if (!best_ || rank(found) < rank(*best_) ||
        (rank(found) == rank(*best_) && found.value < best_->value))
      best_.emplace(std::move(found));
  }

  Status finish(LscvMatrix* out) {
    const double bound = factors_.tied_pairs_bound();
    if (best_->end != LscvEnd::converged && sample_.tied_pairs > bound) {
      return overwhelmed_by_ties(sample_.tied_pairs, sample_.n, bound);
    }
    const Matrix factor = best_->frame.factor(best_->triangle);
    LscvMatrix result;
    result.factor.assign(factor.data(), factor.data() + factor.size());
    result.objective = best_->value * std::exp(-sample_.log_det);
    result.evaluations = evaluations_;
    result.end = best_->end;
    if (result.end == LscvEnd::converged && sample_.tied_in_column > bound)
      result.end = LscvEnd::tied_values;
    *out = std::move(result);
    return Status::success();
  }

  const WhiteSample& sample_;
  Engine engine_;
  LscvMatrixOptions options_;
  Control control_;
  LscvFactors factors_;
  double h0_;
  std::unique_ptr<GaussianPairSums> sums_;
  std::unique_ptr<GaussianPairSums> exact_sums_;  // in double, if sums_ are not
  int evaluations_ = 0;
  LscvStarts starts_;
  std::optional<Found> best_;
  std::optional<Found> lowest_;  // of those found, wherever its search ended
};

}  // namespace

Status select_lscv_matrix(const WhiteSample& sample, const Engine& engine,
                          const LscvMatrixOptions& options, const Control& control,
                          LscvMatrix* out) {
  if (!(options.lowest > 0) || !(options.lowest < options.highest / 2) ||
      !std::isfinite(options.highest) || options.evaluations < 1) {
    return Status::error(Code::invalid_argument,
                         "the bounds of the search leave nothing to search");
  }
  return guarded([&] { return MatrixLscv(sample, engine, options, control).run(out); });
}

}  // namespace kde
