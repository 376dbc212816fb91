// kde_drop: removes a stored density.
#include "pg/catalog/catalog.h"
#include "pg/catalog/not_fitted.h"
#include "pg/catalog/stored_name.h"
#include "pg/fit/fit_steps.h"

extern "C" {
#include "access/relation.h"
#include "utils/rel.h"
}

namespace kde_pg {

namespace {

bool drop(const DensityKey& key, bool if_exists) {
  catalog_lock(key);
  const bool removed = catalog_remove(key);
  if (removed) return true;
  if (!if_exists)
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_OBJECT),
             errmsg("no density is fitted for %s", display_name(key)),
             errhint("%skde_densities lists those fitted; if_exists => true makes this a notice.",
                     fitted_nearby(key))));
  ereport(NOTICE, (errmsg("no density is fitted for %s, skipping", display_name(key))));
  return false;
}

}  // namespace

}  // namespace kde_pg

// kde_drop(density, by_name_only, filter, if_exists)
KDE_EXPORT(kde_drop_by_name);
Datum kde_drop_by_name(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  check_may_write("kde_drop()");
  reject_null(fcinfo, 0, "density");
  check_by_name_only(fcinfo, 1);
  reject_null(fcinfo, 3, "if_exists");
  if (PG_GETARG_BOOL(3) && is_missing_alias(PG_GETARG_TEXT_PP(0))) {
    ereport(NOTICE,
            (errmsg("no density is named %s, skipping", text_to_cstring(PG_GETARG_TEXT_PP(0)))));
    PG_RETURN_BOOL(false);
  }
  const NameParts parts = parts_of_name(PG_GETARG_TEXT_PP(0));
  Relation relation = open_owned_relation(parts.relation);
  text* filter = text_argument(fcinfo, 2);
  const bool if_exists = PG_GETARG_BOOL(3);
  DensityKey key;
  bool removed = false;
  if (find_stored_key(relation, parts, filter, &key)) {
    removed = drop(key, if_exists);
  } else if (!if_exists) {
    (void)key_of_parts(parts, filter);  // the error
  } else {
    ereport(NOTICE,
            (errmsg("no density is fitted for %s%s%s, skipping",
                    text_to_cstring(PG_GETARG_TEXT_PP(0)), filter != nullptr ? " where " : "",
                    filter != nullptr ? text_to_cstring(filter) : "")));
  }
  relation_close(relation, NoLock);
  PG_RETURN_BOOL(removed);
}
