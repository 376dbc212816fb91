// kde_devices(): what would compute a fit in this session.
#include "pg/options.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
}

#include <cstring>

KDE_FUNCTION(kde_devices) {
  FuncCallContext* call;
  if (SRF_IS_FIRSTCALL()) {
    call = SRF_FIRSTCALL_INIT();
    TupleDesc desc;
    if (get_call_result_type(fcinfo, nullptr, &desc) != TYPEFUNC_COMPOSITE)
      elog(ERROR, "return type must be a row type");
    MemoryContext old = MemoryContextSwitchTo(call->multi_call_memory_ctx);
    call->tuple_desc = BlessTupleDesc(desc);
    MemoryContextSwitchTo(old);
  }
  call = SRF_PERCALL_SETUP();
  if (call->call_cntr > 0) SRF_RETURN_DONE(call);

  const int count = kde_pg::instruction_set_count();
  Datum* names = static_cast<Datum*>(palloc(sizeof(Datum) * static_cast<Size>(count)));
  for (int i = 0; i < count; ++i) names[i] = CStringGetTextDatum(kde_pg::instruction_set_name(i));
  ArrayType* sets = construct_array(names, count, TEXTOID, -1, false, TYPALIGN_INT);
  Datum values[5] = {CStringGetTextDatum("cpu"), CStringGetTextDatum(kde_pg::chosen_engine_name()),
                     PointerGetDatum(sets), Int32GetDatum(kde_pg::chosen_threads()),
                     BoolGetDatum(true)};
  bool nulls[5] = {};
  SRF_RETURN_NEXT(call, HeapTupleGetDatum(heap_form_tuple(call->tuple_desc, values, nulls)));
}
