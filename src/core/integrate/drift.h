// The Kolmogorov-Smirnov test of a fresh sample against a stored density.
//
//   D = sup_x |F(x) - G(x)|,   F the sample's distribution function, G the density's, over the
//       rows that are not NULL
//   p = Q((sqrt(N) + 0.12 + 0.11/sqrt(N)) D),   Q(z) = 2 sum_{k>=1} (-1)^(k-1) exp(-2 k^2 z^2)
//
// the second with M. A. Stephens's correction (JRSS B 32, 1970), N = m n/(m + n) for a density that
// was itself estimated as from n independent rows, m for one that knows every row. Where values
// repeat, p is an upper bound: the test errs towards "no drift". A sample that came in blocks
// counts as fewer rows, m divided by its design effect.
#pragma once

#include "core/density/histogram_view.h"
#include "core/sampling/sampler.h"

namespace kde {

struct Drift {
  double distance = 0;  // D, in [0, 1]
  double p_value = 1;
};

// sample: finished, with one row that is not NULL or more. estimated_from: n, infinite if the
// density knows every row.
// Errors: out_of_memory.
Status drift(const DensityView& density, const Sample& sample, double estimated_from,
             Drift* out) noexcept;
// n of a density of one column, by the variance of its counts.
double rows_behind(const Header& header);

// Q above, for z >= 0.
double kolmogorov_q(double z);

}  // namespace kde
