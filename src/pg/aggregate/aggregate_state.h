// The state of the aggregates kde_agg, rollup and kde_aqp.cells: rows and densities counted into
// cells with round ends, whose arrays live in the aggregate's memory context, so that hash
// aggregation sees its size, and what all rows of a group must agree on.
//
// Densities with groups have cells of each of these beside (core/fit/grid_groups.h).
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
  Settings settings;
  kde::GridCells* cells;
  kde::GridGroups* groups;  // null: there are none
  WaitingDensities waiting;
  int untold;  // rows that progress does not know yet
};

// An empty state for the aggregate that calls. Error XX000 if no aggregate calls.
AggregateState* new_state(FunctionCallInfo fcinfo, const Settings& settings);
// The same for who adds up densities without an aggregate.
AggregateState* new_state(MemoryContext context, const Settings& settings,
                          bool one_of_many = false);

// Adds a density. context: the state's own. Errors: 53200, XX001.
void add_density(MemoryContext context, AggregateState* state, const kde::Header* density);
// Merges those that wait. Errors: 53200, and those of interrupts, which it serves.
void merge_waiting(AggregateState* state);
// Adds another's, of which nothing waits; it is used up. Errors: 53200, those of check_same().
void merge_state(AggregateState* state, AggregateState* other);

// Errors: 42804 for types, 22023 for methods, bytes and measures that differ, naming both.
void check_same(const Settings& a, const Settings& b);

// What a density to be rolled up was asked for by. Errors: 0A000 for one of a category, or with groups
// of a sample; 22023 for too few bytes.
Settings settings_of(const kde::Header& density, int32 bytes);

// The state's bytes, for a worker's leader or another machine of the same byte order. Settles it.
bytea* write_state(AggregateState* state);

// A state in the current memory context. bytes: of unknown origin. Errors: 22P03; XX001 with what
// is wrong with it.
AggregateState* read_state(const bytea* bytes);

// The density, in the current memory context. The state, of which no density waits, has as many
// rows as before. finer: bytes at most that finer cells fill; 0: all. Interrupts are served.
Datum finish_state(const AggregateState& state, Size finer = 0);

}  // namespace kde_pg
