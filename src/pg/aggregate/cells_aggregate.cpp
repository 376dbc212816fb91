// See cells_aggregate.h.
#include "pg/aggregate/cells_aggregate.h"

#include "pg/aggregate/aggregate_state.h"
#include "pg/progress/progress.h"
#include "pg/values/values.h"

#include <cmath>

namespace kde_pg {

namespace {

constexpr int kRowsPerReport = 4096;

// Of the transition's arguments.
enum Argument { kChain = 1, kColumn, kFirstMeasure };

Settings settings_of_row(FunctionCallInfo fcinfo) {
  const int measures = PG_NARGS() - kFirstMeasure;
  if (measures < 0 || measures > kde::kMaxMeasures)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("cells are of a column and at most %d measures", kde::kMaxMeasures)));
  kde::ValueType type[1 + kde::kMaxMeasures];
  for (int k = 0; k <= measures; ++k) {
    const Oid of = get_fn_expr_argtype(fcinfo->flinfo, k + kColumn);
    if (!OidIsValid(of) || !value_type_of(of, &type[k]) || type[k] == kde::ValueType::category)
      ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                      errmsg("type %s has no cells", format_type_be(of))));
  }
  const auto chain = static_cast<kde::Chain>(PG_ARGISNULL(kChain) ? -1 : PG_GETARG_INT32(kChain));
  if (!kde::is_chain_of(type[0], chain))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("cells of %s have no such chain", value_type_label(type[0]))));
  Settings settings = {type[0], chain, kde::Method::automatic, 0, measures};
  std::copy_n(type + 1, measures, settings.measure_type);
  return settings;
}

}  // namespace

kde::GridCells* read_cells(Datum result, kde::Chain chain, int measures) {
  const AggregateState* state = read_state(CurrentMemoryContext, PG_DETOAST_DATUM(result));
  if (state->settings.measures != measures || state->cells->ends().chain() != chain)
    ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("cells of another column")));
  return state->cells;
}

}  // namespace kde_pg

// (kde_aqp.agg_state, chain, column, measure ...) -> kde_aqp.agg_state.
KDE_EXPORT(kde_cells_row);
Datum kde_cells_row(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  AggregateState* state = own_state(fcinfo);
  if (!is_advanced_by(fcinfo, state)) {
    const Settings settings = settings_of_row(fcinfo);
    if (state != nullptr) advance_by(fcinfo, state, settings);
    if (state == nullptr) state = new_state(fcinfo, settings);
  }
  if (++state->untold == kRowsPerReport) {
    progress_add(state->untold);
    state->untold = 0;
  }
  if (PG_ARGISNULL(kColumn)) {
    state->cells->add_null();
    return give(fcinfo, state);
  }
  const Settings& settings = state->settings;
  double y[kde::kMaxMeasures];
  for (int k = 0; k < settings.measures; ++k) {
    y[k] = std::nan("");
    if (PG_ARGISNULL(k + kFirstMeasure)) continue;
    y[k] = value_to_double(settings.measure_type[k], PG_GETARG_DATUM(k + kFirstMeasure));
    if (unlikely(!std::isfinite(y[k])))
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("measure %d has a value that is not finite", k + 1)));
  }
  const double x = value_to_double(settings.type, PG_GETARG_DATUM(kColumn));
  const kde::Status status = state->cells->add(x, {y, static_cast<Size>(settings.measures)});
  if (unlikely(!status.ok())) check_status(status, "count the values");
  return give(fcinfo, state);
}
