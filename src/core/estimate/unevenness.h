// How unevenly rows fall on the points of a lattice within a cell: whole numbers of which the even
// ones come more often, prices of which some endings do.
//
// A cell of m points that holds n rows says mu = n/m of each; a row's own point holds more where
// the points differ. Two rows drawn at random have the same value as often as the counts' second
// moment says (the size of a self-join from a sample: N. Alon, P. Gibbons, Y. Matias and M.
// Szegedy, PODS 1999): with T pairs of equal values among d rows drawn, and E = sum d_c^2 / 2 m_c
// expected of even cells,
//   variance of a point's count  =  (T/E - 1) mu^2,    mu = 2 E / d  rows drawn.
// Pairs of one block do not count: blocks hold neighbours.
#pragma once

#include "core/density/histogram_view.h"

#include <cstdint>
#include <span>

namespace kde {

struct Unevenness {
  double excess = 0;  // T/E - 1; 0 unless T is far above what chance makes of E
  double mean = 0;    // mu, in rows drawn
};

// cells: of a lattice of that step; points have counts of their own. drawn: ascending; block: of
// each, or none, where rows came one by one. Throws std::bad_alloc.
Unevenness find_unevenness(std::span<const HistogramCell> cells, double step,
                           std::span<const double> drawn, std::span<const std::uint32_t> block);

}  // namespace kde
