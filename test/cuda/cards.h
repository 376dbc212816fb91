// What the tests of the graphics cards share: the cards themselves, samples, and the engines of the
// processor that they are compared with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <vector>

#include "core/random.h"
#include "core/sums/pair_sums.h"
#include "cuda/cuda_device.h"
#include "samples.h"

namespace kde {

inline constexpr Precision kPrecisions[] = {Precision::single, Precision::full};

inline constexpr cuda::MatrixUnits kUnits[] = {cuda::MatrixUnits::none, cuda::MatrixUnits::warp,
                                               cuda::MatrixUnits::group};

// All cards of this machine, with matrix units up to these; a machine without one fails.
inline Device& cards(cuda::MatrixUnits most = cuda::MatrixUnits::group) {
  static std::unique_ptr<Device> made[std::size(kUnits)];
  std::unique_ptr<Device>& device = made[static_cast<int>(most)];
  if (device == nullptr) {
    if (const Status s = cuda::make_cuda_device({.most_units = most}, &device); !s.ok()) {
      std::fprintf(stderr, "%s\n", s.message);
      std::exit(1);
    }
  }
  return *device;
}

// The processor's engines in double, on all of its cores.
inline Control threads() {
  Control control;
  control.threads = start_threads(16);
  return control;
}

// What so many terms are compared with: the plain loop, or where it would take long the vector
// engine in double, which the unit tests compare with it.
inline Engine truth(double terms) {
  Engine engine;
  engine.kind = terms <= 2e6 ? Engine::Kind::reference : Engine::Kind::simd;
  engine.precision = Precision::full;
  return engine;
}

inline std::vector<double> shuffled(std::vector<double> x) {
  Random random(7);
  for (std::size_t i = x.size(); i > 1; --i)
    std::swap(x[i - 1], x[static_cast<std::size_t>(random.uniform() * static_cast<double>(i))]);
  return x;
}

// n points of d coordinates, row-major: two normals, correlated, some of them equal, an outlier.
inline std::vector<double> points(int n, int d) {
  std::vector<double> x = samples::mix(n, d);
  for (int k = 0; k < d && n > 8; ++k) {
    x[static_cast<std::size_t>(3 * d + k)] = x[static_cast<std::size_t>(4 * d + k)];
    x[static_cast<std::size_t>(7 * d + k)] *= 20;
  }
  return x;
}

// A bandwidth that is best for normal points of one scale in all coordinates, (4/((d + 2)
// n))^(1/(d + 4)) of it (Silverman, Density Estimation (1986), section 4.3.2), so that a point has
// neighbours within reach, but not all points. The scale is the root mean square of the
// coordinates' IQR/1.349, which an outlier does not move; > 0 unless half the points are equal.
inline double normal_reference(const std::vector<double>& x, int d) {
  const auto size = static_cast<std::size_t>(d);
  const std::size_t n = x.size() / size;
  double squares = 0;
  for (std::size_t k = 0; k < size; ++k) {
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(x[i * size + k]);
    std::sort(values.begin(), values.end());
    const double scale = (values[3 * n / 4] - values[n / 4]) / 1.349;
    squares += scale * scale;
  }
  return std::sqrt(squares / d) * std::pow(4 / ((d + 2.) * static_cast<double>(n)), 1 / (d + 4.));
}

// A whitening that is not diagonal, of bandwidths about h: d x d lower triangular, row-major.
inline std::vector<double> triangle(int d, double h) {
  const auto size = static_cast<std::size_t>(d);
  std::vector<double> a(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j)
      a[i * size + j] = (i == j ? 1 : 0.3 / (1 + static_cast<double>(i))) / h;
  }
  return a;
}

}  // namespace kde
