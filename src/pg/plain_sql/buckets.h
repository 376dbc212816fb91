// Buckets of the range column: GROUP BY date_trunc('month', sold_on), date_bin(), floor(x / c) * c,
// sold_on::date, x itself. Each is a function that never falls as the column rises, so that its
// values are ranges, one after the other, and those that are above some value, or below, are one.
#pragma once

#include "pg/values/values.h"

extern "C" {
#include "nodes/execnodes.h"
#include "nodes/primnodes.h"
}

namespace kde_pg {

// Whether it is a function of the server's that rounds a number: floor, ceil, trunc or round.
bool is_rounding(Oid function);

// Whether a GROUP BY expression is such a function of the column and of constants, and of nothing
// else of the table.
bool is_bucket(Node* node, AttrNumber column);

// Of a part of a time, as extract(hour FROM x) and to_char(x, 'YYYY-MM'), the bucket that tells it:
// date_trunc('hour', x). Null: the node is none, or of parts shorter than a minute.
Node* bucket_of_part(Node* node);

// The function, or a comparison of it, with the column's value left open: a CaseTestExpr in its
// place.
Expr* open_bucket(Node* node, AttrNumber column);

struct Bucket {
  Datum value;          // of the function
  double lower, upper;  // of the column: [lower, upper)
};

// Those from `first` to `last`, in order; a palloc'ed list of Bucket*. type: of the column, whole
// numbers, dates or times. *sure: whether the function does not fall there, which it may where a
// time zone's clocks are put back; if not there is no list, nor if there are more than `most`.
List* buckets_between(ExprState* function, ExprContext* context, kde::ValueType type, Oid result,
                      Oid collation, double first, double last, int most, bool* sure);

// Whether the session's time zone changes its offset so near to an instant that times of day there
// are not in the order of instants.
bool is_at_change(double instant);

// Where a comparison of such a function, by <, <=, >= or >, holds from `first` to `last`.
struct Passage {
  bool before, from;  // whether it does before the place, and from it on
  double place;       // a value of the column; infinite: none
};

// False: it is not known, as above. comparison: an OpExpr, the function its left side.
bool find_passage(ExprState* comparison, ExprContext* context, kde::ValueType type, double first,
                  double last, Passage* out);

}  // namespace kde_pg
