// kde_store: a density that was made elsewhere (a roll-up, a continuous aggregate, another
// server's) becomes the one that answers by a column's name; a query that gives it makes it one
// that is refreshed. kde_drop: removes a stored density.
#include "pg/fit/store.h"

#include "pg/base/pinned.h"
#include "pg/catalog/meaning.h"
#include "pg/catalog/column_name.h"
#include "pg/catalog/density_name.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/read_counters.h"
#include "pg/catalog/not_fitted.h"
#include "pg/catalog/stored_name.h"
#include "pg/fit/fit_steps.h"
#include "pg/fit/column_fit.h"
#include "pg/fit/road.h"
#include "pg/type/density_datum.h"

extern "C" {
#include "executor/spi.h"
#include "utils/datum.h"
}

namespace kde_pg {

namespace {

[[noreturn]] void raise_no_density(const char* detail) {
  ereport(ERROR,
          (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the query does not give a density"),
           errdetail("%s", detail), errhint("It must give one row with one column of type kde.")));
  pg_unreachable();
}

// In the current memory context. Runs as the table's owner, with nothing of the caller's search
// path in reach.
Datum density_of_query(Relation relation, const char* query) {
  MemoryContext caller = CurrentMemoryContext;
  AsOwner owner;
  owner.begin(relation);
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  if (SPI_execute(query, false, 2) != SPI_OK_SELECT) raise_no_density("It is no SELECT.");
  TupleDesc desc = SPI_tuptable->tupdesc;
  if (desc->natts != 1) raise_no_density(psprintf("It gives %d columns.", desc->natts));
  const Oid type = TupleDescAttr(desc, 0)->atttypid;
  if (type != get_atttype(catalog_oid(), static_cast<AttrNumber>(CatalogColumn::density)))
    raise_no_density(psprintf("Its column is of type %s.", format_type_be(type)));
  if (SPI_processed != 1)
    raise_no_density(SPI_processed == 0 ? "It gives no row." : "It gives several rows.");
  bool is_null;
  const Datum value = SPI_getbinval(SPI_tuptable->vals[0], desc, 1, &is_null);
  if (is_null) raise_no_density("It gives NULL.");
  MemoryContext spi = MemoryContextSwitchTo(caller);
  const Datum density = PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
  MemoryContextSwitchTo(spi);
  SPI_finish();
  owner.end();
  return density;
}

// Whether a density can be that of a key: 42804, 22023.
void check_is_of(const DensityKey& key, const kde::Header& density) {
  const ColumnTypes types = check_types(key);
  if (types.value_type[0] == kde::ValueType::category)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("densities of categories are not stored as values"),
                    errhint("Fit the column with kde_fit().")));
  if (density.value_type != types.value_type[0])
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("a density of %s is not one of %s", value_type_label(density.value_type),
                           describe_column(key, 0))));
  if (density.grouped > 0)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("densities with groups are not stored as values"),
                    errhint("Fit them with kde_fit().")));
  if (density.measures != key.measures)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("the density has %d measures, and measures names %d", density.measures,
                           key.measures),
                    errhint("Name a column for each measure, in their order.")));
  for (int k = 0; k < key.measures; ++k) {
    const kde::ValueType type = kde::MeasureView(&density, k).header().value_type;
    // kde_agg takes any number as one.
    if (type == types.value_type[k + 1] || type == kde::ValueType::float8) continue;
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("measure %d of the density is of type %s, and \"%s\" is not", k + 1,
                           value_type_label(type), key.column[k + 1].text)));
  }
}

}  // namespace

int64 store_value(const DensityRequest& request, const Counters& counters, const Proof& proof,
                  Datum density, const char* model, double scan_ms, DensityFit* fit) {
  const kde::Header* header = density_from_datum(density, nullptr);
  *fit = {};
  fit->blocks_read = -1;
  FitRecord& record = fit->record;
  record.density = reinterpret_cast<struct varlena*>(DatumGetPointer(density));
  record.request = request.asked;
  record.counters = counters;
  record.proof = proof;
  record.scan_ms = scan_ms;
  record.threads = 1;
  record.model = model;
  record.rows_read = static_cast<int64>(Min(header->sample_rows, 0x1p62));
  for (const auto& shape : header->count_variance)
    record.design_effect = Max(record.design_effect, static_cast<double>(shape[0]));
  record.table_rows = table_rows(request.key, counters, -1, header->rows + header->nulls);
  describe_density(header, fit);
  progress_phase(Phase::storing);
  return catalog_store(request.key, record, request.locked);
}

void fit_by_query(const DensityRequest& request, Relation relation, DensityFit* fit) {
  instr_time start;
  INSTR_TIME_SET_CURRENT(start);
  begin_to_store(request);
  progress_phase(Phase::scanning);
  // Before the query: what changes meanwhile counts as changed since.
  const Counters counters = read_counters(RelationGetRelid(relation));
  const Proof proof = unproven(Unproven::by_query, GetCurrentTimestamp());
  const Datum density = density_of_query(relation, request.asked.query);
  check_is_of(request.key, *density_from_datum(density, nullptr));
  store_value(request, counters, proof, density, "stored by a query", elapsed_ms(start), fit);
  progress_end();
}

namespace {

bool drop(const DensityKey& key, bool if_exists) {
  catalog_lock(key);
  const bool removed = catalog_remove(key);
  if (removed) return true;
  if (!if_exists)
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_OBJECT),
             errmsg("no density is fitted for %s", display_name(key)),
             errhint("%skde_densities lists those fitted; if_exists => true makes this a notice.",
                     fitted_nearby(key))));
  ereport(NOTICE, (errmsg("no density is fitted for %s, skipping", display_name(key))));
  return false;
}

}  // namespace

}  // namespace kde_pg

// kde_store(relation, column_name, density, query, filter, measures, name) -> text
KDE_EXPORT(kde_store);
Datum kde_store(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  check_may_write("kde_store()");
  reject_null(fcinfo, 0, "relation");
  reject_null(fcinfo, 1, "column_name");
  if (PG_ARGISNULL(2) == PG_ARGISNULL(3))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("kde_store() takes a density or a query that gives it"),
                    errhint("Pass one of the arguments density and query.")));
  Relation relation = open_owned_relation(PG_GETARG_OID(0));
  check_kind(relation);
  DensityRequest request;
  request.key = key_by_name(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)), text_argument(fcinfo, 4),
                            names_argument(fcinfo, 5, PG_GETARG_OID(0), "measures"), nullptr);
  request.asked = {};
  request.asked.method = "auto";
  request.asked.alias = read_alias(fcinfo, 6);
  DensityFit fit;
  if (!PG_ARGISNULL(3)) {
    request.asked.query = text_to_cstring(PG_GETARG_TEXT_PP(3));
    if (*request.asked.query == '\0')
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("query must not be empty")));
    fit_by_query(request, relation, &fit);
  } else {
    const Datum density = datumCopy(PG_GETARG_DATUM(2), false, -1);
    request.asked.query = kNoRefresh;
    AsOwner owner;
    owner.begin(relation);
    check_not_volatile(request.key);
    owner.end();
    catalog_lock(request.key);
    check_is_of(request.key, *density_from_datum(density, nullptr));
    store_value(request, read_counters(request.key.relation), unproven(Unproven::by_value, 0),
                density, "stored as a value", 0, &fit);
  }
  const char* name = density_name(request.key);
  relation_close(relation, NoLock);
  PG_RETURN_TEXT_P(cstring_to_text(name));
}

// kde_drop(density, by_name_only, filter, if_exists)
KDE_EXPORT(kde_drop_by_name);
Datum kde_drop_by_name(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  check_may_write("kde_drop()");
  reject_null(fcinfo, 0, "density");
  check_by_name_only(fcinfo, 1);
  reject_null(fcinfo, 3, "if_exists");
  if (PG_GETARG_BOOL(3) && is_missing_alias(PG_GETARG_TEXT_PP(0))) {
    ereport(NOTICE,
            (errmsg("no density is named %s, skipping", text_to_cstring(PG_GETARG_TEXT_PP(0)))));
    PG_RETURN_BOOL(false);
  }
  const NameParts parts = parts_of_name(PG_GETARG_TEXT_PP(0));
  Relation relation = open_owned_relation(parts.relation);
  text* filter = text_argument(fcinfo, 2);
  const bool if_exists = PG_GETARG_BOOL(3);
  DensityKey key;
  bool removed = false;
  if (find_stored_key(relation, parts, filter, &key)) {
    removed = drop(key, if_exists);
  } else if (!if_exists) {
    (void)key_of_parts(parts, filter);  // the error
  } else {
    ereport(NOTICE,
            (errmsg("no density is fitted for %s%s%s, skipping",
                    text_to_cstring(PG_GETARG_TEXT_PP(0)), filter != nullptr ? " where " : "",
                    filter != nullptr ? text_to_cstring(filter) : "")));
  }
  relation_close(relation, NoLock);
  PG_RETURN_BOOL(removed);
}
