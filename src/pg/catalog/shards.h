// Tables of Citus: which they are, where their shards lie, and commands that are run there.
//
// The table that has the name holds no rows; they lie in its shards, tables of their own on the
// nodes. A command runs on each shard where it lies, by Citus's own connections, as the current
// user, in its own transaction with its own snapshot: it does not see what this transaction has
// done. Settings do not travel. Of each node a few sessions work at a time, so that the number of
// shards is not a number of connections.
//
// Known of Citus is what its releases 11 to 13 have in common: pg_dist_partition, pg_dist_shard,
// pg_dist_placement, pg_dist_node, shard_name(), master_run_on_worker()
// (https://docs.citusdata.com/en/stable/develop/api_metadata.html).
#pragma once

#include "pg/catalog/counters.h"
#include "pg/proof/members.h"

extern "C" {
#include "utils/relcache.h"
}

namespace kde_pg {

// What came of one shard.
struct ShardResult {
  int64 shard;
  Counters counters;      // of its tables, read before the value; known or not
  struct varlena* value;  // a bytea; null: NULL, or none was asked for
};

// How many shards the table has. Error 58000 for one that no active node has: without it rows would
// be missing.
int count_shards(Oid relation);

// What stands for the shard, as an SQL string, in an expression that is run there: no byte of any
// name.
#define KDE_SHARD "\001"

// Runs an expression of type bytea on all shards, and reads their counters. expression: null for the
// counters alone. One result a shard, ShardResult*, palloc'ed, in the order of the shards. Errors:
// 58000 naming the node and what it said, with a hint if the extension is missing there or is of
// another version; 55000 in a transaction that has changed the table itself, for which the shards
// would wait.
List* run_on_shards(Relation relation, const char* expression);

// The counters of all shards, a leaf each, which is known by the shard's number; as they came with
// results, and read for their own sake. Errors: as above.
Counters counters_of(List* results);
Counters shard_counters(Oid relation);

}  // namespace kde_pg
