// The sweep of lscv_starts.h.
#include "core/select/lscv_starts.h"

#include <cmath>

namespace kde {
namespace {

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
                   double least, LscvStarts* out) {
  std::vector<double> h;
  double next = 2 * h0;
  while (next > least) {
    h.push_back(next);
    next /= 2;
  }
  h.push_back(least);
  std::vector<GaussianSlopes> slopes(h.size());
  if (Status s = sums.sweep_slopes(h, slopes); !s.ok()) return s;
  Criterion above;
  for (std::size_t k = 0; k < h.size(); ++k) {
    const Criterion here = factors.at(slopes[k], d, h[k], h[k]);
    if (k > 0 && here.slope < 0 && above.slope >= 0) out->h.push_back(cubic_minimum(here, above));
    if (here.value < out->lowest.value) out->lowest = here;
    above = here;
  }
  out->falls_on = above.slope >= 0 && out->lowest.h == above.h;
  if (out->falls_on) out->h.push_back(above.h);
  return Status::success();
}

}  // namespace kde
