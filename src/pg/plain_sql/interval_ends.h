// approx_lower(count(*)), approx_upper(sum(amount)): the ends of an aggregate's interval where a
// density answers the query, the aggregate itself where the exact plan does.
#pragma once

#include "pg/plain_sql/query.h"

namespace kde_pg {

// Which end a node asks for; its only argument is what it is of.
PlainEnd end_asked(Node* node);

// Whether an end is asked for where the grouping's node does not compute it: above its target, as
// window functions and what is put off until after a sort are, or of what another query has made
// of its rows. There it would be its argument.
bool asks_ends_elsewhere(const PlannerInfo* root, const PathTarget* target);

}  // namespace kde_pg
