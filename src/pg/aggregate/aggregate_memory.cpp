// See aggregate_memory.h.
#include "pg/aggregate/aggregate_memory.h"

extern "C" {
#include "utils/memutils.h"
}

namespace kde_pg {

namespace {

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

}  // namespace kde_pg
