// Texts of pg_stat_statements made readable again. It puts $1, $2, ... in the place of constants,
// each its own, which leaves texts that are no SQL (date $1, extract($1 FROM x)), and expressions
// of the select list that are no longer those of GROUP BY.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "nodes/parsenodes.h"
}

namespace kde_pg {

// The statement, parsed; null: there is none, or several. Errors: 42601.
RawStmt* parse_statement(const char* text);

// Parameters beside + and - as whole numbers, which what is unknown is not taken for.
void type_parameters_as_numbers(RawStmt* statement);

// In an analysed and rewritten query, those parameters that a bucket of a column needs constants
// for get one: which one does not matter to whether it is a bucket.
Query* with_bucket_constants(Query* query);

// Whether an expression's text has one of those, so that it is not what the statement has.
bool has_stand_in(const char* text);

}  // namespace kde_pg
