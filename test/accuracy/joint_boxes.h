// The boxes an accuracy is measured over.
//
// The rule, in rank space, where a row's coordinate in a column is the middle rank of its value
// among the column's values that are not NULL, over their number: the centre is a random row
// without NULL in the bounded columns, side k has the half-width s a_k, a_k = e^U with U uniform on
// [-aspect, aspect], and s is chosen so that the box holds a fraction of the table's rows that is
// log-uniform on [lowest, highest]: the box is the smallest of its shape that holds as many. Its
// ends are the outermost values of the columns within, inclusive. It is kept if what it truly holds
// (ties included) is a fraction of [lowest, highest].
#pragma once

#include "joint_rows.h"

#include <cstdint>
#include <vector>

namespace kde::accuracy {

struct BoxRule {
  double lowest = 0.005, highest = 0.2;  // fractions of the rows
  double aspect = 0.5;
  int boxes = 300;
  int attempts = 3000;
};

// A box and what it truly holds.
struct BoxQuestion {
  Box box;
  BoxTotals truth;
  double fraction = 0;  // of the rows
};

// columns: those to be bounded, of the rows. At most rule.boxes questions, fewer where ties leave
// none of the sizes asked.
std::vector<BoxQuestion> make_boxes(const RowSet& rows, const std::vector<int>& columns,
                                    const BoxRule& rule, std::uint64_t seed);

}  // namespace kde::accuracy
