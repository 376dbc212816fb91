// The coordinates of lscv_frame.h.
#include "core/select/lscv_frame.h"

#include <cmath>

namespace kde {

LscvFrame::LscvFrame(const WhiteSample& sample, LscvShape shape, double h)
    : shape_(shape),
      d_(sample.d),
      h_(h),
      sigma_factor_(Eigen::Map<const Matrix>(sample.factor.data(), sample.d, sample.d)),
      deviations_(sigma_factor_.rowwise().norm()) {}

int LscvFrame::size() const { return shape_ == LscvShape::full ? d_ * (d_ + 1) / 2 : d_; }

Matrix LscvFrame::triangle(const Vector& parameters) const {
  Matrix t = parameters.head(d_).array().exp().matrix().asDiagonal();
  if (shape_ == LscvShape::diagonal) return t;
  int next = d_;
  for (int i = 0; i < d_; ++i) {
    for (int j = 0; j < i; ++j) t(i, j) = parameters(next++);
  }
  return t;
}

Matrix LscvFrame::whitening(const Matrix& triangle) const {
  Matrix a = Matrix::Identity(d_, d_);
  if (shape_ == LscvShape::diagonal) a = deviations_.cwiseInverse().asDiagonal() * sigma_factor_;
  triangle.triangularView<Eigen::Lower>().solveInPlace(a);
  return a / h_;
}

double LscvFrame::log_det(const Matrix& triangle) const {
  double log_det = triangle.diagonal().array().log().sum() + d_ * std::log(h_);
  if (shape_ == LscvShape::diagonal) {
    log_det += (deviations_.array() / sigma_factor_.diagonal().array()).log().sum();
  }
  return log_det;
}

Vector LscvFrame::gradient(const Matrix& triangle, const Matrix& g) const {
  // A = T^-1 dT, so the derivative by T_ij is (G T^-1)_ji.
  const Matrix by_t =
      triangle.triangularView<Eigen::Lower>().solve<Eigen::OnTheRight>(g).transpose();
  Vector out(size());
  out.head(d_) = by_t.diagonal().cwiseProduct(triangle.diagonal());
  if (shape_ == LscvShape::diagonal) return out;
  int next = d_;
  for (int i = 0; i < d_; ++i) {
    for (int j = 0; j < i; ++j) out(next++) = by_t(i, j);
  }
  return out;
}

Matrix LscvFrame::factor(const Matrix& triangle) const {
  if (shape_ == LscvShape::diagonal) return h_ * (deviations_.asDiagonal() * triangle);
  return h_ * (sigma_factor_ * triangle);
}

Matrix LscvFrame::normal_units() const {
  // |S|^2 of a unit of T_ij is 1/2.
  const double shape_unit = std::sqrt((d_ + 2) / 2.0);
  Matrix units = std::sqrt(2.0) * shape_unit * Matrix::Identity(size(), size());
  const Matrix volume = Matrix::Constant(d_, d_, 1.0 / d_);
  units.topLeftCorner(d_, d_) = volume + shape_unit * (Matrix::Identity(d_, d_) - volume);
  return units;
}

}  // namespace kde
