// kde_fit and kde_drop: scan, select, estimate, store.
#include "pg/catalog.h"
#include "pg/density_datum.h"
#include "pg/bandwidth.h"
#include "pg/device.h"
#include "pg/interrupts.h"
#include "pg/options.h"
#include "pg/owned.h"
#include "pg/relation.h"
#include "pg/row.h"
#include "pg/scan.h"

#include "core/density/text.h"
#include "core/fit.h"

extern "C" {
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
}

namespace kde_pg {

namespace {

struct Request {
  TableColumn column;
  kde::Method method;
  const char* method_name;
  int64 sample_rows;
  int64 seed;
  bool exact;
  kde::Kernel kernel;
};

// What a fit makes; owned by the fit's memory context.
struct Work {
  kde::Sample sample;
  std::vector<std::uint64_t> words;
  std::size_t size = 0;
  kde::FitReport report;
};

double elapsed_ms(instr_time start) {
  instr_time now;
  INSTR_TIME_SET_CURRENT(now);
  INSTR_TIME_SUBTRACT(now, start);
  return INSTR_TIME_GET_MILLISEC(now);
}

void check_may_write(const char* function) {
  PreventCommandDuringRecovery(function);
  PreventCommandIfReadOnly(function);
  PreventCommandIfParallelMode(function);
}

int64 random_seed() {
  // 53 bits, so that the seed survives clients that read numbers as doubles.
  uint64 bits;
  if (!pg_strong_random(&bits, sizeof bits))
    ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate a random seed")));
  return static_cast<int64>(bits >> 11);
}

// Bytes the work memory option allows a fit.
Size memory_limit() { return static_cast<Size>(maintenance_work_mem) * 1024; }

// The sample, its sorted and its scaled copy, 16 bytes each, and what estimation makes of it.
constexpr Size kBytesPerSampleRow = 64;

Request read_request(FunctionCallInfo fcinfo) {
  reject_null(fcinfo, 0, "relation");
  reject_null(fcinfo, 1, "column_name");
  reject_null(fcinfo, 2, "method");
  reject_null(fcinfo, 3, "sample_rows");
  Request request{};
  request.method_name = text_to_cstring(PG_GETARG_TEXT_PP(2));
  if (!kde::parse_method(request.method_name, &request.method))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("unknown method \"%s\"", request.method_name),
                    errhint("The methods for one column are auto, plugin, lscv, sheather_jones, "
                            "smoothed_cv, silverman, normal_reference and scott.")));
  request.sample_rows = PG_GETARG_INT64(3);
  if (request.sample_rows != -1 && request.sample_rows < 2)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("sample_rows must be at least 2, or -1 for every row"),
             errdetail("The value given was %lld.", static_cast<long long>(request.sample_rows))));
  const int64 most = static_cast<int64>(memory_limit() / kBytesPerSampleRow);
  if (request.sample_rows > most)
    ereport(
        ERROR,
        (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
         errmsg("a sample of %lld rows needs more memory than maintenance_work_mem",
                static_cast<long long>(request.sample_rows)),
         errdetail("%d kB allow %lld rows.", maintenance_work_mem, static_cast<long long>(most)),
         errhint("Use a smaller sample, raise maintenance_work_mem, or read every row with "
                 "sample_rows => -1, which takes bounded memory.")));
  request.seed = PG_ARGISNULL(4) ? random_seed() : PG_GETARG_INT64(4);
  reject_null(fcinfo, 5, "exact");
  reject_null(fcinfo, 6, "kernel");
  request.exact = PG_GETARG_BOOL(5);
  request.kernel = read_kernel(PG_GETARG_TEXT_PP(6));
  request.column.relation = PG_GETARG_OID(0);
  return request;
}

// Opens and locks a relation of the caller's own until the transaction ends. Ownership is checked
// before the lock, so that nobody queues for another's table, and again with it.
Relation open_owned_relation(Oid relation) {
  if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                    errmsg("relation with OID %u does not exist", relation)));
  check_owner(relation);
  Relation rel = try_relation_open(relation, AccessShareLock);
  if (rel == nullptr)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                    errmsg("relation with OID %u does not exist", relation)));
  check_owner(relation);
  return rel;
}

// Refuses what can have no density.
void check_kind(Relation rel) {
  switch (rel->rd_rel->relkind) {
    case RELKIND_RELATION:
    case RELKIND_MATVIEW:
    case RELKIND_PARTITIONED_TABLE:
    case RELKIND_FOREIGN_TABLE:
      break;
    case RELKIND_VIEW:
      ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                      errmsg("cannot fit a density to view \"%s\"", RelationGetRelationName(rel)),
                      errhint("Fit it to the table behind the view, or to a materialized view.")));
    default:
      ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                      errmsg("cannot fit a density to \"%s\"", RelationGetRelationName(rel)),
                      errdetail("It is not a table, materialized view or foreign table.")));
  }
  // Temporary tables go without telling event triggers, and their rows of the catalog would stay.
  if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
             errmsg("cannot fit a density to temporary table \"%s\"", RelationGetRelationName(rel)),
             errhint("Use an unlogged table.")));
}

TableColumn open_column(Relation rel, const char* column_name, kde::ValueType* type,
                        int32* typmod) {
  const TableColumn column = column_by_name(RelationGetRelid(rel), column_name);
  if (column.attnum < 0)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("cannot fit a density to system column \"%s\"", column_name)));
  if (!column_value_type(column, type, typmod))
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("column \"%s\" is of type %s, which has no density", column_name,
                           format_type_be(get_atttype(column.relation, column.attnum))),
                    errhint("A density can be fitted to smallint, integer, bigint, real, double "
                            "precision, numeric, date, timestamp, timestamptz and interval.")));
  return column;
}

kde::Sampler::Options sampler_options(const Request& request) {
  kde::Sampler::Options options;
  options.sample_rows = request.sample_rows;
  options.bandwidth_rows = option_bandwidth_rows;
  options.seed = static_cast<uint64>(request.seed);
  // A dozen levels, each in the compactor and in its sorted and scaled copies.
  const Size capacity = memory_limit() / (12 * kBytesPerSampleRow);
  options.compactor_capacity = Min(Max(capacity & ~Size{1}, Size{4096}), Size{1} << 18);
  return options;
}

// Reads the column as the table's owner, with nothing of the caller's search path in reach:
// foreign tables may run code, and use the owner's user mapping.
void scan_as_owner(const Request& request, Relation rel, kde::ValueType type, kde::Sampler* sampler,
                   ScanResult* result) {
  Oid user;
  int security;
  GetUserIdAndSecContext(&user, &security);
  SetUserIdAndSecContext(rel->rd_rel->relowner, security | SECURITY_RESTRICTED_OPERATION);
  const int nest = NewGUCNestLevel();
  (void)set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
                          GUC_ACTION_SAVE, true, 0, false);
  ScanOptions options;
  options.every_row = request.sample_rows == -1;
  options.sample_blocks = option_sample_blocks;
  options.seed = static_cast<uint64>(request.seed);
  scan_column(request.column.relation, request.column.attnum, type, options, sampler, result);
  AtEOXact_GUC(false, nest);
  SetUserIdAndSecContext(user, security);
}

// Header::sampling_variance: the finite population's correction, and what sampling by blocks adds,
// which is less the more of the blocks were read. Negative where every row was read.
double sampling_variance(const kde::Sample& sample, const ScanResult& scan) {
  if (scan.every_row_read) return -1;
  const double rows = static_cast<double>(sample.totals.finite) * scan.rows_per_row_read;
  const double share = rows > 0 ? static_cast<double>(sample.sample_rows) / rows : 0;
  const double blocks = scan.blocks_total > 0 ? static_cast<double>(scan.blocks_read) /
                                                    static_cast<double>(scan.blocks_total)
                                              : 1;
  return Max(1 - share, 0.0) + (sample.design_effect - 1) * (1 - blocks);
}

void check_has_values(Relation rel, const char* column_name, const kde::Totals& totals) {
  if (totals.non_null() > 0) return;
  if (totals.rows() == 0)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("cannot fit a density to column \"%s\" of \"%s\"", column_name,
                           RelationGetRelationName(rel)),
                    errdetail("The scan found no rows.")));
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("cannot fit a density to column \"%s\" of \"%s\"", column_name,
                         RelationGetRelationName(rel)),
                  errdetail("Every value read is null.")));
}

}  // namespace

}  // namespace kde_pg

KDE_FUNCTION(kde_fit) {
  using namespace kde_pg;
  check_may_write("kde_fit()");
  Request request = read_request(fcinfo);
  const char* column_name = NameStr(*PG_GETARG_NAME(1));
  Relation rel = open_owned_relation(request.column.relation);
  check_kind(rel);
  kde::ValueType type;
  int32 typmod;
  request.column = open_column(rel, column_name, &type, &typmod);
  catalog_lock(key_of(request.column));

  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_fit", ALLOCSET_DEFAULT_SIZES);
  Work* work = Owned<Work>::create(context);
  kde::Sampler* sampler = Owned<kde::Sampler>::create(context, sampler_options(request));

  instr_time start;
  INSTR_TIME_SET_CURRENT(start);
  ScanResult scan;
  scan_as_owner(request, rel, type, sampler, &scan);
  char* doing = psprintf("fit a density to column \"%s\"", column_name);
  check_status(sampler->finish(&work->sample, begin_core_work(1)), doing);
  const double scan_ms = elapsed_ms(start);
  check_has_values(rel, column_name, work->sample.totals);

  kde::FitOptions options;
  options.method = request.method;
  options.value_type = type;
  options.lattice_step = lattice_step_of(type, typmod);
  options.rows_per_row_read = scan.rows_per_row_read;
  options.every_row_read = scan.every_row_read;
  options.sampling_variance = sampling_variance(work->sample, scan);
  options.kernel = request.kernel;
  options.exact = request.exact;
  options.engine = chosen_engine();
  MemoryContext caller = MemoryContextSwitchTo(context);
  DeviceChoice device;
  choose_device(line_work(request.method, request.kernel, request.exact,
                          static_cast<int64>(work->sample.bandwidth_values.size())),
                &options.engine, &device);
  MemoryContextSwitchTo(caller);
  const kde::Control control = begin_core_work(chosen_threads());
  check_status(
      kde::fit_column(work->sample, options, control, &work->words, &work->size, &work->report),
      doing);
  const kde::FitReport& report = work->report;
  report_device(device);
  show_notice(report.notice);
  show_notice(report.estimate_notice);

  const bool used_sums = report.bandwidth_rows > 0;
  FitRecord record{};
  record.density = reinterpret_cast<struct varlena*>(
      DatumGetPointer(density_to_datum(work->words.data(), work->size)));
  record.requested_method = request.method_name;
  record.requested_exact = request.exact;
  record.requested_sample_rows = request.sample_rows;
  record.seed = request.seed;
  record.rows_read = work->sample.totals.rows();
  record.design_effect = work->sample.design_effect;
  record.bandwidth_rows = report.bandwidth_rows;
  record.bandwidth_status = report.status;
  if (report.model[0] != '\0') record.model = report.model;
  if (used_sums)
    record.engine = report.engine != nullptr ? report.engine : used_engine_name(device);
  record.threads = used_sums ? control.threads : 1;
  record.scan_ms = scan_ms;
  record.select_ms = report.select_ms;
  record.estimate_ms = report.estimate_ms;
  catalog_store(key_of(request.column), record);

  const kde::Header* h = reinterpret_cast<const kde::Header*>(record.density);
  Row<21> row;
  row.put(ObjectIdGetDatum(request.column.relation));
  row.put(PointerGetDatum(column_names_of(key_of(request.column))));
  row.put(CStringGetTextDatum(kde::method_name(report.method)));
  row.put(CStringGetTextDatum(kde::kernel_name(request.kernel)));
  row.put(Float8GetDatum(report.bandwidth), report.bandwidth == 0);
  row.put(report.status != nullptr ? CStringGetTextDatum(report.status) : 0,
          report.status == nullptr);
  row.put(record.model != nullptr ? CStringGetTextDatum(record.model) : 0, record.model == nullptr);
  row.put(Float8GetDatum(h->rows));
  row.put(Int64GetDatum(record.rows_read));
  row.put(Int64GetDatum(report.sample_rows));
  row.put(Int64GetDatum(report.bandwidth_rows));
  row.put(Int32GetDatum(report.atoms));
  row.put(Int32GetDatum(report.knots));
  row.put(Int32GetDatum(static_cast<int32>(work->size)));
  row.put(used_sums ? CStringGetTextDatum(record.engine) : 0, !used_sums);
  row.put(Int32GetDatum(record.threads));
  row.put(Float8GetDatum(scan_ms));
  row.put(Float8GetDatum(report.select_ms));
  row.put(Float8GetDatum(report.estimate_ms));
  row.put(Float8GetDatum(scan_ms + report.select_ms + report.estimate_ms));
  row.put(Int64GetDatum(request.seed));
  const Datum result = row.record(fcinfo);
  relation_close(rel, NoLock);
  MemoryContextDelete(context);
  PG_RETURN_DATUM(result);
}

KDE_FUNCTION(kde_drop) {
  using namespace kde_pg;
  check_may_write("kde_drop()");
  reject_null(fcinfo, 0, "relation");
  reject_null(fcinfo, 1, "column_name");
  reject_null(fcinfo, 2, "if_exists");
  const Oid relation = PG_GETARG_OID(0);
  Relation rel = open_owned_relation(relation);
  const TableColumn column = column_by_name(relation, NameStr(*PG_GETARG_NAME(1)));
  catalog_lock(key_of(column));
  const bool removed = catalog_remove(key_of(column));
  if (!removed) {
    if (!PG_GETARG_BOOL(2))
      ereport(
          ERROR,
          (errcode(ERRCODE_UNDEFINED_OBJECT),
           errmsg("no density is fitted for %s", display_name(column)),
           errhint("kde_densities lists those fitted; if_exists => true makes this a notice.")));
    ereport(NOTICE, (errmsg("no density is fitted for %s, skipping", display_name(column))));
  }
  relation_close(rel, NoLock);
  PG_RETURN_BOOL(removed);
}
