// The constants of kernel.h, each in closed form.
#include "core/kernel/kernel.h"

#include "core/kernel/kernel_forms.h"
#include "core/kernel/normal.h"

#include <cmath>
#include <numbers>

namespace kde {

using kernel_forms::with_compact;

double kernel_pdf(Kernel kernel, double u) {
  if (!is_compact(kernel)) return normal_pdf(u);
  if (!(std::fabs(u) <= 1)) return 0;
  return with_compact(kernel, [u](auto form) { return form.pdf(u); });
}

double kernel_roughness(Kernel kernel) {
  if (!is_compact(kernel)) return 1 / std::sqrt(4 * std::numbers::pi);
  return with_compact(kernel, [](auto form) { return form.kRoughness; });
}

double kernel_variance(Kernel kernel) {
  if (!is_compact(kernel)) return 1;
  return with_compact(kernel, [](auto form) { return form.kVariance; });
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
