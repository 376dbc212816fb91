// Where the states of aggregates live.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

namespace kde_pg {

// The memory context of the aggregate that calls. Error XX000 if none does.
MemoryContext aggregate_memory(FunctionCallInfo fcinfo);

// kde::Memory over a memory context: neither function raises an error.
kde::Memory memory_of(MemoryContext context);

}  // namespace kde_pg
