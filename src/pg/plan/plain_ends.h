// approx_lower(count(*)), approx_upper(sum(amount)): the ends of an aggregate's interval where a
// density answers the query, the aggregate itself where the exact plan does.
#pragma once

#include "pg/plan/plain_query.h"

namespace kde_pg {

// Which end a node asks for; its only argument is what it is of.
PlainEnd end_asked(Node* node);

}  // namespace kde_pg
