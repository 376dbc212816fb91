// See cells_aggregate.h. The state's bytes: a header with the types, then those of GridCells.
#include "pg/aggregate/cells_aggregate.h"

#include "pg/aggregate/aggregate_memory.h"
#include "pg/progress/progress.h"
#include "pg/values/values.h"

extern "C" {
#include "utils/memutils.h"
}

#include <cmath>
#include <new>

namespace kde_pg {

namespace {

constexpr char kDoing[] = "count the values";
constexpr int kRowsPerReport = 4096;
constexpr uint32 kVersion = 0x4b444301;

struct CellsState {
  kde::GridCells cells;
  int measures;
  kde::ValueType type[1 + kde::kMaxMeasures];  // of the column and its measures
  int untold;                                  // rows that progress does not know yet
};

struct SerialHeader {
  uint32 version;
  uint8 measures;
  uint8 type[1 + kde::kMaxMeasures];
  uint8 reserved[2];
};

CellsState* state_argument(FunctionCallInfo fcinfo, int n) {
  return PG_ARGISNULL(n) ? nullptr : reinterpret_cast<CellsState*>(PG_GETARG_POINTER(n));
}

CellsState* place_state(MemoryContext context, int measures, kde::Chain chain) {
  auto* state = static_cast<CellsState*>(MemoryContextAllocZero(context, sizeof(CellsState)));
  new (&state->cells) kde::GridCells(memory_of(context), chain, measures);
  state->measures = measures;
  return state;
}

CellsState* new_state(FunctionCallInfo fcinfo) {
  const int measures = PG_NARGS() - 2;
  if (measures < 0 || measures > kde::kMaxMeasures)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("cells are of a column and at most %d measures", kde::kMaxMeasures)));
  kde::ValueType type[1 + kde::kMaxMeasures];
  for (int k = 0; k <= measures; ++k) {
    const Oid of = get_fn_expr_argtype(fcinfo->flinfo, k + 1);
    if (!OidIsValid(of) || !value_type_of(of, &type[k]) || type[k] == kde::ValueType::category)
      ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                      errmsg("type %s has no cells", format_type_be(of))));
  }
  CellsState* state = place_state(aggregate_memory(fcinfo), measures, kde::chain_of(type[0]));
  std::copy(type, type + measures + 1, state->type);
  return state;
}

CellsState* read_cells_state(const bytea* bytes) {
  const char* at = VARDATA_ANY(bytes);
  const Size size = VARSIZE_ANY_EXHDR(bytes);
  SerialHeader h;
  if (size >= sizeof h) memcpy(&h, at, sizeof h);
  if (size < sizeof h || h.version != kVersion || h.measures > kde::kMaxMeasures)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION), errmsg("invalid state of cells")));
  for (int k = 0; k <= h.measures; ++k)
    if (h.type[k] >= kde::kValueTypes)
      ereport(ERROR,
              (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION), errmsg("invalid state of cells")));
  CellsState* state = place_state(CurrentMemoryContext, h.measures,
                                  kde::chain_of(static_cast<kde::ValueType>(h.type[0])));
  for (int k = 0; k <= h.measures; ++k) state->type[k] = static_cast<kde::ValueType>(h.type[k]);
  check_status(state->cells.deserialize(at + sizeof h, size - sizeof h), "read cells");
  return state;
}

}  // namespace

kde::GridCells* read_cells(const bytea* bytes, kde::Chain chain, int measures) {
  CellsState* state = read_cells_state(bytes);
  if (state->measures != measures || state->cells.ends().chain() != chain)
    ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("cells of another column")));
  return &state->cells;
}

}  // namespace kde_pg

// (internal, column, measure ...) -> internal.
KDE_EXPORT(kde_cells_row);
Datum kde_cells_row(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  CellsState* state = state_argument(fcinfo, 0);
  if (state == nullptr) state = new_state(fcinfo);
  if (++state->untold == kRowsPerReport) {
    progress_add(state->untold);
    state->untold = 0;
  }
  if (PG_ARGISNULL(1)) {
    state->cells.add_null();
    PG_RETURN_POINTER(state);
  }
  double y[kde::kMaxMeasures];
  for (int k = 0; k < state->measures; ++k) {
    y[k] = std::nan("");
    if (PG_ARGISNULL(k + 2)) continue;
    y[k] = value_to_double(state->type[k + 1], PG_GETARG_DATUM(k + 2));
    if (unlikely(!std::isfinite(y[k])))
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("measure %d has a value that is not finite", k + 1)));
  }
  const double x = value_to_double(state->type[0], PG_GETARG_DATUM(1));
  const kde::Status status = state->cells.add(x, {y, static_cast<Size>(state->measures)});
  if (unlikely(!status.ok())) check_status(status, kDoing);
  PG_RETURN_POINTER(state);
}

// (internal, internal) -> internal. The second state is used up.
KDE_EXPORT(kde_cells_combine);
Datum kde_cells_combine(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  MemoryContext context = aggregate_memory(fcinfo);
  CellsState* state = state_argument(fcinfo, 0);
  CellsState* other = state_argument(fcinfo, 1);
  if (other == nullptr && state == nullptr) PG_RETURN_NULL();
  if (other == nullptr) PG_RETURN_POINTER(state);
  if (state == nullptr) {
    state = place_state(context, other->measures, other->cells.ends().chain());
    std::copy(other->type, other->type + other->measures + 1, state->type);
  }
  check_status(state->cells.merge(&other->cells), kDoing);
  PG_RETURN_POINTER(state);
}

// (internal) -> bytea.
KDE_EXPORT(kde_cells_serialize);
Datum kde_cells_serialize(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  (void)aggregate_memory(fcinfo);
  CellsState* state = state_argument(fcinfo, 0);
  if (state == nullptr) PG_RETURN_NULL();
  check_status(state->cells.settle(), kDoing);
  const Size size = VARHDRSZ + sizeof(SerialHeader) + state->cells.serialized_size();
  auto* out = static_cast<bytea*>(palloc0(size));
  SET_VARSIZE(out, size);
  SerialHeader h = {};
  h.version = kVersion;
  h.measures = static_cast<uint8>(state->measures);
  for (int k = 0; k <= state->measures; ++k) h.type[k] = static_cast<uint8>(state->type[k]);
  memcpy(VARDATA(out), &h, sizeof h);
  state->cells.serialize(VARDATA(out) + sizeof h);
  PG_RETURN_BYTEA_P(out);
}

// (bytea, internal) -> internal.
KDE_EXPORT(kde_cells_deserialize);
Datum kde_cells_deserialize(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  (void)aggregate_memory(fcinfo);
  PG_RETURN_POINTER(read_cells_state(PG_GETARG_BYTEA_PP(0)));
}
