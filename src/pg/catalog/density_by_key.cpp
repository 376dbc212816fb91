// kde_density(relation, column_names, filter): the stored density of a key as a value.
#include "pg/catalog/cache.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/not_fitted.h"
#include "pg/catalog/privileges.h"

KDE_FUNCTION(kde_density_columns) {
  using namespace kde_pg;
  if (PG_ARGISNULL(0) || PG_ARGISNULL(1)) PG_RETURN_NULL();
  text* filter = PG_ARGISNULL(2) ? nullptr : PG_GETARG_TEXT_PP(2);
  const DensityKey key = key_by_arrays(PG_GETARG_OID(0), PG_GETARG_ARRAYTYPE_P(1), filter);
  check_readable(key);
  const struct varlena* value = cached_density(key).value;
  if (value == nullptr) raise_not_fitted(key);
  // The cache keeps its own.
  struct varlena* copy = static_cast<struct varlena*>(palloc(VARSIZE(value)));
  memcpy(copy, value, VARSIZE(value));
  PG_RETURN_POINTER(copy);
}
