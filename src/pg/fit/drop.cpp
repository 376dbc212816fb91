// kde_drop: removes a stored density.
#include "pg/catalog/catalog.h"
#include "pg/catalog/density_name.h"
#include "pg/catalog/not_fitted.h"
#include "pg/fit/fit_steps.h"

extern "C" {
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

// Whether so many of a key's columns from `first` on have exactly the texts of an array; null:
// none.
bool has_texts(const DensityKey& key, int first, int count, ArrayType* texts) {
  if (texts == nullptr) return count == 0;
  Datum* values;
  int n;
  deconstruct_array(texts, TEXTOID, -1, false, TYPALIGN_INT, &values, nullptr, &n);
  bool same = n == count;
  for (int k = 0; same && k < n; ++k)
    same = strcmp(key.column[first + k].text, TextDatumGetCString(values[k])) == 0;
  return same;
}

// The key of a stored density that has exactly these texts, whether or not they still can be read.
bool find_by_texts(const NameParts& parts, text* filter, DensityKey* key) {
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  List* stored = catalog_list(parts.relation, latest);
  UnregisterSnapshot(latest);
  if (filter == nullptr) filter = parts.filter;
  const char* condition = filter == nullptr ? "" : text_to_cstring(filter);
  ListCell* cell;
  foreach (cell, stored) {
    const DensityKey& candidate = static_cast<CatalogEntry*>(lfirst(cell))->key;
    if (strcmp(candidate.filter, condition) != 0 ||
        !has_texts(candidate, 0, candidate.columns, parts.columns) ||
        !has_texts(candidate, candidate.first_group(), candidate.groups, parts.group_by))
      continue;
    *key = candidate;
    return true;
  }
  return false;
}

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
KDE_FUNCTION(kde_drop_by_name) {
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
  DensityKey key;
  if (!find_by_texts(parts, filter, &key)) key = key_of_parts(parts, filter);
  const bool removed = drop(key, PG_GETARG_BOOL(3));
  relation_close(relation, NoLock);
  PG_RETURN_BOOL(removed);
}
