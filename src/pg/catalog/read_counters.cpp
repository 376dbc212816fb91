// Reads the cumulative statistics of each leaf, and what this session has not yet sent.
#include "pg/catalog/read_counters.h"

#include "pg/base/subtransaction.h"
#include "pg/catalog/planned_rows.h"
#include "pg/catalog/shards.h"

#include <algorithm>

extern "C" {
#include "access/parallel.h"
#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "commands/defrem.h"
#include "pgstat.h"

// Of utils/adt/pgstatfuncs.c. They are SQL functions whose meaning has not changed since 14, while
// the structures below them have.
extern Datum pg_stat_get_tuples_inserted(PG_FUNCTION_ARGS);
extern Datum pg_stat_get_tuples_updated(PG_FUNCTION_ARGS);
extern Datum pg_stat_get_tuples_deleted(PG_FUNCTION_ARGS);
extern Datum pg_stat_get_live_tuples(PG_FUNCTION_ARGS);
extern Datum pg_stat_get_xact_tuples_inserted(PG_FUNCTION_ARGS);
extern Datum pg_stat_get_xact_tuples_updated(PG_FUNCTION_ARGS);
extern Datum pg_stat_get_xact_tuples_deleted(PG_FUNCTION_ARGS);
}

namespace kde_pg {

namespace {

int64 statistic(PGFunction function, Oid relation) {
  return DatumGetInt64(DirectFunctionCall1(function, ObjectIdGetDatum(relation)));
}

// False if the relation is gone. *has_rows: rows of its own. Completes *counters where its changes
// are not counted.
bool read_leaf(Oid relation, LeafCounters* leaf, bool* has_rows, Counters* counters) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
  if (!HeapTupleIsValid(tuple)) return false;
  const Form_pg_class form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
  *has_rows = form->relkind != RELKIND_PARTITIONED_TABLE;
  const bool foreign = form->relkind == RELKIND_FOREIGN_TABLE;
  const Oid method = form->relam;
  leaf->relation = relation;
  leaf->file = form->relfilenode;
  leaf->counted = static_cast<int64>(form->reltuples);
  ReleaseSysCache(tuple);
  if (!*has_rows) return true;
  if (foreign) {
    counters->known = false;
    counters->why = "rows of a foreign table";
    return true;
  }
  // What this session has not yet sent counts as well; rows live are those sent and these.
  const int64 inserts = statistic(pg_stat_get_xact_tuples_inserted, relation);
  const int64 updates = statistic(pg_stat_get_xact_tuples_updated, relation);
  const int64 deletes = statistic(pg_stat_get_xact_tuples_deleted, relation);
  leaf->unsent_inserts = inserts;
  leaf->unsent_updates = updates;
  leaf->unsent_deletes = deletes;
  leaf->inserts = statistic(pg_stat_get_tuples_inserted, relation) + inserts;
  leaf->updates = statistic(pg_stat_get_tuples_updated, relation) + updates;
  leaf->deletes = statistic(pg_stat_get_tuples_deleted, relation) + deletes;
  leaf->live = Max(statistic(pg_stat_get_live_tuples, relation) + inserts - deletes, INT64CONST(0));
  if (method != HEAP_TABLE_AM_OID && leaf->inserts == 0) {
    counters->known = false;
    counters->tell = true;
    counters->why = psprintf("table access method \"%s\" has counted no row", get_am_name(method));
  }
  return true;
}

List* beneath_of(const Counters& counters) {
  List* out = NIL;
  for (int i = 0; i < counters.leaves; ++i) {
    if (counters.leaf[i].rows_each == 0) continue;
    auto* table = static_cast<TableBeneath*>(palloc(sizeof(TableBeneath)));
    *table = {static_cast<Oid>(counters.leaf[i].relation), counters.leaf[i].rows_each};
    out = lappend(out, table);
  }
  return out;
}

// Of a table whose rows lie in shards.
Counters read_of_shards(Oid relation, AskPlanner ask) {
  Counters out;
  out.of_shards = true;
  out.why = "its rows lie in shards, whose nodes are not asked by answers";
  if (ask != AskPlanner::built_in_functions || IsInParallelMode()) return out;
  Counters read;
  if (without_error([&] { read = shard_counters(relation); }, nullptr, is_no_cancel)) return read;
  out.why = "the nodes of its shards do not tell";
  return out;
}

// Completes *counters where the planner has a say. False if there is nothing to count.
bool ask_where_rows_are(Oid relation, AskPlanner ask, Counters* counters, List** beneath) {
  if (ask == AskPlanner::no) return true;
  switch (rows_seem(relation, ask == AskPlanner::yes ? PlanFunctions::any : PlanFunctions::built_in,
                    beneath)) {
    case RowsSeem::here:
    case RowsSeem::beneath:
      return true;
    case RowsSeem::elsewhere:
      count_elsewhere(counters);
      break;
    case RowsSeem::functions:
      counters->why = "the planner was not asked, as it would call functions of the table's owner";
      break;
    case RowsSeem::failed:
      counters->why = "the table could not be planned";
      break;
  }
  return false;
}

}  // namespace

Counters read_counters(Oid relation, AskPlanner ask, const Counters* then) {
  Counters out;
  List* beneath = NIL;
  if (RecoveryInProgress()) {
    out.why = "the server is in recovery";
    return out;
  }
  if (is_of_shards(relation)) return read_of_shards(relation, ask);
  if (!ask_where_rows_are(relation, ask, &out, &beneath)) return out;
  if (then != nullptr) beneath = beneath_of(*then);
  if (!pgstat_track_counts) {
    out.why = "track_counts is off";
    return out;
  }
  List* members = members_of(relation);
  out.leaf = static_cast<LeafCounters*>(
      palloc0(sizeof(LeafCounters) * (list_length(members) + list_length(beneath))));
  out.known = true;
  for (const Oid oid : oids(members)) {
    bool has_rows = false;
    if (!read_leaf(oid, &out.leaf[out.leaves], &has_rows, &out)) continue;
    if (has_rows) ++out.leaves;
  }
  for (const TableBeneath* table : of_list<const TableBeneath>(beneath)) {
    bool has_rows = false;
    if (!read_leaf(table->relation, &out.leaf[out.leaves], &has_rows, &out)) continue;
    out.leaf[out.leaves++].rows_each = table->rows_each;
  }
  std::sort(out.leaf, out.leaf + out.leaves,
            [](const LeafCounters& a, const LeafCounters& b) { return a.relation < b.relation; });
  out.generated = read_generated(relation, members);
  list_free(members);
  return out;
}

}  // namespace kde_pg
