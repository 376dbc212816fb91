// kde_info(anykde): what a density holds, as a record.
#include "pg/answer/call.h"
#include "pg/values/row.h"
#include "pg/values/values.h"
#include "pg/type/anykde.h"

#include "core/kde.h"

#include <cmath>

namespace {

constexpr int kColumns = 19;

// What there is one of.
Datum joint_info(FunctionCallInfo fcinfo, const kde::JointHeader& h) {
  kde_pg::Row<kColumns> row;
  const auto none = [&row](int columns) {
    for (int i = 0; i < columns; ++i) row.put(0, true);
  };
  none(1);
  row.put(CStringGetTextDatum("joint"));
  row.put(CStringGetTextDatum(kde::joint_method_name(h.method)));
  none(2);
  row.put(Float8GetDatum(h.rows));
  none(2);
  row.put(Int64GetDatum(static_cast<int64>(h.sample_rows)));
  none(9);
  row.put(Int32GetDatum(static_cast<int32>(VARSIZE(&h))));
  return row.record(fcinfo);
}

}  // namespace

KDE_EXPORT(kde_info);
Datum kde_info(PG_FUNCTION_ARGS) {
  const kde_pg::AnyDensity density = kde_pg::density_argument(fcinfo, 0);
  if (density.joint != nullptr) PG_RETURN_DATUM(joint_info(fcinfo, *density.joint));
  const kde::Header* h = density.one_column;
  kde_pg::Row<kColumns> row;
  // Of ranks nothing is told.
  const bool has_finite = h->finite_rows() > 0 && h->value_type != kde::ValueType::category;
  row.put(CStringGetTextDatum(kde_pg::value_type_label(h->value_type)));
  row.put(CStringGetTextDatum(kde_pg::kind_name(*h)));
  row.put(CStringGetTextDatum(kde::asked_method_name(*h)));
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
  const kde::DensityView view(h);
  const double distinct = kde::distinct_values(view);
  row.put(Int64GetDatum(static_cast<int64>(distinct)), distinct < 0);
  row.put(Float8GetDatum(h->mean), !has_finite);
  row.put(Float8GetDatum(std::sqrt(h->variance)), !has_finite);
  row.put(Float8GetDatum(h->lattice_step), h->lattice_step == 0 || !has_finite);
  row.put(Int32GetDatum(view.steps()));
  row.put(Float8GetDatum(h->rows > 0 ? Min(kde::error_rows(view) / h->rows, 1) : 0));
  const Size bytes = kde::density_size(h, kde::kMostDensityBytes);
  row.put(Int32GetDatum(static_cast<int32>(bytes)));
  PG_RETURN_DATUM(row.record(fcinfo));
}
