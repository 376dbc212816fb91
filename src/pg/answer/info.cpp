// kde_info(anykde): what a density holds, as a record.
#include "pg/answer/call.h"
#include "pg/values/result_set.h"
#include "pg/values/values.h"
#include "pg/type/anykde.h"

#include "core/kde.h"

#include <cmath>

namespace {

using kde_pg::Field;

// What there is one of.
Datum joint_info(FunctionCallInfo fcinfo, const kde::JointHeader& h) {
  const Field none(false, 0);
  return kde_pg::record_of(fcinfo, none, "joint", kde::joint_method_name(h.method), none, h.rows,
                           none, none, static_cast<int64>(h.sample_rows), none, none, none, none,
                           none, none, none, none, none, none, static_cast<int32>(VARSIZE(&h)));
}

}  // namespace

KDE_EXPORT(kde_info);
Datum kde_info(PG_FUNCTION_ARGS) {
  const kde_pg::AnyDensity density = kde_pg::density_argument(fcinfo, 0);
  if (density.joint != nullptr) PG_RETURN_DATUM(joint_info(fcinfo, *density.joint));
  const kde::Header* h = density.one_column;
  // Of ranks nothing is told.
  const bool has_finite = h->finite_rows() > 0 && h->value_type != kde::ValueType::category;
  const auto bound = [&](double x) {
    return has_finite ? kde_pg::double_to_text(h->value_type, x) : nullptr;
  };
  const kde::DensityView view(h);
  const double distinct = kde::distinct_values(view);
  const double error = h->rows > 0 ? Min(kde::error_rows(view) / h->rows, 1) : 0;
  return kde_pg::record_of(fcinfo, kde_pg::value_type_label(h->value_type), kde_pg::kind_name(*h),
                           kde::asked_method_name(*h), Field(h->bandwidth != 0, h->bandwidth),
                           h->rows, h->nulls, h->nans, static_cast<int64>(h->sample_rows),
                           (h->flags & kde::kEveryRowRead) != 0, bound(h->min), bound(h->max),
                           Field(distinct >= 0, static_cast<int64>(distinct)),
                           Field(has_finite, h->mean), Field(has_finite, std::sqrt(h->variance)),
                           Field(has_finite && h->lattice_step != 0, h->lattice_step),
                           has_finite ? kde::steps_name(*h) : nullptr, view.steps(), error,
                           static_cast<int32>(kde::density_size(h, kde::kMostDensityBytes)));
}
