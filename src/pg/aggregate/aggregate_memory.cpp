// See aggregate_memory.h.
#include "pg/aggregate/aggregate_memory.h"

#include "pg/base/of_list.h"

extern "C" {
#include "catalog/pg_aggregate.h"
#include "nodes/execnodes.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
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

// state: the type of that aggregate's states.
void refuse_inverse(const WindowAggState& window, Oid state) {
  for (const WindowFuncExprState* call : of_list<const WindowFuncExprState>(window.funcs)) {
    HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(call->wfunc->winfnoid));
    if (!HeapTupleIsValid(tuple)) continue;
    const auto* aggregate = reinterpret_cast<Form_pg_aggregate>(GETSTRUCT(tuple));
    const bool takes_back =
        OidIsValid(aggregate->aggminvtransfn) && aggregate->aggmtranstype == state;
    ReleaseSysCache(tuple);
    if (takes_back)
      ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                      errmsg("states of densities take no row back"),
                      errdetail("Aggregate %s has an inverse transition function.",
                                get_func_name(call->wfunc->winfnoid))));
  }
}

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
  if (IsA(fcinfo->context, WindowAggState))
    refuse_inverse(*castNode(WindowAggState, fcinfo->context),
                   get_func_rettype(fcinfo->flinfo->fn_oid));
  MemoryContext states = context->firstchild;
  if (states != nullptr && strcmp(states->name, KDE_STATES) == 0) return states;
  return AllocSetContextCreate(context, KDE_STATES, ALLOCSET_DEFAULT_MINSIZE,
                               ALLOCSET_DEFAULT_INITSIZE, kMostBlock);
}

}  // namespace kde_pg
