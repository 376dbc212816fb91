// kde_fit of one density, and that of a refresh: which road it takes; kde_sample.
#include "pg/fit/density_fit.h"

#include "pg/base/pinned.h"
#include "pg/catalog/as_fitted.h"
#include "pg/catalog/column_name.h"
#include "pg/catalog/density_name.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/privileges.h"
#include "pg/catalog/shards.h"
#include "pg/fit/arrays.h"
#include "pg/fit/fit_record.h"
#include "pg/fit/road.h"
#include "pg/fit/shard_fit.h"
#include "pg/fit/store.h"
#include "pg/type/density_datum.h"

namespace kde_pg {

namespace {

// Blocks of which the error asked for may be expected, as errors fall with the root of what is
// read; 0: what was read will do, or is all.
int64 blocks_to_read(const DensityRequest& request, const Road& road) {
  constexpr double kSomeMore = 1.1;
  constexpr double kFewRows = 0.01;  // of which the error is asked for
  const ScanResult& scan = road.scan();
  const double wanted = request.asked.max_error;
  if (wanted == 0 || scan.every_row_read || scan.blocks_total == 0) return 0;
  const kde::DensityView density(&road.estimate().density().header());
  const double error = kde::expected_errors(density, kFewRows).count;
  if (!(error > wanted)) return 0;
  const double blocks =
      kSomeMore * static_cast<double>(scan.blocks_read) * (error / wanted) * (error / wanted);
  return blocks < static_cast<double>(scan.blocks_total) ? static_cast<int64>(ceil(blocks))
                                                         : scan.blocks_total;
}

// Before anything is read. Nodes of shards have settings of their own.
void check_computable(const DensityRequest& request, Relation relation) {
  const DensityKey& key = request.key;
  bool plain = !key.has_filter();
  for (int i = 0; i < key.all(); ++i) plain = plain && key.column[i].attnum != 0;
  if (plain) return;
  AsOwner owner;
  owner.begin(relation);
  check_not_volatile(key);
  const char* settings = settings_of(key);
  owner.end();
  if (*settings != '\0' && is_of_shards(RelationGetRelid(relation)))
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("expressions and filters that depend on settings are not computed by "
                           "shards"),
                    errdetail("They depend on %s.", settings),
                    errhint("Name the zone, as in sold_at AT TIME ZONE 'UTC', or fit a column.")));
}

Datum fit_by_call(FunctionCallInfo fcinfo, const FitArguments& at) {
  check_may_write("kde_fit()");
  reject_null(fcinfo, 0, "relation");
  reject_null(fcinfo, 1, at.exact < 0 ? "column_names" : "column_name");
  DensityRequest request;
  request.asked = asked_by_call(fcinfo, at);
  const Oid oid = table_by_text(PG_GETARG_TEXT_PP(0));
  Relation relation = open_maintained_relation(oid);
  check_kind(relation);
  const char* column = at.exact < 0 ? nullptr : NameStr(*PG_GETARG_NAME(1));
  request.key = key_by_call(fcinfo, at, oid, column);
  check_may_fit(request.key);
  check_steps(request.key, request.asked);
  DensityFit fit;
  Road road;
  const bool has_road = begin_road(request, relation, &road);
  fit_density(request, relation, has_road ? &road : nullptr, &fit);
  const Datum result = fit_record(fcinfo, request.key, fit);
  relation_close(relation, NoLock);
  PG_RETURN_DATUM(result);
}

}  // namespace

FitRequest asked_by_call(FunctionCallInfo fcinfo, const FitArguments& at) {
  FitRequest asked = read_asked(fcinfo, at.seed, at.max_error, at.name);
  if (at.exact >= 0) {
    reject_null(fcinfo, at.exact, "exact");
    asked.exact = PG_GETARG_BOOL(at.exact);
  }
  if (!PG_ARGISNULL(at.steps)) asked.steps = text_to_cstring(PG_GETARG_TEXT_PP(at.steps));
  return asked;
}

DensityKey key_by_call(FunctionCallInfo fcinfo, const FitArguments& at, Oid relation,
                       const char* column) {
  text* filter = text_argument(fcinfo, at.filter);
  ArrayType* measures = names_argument(fcinfo, at.measures, relation, "measures");
  ArrayType* group_by = names_argument(fcinfo, at.group_by, relation, "group_by");
  return column == nullptr
             ? key_by_arrays(relation, PG_GETARG_ARRAYTYPE_P(1), filter, measures, group_by)
             : key_by_name(relation, column, filter, measures, group_by);
}

bool begin_road(const DensityRequest& request, Relation relation, Road* road) {
  check_computable(request, relation);
  if (request.asked.query != nullptr || is_read_by_shard(request)) return false;
  road->begin(request);
  return true;
}

void fit_density(const DensityRequest& request, Relation relation, Road* road, DensityFit* fit) {
  if (request.asked.query != nullptr) return fit_by_query(request, relation, fit);
  if (road == nullptr) {
    const char* why = fit_shards(request, relation, fit);
    if (why != nullptr) raise_nothing_to_fit(relation, request.key, why);
    return;
  }
  begin_to_store(request);
  for (int64 blocks = 0;;) {
    road->read(relation, scan_options(request, blocks), true);
    road->check_something_to_fit(relation);
    road->fit();
    blocks = blocks_to_read(request, *road);
    if (blocks == 0) break;
    road->begin_again();
  }
  road->store(fit);
  progress_end();
  road->end();
}

}  // namespace kde_pg

// kde_fit(names, name, method, sample_rows, seed, ...)
KDE_EXPORT(kde_fit);
Datum kde_fit(PG_FUNCTION_ARGS) { return kde_pg::fit_by_call(fcinfo, {4, 5, 6, 7, 8, 9, 10, 11}); }

// kde_fit(names, text[], method, sample_rows, seed, ...). An array of one is the fit of a column.
KDE_EXPORT(kde_fit_columns);
Datum kde_fit_columns(PG_FUNCTION_ARGS) {
  return kde_pg::fit_by_call(fcinfo, {4, -1, 5, 6, 7, 8, 9, 10});
}

// A density of one's own, as a value: of the rows that the current user may read.
// kde_sample(names, name, seed)
KDE_EXPORT(kde_sample);
Datum kde_sample(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  reject_null(fcinfo, 0, "relation");
  text* name = PG_GETARG_TEXT_PP(0);
  TableColumn column;
  if (PG_ARGISNULL(1)) {
    column = table_or_column(name);
    if (column.attnum == 0) reject_null(fcinfo, 1, "column_name");
  } else {
    column = column_by_name(table_by_text(name), NameStr(*PG_GETARG_NAME(1)));
  }
  // Before the lock, so that nobody queues for what he may not read, and again with it.
  (void)check_selectable(column);
  Relation relation = open_relation(column.relation);
  check_kind(relation);
  const bool has_policies = check_selectable(column);
  DensityRequest request;
  request.key = key_of(column);
  request.asked = {};
  request.asked.method = "auto";
  request.asked.sample_rows = kAllRowsRead;
  request.asked.seed = PG_ARGISNULL(2) ? random_seed() : PG_GETARG_INT64(2);
  Road road;
  road.begin(request);
  progress_begin(request.key, request.operation);
  ScanOptions options = scan_options(request);
  options.as_owner = false;
  options.by_query = has_policies;
  road.read(relation, options, false);
  road.check_something_to_fit(relation);
  road.fit();
  const Datum density = density_to_datum(road.estimate().density());
  progress_end();
  road.end();
  relation_close(relation, NoLock);
  return density;
}
