// The state of the aggregates kde_agg, rollup and kde_aqp.cells: rows and densities counted into
// cells with round ends, whose arrays live in the aggregate's memory context, so that hash
// aggregation sees its size, and what all rows of a group must agree on.
//
// It is a value of the type kde_aqp.agg_state, so that whoever splits aggregates may move it: while an
// aggregate runs as an expanded object (src/backend/utils/adt/expandeddatum.c), which each row changes
// in place; elsewhere as its bytes. Read-write pointers to it are the aggregate's own alone, as
// everyone else is given a read-only one or the bytes.
//
// Densities with groups have cells of each of these beside (core/fit/grid_groups.h).
//
// Nothing in it has a destructor: it goes with its context.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

extern "C" {
#include "utils/expandeddatum.h"
}

namespace kde_pg {

// What all rows of a group must agree on.
struct Settings {
  kde::ValueType type;
  kde::Chain chain;    // one of the type's
  kde::Method method;  // automatic or by name, as asked for
  // The most that the value may take, of x and one measure; 0: kde_aqp.density_bytes. In
  // [kLeastHistogramBytes, kMostListBytes], with measures from kLeastMeasuredBytes on.
  int32 bytes;
  int measures = 0;
  kde::ValueType measure_type[kde::kMaxMeasures] = {};
  bool grouped = false;  // groups together may take eight times as much
  bool operator==(const Settings&) const = default;
};

// Densities of samples wait: of many at once it is known better how sure their sum is
// (core/grid/add_densities.h).
struct WaitingDensities {
  const kde::Header** density;
  int count, capacity;
  Size bytes, most;
};

struct AggregateState {
  ExpandedObjectHeader header;
  Settings settings;
  kde::GridCells* cells;
  kde::GridGroups* groups;  // null: there are none
  WaitingDensities waiting;
  int untold;             // rows that progress does not know yet
  Oid row;                // the transition function whose arguments it has the types of, if known
  bool is_foreign;        // some of it came as bytes
  struct varlena* bytes;  // for who asked for their size, or null
};

// An empty state for the transition function that calls, or the one that combines states. Error XX000 if no
// aggregate calls.
AggregateState* new_state(FunctionCallInfo fcinfo, const Settings& settings, bool combined = false);
// The same for who adds up densities without an aggregate.
AggregateState* new_state(MemoryContext context, const Settings& settings,
                          bool one_of_many = false);

// The transition value that is the first argument, to be changed; null: NULL. Of bytes a state of
// the aggregate that calls. Errors: those of read_state(); XX000 if no aggregate calls.
AggregateState* own_state(FunctionCallInfo fcinfo);
inline Datum give(FunctionCallInfo fcinfo, const AggregateState* state) {
  if (state == nullptr) PG_RETURN_NULL();
  return EOHPGetRWDatum(&state->header);
}

// Whether a state is there and has the types of the transition function that calls; else it may after
// advance_by(). Errors of that: those of check_same().
inline bool is_advanced_by(FunctionCallInfo fcinfo, const AggregateState* state) {
  return likely(state != nullptr && state->row == fcinfo->flinfo->fn_oid);
}
void advance_by(FunctionCallInfo fcinfo, AggregateState* state, const Settings& settings);

// Adds a density. Errors: 53200, XX001.
void add_density(AggregateState* state, const kde::Header* density);
// Merges those that wait. Errors: 53200, and those of interrupts, which it serves.
void merge_waiting(AggregateState* state);
// Adds another's; it is used up. Errors: 53200, those of check_same().
void merge_state(AggregateState* state, AggregateState* other);

// Errors: 42804 for types, 22023 for methods, bytes and measures that differ, naming both.
void check_same(const Settings& a, const Settings& b);

// What a density to be rolled up was asked for by. Errors: 0A000 for one of a category, or with groups
// of a sample; 22023 for too few bytes.
Settings settings_of(const kde::Header& density, int32 bytes);

// A value of the type as a state in that memory context. bytes: of unknown origin. Errors: 22P03 with
// what is wrong with them; 53200.
AggregateState* read_state(MemoryContext context, const struct varlena* bytes);

// The density, in the current memory context. The state, of which no density waits, has as many
// rows as before. Interrupts are served. Error 22P03 of a state that came as bytes that no aggregate
// wrote.
Datum finish_state(const AggregateState& state);

}  // namespace kde_pg
