// kde_evaluate: the kernel estimate of an array of points at given points, without a table.
#include "pg/base/number_array.h"
#include "pg/base/owned.h"
#include "pg/fit/bandwidth.h"

#include "core/kde.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/memutils.h"
}

#include <algorithm>

namespace kde_pg {

namespace {

constexpr int kMostElements = kde::kMaxDimensions * kde::kMaxDimensions;
// Fewer terms are done sooner than threads are started.
constexpr double kFewTerms = 1 << 19;

// Of points in d columns an array of one dimension is one.
std::span<const double> read_queries(ArrayType* array, int d) {
  const Points queries = read_points(array, "at");
  const bool one_point = ARR_NDIM(array) == 1 && std::ssize(queries.values) == d;
  if (queries.d != d && !one_point && !queries.values.empty())
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("at must have as many columns as points"),
                    errdetail("A row is a point, a column a coordinate; points has %d.", d)));
  return queries.values;
}

// The factor L of H = L L', d x d: kMostElements numbers at most.
void factorise(ArrayType* array, int d, double* factor) {
  const std::span<const double> h = read_numbers(array, "bandwidth");
  const bool square = ARR_NDIM(array) == 2 && ARR_DIMS(array)[0] == d && ARR_DIMS(array)[1] == d;
  if (!square && !(d == 1 && h.size() == 1))
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("bandwidth must be a matrix of as many rows and columns as points has "
                           "columns"),
                    errdetail("It is the matrix H as of kde_bandwidth_matrix(), in one column h "
                              "squared.")));
  const std::size_t size = std::min<std::size_t>(h.size(), kMostElements);
  check_status(kde::factorise_bandwidth(h, d, {factor, size}), "use the bandwidth");
}

// By the normal reference rule, which takes no sums over pairs.
void choose_factor(const Points& points, double* factor) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_evaluate", ALLOCSET_SMALL_SIZES);
  kde::BandwidthMatrix* found = Owned<kde::BandwidthMatrix>::create(context);
  kde::MatrixRequest request;
  request.method = kde::MatrixMethod::normal_reference;
  check_status(
      kde::select_bandwidth_matrix(request, points.values, points.d, begin_core_work(1), found),
      "choose a bandwidth matrix");
  std::copy(found->factor.begin(), found->factor.end(), factor);
  MemoryContextDelete(context);
}

// m numbers in an array of one dimension, to be filled.
ArrayType* make_numbers(int m) {
  const Size bytes = ARR_OVERHEAD_NONULLS(1) + sizeof(float8) * static_cast<Size>(m);
  if (!AllocSizeIsValid(bytes))
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("at has too many points")));
  ArrayType* array = static_cast<ArrayType*>(palloc0(bytes));
  SET_VARSIZE(array, bytes);
  array->ndim = 1;
  array->dataoffset = 0;
  array->elemtype = FLOAT8OID;
  ARR_DIMS(array)[0] = m;
  ARR_LBOUND(array)[0] = 1;
  return array;
}

}  // namespace

}  // namespace kde_pg

KDE_EXPORT(kde_evaluate);
Datum kde_evaluate(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  // SQL's convention for a function of data: of nothing known, nothing is known.
  if (PG_ARGISNULL(0) || PG_ARGISNULL(1)) PG_RETURN_NULL();
  const Points points = read_points(PG_GETARG_ARRAYTYPE_P(0), "points");
  const std::span<const double> at = read_queries(PG_GETARG_ARRAYTYPE_P(1), points.d);
  double factor[kMostElements];
  if (PG_ARGISNULL(2)) {
    choose_factor(points, factor);
  } else {
    factorise(PG_GETARG_ARRAYTYPE_P(2), points.d, factor);
  }
  const int d = points.d;
  const int m = static_cast<int>(std::ssize(at) / d);
  const std::int64_t n = std::ssize(points.values) / d;
  // An array of no elements has no dimensions.
  ArrayType* result = m > 0 ? make_numbers(m) : construct_empty_array(FLOAT8OID);

  const std::span<double> out(reinterpret_cast<double*>(ARR_DATA_PTR(result)),
                              static_cast<std::size_t>(m));
  compute(estimate_work(n, d, m), static_cast<double>(n) * m > kFewTerms, Operation::evaluate,
          "evaluate the estimate", [&](const kde::Engine& engine, const kde::Control& control) {
            return kde::kernel_estimate(engine, points.values, d,
                                        {factor, static_cast<std::size_t>(d) * d}, at, control,
                                        out);
          });
  PG_RETURN_ARRAYTYPE_P(result);
}
