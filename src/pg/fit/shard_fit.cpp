// Fits by shard: what each node is asked for, what it answers, and the sum.
#include "pg/fit/shard_fit.h"

#include "pg/aggregate/aggregate_state.h"
#include "pg/base/fault.h"
#include "pg/base/options.h"
#include "pg/base/pinned.h"
#include "pg/catalog/density_name.h"
#include "pg/catalog/privileges.h"
#include "pg/catalog/read_counters.h"
#include "pg/catalog/shards.h"
#include "pg/fit/column_fit.h"
#include "pg/fit/road.h"
#include "pg/fit/store.h"
#include "pg/type/density_datum.h"

#include <algorithm>

namespace kde_pg {

namespace {

// What travels of all shards, about, and of one of them at least.
constexpr Size kBytesOfShards = Size{8} << 20;
constexpr Size kLeastBytes = 16384;
// A shard's variance is estimated from its own blocks.
constexpr int64 kLeastBlocks = 128;

Settings settings_of_sum(const DensityRequest& request) {
  const ColumnTypes types = check_types(request.key);
  Settings out = {types.value_type[0], chain_of(request.key, request.asked),
                  read_column_method(request.asked.method), request.asked.bytes,
                  request.key.measures};
  std::copy_n(types.value_type + 1, request.key.measures, out.measure_type);
  return out;
}

// Null, or of what densities are that are not added up.
const char* why_not_added_up(const DensityRequest& request) {
  return request.key.columns > 1       ? "several columns"
         : is_category(request.key, 0) ? "categories"
                                       : nullptr;
}

// Of the rows of a shard; 0 where it has none.
Datum fit_shard(const DensityRequest& request, Relation relation, const ScanOptions& options) {
  Road road;
  road.begin(request);
  road.read(relation, options, false);
  Datum density = 0;
  if (road.nothing_to_fit() == nullptr) {
    road.fit();
    density = density_to_datum(road.estimate().density());
  } else if (const double nulls = road.estimate().nulls_read(); nulls > 0) {
    AggregateState* state = new_state(CurrentMemoryContext, settings_of_sum(request));
    state->cells->add_null(nulls * road.scan().rows_per_row_read);
    density = finish_state(*state);
  }
  road.end();
  return density;
}

// The call that a shard's node answers, for run_on_shards(). shards: how many there are.
const char* shard_call(const DensityRequest& request, int shards) {
  const DensityKey& key = request.key;
  const auto literal = [](ArrayType* names) {
    return names == nullptr
               ? "NULL"
               : quote_literal_cstr(OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(names)));
  };
  DensityKey columns = key;
  columns.measures = columns.groups = 0;
  const int parts = Max(shards, 1);
  const Size bytes = Max(
      kLeastBytes, Min(kBytesOfShards / static_cast<Size>(parts), density_bytes(request.asked)));
  return psprintf(
      "kde_aqp.kde_send(kde_aqp.shard_density(" KDE_SHARD
      ", %s, %s, %s, %s, %s, %lld, %d, %lld, %s))",
      literal(column_names_of(columns)), literal(measures_of(key)),
      key.has_filter() ? quote_literal_cstr(key.filter) : "NULL",
      quote_literal_cstr(request.asked.method), request.asked.sample_rows == -1 ? "true" : "false",
      static_cast<long long>(Max(kLeastBlocks, option_sample_blocks / parts)),
      static_cast<int>(bytes), static_cast<long long>(request.asked.seed),
      request.asked.steps != nullptr ? quote_literal_cstr(request.asked.steps) : "NULL");
}

Datum receive_density(const struct varlena* bytes) {
  Oid function, parameter;
  getTypeBinaryInputInfo(
      get_atttype(catalog_oid(), static_cast<AttrNumber>(CatalogColumn::density)), &function,
      &parameter);
  StringInfoData message;
  initStringInfo(&message);
  appendBinaryStringInfo(&message, VARDATA_ANY(bytes), static_cast<int>(VARSIZE_ANY_EXHDR(bytes)));
  const Datum density = OidReceiveFunctionCall(function, &message, parameter, -1);
  pfree(message.data);
  return density;
}

// 0 where no shard has a density.
Datum sum_of(List* results, const Settings& settings) {
  AggregateState* state = nullptr;
  for (const ShardResult* result : of_list<const ShardResult>(results)) {
    if (result->value == nullptr) continue;
    if (state == nullptr) state = new_state(CurrentMemoryContext, settings);
    add_density(state, density_from_datum(receive_density(result->value), nullptr));
  }
  if (state == nullptr) return 0;
  merge_waiting(state);
  return finish_state(*state);
}

}  // namespace

bool is_read_by_shard(const DensityRequest& request) {
  const FitRequest& asked = request.asked;
  return why_not_added_up(request) == nullptr && request.key.groups == 0 &&
         asked.sample_rows <= 0 && asked.max_error == 0 && !asked.exact &&
         is_of_shards(request.key.relation);
}

const char* fit_shards(const DensityRequest& request, Relation relation, DensityFit* fit) {
  const DensityKey& key = request.key;
  instr_time begun;
  INSTR_TIME_SET_CURRENT(begun);
  begin_to_store(request);
  instr_time start;
  INSTR_TIME_SET_CURRENT(start);
  const Proof proof = unproven(Unproven::shards, GetCurrentTimestamp());
  const char* call = shard_call(request, count_shards(RelationGetRelid(relation)));
  AsOwner owner;
  owner.begin(relation);
  List* results = run_on_shards(relation, call);
  owner.end();
  KDE_FAULT("fit.scanned");

  const Datum sum = sum_of(results, settings_of_sum(request));
  if (sum == 0 || !(density_from_datum(sum, nullptr)->rows > 0)) {
    progress_end();
    return key.has_filter() ? "Its shards have no values that the filter accepts."
                            : "Its shards have no values.";
  }
  KDE_FAULT("fit.estimated");

  const int count = list_length(results);
  const char* model = psprintf("%d shard%s", count, count == 1 ? "" : "s");
  store_value(request, counters_of(results), proof, sum, model, elapsed_ms(start), fit);
  progress_end();
  log_long_fit(key, fit->record, fit->sample_rows, begun);
  return nullptr;
}

}  // namespace kde_pg

// kde_aqp.shard_counters(regclass) -> bigint[]
KDE_EXPORT(kde_shard_counters);
Datum kde_shard_counters(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  ArrayType* array = counters_to_array(read_counters(PG_GETARG_OID(0)));
  if (array == nullptr) PG_RETURN_NULL();
  PG_RETURN_ARRAYTYPE_P(array);
}

// kde_aqp.shard_density(relation, column, measures, filter, method, every_row, blocks, bytes, seed, steps)
KDE_EXPORT(kde_shard_density);
Datum kde_shard_density(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  for (const int required : {0, 1, 4, 5, 6, 7, 8}) reject_null(fcinfo, required, "argument");
  const Oid oid = PG_GETARG_OID(0);
  DensityRequest request;
  request.key = key_by_arrays(oid, PG_GETARG_ARRAYTYPE_P(1), text_argument(fcinfo, 3),
                              array_argument(fcinfo, 2), nullptr);
  request.asked = {};
  request.asked.method = text_to_cstring(PG_GETARG_TEXT_PP(4));
  request.asked.sample_rows = PG_GETARG_BOOL(5) ? -1 : kAllRowsRead;
  if (!PG_ARGISNULL(9)) request.asked.steps = text_to_cstring(PG_GETARG_TEXT_PP(9));
  if (const char* what = why_not_added_up(request))
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("densities of %s are not added up", what)));
  check_readable(request.key);
  check_steps(request.key, request.asked);
  request.bytes =
      static_cast<Size>(Max(Min(PG_GETARG_INT32(7), static_cast<int32>(kde::kMostListBytes)),
                            static_cast<int32>(kLeastBytes)));
  // Shards that were filled alike must not give the same blocks.
  request.asked.seed = PG_GETARG_INT64(8) ^ static_cast<int64>(static_cast<uint64>(oid) << 20);
  Relation relation = open_relation(oid);
  check_kind(relation);
  check_readable(request.key);
  ScanOptions options = scan_options(request, Max(PG_GETARG_INT64(6), INT64CONST(1)));
  options.least_blocks = 1;
  options.as_owner = false;
  progress_begin(request.key, request.operation);
  const Datum density = fit_shard(request, relation, options);
  progress_end();
  relation_close(relation, NoLock);
  if (density == 0) PG_RETURN_NULL();
  PG_RETURN_DATUM(density);
}
