// kde_info(kde): what a density holds, as a record.
#include "pg/density_datum.h"
#include "pg/row.h"
#include "pg/values.h"

#include "core/density/histogram_view.h"
#include "core/density/text.h"

#include <cmath>

KDE_FUNCTION(kde_info) {
  const kde::Header* h = PG_GETARG_DENSITY(0);
  kde_pg::Row<18> row;
  const bool has_finite = h->finite_rows() > 0;
  row.put(CStringGetTextDatum(format_type_be(kde_pg::sql_type_of(h->value_type))));
  row.put(CStringGetTextDatum(kde::method_name(h->method)));
  row.put(CStringGetTextDatum(kde::kernel_name(h->kernel)));
  row.put(Float8GetDatum(h->bandwidth), h->bandwidth == 0);
  row.put(Float8GetDatum(h->rows));
  row.put(Float8GetDatum(h->nulls));
  row.put(Float8GetDatum(h->nans));
  row.put(Int64GetDatum(static_cast<int64>(h->sample_rows)));
  row.put(BoolGetDatum((h->flags & kde::kEveryRowRead) != 0));
  const auto bound = [&](double x) {
    if (!has_finite) return row.put(0, true);
    row.put(CStringGetTextDatum(kde_pg::double_to_text(h->value_type, x)));
  };
  bound(h->min);
  bound(h->max);
  row.put(Float8GetDatum(h->mean), !has_finite);
  row.put(Float8GetDatum(std::sqrt(h->variance)), !has_finite);
  row.put(Float8GetDatum(h->lattice_step), h->lattice_step == 0);
  row.put(Int32GetDatum(static_cast<int32>(h->atoms)));
  row.put(Int32GetDatum(static_cast<int32>(h->knots)));
  row.put(Float8GetDatum(h->error));
  const Size bytes = h->kind == kde::Kind::histogram
                         ? kde::histogram_size(h, kde::kMaxBytes)
                         : kde::density_size(h->atoms, h->knots, h->lattice_atoms());
  row.put(Int32GetDatum(static_cast<int32>(bytes)));
  PG_RETURN_DATUM(row.record(fcinfo));
}
