// A range of x, and the moments of the rows in it.
#pragma once

namespace kde {

// A range of x. An unbounded side has no limit at all: above, it includes +infinity and NaN.
struct Range {
  double lower = 0, upper = 0;
  bool lower_unbounded = true, upper_unbounded = true;
  bool lower_inclusive = true, upper_inclusive = true;
  bool empty = false;
};

// What of the column an end of a range cuts: rows that lie between two neighbouring ends of cells,
// of which `below` are counted as below it. rows 0: it is at such an end, or cuts none.
struct CutCell {
  double low = 0, high = 0;
  double below = 0, rows = 0;
};

struct RangeMoments {
  double count = 0;     // rows, >= 0
  double mean = 0;      // of the finite rows in the range; within the range
  double variance = 0;  // of the finite rows, divisor n; the kernel's own spread taken out
  double finite = 0;    // rows of `count` that are finite
  double nans = 0, negative_infinities = 0, positive_infinities = 0;  // the others
};

}  // namespace kde
