// A PlainQuery in a plan, which must be nodes that can be copied: the parts of CustomScan.
//
//   custom_scan_tlist  what the density's groups are by (a NULL of type text where the query has it
//                      not), the bucket if there is one, then the aggregates
//   custom_exprs       the bounds' values, the conditions on groups, and the bucket's function with
//                      the column's value left open, as a list each
//   custom_private     the rest, below
//   custom_plans       the exact plan, whose target list is the scan's
#pragma once

#include "pg/plan/plain_query.h"

extern "C" {
#include "nodes/plannodes.h"
}

namespace kde_pg {

// What the executor reads back.
struct PlainPlan {
  DensityKey key;
  int groups;  // columns before the bucket's
  bool by_groups, by_bucket;
  bool of_words, with_nulls;
  Oid word_type, word_collation;
  bool demanded;  // by a function
  int bounds;
  const PlainBound* bound;  // without values
  int aggregates;
  const PlainAggregate* aggregate;  // without nodes
};

void write_plain_plan(const PlainQuery& query, bool demanded, CustomScan* scan);
PlainPlan read_plain_plan(const CustomScan* scan);

}  // namespace kde_pg
