// The lattice on which a column's values lie: whole numbers, cents, half degrees, twelfths, tenths
// of a degree Celsius written in Fahrenheit, days in seconds.
//
// Values are made whole by the least power of ten that makes (nearly) all of them whole, or else by
// one of the numbers into which units are divided (12 months, 60 minutes, 365 days ...); the step
// is the greatest common divisor of their distances from the commonest value, the distinct values
// taken from the commonest on until kOnLattice of the rows lie on it, so that a few stray values do
// not hide it. A divisor that as few values may share by chance is not a step; the least decimal
// is.
#pragma once

#include "core/control.h"
#include "core/summary/totals.h"

#include <cstdint>
#include <span>

namespace kde {

// Of the rows, at least.
inline constexpr double kOnLattice = 0.99;

// x = (base + k gap) / scale for whole k. The quotient of whole numbers is the double nearest to
// the number, for a decimal one that which PostgreSQL reads.
struct Lattice {
  std::int64_t base = 0, gap = 0;  // gap 0: none
  double scale = 1;

  explicit operator bool() const { return gap != 0; }
  double step() const { return static_cast<double>(gap) / scale; }
  double value(std::int64_t k) const { return static_cast<double>(base + k * gap) / scale; }
  // The number of the lattice point nearest to x, finite; of the farthest point that 64 bits hold
  // (at most 2^52 steps off) where x is farther.
  std::int64_t nearest(double x) const;
};

// distinct: ascending, no value twice, weights > 0. None where fewer than two values, where
// more than six decimals or other parts are needed or where the values' digits exceed double
// precision; nor where control asked to stop.
Lattice find_lattice(std::span<const WeightedValue> distinct, const Control& control = {});

}  // namespace kde
