// Rows changed since a fit, by the cumulative statistics of each leaf and what this session has
// not yet sent.
#include "pg/catalog/counters.h"

#include "pg/base/subtransaction.h"
#include "pg/catalog/planned_rows.h"
#include "pg/catalog/shards.h"
#include "pg/proof/members.h"

#include <algorithm>
#include <initializer_list>

extern "C" {
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "commands/defrem.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "pgstat.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

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

constexpr int kNumbers = 10;  // of a leaf, as stored

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

// Rows of a leaf, as many as there are of the relation that was asked about.
int64 in_rows(const LeafCounters& leaf, int64 rows) {
  int64 out;
  if (pg_mul_s64_overflow(rows, Max(leaf.rows_each, INT64CONST(1)), &out)) return PG_INT64_MAX / 4;
  return out;
}

// Whether a counter fell by more than what had not been sent.
bool began_anew(int64 then, int64 unsent, int64 now) { return now < then - unsent; }

// What a counter has grown by; one that began anew, from 0.
int64 growth(int64 then, int64 unsent, int64 now) {
  return began_anew(then, unsent, now) ? now : Max(now - then, INT64CONST(0));
}

bool began_anew(const LeafCounters& then, const LeafCounters& now) {
  return began_anew(then.inserts, then.unsent_inserts, now.inserts) ||
         began_anew(then.updates, then.unsent_updates, now.updates) ||
         began_anew(then.deletes, then.unsent_deletes, now.deletes);
}

int64 changed_in(const LeafCounters& then, const LeafCounters& now) {
  const bool anew = began_anew(then, now);
  const int64 inserts = growth(then.inserts, then.unsent_inserts, now.inserts);
  const int64 deletes = growth(then.deletes, then.unsent_deletes, now.deletes);
  int64 changed = inserts + growth(then.updates, then.unsent_updates, now.updates) + deletes;
  if (now.file == then.file) return changed;
  if (now.counted < 0) return changed + then.live;
  // A session's TRUNCATE and INSERT in quick succession leave `live` too high, and after the
  // counters began anew it says nothing.
  const int64 live = anew ? now.counted : Min(now.live, now.counted);
  changed += Max(then.live + (anew ? 0 : inserts - deletes) - live, INT64CONST(0));
  return changed;
}

}  // namespace

int64 Counters::live() const {
  int64 sum = 0;
  for (int i = 0; i < leaves; ++i) sum += in_rows(leaf[i], leaf[i].live);
  return sum;
}

bool Counters::has_beneath() const {
  return std::any_of(leaf, leaf + leaves, [](const LeafCounters& l) { return l.rows_each > 0; });
}

LeafCounters sum_of_leaves(Oid number, const Counters& counters) {
  LeafCounters sum = {};
  sum.relation = number;
  for (int i = 0; i < counters.leaves; ++i) {
    const LeafCounters& leaf = counters.leaf[i];
    sum.file += leaf.file;
    sum.inserts += leaf.inserts;
    sum.updates += leaf.updates;
    sum.deletes += leaf.deletes;
    sum.live += leaf.live;
    sum.counted = leaf.counted < 0 || sum.counted < 0 ? -1 : sum.counted + leaf.counted;
  }
  return sum;
}

bool has_unsent_changes(Oid table) {
  return statistic(pg_stat_get_xact_tuples_inserted, table) +
             statistic(pg_stat_get_xact_tuples_updated, table) +
             statistic(pg_stat_get_xact_tuples_deleted, table) >
         0;
}

void count_elsewhere(Counters* counters) {
  *counters = {};
  counters->elsewhere = true;
  counters->why = "queries do not read the table itself";
  counters->tell = true;
}

namespace {

List* beneath_of(const Counters& counters) {
  List* out = NIL;
  for (int i = 0; i < counters.leaves; ++i) {
    if (counters.leaf[i].rows_each == 0) continue;
    auto* table = static_cast<TableBeneath*>(palloc(sizeof(TableBeneath)));
    *table = {counters.leaf[i].relation, counters.leaf[i].rows_each};
    out = lappend(out, table);
  }
  return out;
}

// A cancel is the caller's; whatever else a node says is its affair.
bool is_no_cancel(int sqlstate) {
  return ERRCODE_TO_CATEGORY(sqlstate) != ERRCODE_OPERATOR_INTERVENTION;
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
  ListCell* cell;
  foreach (cell, members) {
    bool has_rows = false;
    if (!read_leaf(lfirst_oid(cell), &out.leaf[out.leaves], &has_rows, &out)) continue;
    if (has_rows) ++out.leaves;
  }
  foreach (cell, beneath) {
    const auto* table = static_cast<const TableBeneath*>(lfirst(cell));
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

int64 changed_rows(const Counters& then, const Counters& now) {
  int64 changed = 0;
  int i = 0, j = 0;
  while (i < then.leaves || j < now.leaves) {
    const bool first =
        j == now.leaves || (i < then.leaves && then.leaf[i].relation < now.leaf[j].relation);
    const bool second =
        i == then.leaves || (j < now.leaves && now.leaf[j].relation < then.leaf[i].relation);
    if (first) {
      changed += in_rows(then.leaf[i], then.leaf[i].live);
      ++i;
    } else if (second) {
      changed += in_rows(now.leaf[j], now.leaf[j].live);
      ++j;
    } else {
      changed += in_rows(then.leaf[i], changed_in(then.leaf[i], now.leaf[j]));
      ++i;
      ++j;
    }
  }
  return changed;
}

namespace {

constexpr AttrNumber kAllColumns = -1;

// The name and number of each column, as if they were one's expression. Also whether this
// transaction made the leaf's file, or may have: it changed its row in pg_class.
bool read_columns(Oid relation, GeneratedColumn* out) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
  if (!HeapTupleIsValid(tuple)) return false;
  const bool settled = !TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
  const AttrNumber columns = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relnatts;
  ReleaseSysCache(tuple);
  uint64 hash = 0;
  for (AttrNumber k = 1; k <= columns; ++k) {
    const char* name = get_attname(relation, k, true);  // null if it was dropped
    if (name == nullptr) continue;
    hash = hash_bytes_extended(reinterpret_cast<const unsigned char*>(name),
                               static_cast<int>(strlen(name)), hash + static_cast<uint64>(k));
  }
  *out = {relation, kAllColumns, static_cast<int64>(hash)};
  return settled;
}

}  // namespace

void note_columns(Counters* counters) {
  if (!counters->known) return;
  GeneratedColumns& columns = counters->generated;
  const int room = columns.count + counters->leaves;
  auto* all = static_cast<GeneratedColumn*>(palloc0(sizeof(GeneratedColumn) * (room + 1)));
  std::copy_n(columns.column, columns.count, all);
  columns.column = all;
  for (int i = 0; i < counters->leaves; ++i) {
    if (!read_columns(counters->leaf[i].relation, &all[columns.count++])) counters->known = false;
  }
}

bool is_untouched(const Counters& then, const Counters& now) {
  if (!then.known || !now.known || then.leaves != now.leaves ||
      then.generated.count != now.generated.count)
    return false;
  for (int i = 0; i < now.leaves; ++i) {
    const LeafCounters& a = then.leaf[i];
    const LeafCounters& b = now.leaf[i];
    if (a.relation != b.relation || a.file != b.file || began_anew(a, b) || changed_in(a, b) != 0)
      return false;
  }
  for (int i = 0; i < now.generated.count; ++i) {
    const GeneratedColumn& a = then.generated.column[i];
    const GeneratedColumn& b = now.generated.column[i];
    if (a.relation != b.relation || a.attnum != b.attnum || a.expression != b.expression)
      return false;
  }
  return true;
}

ArrayType* counters_to_array(const Counters& counters) {
  if (counters.elsewhere) {
    Datum zero = Int64GetDatum(0);
    return construct_array(&zero, 1, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
  }
  if (!counters.known) return nullptr;
  const auto beneath = std::count_if(counters.leaf, counters.leaf + counters.leaves,
                                     [](const LeafCounters& l) { return l.rows_each > 0; });
  const int rows = counters.leaves + counters.generated.count + static_cast<int>(beneath);
  const int n = rows * kNumbers;
  Datum* values = static_cast<Datum*>(palloc(sizeof(Datum) * (n + 1)));
  Datum* at = values;
  for (int i = 0; i < counters.leaves; ++i) {
    const LeafCounters& leaf = counters.leaf[i];
    const int64 numbers[kNumbers] = {static_cast<int64>(leaf.relation),
                                     static_cast<int64>(leaf.file),
                                     leaf.inserts,
                                     leaf.updates,
                                     leaf.deletes,
                                     leaf.live,
                                     leaf.counted,
                                     leaf.unsent_inserts,
                                     leaf.unsent_updates,
                                     leaf.unsent_deletes};
    for (const int64 number : numbers) *at++ = Int64GetDatum(number);
  }
  for (int i = 0; i < counters.leaves; ++i) {
    const LeafCounters& leaf = counters.leaf[i];
    if (leaf.rows_each == 0) continue;
    const int64 numbers[kNumbers] = {0, static_cast<int64>(leaf.relation), 0, leaf.rows_each};
    for (const int64 number : numbers) *at++ = Int64GetDatum(number);
  }
  for (int i = 0; i < counters.generated.count; ++i) {
    const GeneratedColumn& column = counters.generated.column[i];
    const int64 numbers[kNumbers] = {0, static_cast<int64>(column.relation), column.attnum,
                                     column.expression};
    for (const int64 number : numbers) *at++ = Int64GetDatum(number);
  }
  int dims[2] = {rows, kNumbers};
  int lower[2] = {1, 1};
  return construct_md_array(values, nullptr, rows > 0 ? 2 : 0, dims, lower, INT8OID, sizeof(int64),
                            FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

Counters counters_from_array(ArrayType* array) {
  Counters out;
  if (array == nullptr || ARR_ELEMTYPE(array) != INT8OID || ARR_HASNULL(array)) return out;
  out.elsewhere = ARR_NDIM(array) == 1;
  if (ARR_NDIM(array) != 0 && (ARR_NDIM(array) != 2 || ARR_DIMS(array)[1] != kNumbers)) return out;
  out.known = true;
  const int rows = ARR_NDIM(array) == 0 ? 0 : ARR_DIMS(array)[0];
  out.leaf = static_cast<LeafCounters*>(palloc0(sizeof(LeafCounters) * (rows + 1)));
  GeneratedColumns& generated = out.generated;
  generated.column = static_cast<GeneratedColumn*>(palloc0(sizeof(GeneratedColumn) * (rows + 1)));
  const int64* at = reinterpret_cast<const int64*>(ARR_DATA_PTR(array));
  for (int i = 0; i < rows; ++i, at += kNumbers) {
    if (at[0] == 0 && at[2] == 0) {
      // After the leaves.
      for (int k = 0; k < out.leaves; ++k)
        if (out.leaf[k].relation == static_cast<Oid>(at[1]))
          out.leaf[k].rows_each = Max(at[3], INT64CONST(1));
      continue;
    }
    if (at[0] == 0) {
      generated.column[generated.count++] = {static_cast<Oid>(at[1]),
                                             static_cast<AttrNumber>(at[2]), at[3]};
      continue;
    }
    out.leaf[out.leaves++] = {static_cast<Oid>(at[0]),
                              static_cast<Oid>(at[1]),
                              at[2],
                              at[3],
                              at[4],
                              at[5],
                              at[6],
                              at[7],
                              at[8],
                              at[9],
                              0};
  }
  return out;
}

}  // namespace kde_pg
