// From what a query compares columns with to the box that its density is asked about, and the parts
// of it that are asked about one by one: from one cut to the next, values of a list.
// Internal to src/pg/plain_sql.
#pragma once

#include "pg/plain_sql/query_rows.h"

namespace kde_pg {

class PlainBox {
 public:
  PlainBox(PlainState* state, PlainRows* rows) : state_(*state), plan_(state->plan), rows_(*rows) {}

  // Sets rows' range and words. False here and below: refused.
  bool read_bounds();
  // A day's end as tools send it, 23:59:59.999: whether it is certain that no row lies between it and the
  // end of its minute. By an index, as of the active snapshot.
  bool is_free_to_minute();
  // The range is then as far as there, where cells may end.
  void go_to_minute();
  // What comparisons of the column's functions leave of the range.
  bool read_passages();

  struct Part {
    kde::Range range;
    Datum value;  // of the column, there; of what is cut
  };
  // What is cut, the values of a list, or the whole.
  bool read_parts();
  Part* part = nullptr;
  int parts = 0;

  // Of a category by itself, in a list.
  bool words_set = false;

 private:
  bool read_bound(const PlainBound& b, Oid type, Datum value, double* x);
  bool read_list(const PlainBound& b, Oid type, const NullableDatum& value);
  double value_beside(double x) const;
  bool is_told(double x);
  bool narrow_by(const PlainBound& b, double x);
  bool finds_minute(int64* last, int64* minute) const;
  bool read_ends(bool by_all, double* first, double* last, bool* beyond);
  struct Edge;
  class Edges;
  bool part_list();
  bool part_by_cuts();
  bool read_cut(const PlainCutAt& cut, double first, double last, Edges* to);
  bool read_value(Oid type, const NullableDatum& value, Edges* to);
  bool value_of(double x, Datum* out) const;
  bool value_between(const Edge& a, const Edge& b, Datum* out) const;

  PlainState& state_;
  const PlainPlan& plan_;
  PlainRows& rows_;
  bool beyond_ = false;  // whether there may be values beyond those met
  int32 column_typmod_ = -1;
  double* points_ = nullptr;  // of a list
  int point_count_ = 0;
  kde::WordSet words_[kde::kMaxColumns];
};

}  // namespace kde_pg
