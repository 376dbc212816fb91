// The aggregates kde_agg, a density of every row, and rollup, of densities: their support
// functions.
//
// A group without rows, and without rows that count, has no state and the result NULL. The final
// function leaves the state as it is, so that the aggregates serve moving window frames.
#include "pg/values/values.h"
#include "pg/type/density_datum.h"
#include "pg/aggregate/aggregate_state.h"

#include "core/kde.h"

#include <cmath>
#include <span>
#include <string_view>

namespace kde_pg {

namespace {

// The arguments of kde_agg's transition, of which the last three may be missing.
enum Argument { kValue = 1, kMethod, kWeight, kBytes };
// Of kde_agg's with a measure.
enum MeasureArgument { kMeasure = 2 };
// Of rollup's.
enum RollupArgument { kRollupDensity = 1, kRollupBytes };

constexpr char kDoing[] = "aggregate the values";

// The type of the values is the transition function's own argument's: there is one for each type, as
// who runs it inside an aggregate of its own, such as Citus's worker_partial_agg, gives no expression.
kde::ValueType read_type(FunctionCallInfo fcinfo) {
  Oid* types;
  int n;
  (void)get_func_signature(fcinfo->flinfo->fn_oid, &types, &n);
  kde::ValueType type;
  if (n <= kValue || !value_type_of(types[kValue], &type) || type == kde::ValueType::category)
    elog(ERROR, "values of this type are not aggregated");
  pfree(types);
  return type;
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

// A value of kde_aqp.agg_state to be read, of whose rows none is lost.
AggregateState* any_state(Datum datum) {
  if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
    return reinterpret_cast<AggregateState*>(DatumGetEOHP(datum));
  return read_state(CurrentMemoryContext, PG_DETOAST_DATUM(datum));
}

// Those that no aggregate wrote are refused.
struct varlena* checked(Datum bytes) {
  auto* state = reinterpret_cast<struct varlena*>(DatumGetPointer(bytes));
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp state", ALLOCSET_DEFAULT_SIZES);
  (void)kde_pg::read_state(context, state);
  MemoryContextDelete(context);
  return state;
}

}  // namespace

}  // namespace kde_pg

// kde_agg's transition: (kde_aqp.agg_state, value [, method [, weight [, bytes]]]) -> kde_aqp.agg_state.
KDE_EXPORT(kde_agg_row);
Datum kde_agg_row(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  AggregateState* state = own_state(fcinfo);
  double weight = 1;
  if (!is_advanced_by(fcinfo, state) || PG_NARGS() > kMethod) {
    const kde::ValueType type =
        is_advanced_by(fcinfo, state) ? state->settings.type : read_type(fcinfo);
    const Settings settings = {type, kde::chain_of(type), read_method(fcinfo),
                               read_bytes(fcinfo, kBytes)};
    if (state != nullptr) advance_by(fcinfo, state, settings);
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
  return give(fcinfo, state);
}

// kde_agg's transition of types that it has no form for: (kde_aqp.agg_state, anyelement) -> error 42804.
KDE_EXPORT(kde_agg_no_row);
Datum kde_agg_no_row(PG_FUNCTION_ARGS) {
  const Oid type = get_fn_expr_argtype(fcinfo->flinfo, kde_pg::kValue);
  const char* to = kde_pg::conversion_of(type);
  ereport(ERROR,
          (errcode(ERRCODE_DATATYPE_MISMATCH),
           errmsg("type %s is not supported by kde_agg", format_type_be(type)),
           to != nullptr ? errhint("Convert the values to %s.", to)
                         : errhint("Supported are %s; rollup() merges densities, and kde_fit() "
                                   "counts the values of columns of other types.",
                                   KDE_NUMBER_TYPES)));
}

// kde_agg's transition with a measure: (kde_aqp.agg_state, value, measure) -> kde_aqp.agg_state.
KDE_EXPORT(kde_agg_measure_row);
Datum kde_agg_measure_row(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  AggregateState* state = own_state(fcinfo);
  if (!is_advanced_by(fcinfo, state)) {
    const kde::ValueType type = read_type(fcinfo);
    Settings settings = {type, kde::chain_of(type), kde::Method::automatic, 0, 1};
    settings.measure_type[0] = kde::ValueType::float8;
    if (state != nullptr) advance_by(fcinfo, state, settings);
    if (state == nullptr) state = new_state(fcinfo, settings);
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
  return give(fcinfo, state);
}

// rollup's transition: (kde_aqp.agg_state, kde [, bytes]) -> kde_aqp.agg_state.
KDE_EXPORT(kde_rollup_row);
Datum kde_rollup_row(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  AggregateState* state = own_state(fcinfo);
  const int32 bytes = read_bytes(fcinfo, kRollupBytes);
  if (PG_ARGISNULL(kRollupDensity)) return give(fcinfo, state);
  const kde::Header* density = PG_GETARG_DENSITY(kRollupDensity);
  const Settings settings = settings_of(*density, bytes);
  if (state == nullptr)
    state = new_state(fcinfo, settings);
  else
    check_same(state->settings, settings);
  add_density(state, density);
  return give(fcinfo, state);
}

// (kde_aqp.agg_state, kde_aqp.agg_state) -> kde_aqp.agg_state.
KDE_EXPORT(kde_agg_combine);
Datum kde_agg_combine(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  AggregateState* state = own_state(fcinfo);
  if (PG_ARGISNULL(1)) return give(fcinfo, state);
  // Used up: a copy of one that is somebody else's.
  AggregateState* other = read_state(CurrentMemoryContext, PG_GETARG_VARLENA_P(1));
  if (state == nullptr) state = new_state(fcinfo, other->settings, true);
  merge_state(state, other);
  return give(fcinfo, state);
}

// (kde_aqp.agg_state) -> kde.
KDE_EXPORT(kde_agg_final);
Datum kde_agg_final(PG_FUNCTION_ARGS) {
  kde_pg::AggregateState* state = kde_pg::any_state(PG_GETARG_DATUM(0));
  kde_pg::merge_waiting(state);
  return kde_pg::finish_state(*state);
}

// (cstring) -> kde_aqp.agg_state, as of bytea.
KDE_EXPORT(kde_agg_state_in);
Datum kde_agg_state_in(PG_FUNCTION_ARGS) {
  PG_RETURN_POINTER(kde_pg::checked(DirectFunctionCall1(byteain, PG_GETARG_DATUM(0))));
}

// (internal) -> kde_aqp.agg_state.
KDE_EXPORT(kde_agg_state_recv);
Datum kde_agg_state_recv(PG_FUNCTION_ARGS) {
  PG_RETURN_POINTER(kde_pg::checked(DirectFunctionCall1(bytearecv, PG_GETARG_DATUM(0))));
}
