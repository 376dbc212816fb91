// The counters of a relation (counters.h) as of now.
#pragma once

#include "pg/catalog/counters.h"

namespace kde_pg {

// The counters as of now, without locking anything: leaves that are being dropped may be missing.
// Unknown where rows are elsewhere or in foreign tables, where statistics are off, on a standby,
// which has none of the primary's work, and where a table access method counts no rows: for other
// than heap tables one inserted row proves that it does.
// Where rows are is for the planner to say; `elsewhere` is false for who will ask it himself, and
// on a standby. Who lists the tables of many owners, or refreshes them, asks it where it calls
// built-in functions alone, and asks the nodes of shards for their counters (some ms; errors:
// those of run_on_shards(), which is unknown here).
// then: in the place of an answer of the planner's, the tables beneath are those of this reading.
enum class AskPlanner { no, built_in_functions, yes };
Counters read_counters(Oid relation, AskPlanner ask = AskPlanner::yes,
                       const Counters* then = nullptr);

}  // namespace kde_pg
