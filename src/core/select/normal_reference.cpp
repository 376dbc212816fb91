// The two formulas of normal_reference.h.
#include "core/select/normal_reference.h"

#include <cmath>

namespace kde {

double normal_reference_bandwidth(const LineSummary& line) {
  return 1.06 * line.robust_scale(1.34) * std::pow(static_cast<double>(line.n), -0.2);
}

double scott_bandwidth(const LineSummary& line) {
  return line.sigma * std::pow(static_cast<double>(line.n), -0.2);
}

}  // namespace kde
