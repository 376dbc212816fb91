// See aggregate_memory.h.
#include "pg/aggregate/aggregate_memory.h"

extern "C" {
#include "utils/memutils.h"
}

namespace kde_pg {

namespace {

// Blocks of states that stay small: as of the table's own memory, what is reserved is counted as used.
constexpr Size kMostBlock = Size{256} * 1024;

#define KDE_STATES "kde_aqp states"  // a literal, as contexts are named

void* allocate(void* context, std::size_t bytes) {
  if (!AllocSizeIsValid(bytes)) return nullptr;
  return MemoryContextAllocExtended(static_cast<MemoryContext>(context), bytes, MCXT_ALLOC_NO_OOM);
}

void release(void*, void* chunk) { pfree(chunk); }

}  // namespace

kde::Memory memory_of(MemoryContext context) { return {allocate, release, context}; }

MemoryContext aggregate_memory(FunctionCallInfo fcinfo) {
  MemoryContext context;
  if (AggCheckCallContext(fcinfo, &context) == 0)
    elog(ERROR, "aggregate function called in non-aggregate context");
  return context;
}

MemoryContext states_memory(FunctionCallInfo fcinfo) {
  MemoryContext context = aggregate_memory(fcinfo);
  MemoryContext states = context->firstchild;
  if (states != nullptr && strcmp(states->name, KDE_STATES) == 0) return states;
  return AllocSetContextCreate(context, KDE_STATES, ALLOCSET_DEFAULT_MINSIZE,
                               ALLOCSET_DEFAULT_INITSIZE, kMostBlock);
}

}  // namespace kde_pg
