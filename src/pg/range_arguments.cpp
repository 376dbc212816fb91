// Reading the bounds of range_arguments.h.
#include "pg/range_arguments.h"

#include "pg/values.h"

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

void read_range_value(Datum value, kde::ValueType type, kde::Range* range) {
  RangeType* r = DatumGetRangeTypeP(value);
  TypeCacheEntry* cache = lookup_type_cache(RangeTypeGetOid(r), TYPECACHE_RANGE_INFO);
  RangeBound lower, upper;
  range_deserialize(cache, r, &lower, &upper, &range->empty);
  if (range->empty) return;
  const Oid subtype = cache->rngelemtype->type_id;
  range->lower_unbounded = lower.infinite;
  range->upper_unbounded = upper.infinite;
  range->lower_inclusive = lower.inclusive;
  range->upper_inclusive = upper.inclusive;
  if (!lower.infinite) range->lower = bound_to_double(type, subtype, lower.val);
  if (!upper.infinite) range->upper = bound_to_double(type, subtype, upper.val);
}

}  // namespace

bool read_range(FunctionCallInfo fcinfo, int first, kde::ValueType type, kde::Range* range) {
  *range = {};
  const Oid argument_type = get_fn_expr_argtype(fcinfo->flinfo, first);
  if (!OidIsValid(argument_type))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("could not determine the type of the bounds")));
  if (is_range_type(argument_type)) {
    if (!PG_ARGISNULL(first + 1))
      ereport(ERROR,
              (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a range stands for both bounds"),
               errhint("Leave the upper bound out.")));
    if (PG_ARGISNULL(first)) return false;
    read_range_value(PG_GETARG_DATUM(first), type, range);
    return true;
  }
  if (!PG_ARGISNULL(first)) {
    range->lower_unbounded = false;
    range->lower = bound_to_double(type, argument_type, PG_GETARG_DATUM(first));
  }
  if (!PG_ARGISNULL(first + 1)) {
    range->upper_unbounded = false;
    range->upper = bound_to_double(type, argument_type, PG_GETARG_DATUM(first + 1));
  }
  return true;
}

}  // namespace kde_pg
