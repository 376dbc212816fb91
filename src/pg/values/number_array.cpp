// Arrays of double precision: elements in place without nulls, points as rows, square matrices.
#include "pg/values/number_array.h"

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

ArrayType* matrix_array(const double* elements, int n) {
  Datum* values = static_cast<Datum*>(palloc(sizeof(Datum) * n * n));
  for (int i = 0; i < n * n; ++i) values[i] = Float8GetDatum(elements[i]);
  int dims[2] = {n, n};
  int lower[2] = {1, 1};
  return construct_md_array(values, nullptr, 2, dims, lower, FLOAT8OID, sizeof(float8),
                            FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

}  // namespace kde_pg
