// Values that carry a mass of their own in a sample whose lattice, if there is one, is too fine to
// be a model: zeros, defaults, prices that end in .99, heaps at round numbers. A kernel would smear
// them over their neighbourhood.
//
// At each value the 20 distinct values on either side say how dense the sample is. If the column
// were smooth at their scale, each lattice point among them (of any point, off a lattice: a point's
// share is then 0) would expect e observations, and
//   single    a value with c observations is an atom where Chernoff's bound on the Poisson tail,
//             exp(-e) (e e/c)^c (e.g. Mitzenmacher & Upfal, Probability and Computing, 2005, theorem
//             5.4), is below kFalsePositives / (distinct values), with e at least kLeastExpected:
//             where the density does not change within the window, the chance of any false atom is
//             at most kFalsePositives
//   clump     all the values of a window are atoms where they are fewer than kClumped of the
//             distinct values expected of its W observations on its M points, M (1 - exp(-W/M)),
//             and seen kClumpRepeats times each on average, a fifth of them more than once: what is
//             seen again and again at the same places is no continuum. A rule of thumb, without a
//             rate. Values that would stand out as above among others of the clump's weight each are
//             left out: one heavy value does not make its neighbours a clump.
//   heap      every kPeriods-th lattice point is one of a kind: prices in .99, round hundreds,
//             whole minutes. Where one kind is seen twice as often as those to either side of it
//             (up to five, of the side that is seen more, as a density that begins or ends has
//             few on the other), and Chernoff's bound on the binomial tail of its share of them
//             all is below kFalsePositives divided by the kinds of all periods, each of its
//             values seen more than once is an atom.
//
// Where the density is steep, some lattice points become atoms that are none. What is made of
// atoms is judged by the folds of the sample like everything else (adaptive.h).
#pragma once

#include "core/control.h"
#include "core/summary/totals.h"

#include <cstddef>
#include <span>
#include <vector>

namespace kde {

inline constexpr double kFalsePositives = 1e-3;
inline constexpr double kLeastExpected = 0.01;
inline constexpr int kPeriods[] = {10, 60, 100, 1000, 3600};
inline constexpr double kClumped = 0.75;
inline constexpr double kClumpRepeats = 2.5;

// The numbers of the values that are atoms, ascending: at most `limit`, those with the most
// observations. An atom has its value's whole weight. distinct: ascending, no value twice, weights in
// observations. step: of the lattice the values lie on, 0: none. Nothing, where control asked to stop.
// Throws std::bad_alloc.
std::vector<std::size_t> find_clumps(std::span<const WeightedValue> distinct, double step,
                                     std::size_t limit, const Control& control = {});

}  // namespace kde
