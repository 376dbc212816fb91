// A statement's text, as a client or pg_stat_statements has it, to what its grouped queries ask.
#pragma once

#include "pg/advise/advise.h"

namespace kde_pg {

// Reads, analyses and plans a statement, and leaves its demands and, where no density answers it,
// why. Nothing of it is run, and no effect stays; errors of it are a reason. Analysed and planned
// as the statement's user, restricted.
void read_statement(Advice* advice, AdvisedStatement* statement);

}  // namespace kde_pg
