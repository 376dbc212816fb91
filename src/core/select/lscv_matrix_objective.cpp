#include "core/select/lscv_matrix_objective.h"

#include <cmath>

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

}  // namespace kde
