// Plain SQL answered by densities: SELECT region, count(*), sum(amount) FROM sales WHERE sold_on
// BETWEEN ... GROUP BY region, where the session asks for it (kde_aqp.approximate) and the
// density's owner allows it (kde_set_plain_sql()).
//
// A custom path stands in the place of the grouping, with the exact plan as its child. When it runs
// it answers from the density if all answers are as accurate as kde_aqp.approximate_error asks;
// else, for the whole statement, the exact plan does.
#pragma once

namespace kde_pg {

// Once, from _PG_init.
void register_plain_sql();

}  // namespace kde_pg
