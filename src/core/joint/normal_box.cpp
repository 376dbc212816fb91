// What normal_box.h prepares in double before vectors are computed with: nodes and weights of the
// quadratures for two columns, the Cholesky factor for more.
//
// With D(x, y; rho) = Pr(e_1 < x, e_2 < y) - Phi(x) Phi(y), Plackett's identity (Biometrika 41,
// 1954) is
//
//   D = 1/(2 pi) int_0^asin(rho) exp(-(((x - y sin t)/cos t)^2 + y^2)/2) dt
//
// whose integrand is smooth as long as |rho| is not near 1: there, with rho > 0,
//
//   D = Phi(min) Phi(-max) - 1/(2 pi) int_0^sqrt(1 - rho^2) exp(-(x - y)^2/(2 c^2)) g(c^2) dc,
//   g(q) = exp(-x y/(1 + r))/r,  r = sqrt(1 - q),
//
// and the first terms of g, exp(-x y/2) (1 + (4 - x y) q/8 (1 + (12 - x y) q/16)), are integrated
// in closed form, the small rest by quadrature (Drezner & Wesolowsky; Genz). rho < 0 is D(x, y;
// rho) = -D(x, -y; -rho).
//
// The numbers of nodes keep the error of a D at 1e-7 for their |rho|: 2, 3, 4, 5, 6 and 8 from 0
// for 0.2, 0.5, 0.65, 0.75, 0.85 and 0.9, and 4 from 1 above (largest differences from 48 nodes
// over 861 corners, above 0.9 from 400 over 12,000: 4e-8, 1e-7, 6e-8, 3e-8, 6e-8, 8e-9 and 7e-9).
#include "core/joint/normal_box.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace kde {
namespace {

// Gauss-Legendre on [-1, 1], the positive nodes (M. Abramowitz & I. A. Stegun, table 25.4).
// Of odd numbers the last is the middle.
constexpr double kNode2[] = {0.5773502691896258};
constexpr double kWeight2[] = {1.0};
constexpr double kNode3[] = {0.7745966692414834, 0.0};
constexpr double kWeight3[] = {0.5555555555555556, 0.8888888888888889};
constexpr double kNode4[] = {0.3399810435848563, 0.8611363115940526};
constexpr double kWeight4[] = {0.6521451548625461, 0.3478548451374538};
constexpr double kNode5[] = {0.5384693101056831, 0.9061798459386640, 0.0};
constexpr double kWeight5[] = {0.4786286704993665, 0.2369268850561891, 0.5688888888888889};
constexpr double kNode6[] = {0.2386191860831969, 0.6612093864662645, 0.9324695142031521};
constexpr double kWeight6[] = {0.4679139345726910, 0.3607615730481386, 0.1713244923791704};
constexpr double kNode8[] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
                             0.9602898564975363};
constexpr double kWeight8[] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
                               0.1012285362903763};

constexpr double kFromOne = 0.9;  // |rho| above it: quadrature from the other end
// The least 1 - |rho|, and the least square of a diagonal element of a factor: below them single
// precision tells nothing apart.
constexpr double kLeastGap = 1e-7;

void prepare_pair(double rho, NormalBoxRule* rule) {
  rule->sign = rho < 0 ? -1 : 1;
  const double size = std::min(std::fabs(rho), 1 - kLeastGap);
  const double s = std::sqrt((1 - size) * (1 + size));
  rule->rho = static_cast<float>(std::copysign(size, rho));
  rule->one_minus = static_cast<float>(1 - size);
  rule->s = static_cast<float>(s);
  rule->inverse_s = static_cast<float>(1 / s);
  rule->from_one = size > kFromOne;
  const double* node = kNode4;
  const double* weight = kWeight4;
  rule->nodes = 4;
  if (!rule->from_one && size > 0.85) {
    node = kNode8, weight = kWeight8, rule->nodes = 8;
  } else if (!rule->from_one && size > 0.75) {
    node = kNode6, weight = kWeight6, rule->nodes = 6;
  } else if (!rule->from_one && size > 0.65) {
    node = kNode5, weight = kWeight5, rule->nodes = 5;
  } else if (size <= 0.2) {
    node = kNode2, weight = kWeight2, rule->nodes = 2;
  } else if (size <= 0.45) {
    node = kNode3, weight = kWeight3, rule->nodes = 3;
  }
  const double length = rule->from_one ? s : std::copysign(std::asin(size), rho);
  for (int j = 0; j < rule->nodes; ++j) {
    const double x = j % 2 == 0 ? node[j / 2] : -node[j / 2];
    const double at = length * (1 + x) / 2;
    rule->weight[j] = static_cast<float>(weight[j / 2] * length / 2 / (2 * std::numbers::pi));
    if (rule->from_one) {
      const double r = std::sqrt((1 - at) * (1 + at));
      rule->node[j] = static_cast<float>(1 / (2 * at * at));
      rule->inverse[j] = static_cast<float>(1 / (1 + r));
      rule->inverse_r[j] = static_cast<float>(1 / r);
      rule->square[j] = static_cast<float>(at * at);
    } else {
      rule->inverse[j] = static_cast<float>(1 / (std::cos(at) * std::cos(at)));
      rule->node[j] = static_cast<float>(std::sin(at) / (std::cos(at) * std::cos(at)));
    }
  }
}

// L of R = L L', and L^-1 c: rows of length 1, whose elements no valid matrix lets exceed 1.
void prepare_factor(const double* R, int k, const double* c, NormalBoxRule* rule) {
  double L[kMaxColumns][kMaxColumns];
  double g[kMaxColumns] = {};
  for (int i = 0; i < k; ++i) {
    for (int j = 0; j <= i; ++j) {
      double rest = R[static_cast<std::size_t>(i * k + j)];
      for (int l = 0; l < j; ++l) rest -= L[i][l] * L[j][l];
      L[i][j] =
          i == j ? std::sqrt(std::max(rest, kLeastGap)) : std::clamp(rest / L[j][j], -1.0, 1.0);
      rule->factor[i][j] = static_cast<float>(L[i][j]);
    }
    rule->inverse_diagonal[i] = static_cast<float>(1 / L[i][i]);
    if (c == nullptr) continue;
    double rest = c[i];
    for (int l = 0; l < i; ++l) rest -= L[i][l] * g[l];
    g[i] = std::clamp(rest / L[i][i], -1.0, 1.0);
    rule->target[i] = static_cast<float>(g[i]);
  }
}

using Steps = std::array<std::array<std::uint32_t, kMaxColumns>, kMaxColumns + 1>;

// The last side is not drawn from: of k sides k - 1 coordinates, whose steps are the powers of
// 1/phi, phi^k = phi + 1, found by iteration.
Steps make_steps() {
  Steps steps{};
  for (int k = 2; k <= kMaxColumns; ++k) {
    double phi = 1.5;
    for (int i = 0; i < 60; ++i) phi = std::pow(1 + phi, 1.0 / k);
    double step = 1;
    for (int j = 0; j < k; ++j) {
      step /= phi;
      steps[static_cast<std::size_t>(k)][static_cast<std::size_t>(j)] =
          static_cast<std::uint32_t>(step * 0x1p32);
    }
  }
  return steps;
}

void prepare_steps(int k, NormalBoxRule* rule) {
  static const Steps kSteps = make_steps();
  const auto& steps = kSteps[static_cast<std::size_t>(k)];
  std::copy(steps.begin(), steps.end(), rule->step);
}

}  // namespace

NormalBox::NormalBox(const double* R, int k, const double* c, std::int64_t simd_target)
    : kernel_(normal_box_kernel(simd_target, k)) {
  rule_.k = k;
  rule_.moments = c != nullptr;
  if (k > 2) {
    prepare_factor(R, k, c, &rule_);
    prepare_steps(k, &rule_);
    return;
  }
  for (int j = 0; j < k && c != nullptr; ++j) rule_.target[j] = static_cast<float>(c[j]);
  if (k == 2) prepare_pair(R[1], &rule_);
}

void NormalBox::evaluate(const float (*lower)[kJointBlock], const float (*upper)[kJointBlock],
                         int boxes, const std::uint32_t* number, float* probability, float* moment,
                         float* difference) const {
  kernel_(rule_, lower, upper, boxes, number, probability, moment, difference);
}

}  // namespace kde
