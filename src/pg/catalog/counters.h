// What the cumulative statistics tell of a table's rows: inserted, updated, deleted, live.
//
// They are kept for each leaf of a partition or inheritance tree, arrive some hundred milliseconds
// late from other sessions (this session's own are added here), start anew after a crash or a
// reset, and do not count what TRUNCATE removes. What follows from two readings of them:
//
//   of each leaf: inserts + updates + deletes since. Where a counter fell, it began anew at 0,
//     unless it fell by no more than the reading session had not yet sent: that is on its way;
//   a new file that nobody has counted yet (TRUNCATE, REFRESH MATERIALIZED VIEW, ALTER TABLE where
//     it rewrites): all rows of before are gone, or may have other values;
//   one that was counted (VACUUM FULL, CLUSTER, ANALYZE after any of them) and has fewer rows than
//     those of before with the inserts and without the deletes: the missing ones are gone;
//   a leaf that came (attached) or went (detached): its live rows.
//
// Where the planner puts other tables of this server in a leaf's place (beneath, planned_rows.h: a
// compressed chunk's), those are leaves too. Their rows hold several, and count so often as the
// planner thinks they do: what is compressed or decompressed meanwhile counts as changed, too, so
// that the sum is too great rather than too small.
#pragma once

#include "pg/base/pg.h"
#include "pg/catalog/generated.h"

extern "C" {
#include "datatype/timestamp.h"
}

namespace kde_pg {

// A row of numbers, as it is stored.
struct LeafCounters {
  int64 relation;
  int64 file;  // pg_class.relfilenode
  int64 inserts, updates, deletes, live;
  int64 counted;  // pg_class.reltuples; -1: not counted since the file is there
  int64 unsent_inserts, unsent_updates, unsent_deletes;  // of those, of the reading session alone
  int64 rows_each;  // of a table beneath: rows in one of its; else 0
};

struct Counters {
  bool known = false;
  // The rows are read by a query, as they are not in the tables (planned_rows.h), nor beneath. Of
  // counters from the catalog: they were.
  bool elsewhere = false;
  bool of_shards = false;     // a leaf is a shard (shards.h); of counters that were read
  const char* why = nullptr;  // not known; of counters that were read
  bool tell = false;          // in a NOTICE, as nobody expects it of such a table
  int leaves = 0;
  LeafCounters* leaf = nullptr;  // in the order of the relations' numbers; palloc'ed
  GeneratedColumns generated;    // of all members: their values are no rows that are counted

  int64 live() const;
  bool has_beneath() const;  // some of the leaves are tables beneath
};

// One for all leaves of counters, under another number.
LeafCounters sum_of_leaves(Oid number, const Counters& counters);

// Counters of a relation whose rows are elsewhere.
void count_elsewhere(Counters* counters);

// Rows changed between two readings that are both known.
int64 changed_rows(const Counters& then, const Counters& now);

// As kde_aqp.upkeep.counters holds them, a row a leaf, and behind them, with a relation of 0, a
// virtual generated column's relation, number and expression. '{0}' where rows are elsewhere. Null
// where unknown.
ArrayType* counters_to_array(const Counters& counters);
// Unknown if it is no such array, or null.
Counters counters_from_array(ArrayType* array);

}  // namespace kde_pg
