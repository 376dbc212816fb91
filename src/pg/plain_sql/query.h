// A grouped query of one table as a question to one of its densities.
//
// It is one if
//   - its rows are those of one table, that no policy or sample thins out;
//   - its aggregates are count, sum, avg, variances and their roots, of all rows, of the density's
//     columns or its measures, and min and max of its only column;
//   - it is grouped by nothing, by what the density's groups are by or some of it, by buckets of
//     its column (buckets.h), or both;
//   - each condition is a comparison of one of the density's columns with what does not vary from
//     row to row, by an operator of the type's default btree, or with one of several such values
//     (IN); or IS [NOT] NULL of one of its measures, or IS NULL of its column; or of such buckets;
//     or of what its groups are by alone; or one of those that make up the density's filter, as
//     canonical texts.
// The values of a category are its groups.
// What that leaves out the exact plan answers.
#pragma once

#include "pg/catalog/density_key.h"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace kde_pg {

// What an aggregate asks. ones: sum(1), which is count(*) but NULL of no row.
enum class PlainAnswer { rows, values, ones, sum, avg, variance, stddev, min, max };

// What of its answer: approx_lower() and approx_upper() ask for the interval's ends.
enum class PlainEnd { none, lower, upper };

struct PlainAggregate {
  Expr* node;  // the aggregate, or the call that asks for an end
  int index;   // of those of the query
  PlainAnswer answer;
  PlainEnd end;
  bool population;      // of a variance or its root: divided by n
  int column;           // of the key: a column or a measure; -1: none (rows)
  kde::ValueType type;  // of that column now
  int scale;            // decimals of a result of type numeric; -1: as many as it needs
};

// A column compared with a value that is known when the query runs.
struct PlainBound {
  int column;
  kde::ValueType type;         // of that column now
  int strategy;                // of a btree; 0: IS NOT NULL
  bool any;                    // IN: the value is an array of those that are equal
  Expr* value;                 // null of strategy 0
  Oid column_type, collation;  // of a category
};

struct PlainQuery {
  DensityKey key;          // without trees
  List* aggregates = NIL;  // PlainAggregate*
  List* bounds = NIL;      // PlainBound*
  // What the density's groups are by, as the query has it: an Expr* each; null where it has it not.
  // A category is by its values.
  Node* group[kde::kMaxGroupBy] = {};
  bool of_words = false;  // of a category by itself
  // A bit for each of the density's columns: the query takes in rows where it is NULL, which the
  // density has not. It answers where it is certain that there are none (may_have_nulls()).
  int with_nulls = 0;
  // A bit for each that is in the query's GROUP BY.
  int by_groups = 0;
  Node* bucket = nullptr;        // of the density's column, in GROUP BY; null: none
  List* passages = NIL;          // Expr*, comparisons of such buckets, the column left open
  List* group_conditions = NIL;  // Expr*, of `group` alone
  // A column or measure that is, or is not, NULL in the query's rows; -1: none. Aggregates are then
  // of rows, or of it.
  int null_of = -1;
  bool is_null = false;

  int groups() const { return of_words ? 1 : key.groups; }
  bool is_by_all() const { return by_groups == (1 << groups()) - 1; }
};

// Why a density answers a query, or why not.
struct PlainReason {
  Oid relation;         // InvalidOid: the query is of none, or of several
  const char* density;  // its name, as kde_densities has it; null: of any
  const char* filter;   // of the density; null: none
  bool answers;
  const char* why;
};

// The question, PlainQuery*; NIL where no density may answer, that of the fewest columns where
// several may. Where none answers all aggregates of a query that is not grouped, several, each for
// some of them. input: the table's rows. having: conditions on groups, as a list.
// any: also of densities whose owner has not allowed plain SQL. reasons: appended to it is a
// PlainReason* of each density that the current user may read, the nearest first; null: not wanted.
List* plain_queries_of(PlannerInfo* root, RelOptInfo* input, PathTarget* target, List* having,
                       bool any = false, List** reasons = nullptr);

}  // namespace kde_pg
