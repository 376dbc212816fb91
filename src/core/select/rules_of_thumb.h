// Rules of thumb, in units of x. Where the IQR is 0, sigma alone (R: 0).
#pragma once

#include "core/select/line_summary.h"

#include <cmath>

namespace kde {

inline double fifth_root_rate(const LineSummary& line) {
  return std::pow(static_cast<double>(line.n), -0.2);
}

// h = 0.9 min(sigma, IQR/1.34) n^(-1/5), as R's stats::bw.nrd0. Source: B. W. Silverman, Density
// Estimation (1986), eq. (3.31).
inline double silverman_bandwidth(const LineSummary& line) {
  return 0.9 * line.robust_scale(1.34) * fifth_root_rate(line);
}

// h = 1.06 min(sigma, IQR/1.34) n^(-1/5), optimal for normal data, as R's stats::bw.nrd. Source: D.
// W. Scott, Multivariate Density Estimation (1992), section 6.2.
inline double normal_reference_bandwidth(const LineSummary& line) {
  return 1.06 * line.robust_scale(1.34) * fifth_root_rate(line);
}

// h = sigma n^(-1/5): Scott's rule in d dimensions, sigma n^(-1/(d + 4)), at d = 1, as
// scipy.stats.gaussian_kde. Source: Scott (1992), eq. (6.42).
inline double scott_bandwidth(const LineSummary& line) {
  return line.sigma * fifth_root_rate(line);
}

}  // namespace kde
