// What the joint part of `make accuracy` prints and writes.
#pragma once

#include "joint_measure.h"

#include <cstdio>
#include <string>
#include <vector>

namespace kde::accuracy {

// Errors beside the raw sample's by table, sample size and what the scan read, then coverage, then
// the figures that are asked for, with `ok` or `SHORT`. tables: those of the sets.
void print_joint(const std::vector<JointTable>& tables, const std::vector<JointSet>& sets,
                 const JointPlan& plan, std::FILE* out);

// One line a case, sample size, reading and estimator; errors as fractions. Throws
// std::runtime_error.
void write_joint_csv(const std::vector<JointSet>& sets, const std::string& path);

}  // namespace kde::accuracy
