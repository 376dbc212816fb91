// The planner's estimates of boxes, with extended statistics: what a server can tell.
//
// One psql session against a private cluster (scripts/private_cluster.sh): the tables, a
// CREATE STATISTICS (dependencies, mcv) for every set of columns, ANALYZE with the default target,
// and joint.sql with the boxes before it. Lines of CSV come out: SET,BOX,ROWS, where SET and BOX
// are positions in the vectors.
#pragma once

#include "joint_measure.h"
#include "table.h"

#include <string>
#include <vector>

namespace kde::accuracy {

// Runs the session and adds what it tells to every level of the sets; false where there is no
// server. Files go to `folder`. tables: the sets' as they are in their files. Throws
// std::runtime_error if the session fails or its output cannot be read.
bool run_joint_comparators(const std::vector<Table>& tables, const std::string& folder,
                           std::vector<JointSet>* sets);

// The box as a condition in SQL.
std::string condition_of(const JointTable& table, const Box& box);

}  // namespace kde::accuracy
