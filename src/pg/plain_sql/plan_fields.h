// PlainQueries in a plan, which must be nodes that can be copied: the parts of CustomScan, one
// after the other for each of them.
//
//   custom_scan_tlist  what the density's groups are by (a NULL of type text where the query has it
//                      not), dimensions' columns, the range column if it is cut, what else the query
//                      is grouped by, then the aggregates
//   custom_exprs       a list of the bounds' values, the passages, the cuts and the percentiles'
//                      fractions, as a list each; buckets with the column's value left open
//   custom_private     a list of the rest, below; of open expressions, too, which refer to the columns
//                      above: what these are of the planner need not put in their place. For EXPLAIN, behind
//                      all of them, the densities that are not asked: for whom, and of each its name and why
//   custom_plans       the exact plan, whose target list is the scan's, and parameters; that of
//                      rest.h, if there is one; each dimension's
#pragma once

#include "pg/plain_sql/query.h"

extern "C" {
#include "nodes/plannodes.h"
}

namespace kde_pg {

struct DimensionPlan {
  PlainJoin join;
  const char* name;
  Oid relation;
  int columns;
  int keys;
  const DimensionKey* key;
  List* lookups;   // open
  bool of_column;  // looked up by the range column, or what is
  bool of_groups;  // by what groups are by
};

// The plan's columns that an open expression, or a list of them, is of; from 0.
Bitmapset* columns_of(const void* open);

// What the executor reads back.
struct PlainPlan {
  DensityKey key;
  int first;  // of its columns
  int groups;
  int by_groups;     // as PlainQuery has it
  bool cuts_column;  // there is a column for the range column's value
  int others;        // columns that the query is grouped by
  bool of_words;
  int with_nulls;  // as PlainQuery has it
  int null_of;     // -1: none
  bool is_null;
  bool demanded;  // by a function
  uint64 leaves;  // that the planner saw (planned_leaves.h)
  int bounds;
  const PlainBound* bound;  // without values
  int aggregates;
  const PlainAggregate* aggregate;  // with open expressions alone
  List *values, *passages, *cuts;   // of custom_exprs
  List* fractions;                  // of each percentile
  List* cut_kinds;                  // integers
  List *open_others, *conditions;
  int sets;               // of grouping; 0: it is by all
  Bitmapset* const* set;  // columns that it is by
  int dimensions, dimension_columns;
  const DimensionPlan* dimension;
  const Bitmapset *of_groups, *of_parts;  // columns that vary by groups, and by parts of the range

  // Columns before the aggregates, and that of the range column.
  int keys() const { return column() + (cuts_column ? 1 : 0) + others; }
  int column() const { return groups + dimension_columns; }
  // That where the query is grouped by the range column itself, which it may have of either; -1: none.
  int other_column() const;
  bool is_grouped() const { return by_groups != 0 || others > 0; }
  bool is_by_column() const;
  // Whether an open expression varies by parts of the range.
  bool is_of_parts(const Expr* open) const { return bms_overlap(columns_of(open), of_parts); }
  // Whether the set's row is there whatever the rows.
  bool is_of_all(int of) const { return sets > 0 ? bms_is_empty(set[of]) : !is_grouped(); }
};

// queries: PlainQuery*.
void write_plain_plans(const List* queries, bool demanded, uint64 leaves, CustomScan* scan);
// PlainPlan*, palloc'ed.
List* read_plain_plans(const CustomScan* scan);
// reasons: PlainReason*, as the user may know them: of a plan that is kept others may hear. Then pairs of
// String, in a list each, of that user's; NIL for others.
void write_others(const List* queries, const List* reasons, Oid user, CustomScan* scan);
const List* read_others(const CustomScan* scan, Oid user);

}  // namespace kde_pg
