// A grouped query of one table as a question to one of its densities.
//
// It is one if
//   - its rows are those of one table, joined with others or not, that no policy or sample thins
//     out;
//   - its aggregates are count, sum, avg, variances and their roots, of all rows, of the density's
//     columns or its measures; min, max and percentiles of its only
//     column, min and max of a measure where all its rows are asked for; mode and count(DISTINCT)
//     of what the server evaluates (below); each with a FILTER, or of a CASE that leaves rows out;
//   - each condition is a comparison of one of the density's columns with what does not vary from
//     row to row, by an operator of the type's default btree, or with one of several such values
//     (IN); or IS [NOT] NULL of one of its measures, or IS NULL of its column; or one of those that
//     make up the density's filter, as canonical texts;
//   - other conditions, FILTERs and what it is grouped by are of what the density's groups are by,
//     and of functions of its only column that are constant from one of few places to the next
//     (part_reader.cpp): the server evaluates them on groups and on the parts of the range between;
//   - tables that it is joined with have at most one row for each group, by equality with what the
//     groups are by (dimension_reader.cpp): their columns are then known of groups, too; or at most
//     one for each part of the range, by functions of the column.
// The values of a category are its groups.
// What that leaves out the exact plan answers.
#pragma once

#include "pg/catalog/density_key.h"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace kde_pg {

// What an aggregate asks. ones: sum(1), which is count(*) but NULL of no row.
// continuous, discrete: percentiles; differing: values, by count(DISTINCT); grouping: what GROUPING()
// is of each grouping set, of no row.
enum class PlainAnswer {
  rows,
  values,
  ones,
  sum,
  avg,
  variance,
  stddev,
  min,
  max,
  continuous,
  discrete,
  mode,
  differing,
  grouping
};

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
  // Rows that it is of, and those that add 0 to a sum; null: all, and none. As the query has them,
  // and open.
  Expr *rows, *zeros;
  Expr *open_rows, *open_zeros;
  Expr* value;  // as the query has it; null: of rows
  // Of a mode or values that differ: which, open.
  Expr* open_value;
  Expr* fraction;  // of percentiles: one, or an array of them
  List* of_sets;   // of GROUPING(): of each set an integer
  // What several aggregates have alike.
  bool is_extreme() const { return answer == PlainAnswer::min || answer == PlainAnswer::max; }
  bool is_percentile() const {
    return answer == PlainAnswer::continuous || answer == PlainAnswer::discrete;
  }
  bool is_of_differing() const {
    return answer == PlainAnswer::mode || answer == PlainAnswer::differing;
  }
  bool has_list() const { return is_percentile() || is_of_differing(); }
};

// Where a function of the range column may change: where a bucket (buckets.h) ends, its column left
// open; beside a value, each of an array, each end of a range.
enum class PlainCut { bucket, value, list, range };

// A column compared with a value that is known when the query runs.
struct PlainBound {
  int column;
  kde::ValueType type;         // of that column now
  int strategy;                // of a btree; 0: IS NOT NULL
  bool any;                    // IN: the value is an array of those that are equal
  Expr* value;                 // null of strategy 0
  Oid column_type, collation;  // of a category
};

// What is asked of a dimension's row for a group: its columns; those, or NULLs where there is none;
// whether there is one; whether there is none.
enum class PlainJoin { inner, left, semi, anti };

// A column of a dimension's plan, and the operator that compares what is looked up with it.
struct DimensionKey {
  int column;
  Oid equal, collation;
  bool has_nulls;  // NULL is the same as NULL
};

// A table that the query's is joined with.
struct PlainDimension {
  RelOptInfo* rel;
  const char* name;  // as the query has it
  Oid relation;
  PlainJoin join;
  List* conditions;  // of an outer join, Expr*
  int null_by;       // the join by which its columns may be NULL; 0: none
  List* keys;        // DimensionKey*
  List* lookups;     // of each an Expr* of the table and of dimensions before this one

  List* columns() const { return rel->reltarget->exprs; }  // Var*
};

struct PlainQuery {
  DensityKey key;          // without trees
  Index table = 0;         // in the range table
  List* aggregates = NIL;  // PlainAggregate*
  List* bounds = NIL;      // PlainBound*
  // What the density's groups are by, as the query has it: an Expr* each; null where it has it not.
  // A category is by its values.
  Node* group[kde::kMaxGroupBy] = {};
  // The same as the select list has it: from 18 on with the mark that grouping sets may make it NULL.
  Node* shown_group[kde::kMaxGroupBy] = {};
  bool of_words = false;  // of a category by itself
  // A bit for each of the density's columns: the query takes in rows where it is NULL, which the
  // density has not. It answers where it is certain that there are none (may_have_nulls()).
  int with_nulls = 0;
  // A bit for each that is in the query's GROUP BY.
  int by_groups = 0;
  // What else is in the query's GROUP BY, and conditions, both of groups and of parts of the range:
  // Expr*, open, which is with columns of the plan's (plan_fields.h) in the place of what groups are
  // by and of the range column.
  List* others = NIL;  // as the query has them
  List* shown_others = NIL;
  List* open_others = NIL;
  // Of grouping sets a Bitmapset* each: of what the query is grouped by, whose places are those of
  // groups, or those of others from kde::kMaxGroupBy on. NIL: by all alone.
  List* sets = NIL;
  List* places = NIL;
  List* conditions = NIL;
  List* cuts = NIL;  // Expr*, of the range column; and of each what it is
  List* cut_kinds = NIL;
  bool cuts_column = false;  // whether one of them is of the range column, which is then:
  Var* column = nullptr;
  List* passages = NIL;    // Expr*, comparisons of buckets, the column left open
  List* dimensions = NIL;  // PlainDimension*
  List* lookups = NIL;     // of each the List* of its lookups, open
  int dimension_columns = 0;
  // And the conditions as the query has them, Expr*: of the table alone, and of dimensions, too.
  List* own_conditions = NIL;
  List* joined_conditions = NIL;
  // A column or measure that is, or is not, NULL in the query's rows; -1: none. Aggregates are then
  // of rows, or of it.
  int null_of = -1;
  bool is_null = false;

  int groups() const { return of_words ? 1 : key.groups; }
  // That of the range column among the plan's.
  int column_place() const { return groups() + dimension_columns; }
  bool is_by_group() const {
    for (const Node* node : group)
      if (node != nullptr) return true;
    return false;
  }
  bool is_by_all() const { return by_groups == (1 << groups()) - 1; }
};

// Whether an open expression is of the range column, which is that of the plan's columns.
bool is_of_column(const Expr* open, int column);

// Why a density answers a query, or why not.
struct PlainReason {
  Oid relation;         // InvalidOid: the query is of none, or of several
  const char* density;  // its name, as kde_densities has it; null: of any
  const char* filter;   // of the density; null: none
  bool answers;
  const char* why;
  const DensityKey* key;  // the planner's; null: of any
};

// The question, PlainQuery*; NIL where no density may answer, that of the fewest columns where
// several may. Where none answers all aggregates of a query that is not grouped, several, each for
// some of them. input: the table's rows. having: conditions on groups, as a list.
// any: also of densities whose owner has not allowed plain SQL. reasons: appended to it is a
// PlainReason* of each density that the current user may read, the nearest first; null: not wanted.
List* plain_queries_of(PlannerInfo* root, RelOptInfo* input, PathTarget* target, List* having,
                       bool any = false, List** reasons = nullptr);

}  // namespace kde_pg
