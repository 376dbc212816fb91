// How many of a density's atoms lie below a bound: for any view with atoms in ascending order
// (DensityView, DensityView).
#pragma once

#include "core/room.h"

namespace kde {

// Number of atoms <= x (inclusive) or < x.
template <typename View>
int atoms_below(const View& d, double x, bool inclusive) {
  int low = 0;
  int high = d.atoms();
  while (low < high) {
    const int middle = low + (high - low) / 2;
    const double v = d.atom_value(middle);
    if (inclusive ? v <= x : v < x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace kde
