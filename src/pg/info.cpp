// kde_info(kde): what a density holds, as a record.
#include "pg/density_datum.h"
#include "pg/values.h"

#include "core/density/text.h"

#include <cmath>

extern "C" {
#include "access/htup_details.h"
#include "funcapi.h"
}

KDE_FUNCTION(kde_info) {
  const kde::Header* h = PG_GETARG_DENSITY(0);
  TupleDesc desc;
  if (get_call_result_type(fcinfo, nullptr, &desc) != TYPEFUNC_COMPOSITE)
    elog(ERROR, "return type must be a row type");

  constexpr int kColumns = 18;
  Datum values[kColumns] = {};
  bool nulls[kColumns] = {};
  int at = 0;
  const auto put = [&](Datum value, bool is_null = false) {
    nulls[at] = is_null;
    values[at++] = value;
  };
  const bool has_finite = h->finite_rows() > 0;
  put(CStringGetTextDatum(format_type_be(kde_pg::sql_type_of(h->value_type))));
  put(CStringGetTextDatum(kde::method_name(h->method)));
  put(CStringGetTextDatum("gaussian"));
  put(Float8GetDatum(h->bandwidth), h->bandwidth == 0);
  put(Float8GetDatum(h->rows));
  put(Float8GetDatum(h->nulls));
  put(Float8GetDatum(h->nans));
  put(Int64GetDatum(static_cast<int64>(h->sample_rows)));
  put(BoolGetDatum((h->flags & kde::kEveryRowRead) != 0));
  const auto bound = [&](double x) {
    if (!has_finite) return put(0, true);
    put(CStringGetTextDatum(kde_pg::double_to_text(h->value_type, x)));
  };
  bound(h->min);
  bound(h->max);
  put(Float8GetDatum(h->mean), !has_finite);
  put(Float8GetDatum(std::sqrt(h->variance)), !has_finite);
  put(Float8GetDatum(h->lattice_step), h->lattice_step == 0);
  put(Int32GetDatum(static_cast<int32>(h->atoms)));
  put(Int32GetDatum(static_cast<int32>(h->knots)));
  put(Float8GetDatum(h->error));
  put(Int32GetDatum(static_cast<int32>(kde::density_size(h->atoms, h->knots))));
  Assert(at == kColumns);
  PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
