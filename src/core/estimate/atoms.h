// Values that carry a mass of their own: zeros, defaults, prices that end in .99, heaps at round
// numbers. A kernel would smear them over their neighbourhood.
//
// A value is an atom if it occurs far more often than its neighbours explain. The background at a
// value is the median count of the 20 distinct values on either side; under it the count is at most
// Poisson, and the value is an atom where the Chernoff bound of the Poisson's tail,
//
//   P(X >= c) <= exp(-b) (e b / c)^c,   c > b,
//
// is below kFalsePositives divided by the number of distinct values: on data without atoms, whose
// background the median does not underestimate, the chance of finding any is at most
// kFalsePositives. Bound: e.g. Mitzenmacher & Upfal, Probability and Computing (2005), theorem 5.4.
#pragma once

#include "core/summary/totals.h"

#include <span>
#include <vector>

namespace kde {

inline constexpr double kFalsePositives = 1e-3;

struct AtomSplit {
  std::vector<WeightedValue> atoms;  // ascending
  std::vector<WeightedValue> rest;   // ascending; what is left of the sample
};

// sorted: ascending, weights > 0. unit: the weight of one observation, where equal values may have
// been counted together. On a lattice the atom is the excess over the background, which stays with
// the rest (the smooth part gives each lattice point its share); elsewhere it is the value's whole
// weight. Throws std::bad_alloc.
AtomSplit split_atoms(std::span<const WeightedValue> sorted, bool lattice, double unit);

}  // namespace kde
