// Begins the rows of a set-returning function, in a tuplestore.
#include "pg/values/result_set.h"

#include "pg/values/row.h"

namespace kde_pg {

Tuplestorestate* begin_rows(FunctionCallInfo fcinfo, int columns, TupleDesc* desc) {
  ReturnSetInfo* info = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  if (info == nullptr || !IsA(info, ReturnSetInfo) || (info->allowedModes & SFRM_Materialize) == 0)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("set-valued function called in context that cannot accept a set")));
  MemoryContext old = MemoryContextSwitchTo(info->econtext->ecxt_per_query_memory);
  Oid type;
  const TypeFuncClass result = result_type(fcinfo, &type, desc);
  if (result == TYPEFUNC_SCALAR && columns == 1) {
    *desc = CreateTemplateTupleDesc(1);
    TupleDescInitEntry(*desc, 1, "value", type, -1, 0);
  } else if (result != TYPEFUNC_COMPOSITE || (*desc)->natts != columns) {
    elog(ERROR, "return type must be a row type of %d columns", columns);
  }
  Tuplestorestate* rows =
      tuplestore_begin_heap((info->allowedModes & SFRM_Materialize_Random) != 0, false, work_mem);
  info->returnMode = SFRM_Materialize;
  info->setResult = rows;
  info->setDesc = *desc;
  MemoryContextSwitchTo(old);
  return rows;
}

}  // namespace kde_pg
