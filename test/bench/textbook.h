// The sums as a textbook writes them: sequential, scalar, in double, one loop over the pairs i < j,
// every formula as it is printed. What the benchmarks compare with, compiled like the core (-O2,
// without -march or -ffast-math).
//
// Source: Andrzejewski, Gramacki & Gramacki, AMCS 23(4), 2013: (9), (11) for PLUGIN; (13)-(18) for
// LSCV_h; (23)-(33) for LSCV_H.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

namespace kde::textbook {

// u' M u for a d x d matrix, row-major, by its d^2 products.
inline double quadratic_form(const double* m, const double* u, std::size_t d) {
  double sum = 0;
  for (std::size_t k = 0; k < d; ++k) {
    double row = 0;
    for (std::size_t l = 0; l < d; ++l) row += m[k * d + l] * u[l];
    sum += u[k] * row;
  }
  return sum;
}

struct Sums {
  double once = 0, twice = 0;
};

// LSCV_h: for each h the sums over pairs of exp(-S/(4 h^2)) and exp(-S/(2 h^2)),
// S = u' inverse u, inverse the inverse of the sample covariance. points: n x d, row-major.
inline void lscv_h(std::span<const double> points, std::size_t d, std::span<const double> inverse,
                   std::span<const double> h, std::span<Sums> out) {
  const std::size_t n = points.size() / d;
  std::vector<double> u(d);
  for (Sums& sums : out) sums = {};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      for (std::size_t k = 0; k < d; ++k) u[k] = points[i * d + k] - points[j * d + k];
      const double s = quadratic_form(inverse.data(), u.data(), d);
      for (std::size_t k = 0; k < h.size(); ++k) {
        out[k].once += std::exp(-s / (4 * h[k] * h[k]));
        out[k].twice += std::exp(-s / (2 * h[k] * h[k]));
      }
    }
  }
}

// LSCV_H: the sums over pairs of exp(-u' inverse u/4) and exp(-u' inverse u/2), inverse that of H.
inline Sums lscv_matrix(std::span<const double> points, std::size_t d,
                        std::span<const double> inverse) {
  const std::size_t n = points.size() / d;
  std::vector<double> u(d);
  Sums sums;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      for (std::size_t k = 0; k < d; ++k) u[k] = points[i * d + k] - points[j * d + k];
      const double s = quadratic_form(inverse.data(), u.data(), d);
      sums.once += std::exp(-s / 4);
      sums.twice += std::exp(-s / 2);
    }
  }
  return sums;
}

// The same by what a careful scalar loop does: points already whitened, so that a pair costs d, and
// one exponential, whose square is the other term.
inline Sums whitened_lscv_matrix(std::span<const double> y, std::size_t d) {
  const std::size_t n = y.size() / d;
  Sums sums;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      double s = 0;
      for (std::size_t k = 0; k < d; ++k) {
        const double u = y[i * d + k] - y[j * d + k];
        s += u * u;
      }
      const double e = std::exp(-s / 4);
      sums.once += e;
      sums.twice += e * e;
    }
  }
  return sums;
}

// PLUGIN: the sum over pairs of K^(r)((x_i - x_j)/g), r = 4 or 6.
inline double plugin(std::span<const double> x, int r, double g) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = i + 1; j < x.size(); ++j) {
      const double z = (x[i] - x[j]) / g;
      const double z2 = z * z;
      const double polynomial =
          r == 4 ? z2 * z2 - 6 * z2 + 3 : z2 * z2 * z2 - 15 * z2 * z2 + 45 * z2 - 15;
      sum += polynomial * std::exp(-z2 / 2);
    }
  }
  return sum * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

}  // namespace kde::textbook
