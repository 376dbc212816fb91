// The most frequent values of a column, of those that its density knows one by one.
#pragma once

#include "pg/answer/call.h"

namespace kde_pg {

struct TopValue {
  text* value;
  kde::Interval count;
};

// Up to `most` of them, the most frequent first, palloc'ed; fewer where others may have as many
// rows (top.cpp). Returns how many. Errors: 55000 for a density that a kernel smooths, or whose
// numbers have lost digits; those of words_of().
int list_top(const Call& call, int most, TopValue** out);

}  // namespace kde_pg
