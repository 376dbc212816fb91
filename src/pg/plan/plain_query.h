// A grouped query of one table as a question to one of its densities.
//
// It is one if
//   - its rows are those of one table, that no policy or sample thins out;
//   - its aggregates are count, sum and avg, of all rows, of the density's columns or its measures;
//   - it is grouped by nothing, by all that the density's groups are by, by buckets of its column
//     (buckets.h), or both;
//   - each condition is a comparison of one of the density's columns with what does not vary from
//     row to row, by an operator of the type's default btree; or of what its groups are by alone;
//     or one of those that make up the density's filter, as canonical texts.
// What that leaves out the exact plan answers.
#pragma once

#include "pg/catalog/density_key.h"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace kde_pg {

// What an aggregate asks.
enum class PlainAnswer { rows, values, sum, avg };

struct PlainAggregate {
  Aggref* node;
  PlainAnswer answer;
  int column;           // of the key: a column or a measure; -1: none (rows)
  kde::ValueType type;  // of that column now
  int scale;            // decimals of a result of type numeric; -1: as many as it needs
};

// A column compared with a value that is known when the query runs.
struct PlainBound {
  int column;
  kde::ValueType type;  // of that column now
  int strategy;         // of a btree; 0: IS NOT NULL
  Expr* value;          // null of strategy 0
};

struct PlainQuery {
  DensityKey key;          // without trees
  List* aggregates = NIL;  // PlainAggregate*
  List* bounds = NIL;      // PlainBound*
  // What the density's groups are by, as the query has it: an Expr* each; null where it has it not.
  Node* group[kde::kMaxGroupBy] = {};
  // Of the query's GROUP BY: all of them, or none.
  bool by_groups = false;
  Node* bucket = nullptr;        // of the density's column, in GROUP BY; null: none
  List* group_conditions = NIL;  // Expr*, of `group` alone
};

// The question, palloc'ed; null where no density may answer, that of the fewest columns where
// several may. input: the table's rows. having: conditions on groups, as a list.
PlainQuery* plain_query_of(PlannerInfo* root, RelOptInfo* input, PathTarget* target, List* having);

}  // namespace kde_pg
