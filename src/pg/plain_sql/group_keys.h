// The keys of a density's groups as values of the query's types, and the conditions on them.
// Internal to src/pg/plain_sql.
#pragma once

#include "pg/plain_sql/answer_state.h"

#include <string_view>

namespace kde_pg {

// All groups' keys, PlainRow*. NIL too where it is refused: they are not of the query's types.
List* read_keys(PlainState* state, const kde::Header* density);

// The key of a category's value, a group of its own. False: refused.
bool read_word_key(PlainState* state, std::string_view word, PlainRow* row);

// Whether the query's conditions on groups hold.
bool is_wanted(const PlainAsked& asked, const PlainRow* key);

// For each of the keys the number, in `kinds`, of those that are alike in what the query is by:
// equal, though texts may differ, as 1.0 and 1.00 do. kinds: PlainRow*, the first of each; where
// the query is by nothing one of them at least.
const int* kinds_of(const PlainState& state, List* keys, List** kinds);

}  // namespace kde_pg
