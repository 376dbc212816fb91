// The kernel sum of a density's cells.
//
// In closed form: a cell whose rows are even over [a, b], smoothed by a
// Gaussian of standard deviation h, has the distribution function and its repeated integrals from
// -infinity to t
//
//   F(t)      = [A1(t - a) - A1(t - b)] / (b - a)
//   int F     = [A2(t - a) - A2(t - b)] / (b - a)    and so on,    all lengths in units of h,
//   A0 = Phi,  A1(z) = z Phi + phi,  A2 = ((z^2 + 1) Phi + z phi)/2,
//   A3 = ((z^3 + 3z) Phi + (z^2 + 2) phi)/6,  A_k' = A_{k-1}
//
// (M. Abramowitz & I. A. Stegun, 7.2: repeated integrals of the error function); the moments up to
// t follow by parts:
//
//   int x dF = t F - int F,    int x^2 dF = t^2 F - 2 t int F + 2 int int F.
//
// Of cells narrower than kNarrow bandwidths the differences lose digits; there
//   [A_k(z + e/2) - A_k(z - e/2)]/e = A_{k-1}(z) + e^2/24 A_{k-3}(z) + e^4/1920 A_{k-5}(z) + ...
// Either way within 1e-13 of the cell's rows. Beyond 8.5 bandwidths a cell is wholly below or
// above: Phi(-8.5) = 1e-17.
//
// Of a block whose cells lie within kSeriesRadius bandwidths of its middle m, all cells at once by
// Taylor's series about z = (t - m)/h, with M_j the sum over the rows of u^j/j!, u = (x - m)/h:
//
//   sum A_k(z - u) = sum_j (-1)^j M_j A_{k-j}(z),    A_{-1-i}(z) = (-1)^i He_i(z) phi(z),
//
// up to j = 20: what is left out is at most max |A_{k-21}|/21! < 1e-11 of its rows.
#pragma once

#include "core/density/histogram_view.h"
#include "core/integrate/range.h"

namespace kde::histogram {

// The bandwidth that acts: 0 for one below 2^-40 of the column's reach, or of half its lattice's
// step, which no answer would show.
double acting_bandwidth(const Header& h);

// All for h = acting_bandwidth() > 0.
// Finite rows <= t; t finite.
double kernel_rows_below(const DensityView& d, double h, double t);
// Its derivative, in rows per unit of x.
double kernel_rows_density(const DensityView& d, double h, double t);
// Mean and variance, the kernel's own taken out.
void kernel_moments(const DensityView& d, double h, const Range& range, RangeMoments* out);
// Where kernel_rows_below() reaches `rows`; guess: where to begin.
double kernel_quantile(const DensityView& d, double h, double rows, double guess);
// Whether series_of() serves the density; and block b's.
bool has_series(const DensityView& d);
BlockSeries series_of(const DensityView& d, int b);
// Between these all but 1e-17 of the kernel sum lies.
double kernel_least(const Header& header, double h);
double kernel_greatest(const Header& header, double h);

}  // namespace kde::histogram
