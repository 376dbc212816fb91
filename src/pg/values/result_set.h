// The rows of a set-returning function: a tuplestore of the caller's memory, as they are few and
// gone through once.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "funcapi.h"
#include "utils/tuplestore.h"
}

namespace kde_pg {

// Makes it the call's result, empty yet. The function's result must have that many columns; of a
// single one it may be the value itself.
// Error 0A000 where no set is expected.
Tuplestorestate* begin_rows(FunctionCallInfo fcinfo, int columns, TupleDesc* desc);

}  // namespace kde_pg
