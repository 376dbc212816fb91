// From a call's first arguments to the density it asks about.
#include "pg/target.h"

#include "pg/cache.h"
#include "pg/density_datum.h"

extern "C" {
#include "catalog/namespace.h"
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

// Nothing is fitted: the error has the call that would fit it.
[[noreturn]] void raise_not_fitted(TableColumn column) {
  const char* table = get_rel_name(column.relation);
  const char* name = live_column_name(column.relation, column.attnum);
  if (table == nullptr || name == nullptr) raise_gone();
  // As a regclass literal reads it.
  const char* schema = RelationIsVisible(column.relation)
                           ? nullptr
                           : get_namespace_name(get_rel_namespace(column.relation));
  ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                  errmsg("no density is fitted for %s", display_name(column)),
                  errhint("Fit one: SELECT * FROM kde_fit(%s, %s);",
                          quote_literal_cstr(quote_qualified_identifier(schema, table)),
                          quote_literal_cstr(name))));
  pg_unreachable();
}

Target stored(TableColumn column) {
  check_readable(column);
  const struct varlena* value = cached_density(column);
  if (value == nullptr) raise_not_fitted(column);
  const kde::Header* density = density_from_datum(PointerGetDatum(value), nullptr);
  kde::ValueType type;
  int32 typmod;
  if (!column_value_type(column, &type, &typmod) || !same_meaning(type, density->value_type)) {
    if (live_column_name(column.relation, column.attnum) == nullptr) raise_gone();
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the density of %s was fitted before the column changed its type",
                           display_name(column)),
                    errhint("Fit it again with kde_fit.")));
  }
  return {density, type, column};
}

}  // namespace

bool same_meaning(kde::ValueType a, kde::ValueType b) {
  const auto is_number = [](kde::ValueType t) { return t <= kde::ValueType::numeric; };
  return a == b || (is_number(a) && is_number(b));
}

Target target_by_text(FunctionCallInfo fcinfo) {
  reject_null(fcinfo, 0, "density");
  return stored(column_by_text(PG_GETARG_TEXT_PP(0)));
}

Target target_by_column(FunctionCallInfo fcinfo) {
  reject_null(fcinfo, 0, "relation");
  reject_null(fcinfo, 1, "column_name");
  return stored(column_by_name(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1))));
}

Target target_by_value(FunctionCallInfo fcinfo) {
  const kde::Header* density = PG_GETARG_DENSITY(0);
  return {density, density->value_type, {}};
}

}  // namespace kde_pg
