// What only a server can tell: the planner's estimates, the t-digest's answers, and whether this
// extension's SQL answers are the core's.
//
// It is one psql session against a private cluster (scripts/private_cluster.sh): a script goes in,
// comparators.sql with the tables and ranges before it, and lines of CSV come out:
//   planner,COLUMN,TARGET,RUN,RANGE,ROWS
//   digest_bytes,COLUMN,,,,BYTES
//   digest_count | digest_sum | digest_mean,COLUMN,,,RANGE,VALUE
//   sql_count,COLUMN,,,RANGE,VALUE
// where COLUMN and RANGE are positions in the vectors and an empty VALUE is NULL.
#pragma once

#include "measure.h"
#include "table.h"

#include <string>
#include <vector>

namespace kde::accuracy {

// Runs ANALYZE that often at each statistics target; a target's sample is 300 times as many rows.
inline constexpr int kAnalyzeRuns = 5;
inline constexpr int kTarget1000 = 3, kTarget10000 = 33;

struct ComparatorOutcome {
  bool planner = false, digest = false, sql = false;  // measured
};

// Runs the session and adds what it tells to the columns. Files go to `folder`: the script, its
// output and what it said. Throws std::runtime_error if the output cannot be read.
ComparatorOutcome run_comparators(const std::vector<Table>& tables, const std::string& folder,
                                  std::vector<ColumnResult>* columns);

}  // namespace kde::accuracy
