// Arrays of double precision that functions of points take, and the matrices they return.
#pragma once

#include "pg/base/pg.h"

#include <span>

namespace kde_pg {

// The elements, which stay where they are. Error 22004 if one is null; `name` is what the message
// calls the array.
std::span<const double> read_numbers(ArrayType* array, const char* name);

// Points, a row each: n x d, or in an array of one dimension n x 1.
struct Points {
  std::span<const double> values;  // row-major
  int d = 1;
};
// Error 2202E for more than two dimensions; those of read_numbers.
Points read_points(ArrayType* array, const char* name);

// n x n elements, row-major, as an array of that shape.
ArrayType* matrix_array(const double* elements, int n);

}  // namespace kde_pg
