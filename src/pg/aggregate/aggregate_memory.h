// Where the states of aggregates live.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

namespace kde_pg {

// The memory context of the aggregate that calls. Error XX000 if none does.
MemoryContext aggregate_memory(FunctionCallInfo fcinfo);

// The memory context of the states of the aggregate that calls, a child of its own. Error XX000 if none
// calls. All groups' states share it: nodeAgg.c adds up all children at each new group of a hash table.
// Error 0A000 over a window where an aggregate has an inverse transition: such a function is handed the
// very state, and may free it.
MemoryContext states_memory(FunctionCallInfo fcinfo);

// kde::Memory over a memory context: neither function raises an error.
kde::Memory memory_of(MemoryContext context);

}  // namespace kde_pg
