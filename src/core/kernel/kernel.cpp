// The constants of kernel.h, each in closed form.
#include "core/kernel/kernel.h"

#include "core/kernel/kernel_forms.h"
#include "core/kernel/normal.h"

#include <cmath>
#include <numbers>

namespace kde {

namespace {

using kernel_forms::with_compact;
using std::numbers::pi;

}  // namespace

double kernel_pdf(Kernel kernel, double u) {
  if (!is_compact(kernel)) return normal_pdf(u);
  if (!(std::fabs(u) <= 1)) return 0;
  return with_compact(kernel, [u](auto form) { return form.pdf(u); });
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

}  // namespace kde
