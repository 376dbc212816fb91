// What the cumulative statistics tell of a table's rows: inserted, updated, deleted, live.
//
// They are kept for each leaf of a partition or inheritance tree, arrive some hundred milliseconds
// late from other sessions (this session's own are added here), start anew after a crash or a
// reset, and do not count what TRUNCATE removes. What follows from two readings of them:
//
//   of each leaf: inserts + updates + deletes since. Where a counter fell, it began anew at 0,
//     unless it fell by no more than the reading session had not yet sent: that is on its way;
//   a new file that nobody has counted yet (TRUNCATE, REFRESH MATERIALIZED VIEW, an ALTER TABLE
//   that
//     rewrites): all rows of before are gone, or may have other values;
//   one that was counted (VACUUM FULL, CLUSTER, ANALYZE after any of them) and has fewer rows than
//     those of before with the inserts and without the deletes: the missing ones are gone;
//   a leaf that came (attached) or went (detached): its live rows.
#pragma once

#include "pg/pg.h"

extern "C" {
#include "utils/array.h"
}

namespace kde_pg {

struct LeafCounters {
  Oid relation;
  Oid file;  // pg_class.relfilenode
  int64 inserts, updates, deletes, live;
  int64 counted;  // pg_class.reltuples; -1: not counted since the file is there
  int64 unsent_inserts, unsent_updates, unsent_deletes;  // of those, of the reading session alone
};

struct Counters {
  bool known = false;  // false: statistics are off, or rows lie elsewhere (foreign tables)
  int leaves = 0;
  LeafCounters* leaf = nullptr;  // in the order of the relations' numbers; palloc'ed

  int64 live() const;
};

// The counters as of now, without locking anything: leaves that are being dropped may be missing.
// Unknown on a standby, which has no statistics of the primary's work.
Counters read_counters(Oid relation);

// Rows changed between two readings that are both known.
int64 changed_rows(const Counters& then, const Counters& now);

// As kde_aqp.upkeep.counters holds them, ten numbers a leaf. Null where unknown.
ArrayType* counters_to_array(const Counters& counters);
// Unknown if it is no such array, or null.
Counters counters_from_array(ArrayType* array);

}  // namespace kde_pg
