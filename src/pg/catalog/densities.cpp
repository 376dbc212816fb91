// The rows of the catalog as SQL sees them:
//
//   kde_aqp.readable_densities()  of the views kde_densities and kde_densities_full: what the
//                                 caller may read, with what upkeep knows of it
//   kde_aqp.dumped_densities()    what a dump of kde_aqp.density has: the same densities, as they
//                                 are to be restored; none where kde_aqp.dump_densities is off
//   kde_aqp.stored()              what the materialized view kde_aqp.fitted is made of: what is in
//                                 it, so that REFRESH MATERIALIZED VIEW changes nothing
//   kde_aqp.stored_stretches()    the same of kde_aqp.fitted_stretches
//
// Dumped and stored ones have the columns of kde_aqp.density. The door's first is text, as a restore may not
// find the table; stored() has its OID there, dumped_densities() a regclass.
//
// That the first two leave out what the caller may not read, here and not in a WHERE, keeps its
// number out of EXPLAIN. A density is readable if all columns that it is of, or uses, are.
#include "pg/base/options.h"
#include "pg/values/result_set.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/privileges.h"
#include "pg/catalog/own_row.h"
#include "pg/catalog/short_model.h"
#include "pg/catalog/staleness.h"
#include "pg/catalog/stretches.h"

extern "C" {
#include "utils/acl.h"
}

namespace kde_pg {

namespace {

constexpr int kUpkeep = 14;  // columns beside the catalog's: upkeep's, names, a judgement

struct Output {
  Tuplestorestate* rows;
  TupleDesc desc;
  CountersInTurn counters;
};

// Whether the caller is, or belongs to, the role that owns the relation; a superuser is.
bool has_role_of_owner(Oid relation) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
  if (!HeapTupleIsValid(tuple)) return false;
  const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
  ReleaseSysCache(tuple);
  return has_privs_of_role(GetUserId(), owner);
}

// In few words, for a screen.
const char* state_of(const CatalogEntry& entry, const Upkeep& upkeep, const Staleness& s) {
  const char* state = staleness_text(s, true);
  if (upkeep.failures > 0)
    state = psprintf("refreshes failed: %d", upkeep.failures);
  else if (s.stale())
    state = psprintf("stale: %s", state);
  else
    return state != nullptr ? state : "fresh";
  return entry.settings.enabled ? state : psprintf("set aside, %s", state);
}

void put_readable(HeapTuple tuple, TupleDesc desc, const CatalogEntry& entry, void* state) {
  if (!is_readable(entry.key)) return;
  auto* out = static_cast<Output*>(state);
  Datum values[kCatalogColumns + kUpkeep];
  bool nulls[kCatalogColumns + kUpkeep];
  heap_deform_tuple(tuple, desc, values, nulls);
  // May tell of what its caller may not read.
  if (!has_role_of_owner(entry.key.relation))
    nulls[static_cast<int>(CatalogColumn::refresh_query) - 1] = true;
  nulls[static_cast<int>(CatalogColumn::hash_seed) - 1] = true;
  int n = kCatalogColumns;
  const auto put = [&](bool known, Datum value) {
    values[n] = value;
    nulls[n++] = !known;
  };
  const auto put_text = [&](const char* text) {
    put(text != nullptr, text != nullptr ? CStringGetTextDatum(text) : 0);
  };
  const Upkeep upkeep = upkeep_find(entry.id, GetActiveSnapshot());
  const Staleness s = staleness_of(entry, upkeep, out->counters.of(entry.key.relation));
  put(s.told() >= 0, Int64GetDatum(s.told()));
  put(true, BoolGetDatum(s.stale()));
  put_text(staleness_text(s));
  const bool drifted = upkeep.drift >= 0;
  put(drifted, Float8GetDatum(upkeep.drift));
  put(drifted, Float8GetDatum(upkeep.drift_p_value));
  put(drifted, TimestampTzGetDatum(upkeep.drift_at));
  put(true, Int32GetDatum(Max(upkeep.failures, 0)));
  put(upkeep.failures > 0 && upkeep.failed_at != 0, TimestampTzGetDatum(upkeep.failed_at));
  // May quote a value.
  put_text(has_role_of_owner(entry.key.relation) ? upkeep.last_error : nullptr);
  put_text(density_name(entry.key));
  constexpr int kModel = static_cast<int>(CatalogColumn::model) - 1;
  put_text(nulls[kModel] ? nullptr : short_model(TextDatumGetCString(values[kModel])));
  const Judgement judgement = judge(entry.key.relation, entry.proof);
  put_text(judgement_text(judgement));
  put(judgement.changed != Changed::unknown,
      Int64GetDatum(static_cast<int64>(judgement.unproven + judgement.added) * BLCKSZ));
  put_text(state_of(entry, upkeep, s));
  tuplestore_putvalues(out->rows, out->desc, values, nulls);
}

// Without the proof, nor that there are stretches, which need it: they are of this server's files. Of a table that
// is being dropped there would be a number, which is another's elsewhere.
void put_dumped(HeapTuple tuple, TupleDesc desc, const CatalogEntry& entry, void* state) {
  if (!is_readable(entry.key) || get_rel_name(entry.key.relation) == nullptr) return;
  int columns[] = {static_cast<int>(CatalogColumn::proof),
                   static_cast<int>(CatalogColumn::hash_seed)};
  Datum values[lengthof(columns)] = {};
  bool nulls[] = {true, true};
  tuple = heap_modify_tuple_by_cols(tuple, desc, lengthof(columns), columns, values, nulls);
  tuplestore_puttuple(static_cast<Output*>(state)->rows, tuple);
}

void put_stored(HeapTuple tuple, TupleDesc desc, void* state) {
  const auto* out = static_cast<const Output*>(state);
  Datum values[kCatalogColumns];
  bool nulls[kCatalogColumns];
  heap_deform_tuple(tuple, desc, values, nulls);
  Datum* relation = &values[static_cast<int>(CatalogColumn::relation) - 1];
  *relation = CStringGetTextDatum(psprintf("%u", DatumGetObjectId(*relation)));
  tuplestore_putvalues(out->rows, out->desc, values, nulls);
}

Output begin_output(FunctionCallInfo fcinfo, int columns) {
  Output out = {};
  const ResultRows rows = begin_rows(fcinfo, columns);
  out.rows = rows.rows;
  out.desc = rows.desc;
  return out;
}

}  // namespace

}  // namespace kde_pg

KDE_EXPORT(kde_readable_densities);
Datum kde_readable_densities(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  Output out = begin_output(fcinfo, kCatalogColumns + kUpkeep);
  catalog_visit(GetActiveSnapshot(), put_readable, &out);
  PG_RETURN_NULL();
}

KDE_EXPORT(kde_dumped_densities);
Datum kde_dumped_densities(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  Output out = begin_output(fcinfo, kCatalogColumns);
  if (option_dump_densities) catalog_visit(GetActiveSnapshot(), put_dumped, &out);
  PG_RETURN_NULL();
}

KDE_EXPORT(kde_stored_stretches);
Datum kde_stored_stretches(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  Relation table = open_stretches(AccessShareLock);
  const Output out = begin_output(fcinfo, RelationGetNumberOfAttributes(table));
  const auto put = [&](HeapTuple row) {
    CHECK_FOR_INTERRUPTS();
    tuplestore_puttuple(out.rows, row);
    return true;
  };
  for_rows(table, nullptr, nullptr, put, false);
  table_close(table, AccessShareLock);
  PG_RETURN_NULL();
}

KDE_EXPORT(kde_stored);
Datum kde_stored(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  Output out = begin_output(fcinfo, kCatalogColumns);
  // REFRESH excludes all who write, but its snapshot may be older than what they wrote.
  catalog_copy(nullptr, put_stored, &out);
  PG_RETURN_NULL();
}
