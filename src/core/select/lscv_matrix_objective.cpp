// The formulas of lscv_matrix_objective.h.
#include "core/select/lscv_matrix_objective.h"

#include <cmath>
#include <memory>
#include <new>

namespace kde {
namespace {

std::span<const double> elements(const Matrix& m) {
  return {m.data(), static_cast<std::size_t>(m.size())};
}

}  // namespace

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

Status lscv_matrix_objective(const WhiteSample& sample, const Engine& engine, LscvDivisor divisor,
                             std::span<const double> factor, const Control& control, double* g) {
  const int d = sample.d;
  if (factor.size() != static_cast<std::size_t>(d) * static_cast<std::size_t>(d)) {
    return Status::error(Code::invalid_argument, "a factor in %d dimensions has %d elements", d,
                         d * d);
  }
  try {
    const Eigen::Map<const Matrix> given(factor.data(), d, d);
    Matrix l = Matrix::Zero(d, d);
    double log_det = 0;
    for (int i = 0; i < d; ++i) {
      const int exponent = sample.exponent[static_cast<std::size_t>(i)];
      for (int j = 0; j <= i; ++j) l(i, j) = std::ldexp(given(i, j), -exponent);
      if (!(l(i, i) > 0) || !l.row(i).allFinite()) {
        return Status::error(Code::invalid_argument,
                             "a Cholesky factor is finite, its diagonal positive");
      }
      log_det += std::log(given(i, i));
    }
    const Matrix a = l.triangularView<Eigen::Lower>().solve(
        Matrix(Eigen::Map<const Matrix>(sample.factor.data(), d, d)));
    std::unique_ptr<GaussianPairSums> sums;
    if (Status s = make_gaussian_sums(engine, sample.w, d, control, &sums); !s.ok()) return s;
    GaussianSums at;
    if (Status s = sums->full({a.data(), static_cast<std::size_t>(a.size())}, &at); !s.ok())
      return s;
    *g = std::exp(-log_det) * LscvFactors(sample.n, d, divisor).bracket(at);
    return Status::success();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for cross-validation");
  }
}

}  // namespace kde
