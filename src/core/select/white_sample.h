// A sample in d dimensions, centred, scaled and whitened by the Cholesky factor of its covariance:
//
//   x = mean + scale C w,   Sigma = scale C C' scale,   |w_i - w_j|^2 = S_ij = u' Sigma^-1 u
//
// with Sigma the sample covariance (divisor n - 1), in two passes. `scale` is diagonal, powers of
// two, so that coordinates of any magnitude (1e300, 1e-300) neither overflow nor lose a bit.
// Whitening before the sums makes a pair cost d instead of d^2, and makes every result affine
// equivariant, as far as the values themselves are: a column whose own part is a fraction f of its
// standard deviation, the rest of it the columns' before, has lost digits of that part when it was
// stored, and w is uncertain by eps/f. The covariance of w itself is the unit matrix to rounding,
// for whitening is done twice, the second time with the covariance of the first's result. Source:
// formulas as in Andrzejewski, Gramacki & Gramacki, AMCS 23(4), 2013, section 3; twice as in Y.
// Yamamoto, Y. Nakatsukasa, Y. Yanagisawa & T. Fukaya, Roundoff error analysis of the CholeskyQR2
// algorithm, ETNA 44 (2015).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/control.h"
#include "core/status.h"

namespace kde {

// Whether whiten_sample counts ties, which takes longer than the rest. If not, they are 0.
enum class Ties { counted, ignored };

struct WhiteSample {
  std::int64_t n = 0;
  int d = 0;
  std::vector<double> w;       // n x d, row-major
  std::vector<double> factor;  // C, d x d lower triangular, row-major, positive diagonal
  std::vector<int> exponent;   // d; scale_k = 2^exponent[k]
  double log_det = 0;          // log det(Sigma)^(1/2), with the scales; natural logarithm
  double tied_pairs = 0;       // pairs of equal points
  double tied_in_column = 0;   // pairs of equal values in the column that has the most of them
  int tied_column = 0;         // its number, from 1; 0 where no column has any
  // The least of min(1, IQR/1.34) over the coordinates of w, which have the standard deviation 1;
  // a coordinate whose IQR (R's type 7) is no more than rounding counts as 1.
  double robust_scale = 1;
};

// points: n x d, row-major; n >= 2, 1 <= d <= 16. A column is collinear with those before it when
// what is left of its variance is no more than rounding makes of nothing: a fraction
//   n eps + d (eps max_k max|x_k|/sigma_k)^2,  eps = 2^-52,
// of it; the first term is the rounding of a sum of n products, the second that of the values.
// Errors: invalid_argument (fewer than two points, too many dimensions, a size that is no multiple
// of d, NaN or infinities); degenerate (a constant or collinear column, named by its number from 1,
// or n <= d); cancelled; out_of_memory.
Status whiten_sample(std::span<const double> points, int d, const Control& control,
                     WhiteSample* out, Ties ties = Ties::counted);

}  // namespace kde
