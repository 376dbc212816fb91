// Begins the rows of a set-returning function, in a tuplestore.
#include "pg/values/result_set.h"

namespace kde_pg {

namespace {

// Others may have dropped the function while it ran, as DROP EXTENSION does: error 42883.
TypeFuncClass result_type(FunctionCallInfo fcinfo, Oid* type, TupleDesc* desc) {
  if (!SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(fcinfo->flinfo->fn_oid)))
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
                    errmsg("the function was dropped by another session while it ran")));
  return get_call_result_type(fcinfo, type, desc);
}

[[noreturn]] void raise_other_columns(int columns) {
  elog(ERROR, "return type must be a row type of %d columns", columns);
  pg_unreachable();
}

}  // namespace

ResultRows begin_rows(FunctionCallInfo fcinfo, int columns) {
  ReturnSetInfo* info = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  if (info == nullptr || !IsA(info, ReturnSetInfo) || (info->allowedModes & SFRM_Materialize) == 0)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("set-valued function called in context that cannot accept a set")));
  MemoryContext old = MemoryContextSwitchTo(info->econtext->ecxt_per_query_memory);
  TupleDesc desc;
  Oid type;
  const TypeFuncClass result = result_type(fcinfo, &type, &desc);
  if (result == TYPEFUNC_SCALAR && columns == 1) {
    desc = CreateTemplateTupleDesc(1);
    TupleDescInitEntry(desc, 1, "value", type, -1, 0);
  } else if (result != TYPEFUNC_COMPOSITE || desc->natts != columns) {
    raise_other_columns(columns);
  }
  Tuplestorestate* rows =
      tuplestore_begin_heap((info->allowedModes & SFRM_Materialize_Random) != 0, false, work_mem);
  info->returnMode = SFRM_Materialize;
  info->setResult = rows;
  info->setDesc = desc;
  MemoryContextSwitchTo(old);
  return {rows, desc};
}

TupleDesc record_type(FunctionCallInfo fcinfo, int columns) {
  TupleDesc desc;
  if (result_type(fcinfo, nullptr, &desc) != TYPEFUNC_COMPOSITE || desc->natts != columns)
    raise_other_columns(columns);
  return BlessTupleDesc(desc);
}

}  // namespace kde_pg
