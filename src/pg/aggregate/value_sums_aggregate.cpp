// See value_sums_aggregate.h.
#include "pg/aggregate/value_sums_aggregate.h"

#include "pg/aggregate/aggregate_memory.h"
#include "pg/values/values.h"

#include <cmath>
#include <new>

namespace kde_pg {

namespace {

// A bytea.
struct State {
  char length[VARHDRSZ];
  uint32 version;
  kde::ValueSums sums[FLEXIBLE_ARRAY_MEMBER];
};
constexpr uint32 kVersion = 0x4b561001;

Size state_size(int measures) {
  return offsetof(State, sums) + sizeof(kde::ValueSums) * static_cast<Size>(measures);
}

bool is_state(const bytea* bytes, int measures) {
  return VARSIZE(bytes) == state_size(measures) &&
         reinterpret_cast<const State*>(bytes)->version == kVersion;
}

[[noreturn]] void refuse() {
  ereport(ERROR,
          (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION), errmsg("invalid sums of measures")));
}

// Aligned, as what was inside another row need not be.
State* read_state(const bytea* bytes, int measures) {
  if (!is_state(bytes, measures)) refuse();
  auto* state = static_cast<State*>(palloc(state_size(measures)));
  memcpy(static_cast<void*>(state), bytes, state_size(measures));
  for (int k = 0; k < measures; ++k)
    if (!state->sums[k].valid()) refuse();
  return state;
}

State* new_state(int measures) {
  auto* state = static_cast<State*>(palloc0(state_size(measures)));
  SET_VARSIZE(state, state_size(measures));
  state->version = kVersion;
  for (int k = 0; k < measures; ++k) new (&state->sums[k]) kde::ValueSums;
  return state;
}

// What a call needs beside the state, which is found once.
struct Measures {
  int n;
  kde::ValueType type[kde::kMaxMeasures];
};

Measures* measures_of(FunctionCallInfo fcinfo) {
  auto* known = static_cast<Measures*>(fcinfo->flinfo->fn_extra);
  if (known != nullptr) return known;
  const int n = PG_NARGS() - 1;
  if (n < 1 || n > kde::kMaxMeasures)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("sums are of one to %d measures", kde::kMaxMeasures)));
  known = static_cast<Measures*>(MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(Measures)));
  known->n = n;
  for (int k = 0; k < n; ++k) {
    const Oid type = get_fn_expr_argtype(fcinfo->flinfo, k + 1);
    if (!OidIsValid(type) || !value_type_of(type, &known->type[k]) ||
        known->type[k] == kde::ValueType::category)
      ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                      errmsg("type %s has no sums", format_type_be(type))));
  }
  fcinfo->flinfo->fn_extra = known;
  return known;
}

}  // namespace

std::span<const kde::ValueSums> read_value_sums(const bytea* bytes, int measures) {
  return {read_state(bytes, measures)->sums, static_cast<Size>(measures)};
}

}  // namespace kde_pg

// (bytea, measure ...) -> bytea.
KDE_EXPORT(kde_value_sums_row);
Datum kde_value_sums_row(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  (void)aggregate_memory(fcinfo);
  const Measures* measures = measures_of(fcinfo);
  State* state;
  if (PG_ARGISNULL(0)) {
    state = new_state(measures->n);
  } else {
    bytea* bytes = PG_GETARG_BYTEA_P(0);
    if (unlikely(!is_state(bytes, measures->n))) refuse();
    state = reinterpret_cast<State*>(bytes);
  }
  for (int k = 0; k < measures->n; ++k) {
    if (PG_ARGISNULL(k + 1)) continue;
    const double y = value_to_double(measures->type[k], PG_GETARG_DATUM(k + 1));
    if (unlikely(!std::isfinite(y)))
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("measure %d has a value that is not finite", k + 1)));
    kde::ValueSums* sums = &state->sums[k];
    if (unlikely(!sums->is_in_bounds())) refuse();
    sums->add(y);
  }
  PG_RETURN_POINTER(state);
}

// (bytea, bytea) -> bytea.
KDE_EXPORT(kde_value_sums_combine);
Datum kde_value_sums_combine(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  (void)aggregate_memory(fcinfo);
  bytea* bytes = PG_GETARG_BYTEA_P(0);
  const bytea* others = PG_GETARG_BYTEA_P(1);
  const Size size = VARSIZE(bytes);
  const auto measures = static_cast<int>(
      (Max(size, offsetof(State, sums)) - offsetof(State, sums)) / sizeof(kde::ValueSums));
  State* state = read_state(bytes, measures);
  const State* other = read_state(others, measures);
  for (int k = 0; k < measures; ++k) state->sums[k].merge(other->sums[k]);
  PG_RETURN_POINTER(state);
}
