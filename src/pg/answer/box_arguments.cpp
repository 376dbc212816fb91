// Reads the arrays of lower and upper bounds as a box of the core.
#include "pg/answer/box_arguments.h"

#include "pg/base/values.h"

extern "C" {
#include "utils/array.h"
#include "utils/lsyscache.h"
}

namespace kde_pg {

namespace {

// count = 0: no bounds at all.
Elements read_bounds(FunctionCallInfo fcinfo, int argument, const char* name, int columns) {
  if (PG_ARGISNULL(argument)) return {};
  const Elements bounds = read_elements(fcinfo, argument, name);
  if (bounds.count != columns)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("%s must have an element for each column", name),
                    errdetail("Its length is %d; that of columns is %d.", bounds.count, columns),
                    errhint("NULL is the element of a column that has no such bound.")));
  return bounds;
}

bool is_bounded(const Elements& bounds, int i) { return bounds.count > 0 && !bounds.nulls[i]; }

}  // namespace

Elements read_elements(FunctionCallInfo fcinfo, int argument, const char* name) {
  ArrayType* array = PG_GETARG_ARRAYTYPE_P(argument);
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

void read_ranges(FunctionCallInfo fcinfo, int lower, int upper, const Question& q,
                 kde::Range* ranges) {
  const Elements least = read_bounds(fcinfo, lower, "lower", q.sides);
  const Elements most = read_bounds(fcinfo, upper, "upper", q.sides);
  ranges[0] = {};
  for (int i = 0; i < q.sides; ++i) {
    kde::Range& r = ranges[i];
    r = {};
    r.lower_unbounded = !is_bounded(least, i);
    r.upper_unbounded = !is_bounded(most, i);
    if (!r.lower_unbounded) r.lower = bound_to_double(q.type[i], least.type, least.values[i]);
    if (!r.upper_unbounded) r.upper = bound_to_double(q.type[i], most.type, most.values[i]);
  }
}

Box box_of(const Question& q, const JointTarget& target, const kde::Range* ranges) {
  Box box;
  box.target = q.target < 0 ? -1 : target.place[q.target];
  box.sides = q.sides > 0 ? q.sides : 1;
  for (int i = 0; i < box.sides; ++i) box.side[i] = {target.place[i], ranges[i]};
  return box;
}

}  // namespace kde_pg
