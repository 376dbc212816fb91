// What a density knows of the rows in a box that have a value of the target: one form for columns,
// measures, categories and boxes of several columns, of which interval.h makes intervals: all that
// these know of a form.
//
// Of each form a file says what its estimate, its sampling and its storage do: column_evidence.h,
// measure_evidence.h, word_evidence.h, joint/box_evidence.h.
#pragma once

#include "core/answer/changed_rows.h"
#include "core/answer/wanted.h"
#include "core/integrate/integrate.h"

#include <cstdint>
#include <limits>

namespace kde {

// Below and above an estimate, both >= 0.
struct Reach {
  double below = 0, above = 0;
};

// The rows of one sample, of which parts are shares. Were they drawn one by one, a share p of them had
// the variance p (1 - p) unit. None: it is not known how the errors of parts go together.
struct DrawnRows {
  double all = 0;  // that they were drawn from
  double unit = 0;
  double z = 0;  // of the confidence asked for

  bool operator==(const DrawnRows&) const = default;
};

// What is not asked for may be left out: of a count everything but that, `changed` and `drawn`.
struct Evidence {
  // Of the rows with a value, as of the fit, at the confidence asked for.
  Interval count;
  // Of the finite values; without any `mean` is not looked at.
  double rows = 0;
  double mean = std::numeric_limits<double>::quiet_NaN();
  double variance = 0;

  // What is stored and how it is rounded: bounds for the sum of these rows, and for their mean.
  Reach stored_sum, stored_mean;
  // Of the mean by what was read, at the confidence asked for, given how many rows there are.
  Reach sampled;
  // Of the mean, too, by how many of the rows are those that vary, which lie elsewhere than the
  // others.
  double moved = 0;
  // Of the errors of the count and of the mean by what was read.
  double correlation = 0;
  // The mean of those that vary, and what rows more than the estimate's are on average at most.
  double varying = 0;
  ValueBounds more;
  // Half the variance's interval.
  double variance_half = 0;

  // Rows at most beside those that the estimate is of, with any value in these bounds.
  double unseen = 0;
  ValueBounds unseen_values;
  // Between which all values lie, for certain: of every row what was read, else by the box, the
  // type and the constraints.
  ValueBounds values{-std::numeric_limits<double>::infinity(),
                     std::numeric_limits<double>::infinity()};
  // Since the fit.
  ChangedRows changed;
  // That the answer was read from, where it was one sample.
  DrawnRows drawn;

  // Rows with a finite value at least.
  double fewest() const;
  // The evidence of so many rows for each.
  void scale(double by);
};

}  // namespace kde
