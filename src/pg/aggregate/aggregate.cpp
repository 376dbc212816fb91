// The aggregates kde_agg, a density of every row, and rollup, of densities: their support
// functions.
//
// A group without rows, and without rows that count, has no state and the result NULL. The final
// function leaves the state as it is, so that the aggregates serve moving window frames.
#include "pg/values/values.h"
#include "pg/type/density_datum.h"
#include "pg/aggregate/aggregate_memory.h"
#include "pg/aggregate/aggregate_state.h"

#include "core/kde.h"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/primnodes.h"
}

#include <cmath>
#include <span>
#include <string_view>

namespace kde_pg {

namespace {

// The arguments of kde_agg's transition, of which the last three may be missing.
enum Argument { kState, kValue, kMethod, kWeight, kBytes };
// Of kde_agg's with a measure.
enum MeasureArgument { kMeasure = 2 };
// Of rollup's.
enum RollupArgument { kRollupState, kRollupDensity, kRollupBytes };

constexpr char kDoing[] = "aggregate the values";

AggregateState* state_argument(FunctionCallInfo fcinfo, int argument) {
  return PG_ARGISNULL(argument) ? nullptr
                                : reinterpret_cast<AggregateState*>(PG_GETARG_POINTER(argument));
}

Datum give(FunctionCallInfo fcinfo, AggregateState* state) {
  if (state == nullptr) PG_RETURN_NULL();
  PG_RETURN_POINTER(state);
}

// The type of the values. Who runs the transition inside an aggregate of its own, as Citus's
// worker_partial_agg(aggregate oid, value) does on a worker, gives no expression: then it is that
// aggregate which knows.
Oid argument_type(FunctionCallInfo fcinfo) {
  const Oid type = get_fn_expr_argtype(fcinfo->flinfo, kValue);
  if (OidIsValid(type)) return type;
  const Aggref* outer = AggGetAggref(fcinfo);
  if (outer == nullptr || list_length(outer->aggargtypes) != 2 ||
      linitial_oid(outer->aggargtypes) != OIDOID)
    return InvalidOid;
  return lsecond_oid(outer->aggargtypes);
}

kde::ValueType read_type(FunctionCallInfo fcinfo) {
  const Oid type = argument_type(fcinfo);
  if (!OidIsValid(type))
    ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE),
                    errmsg("could not determine the type of the values"),
                    errhint("Cast them to their type.")));
  kde::ValueType value_type;
  if (!value_type_of(type, &value_type) || value_type == kde::ValueType::category) {
    const char* to = conversion_of(type);
    ereport(ERROR,
            (errcode(ERRCODE_DATATYPE_MISMATCH),
             errmsg("type %s is not supported by kde_agg", format_type_be(type)),
             to != nullptr ? errhint("Convert the values to %s.", to)
                           : errhint("Supported are %s; rollup() merges densities, and kde_fit() "
                                     "counts the values of columns of other types.",
                                     KDE_NUMBER_TYPES)));
  }
  return value_type;
}

kde::Method read_method(FunctionCallInfo fcinfo) {
  if (PG_NARGS() <= kMethod) return kde::Method::automatic;
  reject_null(fcinfo, kMethod, "method");
  const text* name = PG_GETARG_TEXT_PP(kMethod);
  kde::Method method;
  if (!kde::parse_method(std::string_view(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name)), &method))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("unknown method \"%s\"", text_to_cstring(name)),
                    errhint("The methods are %s.", kde::method_list())));
  return method;
}

int32 read_bytes(FunctionCallInfo fcinfo, int argument) {
  constexpr auto kLeast = static_cast<int32>(kde::kLeastHistogramBytes);
  constexpr auto kMost = static_cast<int32>(kde::kMostListBytes);
  if (PG_NARGS() <= argument) return 0;
  reject_null(fcinfo, argument, "bytes");
  const int32 bytes = PG_GETARG_INT32(argument);
  if (bytes < kLeast || bytes > kMost)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("bytes must be from %d to %d, not %d", kLeast, kMost, bytes)));
  return bytes;
}

// False if the row is left out: as the pairs of regr_count() with a NULL, and where it weighs
// nothing.
bool read_weight(FunctionCallInfo fcinfo, double* weight) {
  if (PG_NARGS() <= kWeight) return true;
  if (PG_ARGISNULL(kWeight)) return false;
  *weight = PG_GETARG_FLOAT8(kWeight);
  constexpr double kLeast = kde::kLeastWeight;
  constexpr double kMost = kde::kMostWeight;
  if (!(*weight == 0 || (*weight >= kLeast && *weight <= kMost)))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("a weight must be 0 or from %g to %g, not %g", kLeast, kMost, *weight)));
  return *weight > 0;
}

}  // namespace

}  // namespace kde_pg

// kde_agg's transition: (internal, value [, method [, weight [, bytes]]]) -> internal.
KDE_EXPORT(kde_agg_row);
Datum kde_agg_row(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  AggregateState* state = state_argument(fcinfo, kState);
  double weight = 1;
  if (state == nullptr || PG_NARGS() > kMethod) {
    const Settings settings = {state != nullptr ? state->settings.type : read_type(fcinfo),
                               read_method(fcinfo), read_bytes(fcinfo, kBytes)};
    if (state != nullptr) check_same(state->settings, settings);
    if (!read_weight(fcinfo, &weight)) return give(fcinfo, state);
    if (state == nullptr) state = new_state(fcinfo, settings);
  }
  if (PG_ARGISNULL(kValue)) {
    state->cells->add_null(weight);
  } else {
    const double x = value_to_double(state->settings.type, PG_GETARG_DATUM(kValue));
    const kde::Status status =
        weight == 1 ? state->cells->add(x) : state->cells->add_weighted(x, weight);
    if (unlikely(!status.ok())) check_status(status, kDoing);
  }
  PG_RETURN_POINTER(state);
}

// kde_agg's transition with a measure: (internal, value, measure) -> internal.
KDE_EXPORT(kde_agg_measure_row);
Datum kde_agg_measure_row(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  AggregateState* state = state_argument(fcinfo, kState);
  if (state == nullptr) {
    Settings settings = {read_type(fcinfo), kde::Method::automatic, 0, 1};
    settings.measure_type[0] = kde::ValueType::float8;
    state = new_state(fcinfo, settings);
  }
  double y = std::nan("");
  if (!PG_ARGISNULL(kMeasure)) {
    y = PG_GETARG_FLOAT8(kMeasure);
    if (!std::isfinite(y))
      ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                      errmsg("a measure must be finite, not %g", y),
                      errhint("Leave such rows out with FILTER (WHERE ...).")));
  }
  if (PG_ARGISNULL(kValue)) {
    state->cells->add_null();
  } else {
    const double x = value_to_double(state->settings.type, PG_GETARG_DATUM(kValue));
    check_status(state->cells->add(x, std::span(&y, 1)), kDoing);
  }
  PG_RETURN_POINTER(state);
}

// rollup's transition: (internal, kde [, bytes]) -> internal.
KDE_EXPORT(kde_rollup_row);
Datum kde_rollup_row(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  AggregateState* state = state_argument(fcinfo, kRollupState);
  const int32 bytes = read_bytes(fcinfo, kRollupBytes);
  if (PG_ARGISNULL(kRollupDensity)) return give(fcinfo, state);
  const kde::Header* density = PG_GETARG_DENSITY(kRollupDensity);
  const Settings settings = settings_of(*density, bytes);
  if (state == nullptr)
    state = new_state(fcinfo, settings);
  else
    check_same(state->settings, settings);
  add_density(aggregate_memory(fcinfo), state, density);
  PG_RETURN_POINTER(state);
}

// (internal, internal) -> internal. The second state keeps what it has and need not live on.
KDE_EXPORT(kde_agg_combine);
Datum kde_agg_combine(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  (void)aggregate_memory(fcinfo);
  AggregateState* state = state_argument(fcinfo, 0);
  AggregateState* other = state_argument(fcinfo, 1);
  if (other == nullptr) return give(fcinfo, state);
  merge_waiting(other);
  if (state == nullptr) state = new_state(fcinfo, other->settings);
  merge_state(state, other);
  PG_RETURN_POINTER(state);
}

// (internal) -> bytea.
KDE_EXPORT(kde_agg_serialize);
Datum kde_agg_serialize(PG_FUNCTION_ARGS) {
  (void)kde_pg::aggregate_memory(fcinfo);
  PG_RETURN_BYTEA_P(kde_pg::write_state(kde_pg::state_argument(fcinfo, 0)));
}

// (bytea, internal) -> internal.
KDE_EXPORT(kde_agg_deserialize);
Datum kde_agg_deserialize(PG_FUNCTION_ARGS) {
  (void)kde_pg::aggregate_memory(fcinfo);
  // A copy is aligned, as what is inside another row need not be.
  PG_RETURN_POINTER(kde_pg::read_state(PG_GETARG_BYTEA_P_COPY(0)));
}

// (internal) -> kde.
KDE_EXPORT(kde_agg_final);
Datum kde_agg_final(PG_FUNCTION_ARGS) {
  (void)kde_pg::aggregate_memory(fcinfo);
  kde_pg::AggregateState* state = kde_pg::state_argument(fcinfo, 0);
  if (state == nullptr) PG_RETURN_NULL();
  kde_pg::merge_waiting(state);
  return kde_pg::finish_state(*state);
}
