// At which ends of cells a query asks for a column of times: of what there is between whole hours, or
// days, in UTC, a density of every row is exact (docs/fitting.md, "What is exact").
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace kde_pg {

enum CellEnds : int { kNoEnds = 0, kHourEnds = 1, kDayEnds = 2, kAllEnds = 3 };

// Sets of CellEnds: those that all bounds and all buckets are at, but for what parameters hide.
struct AskedEnds {
  int bounds = kAllEnds, buckets = kAllEnds;
  bool hidden = false;
};

// Of a timestamp or timestamptz column of the query's only table.
class EndsOfColumn {
 public:
  EndsOfColumn(PlannerInfo* root, AttrNumber column, Oid type)
      : root_(root), column_(column), type_(type) {}

  // What the query is grouped by, or a condition, or a FILTER. Errors: those of its functions.
  void add(Node* node, bool is_grouping);
  const AskedEnds& asked() const { return asked_; }

 private:
  static bool walk(Node* node, void* context);
  bool look_at(Node* node);
  void add_bucket(Node* node);

  PlannerInfo* root_;
  AttrNumber column_;
  Oid type_;
  AskedEnds asked_;
};

// Hours between the least and the greatest value that ANALYZE met; 0: it is not known.
double hours_of(PlannerInfo* root, Node* column);

}  // namespace kde_pg
