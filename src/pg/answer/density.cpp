// kde_density: a stored density as a value.
#include "pg/answer/call.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/column_name.h"
#include "pg/catalog/density_name.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/not_fitted.h"
#include "pg/catalog/privileges.h"
#include "pg/catalog/cache.h"
#include "pg/type/density_datum.h"

namespace kde_pg {

namespace {

// A value tells of its measures and groups too.
bool has_measures(const kde::Header* density) {
  return density != nullptr && (density->measures > 0 || density->grouped > 0);
}

// Of the density as the statement sees it, which is the one whose value was read: what is there now
// may be another, or none.
void check_measures_readable(const DensityKey& key) {
  const bool push = !ActiveSnapshotSet();
  if (push) PushActiveSnapshot(GetTransactionSnapshot());
  List* entries = catalog_list(key.relation, GetActiveSnapshot());
  if (push) PopActiveSnapshot();
  for (const CatalogEntry* item : of_list<const CatalogEntry>(entries)) {
    const DensityKey& stored = item->key;
    if (same_key(stored, key)) return check_readable(stored);
  }
  raise_not_fitted(key);
}

Datum copy_of(const struct varlena* value) { return density_to_datum(value, VARSIZE(value)); }

Datum stored(const DensityKey& key) {
  check_readable(key);
  const struct varlena* value = cached_density(key).value;
  if (value == nullptr) raise_not_fitted(key);
  if (has_measures(any_density_from_datum(PointerGetDatum(value)).one_column))
    check_measures_readable(key);
  return copy_of(value);
}

}  // namespace

}  // namespace kde_pg

// kde_density(density)
KDE_EXPORT(kde_density);
Datum kde_density(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  const AnyDensity density = density_by_text(PG_GETARG_TEXT_PP(0));
  if (has_measures(density.one_column))
    check_measures_readable(key_by_text(PG_GETARG_TEXT_PP(0), nullptr));
  const void* bytes = density.joint;
  if (bytes == nullptr) bytes = density.one_column;
  return density_to_datum(bytes, VARSIZE(bytes));
}

// kde_density(regclass, name)
KDE_EXPORT(kde_density_column);
Datum kde_density_column(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  const TableColumn column = column_by_name(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)));
  const kde::Header* density = density_of_column(column);
  if (has_measures(density)) check_measures_readable(key_of(column));
  return density_to_datum(density, VARSIZE(density));
}

// kde_density(regclass, text[], filter)
KDE_EXPORT(kde_density_columns);
Datum kde_density_columns(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  if (PG_ARGISNULL(0) || PG_ARGISNULL(1)) PG_RETURN_NULL();
  text* filter = PG_ARGISNULL(2) ? nullptr : PG_GETARG_TEXT_PP(2);
  return stored(key_by_arrays(PG_GETARG_OID(0), PG_GETARG_ARRAYTYPE_P(1), filter));
}
