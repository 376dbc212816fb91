// By Eigen's dense inverse; the matrices are at most 16 by 16.
#include "covariance.h"

#include <cmath>

#include "core/select/matrix.h"

#include <eigen3/Eigen/LU>

namespace kde::bench {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::vector<double> flat(const RowMajor& m) { return {m.data(), m.data() + m.size()}; }

}  // namespace

double normal_reference(int n, int d) { return std::pow(4.0 / ((d + 2.0) * n), 1.0 / (d + 4)); }

std::vector<double> bandwidths(int n, int d, int count) {
  const double h0 = normal_reference(n, d);
  std::vector<double> h;
  for (int k = 0; k < count; ++k) h.push_back(h0 * (0.25 + 3.75 * k / (count - 1)));
  return h;
}

std::vector<double> inverse_covariance(std::span<const double> points, int d) {
  const auto n = static_cast<Eigen::Index>(points.size()) / d;
  const Eigen::Map<const RowMajor> x(points.data(), n, d);
  const RowMajor centred = x.rowwise() - x.colwise().mean();
  const RowMajor covariance = centred.transpose() * centred / static_cast<double>(n - 1);
  return flat(covariance.inverse());
}

std::vector<double> inverse_of_product(std::span<const double> factor, int d) {
  const Eigen::Map<const RowMajor> l(factor.data(), d, d);
  const RowMajor product = l * l.transpose();
  return flat(product.inverse());
}

}  // namespace kde::bench
