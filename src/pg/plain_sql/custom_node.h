// The plan's node (custom_scan.cpp) for those who decide for it: of a plan that has the node, but no
// exact plan beneath it (second_plan.h).
#pragma once

#include "pg/catalog/density_key.h"

extern "C" {
#include "executor/execdesc.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
}

namespace kde_pg {

// Whether the session asks for densities' answers to a query that is being planned, the whole of
// it.
bool is_plain_sql_wanted(const ::Query* top);
// Why no density answers any part of a statement; null: one may.
const char* why_exact_alone(const ::Query* top);

// What is done while groupings are planned, as the hook has it, without the hooks of others.
void plan_grouping_alone(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input,
                         RelOptInfo* output, void* extra);

bool is_plain_node(const Plan* plan);
// Whether it reads other tables than that of its densities.
bool has_dimensions(const Plan* plan);
// Whether the density answers, of which nothing is said yet.
bool decide_plain_node(PlanState* node);
// Begins a plan that is not to run, for obstacle_to_plain_node(): as EXPLAIN does, so that nothing of others'
// begins in earnest, and without the hooks of who measures statements.
void begin_to_try(QueryDesc* plan);
// The same of a node of such a plan: why not, and by which density; null: one answers, or the session
// does not ask. after_others: its statement is to come after others of its transaction.
const char* obstacle_to_plain_node(PlanState* node, bool after_others, const DensityKey** density);
// By NOTICE, in kde_plain_sql, to the demand.
void say_of_plain_node(PlanState* node);

}  // namespace kde_pg
