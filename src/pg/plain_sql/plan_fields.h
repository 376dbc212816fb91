// PlainQueries in a plan, which must be nodes that can be copied: the parts of CustomScan, one
// after the other for each of them.
//
//   custom_scan_tlist  what the density's groups are by (a NULL of type text where the query has it
//                      not), the bucket if there is one, then the aggregates
//   custom_exprs       a list of the bounds' values, the conditions on groups, the bucket's
//                      function and the passages, both with the column's value left open, as a
//                      list each
//   custom_private     a list of the rest, below
//   custom_plans       the exact plan, whose target list is the scan's
#pragma once

#include "pg/plain_sql/query.h"

extern "C" {
#include "nodes/plannodes.h"
}

namespace kde_pg {

// What the executor reads back.
struct PlainPlan {
  DensityKey key;
  int first;      // of its columns
  int groups;     // columns before the bucket's
  int by_groups;  // as PlainQuery has it
  bool by_bucket;
  bool of_words;
  int with_nulls;  // as PlainQuery has it
  int null_of;     // -1: none
  bool is_null;
  bool demanded;  // by a function
  uint64 leaves;  // that the planner saw (planned_leaves.h)
  int bounds;
  const PlainBound* bound;  // without values
  int aggregates;
  const PlainAggregate* aggregate;                // without nodes
  List *values, *conditions, *bucket, *passages;  // of custom_exprs

  bool is_by_all_groups() const { return by_groups == (1 << groups) - 1; }
};

// queries: PlainQuery*.
void write_plain_plans(const List* queries, bool demanded, uint64 leaves, CustomScan* scan);
// PlainPlan*, palloc'ed.
List* read_plain_plans(const CustomScan* scan);

}  // namespace kde_pg
