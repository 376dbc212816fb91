// The arrays of number_array.h.
#include "pg/base/number_array.h"

extern "C" {
#include "catalog/pg_type.h"
}

namespace kde_pg {

std::span<const double> read_numbers(ArrayType* array, const char* name) {
  if (ARR_ELEMTYPE(array) != FLOAT8OID)
    elog(ERROR, "unexpected array type %u", ARR_ELEMTYPE(array));
  if (ARR_HASNULL(array) && array_contains_nulls(array))
    ereport(ERROR,
            (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not contain nulls", name)));
  const int count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
  return {reinterpret_cast<const double*>(ARR_DATA_PTR(array)), static_cast<std::size_t>(count)};
}

Points read_points(ArrayType* array, const char* name) {
  if (ARR_NDIM(array) > 2)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("%s must be an array of at most two dimensions", name),
                    errdetail("A row is a point, a column a coordinate.")));
  return {read_numbers(array, name), ARR_NDIM(array) == 2 ? ARR_DIMS(array)[1] : 1};
}

}  // namespace kde_pg
