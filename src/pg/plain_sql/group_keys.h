// The keys of a density's groups as values of the query's types.
// Internal to src/pg/plain_sql.
#pragma once

#include "pg/plain_sql/answer_state.h"

#include <string_view>

namespace kde_pg {

// All groups' keys, PlainRow*. NIL too where it is refused: they are not of the query's types.
List* read_keys(PlainState* state, const kde::Header* density);

// The key of a category's value, a group of its own. False: refused.
bool read_word_key(PlainState* state, std::string_view word, PlainRow* row);

}  // namespace kde_pg
