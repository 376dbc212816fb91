// Which densities would answer a grouped query of one table: asked of plain SQL's own recognition
// (query_reader.h), by keys of densities as if they were there.
#pragma once

#include "pg/advise/advise.h"

extern "C" {
#include "nodes/parsenodes.h"
}

namespace kde_pg {

// The planner, called for a statement that is looked at: nothing of its plan is of use. Each
// grouped query of one table becomes one of the statement's demands. *joins: whether one groups a
// join. query is scribbled on. Errors: those of planning.
void demands_of(Advice* advice, AdvisedStatement* statement, ::Query* query, bool* joins);

}  // namespace kde_pg
