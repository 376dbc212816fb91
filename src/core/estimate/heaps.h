// Heaping that repeats along a lattice: whole degrees among tenths, round hundreds, prices in .99.
//
// A pattern of period P multiplies a smooth density by a factor for each residue of the lattice
// point's number modulo P,
//   f_r = (c_r + 1/2) / (e_r + 1/2),
// with c_r the observations whose residue is r and e_r those that the smooth estimate expects.
// Its evidence is the gain in log-likelihood less Schwarz's penalty, (P - 1)/2 log n (G. Schwarz,
// Annals of Statistics 6(2), 1978); the period with the most, if that is positive, is taken, and
// another within what it leaves, up to kMaxPatterns. The factors are local: the product is divided
// by its own smooth version, so that the smooth estimate keeps its mass at every place.
#pragma once

#include "core/estimate/line_smoother.h"

#include <span>
#include <vector>

namespace kde {

inline constexpr int kMaxPeriod = 128;
inline constexpr int kMaxPatterns = 2;

struct HeapPattern {
  std::vector<int> periods;    // empty: none
  std::vector<double> factor;  // one per cell; empty without a period
};

// cells: a lattice. smooth: what a smooth estimate expects in each cell, in observations.
HeapPattern find_heaps(const Cells& cells, std::span<const double> counts,
                       std::span<const double> smooth);

// The pattern of periods that are known.
HeapPattern fit_heaps(const Cells& cells, std::span<const double> counts,
                      std::span<const double> smooth, std::span<const int> periods);

// smooth times the pattern, `smooth_factor` being the factors as a smoother sees them, by which the
// pattern keeps the mass of every place.
std::vector<double> apply_heaps(std::span<const double> smooth, std::span<const double> factor,
                                std::span<const double> smooth_factor);

}  // namespace kde
