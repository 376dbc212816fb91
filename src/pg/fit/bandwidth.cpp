// kde_bandwidth and kde_bandwidth_matrix: bandwidths of arrays, without a table.
#include "pg/fit/bandwidth.h"

#include "pg/base/number_array.h"
#include "pg/base/owned.h"

#include "core/kde.h"

extern "C" {
#include "utils/memutils.h"
}

namespace kde_pg {

kde::Kernel read_kernel(const text* name) {
  const char* wanted = text_to_cstring(name);
  kde::Kernel kernel;
  if (!kde::parse_kernel(wanted, &kernel))
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown kernel \"%s\"", wanted),
             errhint("The kernels are %s.", kde::kernel_list())));
  return kernel;
}

void show_notice(const char* notice) {
  if (notice[0] != '\0') ereport(NOTICE, (errmsg_internal("%s", notice)));
}

namespace {

// A few values are done sooner than threads are started, or anybody looks.
constexpr std::size_t kFewNumbers = 1024;

kde::LscvDivisor read_divisor(bool leave_one_out) {
  return leave_one_out ? kde::LscvDivisor::leave_one_out : kde::LscvDivisor::n_squared;
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
  reject_null(fcinfo, 3, "kernel");
  reject_null(fcinfo, 4, "leave_one_out");
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
  request.kernel = read_kernel(PG_GETARG_TEXT_PP(3));
  request.divisor = read_divisor(PG_GETARG_BOOL(4));
  const bool exact = PG_GETARG_BOOL(2);
  kde::LineBandwidth found;
  compute(line_work(request.method, request.kernel, exact, std::ssize(values)),
          values.size() > kFewNumbers, Operation::bandwidth, "choose a bandwidth",
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
