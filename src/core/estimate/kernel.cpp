// The closed forms of kernel.h. Those of the convolutions, with a = |t| <= 2:
//
//   Epanechnikov  3/160 (2 - a)^3 (a^2 + 6a + 4)
//   biweight      5/3584 (2 - a)^5 (a^4 + 10a^3 + 36a^2 + 40a + 16)
//   triangular    the cubic B-spline: (2 - a)^3/6, less 2/3 (1 - a)^3 where a < 1
//   uniform       (2 - a)/4
//   cosine        pi^2/32 [(2 - a) cos(pi a/2) + (2/pi) sin(pi a/2)]
//   Gaussian      (4 pi)^(-1/2) exp(-t^2/4)
#include "core/estimate/kernel.h"

#include "core/estimate/kernel_forms.h"
#include "core/estimate/normal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kde {

namespace {

using kernel_forms::with_compact;
using std::numbers::pi;

// A compact kernel's integrals do not change beyond its ends.
double to_support(double u) { return std::clamp(u, -1.0, 1.0); }

}  // namespace

double kernel_pdf(Kernel kernel, double u) {
  if (!is_compact(kernel)) return normal_pdf(u);
  if (!(std::fabs(u) <= 1)) return 0;
  return with_compact(kernel, [u](auto form) { return form.pdf(u); });
}

double kernel_cdf(Kernel kernel, double u) {
  if (!is_compact(kernel)) return normal_cdf(u);
  return with_compact(kernel, [u](auto form) { return form.cdf(to_support(u)); });
}

double kernel_first_moment(Kernel kernel, double u) {
  if (!is_compact(kernel)) return -normal_pdf(u);
  return with_compact(kernel, [u](auto form) { return form.first(to_support(u)); });
}

double kernel_second_moment(Kernel kernel, double u) {
  // u phi(u) tends to 0 at infinity.
  if (!is_compact(kernel)) return normal_cdf(u) - (std::isinf(u) ? 0.0 : u * normal_pdf(u));
  return with_compact(kernel, [u](auto form) { return form.second(to_support(u)); });
}

double kernel_convolution(Kernel kernel, double t) {
  const double a = std::fabs(t);
  if (!is_compact(kernel)) return std::exp(-0.25 * t * t) / std::sqrt(4 * pi);
  if (!(a < 2)) return 0;
  const double e = 2 - a;
  switch (kernel) {
    case Kernel::biweight:
      return 5.0 / 3584 * e * e * e * e * e * ((((a + 10) * a + 36) * a + 40) * a + 16);
    case Kernel::triangular: {
      const double inner = std::max(1 - a, 0.0);
      return e * e * e / 6 - 2.0 / 3 * inner * inner * inner;
    }
    case Kernel::uniform:
      return e / 4;
    case Kernel::cosine:
      return pi * pi / 32 * (e * std::cos(pi / 2 * a) + 2 / pi * std::sin(pi / 2 * a));
    default:
      return 3.0 / 160 * e * e * e * ((a + 6) * a + 4);
  }
}

double kernel_roughness(Kernel kernel) {
  switch (kernel) {
    case Kernel::epanechnikov:
      return 3.0 / 5;
    case Kernel::biweight:
      return 5.0 / 7;
    case Kernel::triangular:
      return 2.0 / 3;
    case Kernel::uniform:
      return 1.0 / 2;
    case Kernel::cosine:
      return pi * pi / 16;
    default:
      return 1 / std::sqrt(4 * pi);
  }
}

double kernel_variance(Kernel kernel) {
  switch (kernel) {
    case Kernel::epanechnikov:
      return 1.0 / 5;
    case Kernel::biweight:
      return 1.0 / 7;
    case Kernel::triangular:
      return 1.0 / 6;
    case Kernel::uniform:
      return 1.0 / 3;
    case Kernel::cosine:
      return 1 - 8 / (pi * pi);
    default:
      return 1;
  }
}

double canonical_bandwidth(Kernel kernel) {
  const double mu2 = kernel_variance(kernel);
  return std::pow(kernel_roughness(kernel) / (mu2 * mu2), 0.2);
}

double canonical_rescale(double h_gaussian, Kernel kernel) {
  if (!is_compact(kernel)) return h_gaussian;
  return h_gaussian * (canonical_bandwidth(kernel) / canonical_bandwidth(Kernel::gaussian));
}

double kernel_reach(Kernel kernel) { return is_compact(kernel) ? 1 : 8; }

}  // namespace kde
