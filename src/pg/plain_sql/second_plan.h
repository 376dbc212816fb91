// A density's plan beside that of another planner.
//
// Who plans distributed tables (Citus) runs the server's planner to learn of the query, throws its
// plan away and makes one of its own: with it goes the node that stood in the place of the
// grouping. Where that has happened, or where nothing was grouped at all, the query is planned once
// more by the server's planner alone, as if the rows were here. If in that plan nothing reads a
// table but exact plans beneath nodes that densities may answer, these are left out, and both plans
// become one, whose top is the custom node KdeAqpChoice: when it starts all nodes of the density's
// plan decide. If all answer it runs, else the other planner's plan does: by itself, as if it had
// been the statement's.
//
// The query is planned twice only where a density may answer, and by two planners.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "nodes/plannodes.h"
}

namespace kde_pg {

// Whether a density may answer the plan or a part of it.
bool has_plain_node(const PlannedStmt* plan);

// Of the query that is being planned a grouping has been; may_be_answered: the node stands there,
// or would if the other planner had not changed the query.
void note_grouping(bool may_be_answered);

// Once, from _PG_init, before the planners are counted (client_statement.h).
void register_second_plan();

}  // namespace kde_pg
