// The recursion of spline.h in the coefficients of the pieces, about the middle of each piece,
// where tau is small and no coefficient is much larger than the values it makes.
#include "core/sums/spline.h"

#include <cmath>

namespace kde {

SplinePieces spline_pieces() {
  constexpr int kOrder = kSplineOrder;
  // piece[j][q]: M_p(j + 1/2 + tau) = sum_q piece[j][q] tau^q, for the order p reached so far.
  double piece[kOrder][kOrder] = {};
  piece[0][0] = 1;
  for (int p = 2; p <= kOrder; ++p) {
    double next[kOrder][kOrder] = {};
    for (int j = 0; j < p; ++j) {
      const double left = j + 0.5;       // x = left + tau
      const double right = p - j - 0.5;  // p - x = right - tau
      for (int q = 0; q < p - 1; ++q) {
        const double here = piece[j][q];
        const double before = j > 0 ? piece[j - 1][q] : 0;
        next[j][q] += (left * here + right * before) / (p - 1);
        next[j][q + 1] += (here - before) / (p - 1);
      }
    }
    for (int j = 0; j < kOrder; ++j) {
      for (int q = 0; q < kOrder; ++q) piece[j][q] = next[j][q];
    }
  }
  // Node c + j sees the point of cell c through the piece that lies as far from the spline's end.
  SplinePieces pieces;
  for (int j = 0; j < kOrder; ++j) {
    for (int q = 0; q < kOrder; ++q) pieces.node[j][q] = piece[kOrder - 1 - j][q];
  }
  return pieces;
}

double spline_power(double theta) {
  if (theta == 0) return 1;
  const double ratio = std::sin(theta / 2) / (theta / 2);
  return std::pow(ratio * ratio, kSplineOrder);
}

}  // namespace kde
