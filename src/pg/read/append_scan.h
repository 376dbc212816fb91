// Reading the rows that were appended to a table since it was last read.
#pragma once

#include "pg/read/append_state.h"
#include "pg/catalog/density_key.h"
#include "pg/read/scan.h"

namespace kde_pg {

// Mode block: hands to `sink` the rows beyond state.marks and not beyond `now`, leaf after leaf; a
// leaf without a mark is read from its first row. Where every row is read, all of them; else those
// of the blocks that are chosen at the fit's rate. relation: the key's, and its leaves, locked;
// now: the marks of all leaves; the active snapshot is younger than they. Runs as the current user.
// Adds to state->offered, and to state->found the rows of leaves that have a mark, whether the
// filter accepts them or not; where blocks are chosen, as many as those read stand for.
void read_beyond(Relation relation, const DensityKey& key, kde::ValueType value_type,
                 const HighWater& now, uint64 seed, const char* doing, RowSink* sink,
                 AppendState* state);

// Mode key: the greatest key of all rows as text (null: none), in the active snapshot; false if
// there are keys that are NULL.
bool read_greatest(Relation relation, AttrNumber key, const char** greatest);

// Mode key: hands to `sink` the rows whose key is greater than state->greatest, in its order, all
// or thinned to the fit's rate. Sets state->greatest and adds to state->found. False, and nothing
// is handed on, if there are keys that are NULL.
bool read_greater(Relation relation, const DensityKey& key, kde::ValueType value_type, uint64 seed,
                  const char* doing, RowSink* sink, AppendState* state);

}  // namespace kde_pg
