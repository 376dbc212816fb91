// A SQL record built column by column, for functions that return one.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "funcapi.h"
#include "utils/tuplestore.h"
}

namespace kde_pg {

// The row type that the call declares. Others may have dropped the function while it ran, as DROP
// EXTENSION does: error 42883.
inline TypeFuncClass result_type(FunctionCallInfo fcinfo, Oid* type, TupleDesc* desc) {
  if (!SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(fcinfo->flinfo->fn_oid)))
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
                    errmsg("the function was dropped by another session while it ran")));
  return get_call_result_type(fcinfo, type, desc);
}

// N: the columns of the function's result, all of which must be put, in order. Owns nothing.
template <int N>
class Row {
 public:
  void put(Datum value, bool is_null = false) {
    Assert(at_ < N);
    nulls_[at_] = is_null;
    values_[at_++] = value;
  }

  // A text; null: NULL.
  void put_text(const char* text) {
    put(text != nullptr ? CStringGetTextDatum(text) : 0, text == nullptr);
  }

  // As a row of a set (result_set.h).
  void store(Tuplestorestate* rows, TupleDesc desc) {
    Assert(at_ == N);
    tuplestore_putvalues(rows, desc, values_, nulls_);
  }
  // The record, of the type the call declares.
  Datum record(FunctionCallInfo fcinfo) {
    Assert(at_ == N);
    TupleDesc desc;
    if (result_type(fcinfo, nullptr, &desc) != TYPEFUNC_COMPOSITE || desc->natts != N)
      elog(ERROR, "return type must be a row type of %d columns", N);
    return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values_, nulls_));
  }

 private:
  Datum values_[N] = {};
  bool nulls_[N] = {};
  int at_ = 0;
};

}  // namespace kde_pg
