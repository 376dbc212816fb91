// Which leaves of a table the planner saw. ATTACH PARTITION, INHERIT and CREATE TABLE ... PARTITION OF
// wait for no reader, and the exact plan has the partitions that there were when it was planned,
// whatever the statement's snapshot sees. Where a density has others, it is not asked.
// Internal to src/pg/plain_sql.
#pragma once

#include "pg/proof/proof.h"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace kde_pg {

// Their sum as set_of_leaves() has it, those that were pruned included. input: the table's rows.
uint64 planned_leaves(PlannerInfo* root, Index number);

}  // namespace kde_pg
