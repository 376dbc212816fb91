// normal_box.h in double, one box at a time: the truth for tests. The formulas are those of
// normal_box.cpp with Gauss-Legendre quadrature of 40 nodes, found by Newton's method on the
// Legendre polynomial (W. H. Press et al., Numerical Recipes, section 4.5).
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/kernel/normal.h"
#include "normal_box_reference.h"

namespace kde {
namespace {

constexpr int kReferenceNodes = 40;
constexpr double kTurn = 2 * std::numbers::pi;

struct Quadrature {
  std::array<double, kReferenceNodes> node, weight;  // on [0, 1]
};

Quadrature gauss_legendre() {
  Quadrature rule;
  for (int i = 0; i < kReferenceNodes; ++i) {
    double x = std::cos(std::numbers::pi * (i + 0.75) / (kReferenceNodes + 0.5));
    double slope = 1;
    for (int step = 0; step < 20; ++step) {
      double before = 1;
      double value = x;
      for (int n = 2; n <= kReferenceNodes; ++n) {
        const double next = ((2 * n - 1) * x * value - (n - 1) * before) / n;
        before = value;
        value = next;
      }
      slope = kReferenceNodes * (x * value - before) / (x * x - 1);
      x -= value / slope;
    }
    rule.node[static_cast<std::size_t>(i)] = (1 + x) / 2;
    rule.weight[static_cast<std::size_t>(i)] = 1 / ((1 - x * x) * slope * slope);
  }
  return rule;
}

const Quadrature& quadrature() {
  static const Quadrature rule = gauss_legendre();
  return rule;
}

// int_0^sqrt(1 - rho^2) exp(-(x - y)^2/(2 c^2)) g(c^2) dc.
double from_one(double x, double y, double rho) {
  const double end = std::sqrt((1 - rho) * (1 + rho));
  const double xy = x * y;
  const double difference = (x - y) * (x - y);
  const double c1 = (4 - xy) / 8;
  const double c2 = (12 - xy) / 16;
  const double d = std::fabs(x - y) / end;
  // exp(-x y/2) is within the others, of which it may be the inverse.
  const double edge = std::exp(-(d * d + xy) / 2);
  const double below = normal_cdf(-d);
  const double m0 =
      edge - (below > 0 ? d * std::sqrt(kTurn) * std::exp(-xy / 2 + std::log(below)) : 0);
  const double m1 = (edge - d * d * m0) / 3;
  const double m2 = (edge - d * d * m1) / 5;
  const double q = end * end;
  double sum = end * (m0 + c1 * q * (m1 + c2 * q * m2));
  for (int j = 0; j < kReferenceNodes; ++j) {
    const double c = end * quadrature().node[static_cast<std::size_t>(j)];
    const double r = std::sqrt((1 - c) * (1 + c));
    const double rest =
        std::exp(-difference / (2 * c * c) - xy / (1 + r)) / r -
        std::exp(-difference / (2 * c * c) - xy / 2) * (1 + c1 * c * c * (1 + c2 * c * c));
    sum += end * quadrature().weight[static_cast<std::size_t>(j)] * rest;
  }
  return sum;
}

// Pr(e_1 < x, e_2 < y) - Phi(x) Phi(y), |x| and |y| at most 38.
double corner(double x, double y, double rho) {
  if (std::fabs(rho) > 0.925) {
    const double sign = rho < 0 ? -1 : 1;
    y *= sign;
    const double at_one = normal_cdf(std::min(x, y)) * normal_cdf(-std::max(x, y));
    return sign * (at_one - from_one(x, y, std::fabs(rho)) / kTurn);
  }
  const double end = std::asin(rho);
  double sum = 0;
  for (int j = 0; j < kReferenceNodes; ++j) {
    const double t = end * quadrature().node[static_cast<std::size_t>(j)];
    const double u = (x - y * std::sin(t)) / std::cos(t);
    sum += quadrature().weight[static_cast<std::size_t>(j)] * std::exp(-(u * u + y * y) / 2);
  }
  return end * sum / kTurn;
}

double mass(double a, double b) {
  return a > 0 ? normal_cdf(-a) - normal_cdf(-b) : normal_cdf(b) - normal_cdf(a);
}

// phi(t) Pr(a < e_2 < b | e_1 = t).
double edge_density(double t, double a, double b, double rho) {
  const double s = std::sqrt((1 - rho) * (1 + rho));
  return normal_pdf(t) * mass((a - rho * t) / s, (b - rho * t) / s);
}

}  // namespace

void normal_box_reference(const double* R, int k, const double* lower, const double* upper,
                          const double* c, double* probability, double* moment) {
  constexpr double kEnd = 38;  // Phi(-38) = 3e-316
  double a[2] = {};
  double b[2] = {};
  for (int j = 0; j < k; ++j) {
    a[j] = std::clamp(lower[j], -kEnd, kEnd);
    b[j] = std::clamp(upper[j], -kEnd, kEnd);
  }
  if (k == 1) {
    *probability = mass(a[0], b[0]);
    if (c != nullptr) *moment = c[0] * (normal_pdf(a[0]) - normal_pdf(b[0]));
    return;
  }
  const double rho = R[1];
  const double p = mass(a[0], b[0]) * mass(a[1], b[1]) + corner(b[0], b[1], rho) -
                   corner(a[0], b[1], rho) - corner(b[0], a[1], rho) + corner(a[0], a[1], rho);
  *probability = std::clamp(p, 0.0, 1.0);
  if (c == nullptr) return;
  *moment = c[0] * (edge_density(a[0], a[1], b[1], rho) - edge_density(b[0], a[1], b[1], rho)) +
            c[1] * (edge_density(a[1], a[0], b[0], rho) - edge_density(b[1], a[0], b[0], rho));
}

}  // namespace kde
