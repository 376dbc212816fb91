// The joint part of `make accuracy`: densities of several columns, boxes over 2 and 3 of them.
#pragma once

#include "table.h"

#include <string>
#include <vector>

namespace kde::accuracy {

// Tables and columns as TABLE:COLUMN,COLUMN,..., separated by blanks; TABLE alone: all its columns
// of numbers, up to 16.
extern const char* const kJointTables;

// Measures the tables that are there of those named, prints and writes to `folder`. Throws
// std::runtime_error.
void run_joint(const std::vector<Table>& tables, const std::string& names,
               const std::string& folder);

}  // namespace kde::accuracy
