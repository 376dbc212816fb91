// Reads two bounds, each of the column's type, of one that converts, or text, as a range of the
// core.
#include "pg/answer/range_arguments.h"

#include "pg/base/values.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/rangetypes.h"
#include "utils/typcache.h"
}

namespace kde_pg {

namespace {

// The common types need no look-up to know that they are no ranges.
bool is_range_type(Oid type) {
  switch (type) {
    case INT4OID:
    case INT8OID:
    case FLOAT8OID:
    case NUMERICOID:
    case TEXTOID:
    case DATEOID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
      return false;
    default:
      return type_is_range(getBaseType(type));
  }
}

void read_range_value(Datum value, SqlRange* range) {
  RangeType* r = DatumGetRangeTypeP(value);
  TypeCacheEntry* cache = lookup_type_cache(RangeTypeGetOid(r), TYPECACHE_RANGE_INFO);
  RangeBound lower, upper;
  range_deserialize(cache, r, &lower, &upper, &range->empty);
  if (range->empty) return;
  const Oid subtype = cache->rngelemtype->type_id;
  range->lower = {lower.infinite, lower.inclusive, subtype, lower.val};
  range->upper = {upper.infinite, upper.inclusive, subtype, upper.val};
}

}  // namespace

bool read_sql_range(FunctionCallInfo fcinfo, int first, SqlRange* range) {
  const Oid type = get_fn_expr_argtype(fcinfo->flinfo, first);
  if (!OidIsValid(type))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("could not determine the type of the bounds")));
  range->empty = false;
  range->lower = {true, true, type, 0};
  range->upper = {true, true, type, 0};
  if (is_range_type(type)) {
    if (!PG_ARGISNULL(first + 1))
      ereport(ERROR,
              (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a range stands for both bounds"),
               errhint("Leave the upper bound out.")));
    if (PG_ARGISNULL(first)) return false;
    read_range_value(PG_GETARG_DATUM(first), range);
    return true;
  }
  if (!PG_ARGISNULL(first)) range->lower = {false, true, type, PG_GETARG_DATUM(first)};
  if (!PG_ARGISNULL(first + 1)) range->upper = {false, true, type, PG_GETARG_DATUM(first + 1)};
  return true;
}

bool read_range(FunctionCallInfo fcinfo, int first, kde::ValueType type, kde::Range* range) {
  SqlRange sql;
  *range = {};
  if (!read_sql_range(fcinfo, first, &sql)) return false;
  range->empty = sql.empty;
  if (sql.empty) return true;
  range->lower_unbounded = sql.lower.unbounded;
  range->upper_unbounded = sql.upper.unbounded;
  range->lower_inclusive = sql.lower.inclusive;
  range->upper_inclusive = sql.upper.inclusive;
  if (!sql.lower.unbounded) range->lower = bound_to_double(type, sql.lower.type, sql.lower.value);
  if (!sql.upper.unbounded) range->upper = bound_to_double(type, sql.upper.type, sql.upper.value);
  return true;
}

}  // namespace kde_pg
