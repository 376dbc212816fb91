// From a call's first arguments to the density it asks about.
#include "pg/answer/target.h"

#include "pg/type/anykde.h"
#include "pg/catalog/cache.h"
#include "pg/catalog/not_fitted.h"
#include "pg/catalog/column_name.h"
#include "pg/catalog/density_name.h"
#include "pg/catalog/privileges.h"

extern "C" {
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

namespace kde_pg {

namespace {

// The table is not locked, so it may be gone at any time.
[[noreturn]] void raise_gone() {
  ereport(ERROR,
          (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("the column asked about no longer exists")));
  pg_unreachable();
}

Target stored(TableColumn column) {
  check_readable(column);
  AnsweringFit fit;
  const CachedDensity cached = cached_density(column, &fit);
  if (cached.value == nullptr) {
    const DensityKey key = key_of(column);
    if (get_rel_name(column.relation) == nullptr || key.column[0].text == nullptr) raise_gone();
    raise_not_fitted(key);
  }
  const kde::Header* density = density_from_datum(PointerGetDatum(cached.value), nullptr);
  kde::ValueType type;
  int32 typmod;
  if (!column_value_type(column, &type, &typmod) || !same_meaning(type, density->value_type)) {
    if (live_column_name(column.relation, column.attnum) == nullptr) raise_gone();
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the density of %s was fitted before the column changed its type",
                           display_name(column)),
                    errhint("Fit it again with kde_fit.")));
  }
  return {density, type, column, fit, cached.sums};
}

}  // namespace

bool same_meaning(kde::ValueType a, kde::ValueType b) {
  const auto is_number = [](kde::ValueType t) { return t <= kde::ValueType::numeric; };
  return a == b || (is_number(a) && is_number(b));
}

Target target_by_text(FunctionCallInfo fcinfo) {
  return stored(column_by_text(PG_GETARG_TEXT_PP(0)));
}

Target target_by_column(FunctionCallInfo fcinfo) {
  return stored(column_by_name(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1))));
}

AnyDensity density_by_text(text* name) {
  const DensityKey key = key_by_text(name);
  if (key.is_plain()) return {stored(key.plain()).density, nullptr};
  check_readable(key);
  const struct varlena* value = cached_density(key).value;
  if (value == nullptr) raise_not_fitted(key);
  return any_density_from_datum(PointerGetDatum(value));
}

AnyDensity density_argument(FunctionCallInfo fcinfo, int argument) {
  const Datum datum = PG_GETARG_DATUM(argument);
  text* name = name_in(datum);
  return name != nullptr ? density_by_text(name) : any_density_from_datum(datum);
}

Target target_by_value(FunctionCallInfo fcinfo) {
  const kde::Header* density = PG_GETARG_DENSITY(0);
  return {density, density->value_type, {}, {}, {}};
}

}  // namespace kde_pg
