// The values that a density knows one by one: its atoms, its cells that are points and, on a
// lattice, those of one lattice point.
#pragma once

#include "core/density/histogram_view.h"

#include <optional>

namespace kde {

// Goes through them, ascending, each once. No allocation.
class SingleValues {
 public:
  explicit SingleValues(const DensityView& density) : density_(density) { find_point(); }

  // rows > 0: those that are at the value itself, without what a range around it may have there.
  bool next(double* value, double* rows);

  // After the last: rows that are spread over ranges of values.
  double rows_in_ranges() const { return rows_in_ranges_; }

 private:
  void find_point();

  DensityView density_;
  int atom_ = 0, block_ = -1;
  std::optional<CellReader> cells_;  // of the block
  bool has_point_ = false;           // the next
  double point_ = 0, point_rows_ = 0;
  double rows_in_ranges_ = 0;
};

// Whether two values of the column may be one as doubles: of type numeric on no lattice, large
// bigints, and times beyond 2^33 seconds that are not all whole parts of one. Where digits were
// lost the lattice that is found is of the doubles, of a few steps between neighbours.
bool may_have_lost_digits(const Header& h);

// How many different values the rows have that are not NULL; NaN and the infinities are one each.
// -1 where it is not known: unless every row was read and, of numbers, each of their values is
// stored by itself, with all its digits, which those of type numeric on no lattice and large bigints
// may not be.
double distinct_values(const DensityView& density);

}  // namespace kde
