// A statement's text, as a client or pg_stat_statements has it, to what its grouped queries ask.
#pragma once

#include "pg/advise/advise.h"

extern "C" {
#include "nodes/parsenodes.h"
}

namespace kde_pg {

// The ways to take what parameters are of.
enum class Unknown { as_it_is, as_numbers };

// Analysed and rewritten, Query*, as the current user; a parameter's type is that of what it stands
// beside. raw: of parse_statement(), scribbled on.
List* analysed_with_parameters(RawStmt* raw, const char* text, Unknown unknown);

// Reads, analyses and plans a statement, and leaves its demands and, where no density answers it,
// why. Nothing of it is run, and no effect stays; errors of it are a reason. Analysed and planned
// as the statement's user, restricted.
void read_statement(Advice* advice, AdvisedStatement* statement);

}  // namespace kde_pg
