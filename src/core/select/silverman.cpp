// The formula of silverman.h.
#include "core/select/silverman.h"

#include <cmath>

namespace kde {

double silverman_bandwidth(const LineSummary& line) {
  return 0.9 * line.robust_scale(1.34) * std::pow(static_cast<double>(line.n), -0.2);
}

}  // namespace kde
