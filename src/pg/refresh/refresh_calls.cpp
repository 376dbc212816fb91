// kde_refresh, kde_refresh_all and kde_set_refresh.
#include "pg/values/result_set.h"
#include "pg/catalog/column_name.h"
#include "pg/catalog/not_fitted.h"
#include "pg/catalog/own_row.h"
#include "pg/catalog/privileges.h"
#include "pg/catalog/stored_name.h"
#include "pg/fit/fit_steps.h"
#include "pg/plain_sql/role_settings.h"
#include "pg/refresh/refresh.h"

extern "C" {
#include "executor/spi.h"
#include "nodes/parsenodes.h"
#include "utils/portal.h"
#include "utils/inval.h"
}

namespace kde_pg {

namespace {

void put_result(const ResultRows& rows, const RefreshResult& result) {
  const bool has_key = result.key.columns > 0;
  const bool refitted = result.action == RefreshAction::refitted;
  rows.put(result.key.relation,
           Field(has_key, has_key ? PointerGetDatum(column_names_of(result.key)) : 0),
           has_key && result.key.has_filter() ? result.key.filter : nullptr,
           refresh_action_name(result.action), result.reason,
           Field(result.changed_rows >= 0, result.changed_rows),
           Field(refitted && result.blocks_read >= 0, result.blocks_read),
           Field(refitted, result.total_ms));
}

// Whether kde_refresh_all() looks at a density, whose table the caller may refresh.
bool is_wanted(const RefreshItem& item, const RefreshHow& how) {
  return item.reason != nullptr || item.unknown || item.renewed || how.force || how.check_drift;
}

void refresh_all(const RefreshHow& how) {
  // Outlives the transactions in between.
  MemoryContext context =
      AllocSetContextCreate(PortalContext, "kde_refresh_all", ALLOCSET_DEFAULT_SIZES);
  MemoryContext each = AllocSetContextCreate(context, "kde_refresh_all", ALLOCSET_DEFAULT_SIZES);
  MemoryContext previous = MemoryContextSwitchTo(context);
  List* items = refresh_items(InvalidOid, false, !how.force);
  MemoryContextSwitchTo(previous);
  catalog_remove_orphans();
  int counts[static_cast<int>(RefreshAction::failed) + 1] = {};
  while (items != NIL) {
    CHECK_FOR_INTERRUPTS();
    MemoryContextSwitchTo(context);
    List* of_table = take_table(&items);
    MemoryContextSwitchTo(previous);
    const Oid relation = static_cast<const RefreshItem*>(linitial(of_table))->relation;
    // Others' tables are passed over in silence, as by VACUUM of a whole database.
    if (get_rel_name(relation) == nullptr || !may_maintain(relation)) continue;
    List* wanted = NIL;
    MemoryContextSwitchTo(each);
    for (RefreshItem* item : of_list<RefreshItem>(of_table)) {
      if (is_wanted(*item, how))
        wanted = lappend(wanted, item);
      else
        ++counts[static_cast<int>(RefreshAction::fresh)];
    }
    if (wanted != NIL) SPI_commit();
    MemoryContextSwitchTo(each);
    for (const RefreshResult* result :
         of_list<const RefreshResult>(refresh_together(wanted, how))) {
      report_refresh(*result, result->action == RefreshAction::failed ? WARNING : NOTICE);
      ++counts[static_cast<int>(result->action)];
    }
    MemoryContextSwitchTo(previous);
    MemoryContextReset(each);
  }
  SPI_commit();
  const int unknown = counts[static_cast<int>(RefreshAction::unknown)];
  ereport(
      NOTICE,
      (errmsg("%d densities refreshed, %d fresh, %d skipped, %d failed",
              counts[static_cast<int>(RefreshAction::refitted)],
              counts[static_cast<int>(RefreshAction::fresh)],
              counts[static_cast<int>(RefreshAction::skipped)],
              counts[static_cast<int>(RefreshAction::failed)]),
       unknown > 0 ? errdetail("Of %d more it is not known whether they are stale.", unknown) : 0));
  MemoryContextDelete(context);
}

// A century: days of an interval are a 32-bit number.
constexpr double kMostAge = 100.0 * 366 * SECS_PER_DAY;

void reject_bad(bool bad, const char* what) {
  if (bad)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s is out of range", what)));
}

// Each argument that is given replaces what was set.
void read_settings(FunctionCallInfo fcinfo, RefreshSettings* settings) {
  if (!PG_ARGISNULL(3)) settings->enabled = PG_GETARG_BOOL(3);
  if (!PG_ARGISNULL(4)) {
    const double factor = PG_GETARG_FLOAT8(4);
    reject_bad(!(factor <= 1e10), "scale_factor");
    settings->scale_factor = factor < 0 ? -1 : factor;
  }
  if (!PG_ARGISNULL(5)) settings->threshold = Max(PG_GETARG_INT64(5), INT64CONST(-1));
  if (!PG_ARGISNULL(6)) {
    const double age = seconds_of(PG_GETARG_INTERVAL_P(6));
    reject_bad(!(age <= kMostAge), "max_age");
    settings->max_age = age < 0 ? -1 : age;
  }
}

// All locks of one transaction: always in the order of the first fits, so that neither two
// refreshes nor a refresh and who fits in that order wait for each other.
int compare_ids(const ListCell* a, const ListCell* b) {
  const int64 x = static_cast<const RefreshItem*>(lfirst(a))->id;
  const int64 y = static_cast<const RefreshItem*>(lfirst(b))->id;
  return x < y ? -1 : x > y ? 1 : 0;
}

// That of a key, if it may be refreshed. Error 42704: there is none.
List* those_of(List* items, const DensityKey& key) {
  List* out = NIL;
  for (RefreshItem* item : of_list<RefreshItem>(items))
    if (same_key(item->key, key)) out = lappend(out, item);
  if (catalog_entry(key) == nullptr) raise_not_fitted(key);
  return out;
}

}  // namespace

}  // namespace kde_pg

// Who may: open_maintained_relation() asks (privileges.h: the owner, and who has MAINTAIN).
KDE_EXPORT(kde_refresh);
Datum kde_refresh(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  check_may_write("kde_refresh()");
  reject_null(fcinfo, 0, "relation");
  reject_null(fcinfo, 1, "force");
  const ResultRows rows = begin_rows(fcinfo, 8);
  text* name = PG_GETARG_TEXT_PP(0);
  NameParts parts = {find_table(name), nullptr, false, nullptr, nullptr};
  const bool is_table = OidIsValid(parts.relation);
  if (!is_table && is_missing_alias(name)) (void)table_by_text(name);  // the error
  if (!is_table) parts = parts_of_name(name);
  Relation relation = open_maintained_relation(parts.relation);
  check_kind(relation);
  RefreshHow how;
  how.force = PG_GETARG_BOOL(1);
  List* items = refresh_items(RelationGetRelid(relation), false, false);
  if (!is_table) items = those_of(items, stored_key(relation, parts, nullptr));
  list_sort(items, compare_ids);
  List* keys = NIL;
  for (RefreshItem* item : of_list<RefreshItem>(items)) keys = lappend(keys, &item->key);
  catalog_lock_all(keys);
  for (const RefreshResult* result : of_list<const RefreshResult>(refresh_together(items, how))) {
    if (result->action == RefreshAction::failed) report_refresh(*result, WARNING);
    put_result(rows, *result);
  }
  relation_close(relation, NoLock);
  return static_cast<Datum>(0);
}

KDE_EXPORT(kde_refresh_all);
Datum kde_refresh_all(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  check_may_write("kde_refresh_all()");
  reject_null(fcinfo, 0, "force");
  reject_null(fcinfo, 1, "check_drift");
  const bool atomic = fcinfo->context == nullptr || !IsA(fcinfo->context, CallContext) ||
                      reinterpret_cast<CallContext*>(fcinfo->context)->atomic;
  if (atomic)
    ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
                    errmsg("kde_refresh_all() cannot run inside a transaction block"),
                    errdetail("It commits after each table."),
                    errhint("In a transaction, refresh table by table: SELECT * FROM "
                            "kde_refresh('table').")));
  RefreshHow how;
  how.force = PG_GETARG_BOOL(0);
  how.check_drift = PG_GETARG_BOOL(1);
  how.wait = false;
  how.own_transaction = true;
  if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  refresh_all(how);
  SPI_finish();
  PG_RETURN_VOID();
}

namespace kde_pg {

namespace {

// The settings of the density that `name` and `filter` mean, of a relation of the caller's own, are
// what change(&settings) makes of them. Its relation, open and locked.
template <typename Change>
Relation change_settings(text* name, text* filter, Change change) {
  const NameParts parts = parts_of_name(name);
  Relation relation = open_owned_relation(parts.relation);
  const DensityKey key = stored_key(relation, parts, filter);
  catalog_lock(key);
  const CatalogEntry* entry = catalog_entry(key);
  if (entry == nullptr) raise_not_fitted(key);
  RefreshSettings settings = entry->settings;
  change(&settings);
  catalog_set(*entry, settings);
  return relation;
}

}  // namespace

}  // namespace kde_pg

// kde_set_refresh(density, by_name_only, filter, enabled, scale_factor, threshold, max_age)
KDE_EXPORT(kde_set_refresh_by_name);
Datum kde_set_refresh_by_name(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  check_may_write("kde_set_refresh()");
  reject_null(fcinfo, 0, "density");
  check_by_name_only(fcinfo, 1);
  Relation relation =
      change_settings(PG_GETARG_TEXT_PP(0), text_argument(fcinfo, 2),
                      [fcinfo](RefreshSettings* settings) { read_settings(fcinfo, settings); });
  relation_close(relation, NoLock);
  PG_RETURN_VOID();
}

// kde_set_plain_sql(density, allowed, by_name_only, filter, as_of)
KDE_EXPORT(kde_set_plain_sql);
Datum kde_set_plain_sql(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  check_may_write("kde_set_plain_sql()");
  reject_null(fcinfo, 0, "density");
  reject_null(fcinfo, 1, "allowed");
  check_by_name_only(fcinfo, 2);
  const bool allowed = PG_GETARG_BOOL(1);
  const double age = PG_ARGISNULL(4) ? -1 : seconds_of(PG_GETARG_INTERVAL_P(4));
  reject_bad(!PG_ARGISNULL(4) && !(age >= 0 && age <= kMostAge), "as_of");
  Relation relation = change_settings(PG_GETARG_TEXT_PP(0), text_argument(fcinfo, 3),
                                      [allowed, age](RefreshSettings* settings) {
                                        settings->plain_sql = allowed;
                                        settings->plain_sql_age = age;
                                      });
  // Plans that are kept are made anew.
  CacheInvalidateRelcache(relation);
  relation_close(relation, NoLock);
  if (allowed) tell_who_asks();
  PG_RETURN_VOID();
}
