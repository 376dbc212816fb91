// The state of the aggregates kde_agg and rollup: a core Summary whose arrays live in the
// aggregate's memory context, so that hash aggregation sees its size, and what all rows of a group
// must agree on.
//
// Nothing in it has a destructor: it goes with its context.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

namespace kde_pg {

// What all rows of a group must agree on.
struct Settings {
  kde::ValueType type;
  kde::Method method;  // automatic or by name, as asked for
  // The most that the value may take, of x and one measure; in [kLeastHistogramBytes, kMaxBytes],
  // with measures from kLeastMeasuredBytes on.
  int32 bytes;
  int measures = 0;
  kde::ValueType measure_type[kde::kMaxMeasures] = {};
  bool operator==(const Settings&) const = default;
};

// Densities that wait to be merged: many at once are merged in less time and with less error than
// one by one (kde::Summary::merge_many).
struct WaitingDensities {
  const kde::Header** density;
  int count, capacity;
  Size bytes;
};

struct AggregateState {
  kde::Summary summary;
  kde::Measures* measures;  // of the summary's rows; null: there are none
  Settings settings;
  Size most_waiting;  // bytes of densities
  WaitingDensities waiting = {};
};

// An empty state for the aggregate that calls: coarse where the states of many groups may be in
// memory at a time, as where groups are hashed. Error XX000 if no aggregate calls.
AggregateState* new_state(FunctionCallInfo fcinfo, const Settings& settings);

// An empty state for who adds up densities without an aggregate: fine.
AggregateState* new_state(MemoryContext context, const Settings& settings);

// Adds a density: a copy of it waits in `context`, the state's own. Error 53200.
void add_density(MemoryContext context, AggregateState* state, const kde::Header* density);
// Merges those that wait. Errors: 53200, and those of interrupts, which it serves.
void merge_waiting(AggregateState* state);

// A copy in `context`; `other` is not changed, and none of its densities waits.
AggregateState* copy_state(MemoryContext context, const AggregateState& other);

// Errors: 42804 for types, 22023 for methods, bytes and measures that differ, naming both.
void check_same(const Settings& a, const Settings& b);

// What a density to be rolled up was asked for by. Errors: 0A000 for one with groups, or of a
// category; 22023 for too few bytes.
Settings settings_of(const kde::Header& density, int32 bytes);

// The state's bytes, for a worker's leader or another machine of the same byte order. Settles it.
bytea* write_state(AggregateState* state);

// A state in the current memory context. bytes: of unknown origin. Errors: 22P03; XX001 with what
// is wrong with the summary.
AggregateState* read_state(const bytea* bytes);

// The density, in the current memory context. The state, of which no density waits, is not changed.
// Interrupts are served.
Datum finish_state(const AggregateState& state);

}  // namespace kde_pg
