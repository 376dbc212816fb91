// What rows that changed since the fit do to an answer: one rule for every form of density.
//
// Of k changed rows at most k went from a range, and at most k came into it. Those that went had
// values that are known in part: of a density of every row none is beyond its least and greatest. A
// row that came may hold anything that its column's type, a constraint or the range allows. With
// values that went in [l, h] and that came in [a, b], all in the range, and n rows at least:
//
//   count     k more, k less
//   sum       up by at most k (max(b, 0) + max(-l, 0)), down by k (max(-a, 0) + max(h, 0))
//   mean m    g <= k rows go and c <= k come: it becomes m + (g (m - y) + c (x - m))/(n - g + c),
//             which is most with y = l and x = b, g = k, and c either 0 or k
//   variance  with w the width of all those values, v_n of rows that went: it falls by at most
//             k v_n^2/n, as rows that come leave the squares about any centre at least what they
//             were; it rises to at most the larger of v + k w^2/n and v n/(n - k), and to w^2/4
//
// Where k >= n all may have gone, and any mean and variance of what came is possible.
#pragma once

#include "core/answer/wanted.h"
#include "core/integrate/integrate.h"

#include <limits>

namespace kde {

// Between which values lie, both taken in. No value: low is above high.
struct ValueBounds {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void take_in(const ValueBounds& other);
  // What of it lies between the range's ends.
  void narrow(const Range& range);
};

// Of the rows of a question. Each function takes the interval without changes, and keeps its
// estimate; where it has none (all NaN) but rows may have come, the ends become what those allow.
struct ChangedRows {
  double rows = 0;
  ValueBounds went, came;

  // Of the union of two questions' rows: the changes are shared.
  void take_in(const ChangedRows& other);

  void count(Interval* out) const;
  void sum(Interval* out) const;
  // fewest: rows at least that the answer was of.
  void mean(double fewest, Interval* out) const;
  // Divided by the number of rows.
  void variance(double fewest, Interval* out) const;
};

// Of a density's own column, of which the values lie in the range. h: its least and greatest.
ChangedRows changed_rows(const Header& h, const Range& range, const IntervalOptions& options);

// Of values beside a range: those read lie in [low, high].
ChangedRows changed_rows(bool every_row_read, double low, double high,
                         const IntervalOptions& options);

}  // namespace kde
