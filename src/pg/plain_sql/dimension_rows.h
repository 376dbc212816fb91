// Rows of a plan's dimensions (dimension_reader.cpp): each is read into a hash by what it is looked up
// by, as often as the plan is asked, under the statement's own snapshot.
// Internal to src/pg/plain_sql.
#pragma once

#include "pg/plain_sql/hashed_entries.h"
#include "pg/plain_sql/outcome.h"
#include "pg/plain_sql/plan_fields.h"

extern "C" {
#include "nodes/execnodes.h"
}

namespace kde_pg {

// Of one of them, at most: the exact plan answers by more.
inline constexpr int kMostDimensionRows = 100000;

// Trivially destructible; zeroed: there are none.
class DimensionRows {
 public:
  // children: PlanState*, of each.
  void begin(const PlainPlan& plan, List* children, PlanState* parent);
  // In the current memory context, as many bytes as the server gives a hash. False, with a reason: a
  // dimension is none.
  bool read(const char** why);
  // Looks the rows up by a row whose other columns are known, and puts their columns into it, from
  // `first` on: of those by groups, or of those by parts. False: it joins with none.
  bool join(TupleTableSlot* slot, int first, ExprContext* context, bool of_column) const;
  // All of them, by other columns: a list of ExprState* of each.
  bool join(TupleTableSlot* slot, int first, List* lookups, ExprContext* context) const;
  void rescan(Bitmapset* changed);

 private:
  struct Row {
    Datum* values;
    bool* nulls;
    uint32 hash;
  };
  struct Table {
    HashedEntries<Row> rows;
    const HashedValue* own;        // by which rows of it are one
    const HashedValue* looked_up;  // what is looked up beside it, in
    Datum* values;
    bool* nulls;
  };

  bool read_one(int i, const char** why);
  const Row* find(int i) const;
  bool join_one(int i, TupleTableSlot* slot, int first, List* lookup, ExprContext* context) const;

  int n_;
  const DimensionPlan* plan_;
  List* children_;
  List* lookups_;
  Table* table_;
};

}  // namespace kde_pg
