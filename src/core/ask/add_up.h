// Evidence added up: of several groups, values of a list, or parts of a range, whose rows are
// disjoint.
//
//   count, sum  their intervals end to end: how the errors of rows of one sample go together is not
//               known (of sums of either sign they may all be the same way), and added they are the
//               most that it can be
//   mean        of one part its own; of several the quotient of sum and count, each as far off as it
//               may be: |d(s/n)| <= (|ds| + |s/n| |dn|)/(n - |dn|)
//   changed     k rows changed since however many parts there are: what they may do comes to all of
//               them at the end
#pragma once

#include "core/answer/interval.h"

namespace kde {

// Adds an interval, or, out, takes out what is a part of it.
void add_up(Interval* to, const Interval& x, bool out = false);

struct Total {
  // As of the fit, until as_of_now(). Of no part all 0.
  Interval count = {0, 0, 0};  // of rows with a value
  Interval sum = {0, 0, 0};
  Interval mean = {0, 0, 0};
  ChangedRows changed;

  // Of rows alone.
  void add_count(const Interval& more, const ChangedRows& by);
  // Of values: `by` in the place of the evidence's changes; wants_mean: else no mean is made.
  void add(const Evidence& evidence, const ChangedRows& by, bool wants_mean);

  // Rows that are counted apart; or, out, some of these rows, of which the other total is. Its changes
  // are none. mean: of what is left.
  void add(const Total& other, bool out);

  // With what the rows changed may do. NaN estimates where there was no row.
  Total as_of_now() const;
};

}  // namespace kde
