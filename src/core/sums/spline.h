// Internal to src/core/sums: the cardinal B-spline that spreads a point over the nodes of a grid.
//
//   M_1 = 1 on [0, 1),   M_p(x) = [x M_(p-1)(x) + (p - x) M_(p-1)(x - 1)] / (p - 1)
//
// Source: C. de Boor, A Practical Guide to Splines (1978), chapter X; I. J. Schoenberg, Cardinal
// Spline Interpolation (1973). M_p lives on [0, p], is a polynomial of degree p - 1 between
// integers, and its Fourier transform has modulus [sin(theta/2) / (theta/2)]^p.
#pragma once

#include "core/room.h"

namespace kde {

// An order of 10 at 12 nodes a bandwidth costs half the nodes of an order of 8 at the same error.
inline constexpr int kSplineOrder = 10;

// A point in cell c at c + 1/2 + tau, |tau| <= 1/2, adds sum_q node[j][q] tau^q to node c + j,
// j = 0 .. kSplineOrder - 1. The weights of all the nodes add up to 1.
struct SplinePieces {
  double node[kSplineOrder][kSplineOrder];
};

SplinePieces spline_pieces();

// |Fourier transform of M_p|^2 at theta radians a cell, 0 <= theta <= pi.
double spline_power(double theta);

}  // namespace kde
