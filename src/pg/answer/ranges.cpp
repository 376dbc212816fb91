// Reads bounds, each of its column's type, of one that converts, or text.
#include "pg/answer/ranges.h"

#include "pg/values/values.h"

extern "C" {
#include "utils/rangetypes.h"
#include "utils/typcache.h"
}

namespace kde_pg {

namespace {

// The common types need no look-up to know that they are neither ranges nor arrays.
bool is_scalar(Oid type) {
  switch (type) {
    case INT4OID:
    case INT8OID:
    case FLOAT8OID:
    case NUMERICOID:
    case TEXTOID:
    case DATEOID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
      return true;
    default:
      return false;
  }
}

bool is_range_type(Oid type) { return !is_scalar(type) && type_is_range(getBaseType(type)); }

bool is_array_type(Oid type) {
  return !is_scalar(type) && OidIsValid(get_element_type(getBaseType(type)));
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

Oid type_of_bounds(FunctionCallInfo fcinfo, int lower) {
  const Oid type = get_fn_expr_argtype(fcinfo->flinfo, lower);
  if (!OidIsValid(type))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("could not determine the type of the bounds"),
                    errhint("Cast them to the type of the column.")));
  return type;
}

// A pair of bounds of one type; a null one is none. False for a null range.
bool make_range(Oid type, NullableDatum lower, NullableDatum upper, SqlRange* range) {
  *range = SqlRange::all();
  if (is_range_type(type)) {
    if (!upper.isnull)
      ereport(ERROR,
              (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a range stands for both bounds"),
               errhint("Leave the upper bound out.")));
    if (lower.isnull) return false;
    read_range_value(lower.value, range);
    return true;
  }
  range->lower = {lower.isnull, true, type, lower.value};
  range->upper = {upper.isnull, true, type, upper.value};
  return true;
}

// count = 0: no bounds at all.
Elements read_bounds(FunctionCallInfo fcinfo, int argument, const char* name, int columns) {
  if (PG_ARGISNULL(argument)) return {};
  const Elements bounds = read_elements(fcinfo, argument, name);
  if (bounds.count != columns)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("%s must have an element for each column", name),
                    errdetail_plural("Its length is %d; the density is asked about %d column.",
                                     "Its length is %d; the density is asked about %d columns.",
                                     columns, bounds.count, columns),
                    errhint("NULL is the element of a column that has no such bound.")));
  return bounds;
}

NullableDatum element(const Elements& bounds, int i) {
  if (bounds.count == 0) return {0, true};
  return {bounds.values[i], bounds.nulls[i]};
}

NullableDatum argument_of(FunctionCallInfo fcinfo, int argument) {
  return {PG_GETARG_DATUM(argument), PG_ARGISNULL(argument)};
}

}  // namespace

kde::Range core_range(kde::ValueType type, const SqlRange& sql) {
  kde::Range range;
  range.empty = sql.empty;
  if (sql.empty) return range;
  range.lower_unbounded = sql.lower.unbounded;
  range.upper_unbounded = sql.upper.unbounded;
  range.lower_inclusive = sql.lower.inclusive;
  range.upper_inclusive = sql.upper.inclusive;
  if (!sql.lower.unbounded) range.lower = bound_to_double(type, sql.lower.type, sql.lower.value);
  if (!sql.upper.unbounded) range.upper = bound_to_double(type, sql.upper.type, sql.upper.value);
  return range;
}

Elements read_elements(FunctionCallInfo fcinfo, int argument, const char* name) {
  const Oid type = type_of_bounds(fcinfo, argument);
  ArrayType* array = nullptr;
  if (type == TEXTOID) {
    // An untyped literal or parameter.
    Oid input;
    Oid io_param;
    getTypeInputInfo(TEXTARRAYOID, &input, &io_param);
    array = DatumGetArrayTypeP(
        OidInputFunctionCall(input, text_to_cstring(PG_GETARG_TEXT_PP(argument)), io_param, -1));
  } else if (is_array_type(type)) {
    array = PG_GETARG_ARRAYTYPE_P(argument);
  } else {
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("%s must be an array, not of type %s", name, format_type_be(type)),
                    errhint("Of several columns bounds are arrays: ARRAY[1, 2], or '{1, 2}'.")));
  }
  if (ARR_NDIM(array) > 1)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("%s must be an array of one dimension", name)));
  Elements out = {};
  out.type = ARR_ELEMTYPE(array);
  int16 length;
  bool by_value;
  char alignment;
  get_typlenbyvalalign(out.type, &length, &by_value, &alignment);
  deconstruct_array(array, out.type, length, by_value, alignment, &out.values, &out.nulls,
                    &out.count);
  return out;
}

bool read_sql_ranges(FunctionCallInfo fcinfo, int lower, const Question& q, SqlRange* ranges) {
  for (int i = q.named; i < q.sides; ++i) ranges[i] = SqlRange::all();
  const Oid type = type_of_bounds(fcinfo, lower);
  if (q.named == 1 && !is_array_type(type))
    return make_range(type, argument_of(fcinfo, lower), argument_of(fcinfo, lower + 1), &ranges[0]);
  const Elements least = read_bounds(fcinfo, lower, "lower", q.named);
  const Elements most = read_bounds(fcinfo, lower + 1, "upper", q.named);
  const Oid of = least.count > 0 ? least.type : most.type;
  for (int i = 0; i < q.named; ++i) {
    const NullableDatum low = element(least, i);
    const NullableDatum high = element(most, i);
    if (low.isnull && high.isnull) {
      ranges[i] = SqlRange::all();
    } else {
      (void)make_range(of, low, high, &ranges[i]);
    }
  }
  return true;
}

bool read_ranges(FunctionCallInfo fcinfo, int lower, const Question& q, kde::Range* ranges) {
  SqlRange sql[kde::kMaxColumns];
  if (!read_sql_ranges(fcinfo, lower, q, sql)) return false;
  for (int i = 0; i < q.sides; ++i) ranges[i] = core_range(q.type[i], sql[i]);
  return true;
}

}  // namespace kde_pg
