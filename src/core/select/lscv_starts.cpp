// The sweep of lscv_starts.h.
#include "core/select/lscv_starts.h"

#include <cmath>

namespace kde {
namespace {

constexpr int kOctaves = 8;

// Between two points with slope >= 0 above and < 0 below.
double cubic_minimum(const Criterion& below, const Criterion& above) {
  const double width = std::log(above.h / below.h);
  const double d1 = below.slope + above.slope - 3 * (above.value - below.value) / width;
  const double d2 = std::sqrt(d1 * d1 - below.slope * above.slope);
  const double fraction = 1 - (above.slope + d2 - d1) / (above.slope - below.slope + 2 * d2);
  return below.h * std::exp(width * fraction);
}

}  // namespace

Status lscv_starts(GaussianPairSums& sums, const LscvFactors& factors, int d, double h0,
                   std::vector<double>* starts) {
  std::vector<double> h(kOctaves);
  for (int k = 0; k < kOctaves; ++k) h[static_cast<std::size_t>(k)] = std::ldexp(h0, 1 - k);
  std::vector<GaussianSlopes> slopes(h.size());
  if (Status s = sums.sweep_slopes(h, slopes); !s.ok()) return s;
  Criterion above = factors.at(slopes[0], d, h[0], h[0]);
  for (std::size_t k = 1; k < h.size(); ++k) {
    const Criterion here = factors.at(slopes[k], d, h[k], h[k]);
    if (here.slope < 0 && above.slope >= 0) starts->push_back(cubic_minimum(here, above));
    above = here;
  }
  return Status::success();
}

}  // namespace kde
