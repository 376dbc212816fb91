// Edges of bins at round places: what histogram.cpp does for equal => 'round'.
//
//   numbers      multiples of 1, 2 or 5 times a power of ten
//   times of day, intervals    of a part of a second like that, of 1, 2, 5, 10, 15 or 30 seconds or
//                minutes, 1, 2, 3, 6 or 12 hours; intervals of 1, 2, 5, 10, ... days
//   dates, timestamps          of those, of 1 or 2 days, weeks (from Monday on), months, quarters,
//                half years, and 1, 2, 5, 10, ... years of the calendar, which are not equally
//                long. A timestamptz is cut by the clock and calendar of the session's time zone.
//
// Of these the step is taken that comes nearest to the number of bins asked for, by its ratio.
#pragma once

#include "pg/values/values.h"

namespace kde_pg {

struct RoundBins {
  double lower, upper;  // finite, lower < upper: the first bin begins at `lower` or below
  bool closed;          // the last ends at `upper` or above; else above it
  int bins, most;       // how many are wanted, and how many there may be
  double lattice_step;  // no bin is narrower; 0: any may be
};

// How wide they are.
struct RoundStep {
  enum class Of { numbers, seconds, days, months, years };
  Of of;
  double width;  // about, where they are not equally long
  char* text;    // "10", "month", "15 minutes"; palloc'ed
};

// The edges, ascending, one more than there are bins, palloc'ed. Null where no step will do:
// numbers beyond what doubles tell apart. *step may be null.
double* round_edges(kde::ValueType type, const RoundBins& wanted, int* bins,
                    RoundStep* step = nullptr);

}  // namespace kde_pg
