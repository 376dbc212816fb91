// One form for a filter, in whatever order it was written.
//
// The arms of AND and OR are flattened and, where none of them can fail, sorted by their text
// (bytewise) and each kept once: three-valued logic is commutative and idempotent, so the filter
// accepts the same rows. An arm that may fail, as 10 / x > 2 does, may have a guard before it: such
// an AND or OR keeps its order. A comparison has a column on its left, and between two sides with
// columns the lesser text, where the operator has a commutator. What is volatile, which it may
// matter how often and in which order one calls, is refused before a row is read
// (check_not_volatile).
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "nodes/nodes.h"
#include "utils/relcache.h"
}

namespace kde_pg {

// The text of an analysed expression over `relation`, palloc'ed. The caller has pinned the settings
// that literals depend on.
const char* canonical_text(Relation relation, Node* node);

// An analysed filter in that form: a new tree. Texts as above.
Node* canonical_filter(Relation relation, Node* filter);

}  // namespace kde_pg
