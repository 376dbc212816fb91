// The exact part of an answer by a density: what the statement asks of the rows in some stretches of
// blocks, those that the density does not know as they are now.
//
// Beside the exact plan the custom node has a second one: the server's own aggregation, with the
// statement's conditions and groups, above a scan that reads the table's leaves in those stretches
// alone, under the statement's snapshot, and joins them with dimensions' as groups are. It begins
// when it is first wanted, and EXPLAIN does not show it. Its columns are the node's: what the query
// is grouped by, then the rows, and of each aggregate its values and their sum, or the least or
// greatest of them, or all of them.
//
// No more blocks are read than the exact plan would cost by the planner's own figures, as an index may
// lead it to few rows; but for a few, which take no time to speak of.
#pragma once

#include "pg/plain_sql/query.h"
#include "pg/proof/proof.h"

#include "core/kde.h"

extern "C" {
#include "nodes/execnodes.h"
#include "utils/array.h"
}

namespace kde_pg {

struct PlainPlan;
class DimensionRows;

// Null where it cannot be had: variances, whose digits depend on how they are added up; groups that are not
// hashed; system columns; subqueries. input: the table's rows, joined with its dimensions'.
Path* rest_path(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, const PlainQuery& query);

// What it finds of an aggregate.
struct RestTotal {
  double values = 0, sum = 0;
  double zeros = 0;   // rows that it adds 0 for
  int decimals = 0;   // of a sum of type numeric
  Datum extreme = 0;  // the least or greatest value, where there is one
  // All of percentiles, and of values that differ; null: none.
  ArrayType* list = nullptr;
};

struct RestRow {
  const Datum* values;  // of the node's columns that the query is grouped by, in their order
  const bool* nulls;
  double rows;
  const RestTotal* total;  // of each aggregate
};

// The plan, when it runs. Trivially destructible; zeroed: there is none.
class PlainRest {
 public:
  // exact: the plan that runs else; null: none does.
  void begin(Plan* plan, const Plan* exact, PlanState* parent);
  bool is_there() const { return plan_ != nullptr; }
  // As many as are worth it, and as kde_aqp.approximate_scan_size allows.
  double most_blocks() const;
  // Fewer than that option allows.
  bool is_dear() const;
  // Of a list of Stretch*, of leaf after leaf, which are locked. Calls visit(row) for each row of the
  // plan. Dimensions' rows are those that the node has read.
  void read(const PlainPlan& asked, const DimensionRows* dimensions, List* stretches,
            kde::FunctionRef<void(const RestRow&)> visit);
  void note_parameters();
  void end();

 private:
  Plan* plan_;
  double worth_;  // blocks
  PlanState* parent_;
  PlanState* state_;
};

// Once, from _PG_init.
void register_rest();
// The same of what answer functions ask (answer/exact.h).
void register_rest_demand();

}  // namespace kde_pg
