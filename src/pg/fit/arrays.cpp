// kde_bandwidth, kde_bandwidth_matrix and kde_evaluate: bandwidths of arrays and the kernel estimate
// of points, without a table.
#include "pg/fit/arrays.h"

#include "pg/base/interrupts.h"
#include "pg/values/number_array.h"
#include "pg/base/options.h"
#include "pg/base/owned.h"
#include "pg/device/device.h"
#include "pg/progress/progress.h"

#include "core/kde.h"

#include <algorithm>

namespace kde_pg {

void show_notice(const char* notice) {
  if (notice[0] != '\0') ereport(NOTICE, (errmsg_internal("%s", notice)));
}

namespace {

// A few values are done sooner than threads are started, or anybody looks.
constexpr std::size_t kFewNumbers = 1024;

kde::LscvDivisor read_divisor(bool leave_one_out) {
  return leave_one_out ? kde::LscvDivisor::leave_one_out : kde::LscvDivisor::n_squared;
}

// Does core work on an array by work(engine, control): by a device where that is faster, anew where
// it fails. much: by threads, and shown. Raises what it met.
template <typename Work>
void compute(const kde::SumsWork& sums, bool much, Operation operation, const char* doing,
             Work work) {
  const bool estimates = operation == Operation::evaluate;
  if (much) progress_begin(operation, estimates ? Phase::estimating : Phase::selecting);
  DeviceChoice device;
  kde::Engine engine = chosen_engine();
  choose_device(sums, &engine, &device);
  kde::Status status;
  do {
    status = work(engine, begin_core_work(much ? chosen_threads() : 1));
  } while (begin_anew(status, sums, &engine, &device));
  check_status(status, doing);
  if (much) progress_end();
  report_device(device);
}

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

KDE_EXPORT(kde_bandwidth);
Datum kde_bandwidth(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  // SQL's convention for a function of data: of nothing known, nothing is known.
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  reject_null(fcinfo, 1, "method");
  reject_null(fcinfo, 2, "exact");
  reject_null(fcinfo, 3, "leave_one_out");
  ArrayType* array = PG_GETARG_ARRAYTYPE_P(0);
  if (ARR_NDIM(array) > 1)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("sample must be an array of one dimension"),
                    errhint("Use kde_bandwidth_matrix() for points of several columns.")));
  const std::span<const double> values = read_numbers(array, "sample");
  const char* method_name = text_to_cstring(PG_GETARG_TEXT_PP(1));
  kde::LineRequest request;
  if (!kde::parse_method(method_name, &request.method) || request.method == kde::Method::automatic)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown method \"%s\"", method_name),
             errhint("The methods for one column are %s.", kde::selector_list())));
  request.divisor = read_divisor(PG_GETARG_BOOL(3));
  const bool exact = PG_GETARG_BOOL(2);
  kde::LineBandwidth found;
  compute(line_work(request.method, exact, std::ssize(values)), values.size() > kFewNumbers,
          Operation::bandwidth, "choose a bandwidth",
          [&](const kde::Engine& engine, const kde::Control& control) {
            request.engine = engine;
            return kde::select_bandwidth(request, values, exact, control, &found);
          });
  show_notice(found.notice);
  PG_RETURN_FLOAT8(found.h);
}

KDE_EXPORT(kde_bandwidth_matrix);
Datum kde_bandwidth_matrix(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  reject_null(fcinfo, 1, "method");
  reject_null(fcinfo, 2, "cholesky");
  reject_null(fcinfo, 3, "leave_one_out");
  const Points given = read_points(PG_GETARG_ARRAYTYPE_P(0), "points");
  const std::span<const double> points = given.values;
  const int d = given.d;
  const char* method_name = text_to_cstring(PG_GETARG_TEXT_PP(1));
  kde::MatrixRequest request;
  if (!kde::parse_matrix_method(method_name, &request.method))
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown method \"%s\"", method_name),
             errhint("The methods for several columns are %s.", kde::matrix_method_list())));
  request.divisor = read_divisor(PG_GETARG_BOOL(3));
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_bandwidth_matrix", ALLOCSET_SMALL_SIZES);
  kde::BandwidthMatrix* found = Owned<kde::BandwidthMatrix>::create(context);
  compute(matrix_work(request.method, std::ssize(points) / Max(d, 1), d),
          points.size() > kFewNumbers, Operation::bandwidth, "choose a bandwidth matrix",
          [&](const kde::Engine& engine, const kde::Control& control) {
            request.engine = engine;
            return kde::select_bandwidth_matrix(request, points, d, control, found);
          });
  show_notice(found->notice);
  ArrayType* result;
  if (PG_GETARG_BOOL(2)) {
    result = matrix_array(found->factor.data(), d);
  } else {
    if (!found->in_range)
      ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                      errmsg("the bandwidth matrix is out of range of double precision"),
                      errhint("Its Cholesky factor is not: use cholesky => true.")));
    result = matrix_array(found->matrix.data(), d);
  }
  MemoryContextDelete(context);
  PG_RETURN_ARRAYTYPE_P(result);
}

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
