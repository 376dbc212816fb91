// kde_fit of a whole table: its columns that are worth a density, by one scan. A density with
// measures stays: nobody has said that they are to go.
#include "pg/base/result_set.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/privileges.h"
#include "pg/fit/density_fit.h"
#include "pg/fit/fit_record.h"
#include "pg/fit/part_fit.h"

extern "C" {
#include "access/genam.h"
#include "access/relation.h"
#include "catalog/pg_index.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
}

namespace kde_pg {

namespace {

constexpr int kResults = 8;

// Whether an index says that no two rows have the same value in the column: ranges of such numbers
// mean nothing, of dates and amounts they do.
bool is_key(Relation relation, AttrNumber attnum, kde::ValueType type) {
  if (type > kde::ValueType::int8 && type != kde::ValueType::category) return false;
  bool found = false;
  List* indexes = RelationGetIndexList(relation);
  ListCell* cell;
  foreach (cell, indexes) {
    HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));
    if (!HeapTupleIsValid(tuple)) continue;
    const auto* index = reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple));
    found |= index->indisunique && index->indnkeyatts == 1 && index->indkey.values[0] == attnum &&
             heap_attisnull(tuple, Anum_pg_index_indpred, nullptr);
    ReleaseSysCache(tuple);
  }
  list_free(indexes);
  return found;
}

// Whether it has the numbers of another table's rows.
bool is_reference(Relation relation, AttrNumber attnum) {
  ListCell* cell;
  foreach (cell, RelationGetFKeyList(relation)) {
    const auto* key = static_cast<const ForeignKeyCacheInfo*>(lfirst(cell));
    if (key->nkeys == 1 && key->conkey[0] == attnum) return true;
  }
  return false;
}

// Why a column is left out; null where it is fitted.
const char* why_not(Relation relation, const FormData_pg_attribute* attribute) {
  kde::ValueType type;
  if (!value_type_of(attribute->atttypid, &type))
    return psprintf("No density can hold the type %s.", format_type_be(attribute->atttypid));
  const TableColumn column{RelationGetRelid(relation), attribute->attnum};
  if (!is_owner(column.relation) && !is_readable(column)) return "Its values may not be read.";
  if (is_key(relation, attribute->attnum, type)) return "A unique index says that it is a key.";
  if (is_reference(relation, attribute->attnum)) return "A foreign key says that it is a key.";
  const CatalogEntry* before = catalog_entry(key_of(column));
  if (before != nullptr && before->key.measures > 0 && !TIMESTAMP_IS_NOBEGIN(before->fitted_at))
    return "Its density has measures, and stays: kde_refresh() fits it anew.";
  return nullptr;
}

void put_row(Tuplestorestate* rows, TupleDesc desc, const char* column, const char* reason,
             const DensityFit* fit) {
  const bool fitted = fit != nullptr;
  const auto text = [](const char* s) { return s != nullptr ? CStringGetTextDatum(s) : 0; };
  const char* expected = fitted ? fit->expected_error : nullptr;
  Datum values[kResults] = {text(column),
                            BoolGetDatum(fitted),
                            text(reason),
                            fitted ? model_text(*fit) : 0,
                            Float8GetDatum(fitted ? whole_rows(*fit) : 0),
                            text(expected),
                            fitted ? size_text(*fit) : 0,
                            fitted ? took_text(*fit) : 0};
  bool nulls[kResults] = {false,   false,  reason == nullptr, !fitted, !fitted, expected == nullptr,
                          !fitted, !fitted};
  tuplestore_putvalues(rows, desc, values, nulls);
}

// Columns that shards summarise by themselves are fitted one by one, the others by one scan.
void fit_columns(const DensityRequest* requests, int n, Relation relation, const char** reasons,
                 DensityFit* fits) {
  DensityRequest together[kde::kMaxColumns];
  int place[kde::kMaxColumns];
  int size = 0;
  for (int i = 0; i <= n; ++i) {
    if (i < n && is_read_by_shard(requests[i])) {
      reasons[i] = fit_by_parts(requests[i], relation, &fits[i]);
    } else if (i < n) {
      place[size] = i;
      together[size++] = requests[i];
    }
    if (size == 0 || (i < n && size < kde::kMaxColumns)) continue;
    const char* reason[kde::kMaxColumns] = {};
    DensityFit fit[kde::kMaxColumns] = {};
    fit_columns_together(together, size, relation, reason, fit);
    for (int k = 0; k < size; ++k) {
      reasons[place[k]] = reason[k];
      fits[place[k]] = fit[k];
    }
    size = 0;
  }
}

}  // namespace

}  // namespace kde_pg

// kde_fit(regclass, seed)
KDE_FUNCTION(kde_fit_table) {
  using namespace kde_pg;
  check_may_write("kde_fit()");
  reject_null(fcinfo, 0, "relation");
  TupleDesc desc;
  Tuplestorestate* rows = begin_rows(fcinfo, kResults, &desc);
  Relation relation = open_maintained_relation(PG_GETARG_OID(0));
  check_kind(relation);
  const TupleDesc columns = RelationGetDescr(relation);
  const int most = columns->natts;
  auto* requests = static_cast<DensityRequest*>(palloc(sizeof(DensityRequest) * (most + 1)));
  auto* reasons = static_cast<const char**>(palloc0(sizeof(char*) * (most + 1)));
  auto* fits = static_cast<DensityFit*>(palloc0(sizeof(DensityFit) * (most + 1)));
  FitRequest asked = {};
  asked.method = "auto";
  asked.sample_rows = kAllRowsRead;
  asked.seed_given = !PG_ARGISNULL(1);
  asked.seed = asked.seed_given ? PG_GETARG_INT64(1) : random_seed();
  int n = 0;
  for (int i = 0; i < most; ++i) {
    const Form_pg_attribute attribute = TupleDescAttr(columns, i);
    if (attribute->attisdropped || why_not(relation, attribute) != nullptr) continue;
    DensityRequest* request = new (&requests[n++]) DensityRequest;
    request->asked = asked;
    request->of_table = true;
    request->key = key_of({RelationGetRelid(relation), attribute->attnum});
    check_may_fit(request->key);
  }
  fit_columns(requests, n, relation, reasons, fits);
  for (int i = 0, k = 0; i < most; ++i) {
    const Form_pg_attribute attribute = TupleDescAttr(columns, i);
    if (attribute->attisdropped) continue;
    const char* reason = why_not(relation, attribute);
    const bool tried = reason == nullptr;
    if (tried) reason = reasons[k];
    put_row(rows, desc, NameStr(attribute->attname), reason,
            reason == nullptr ? &fits[k] : nullptr);
    k += tried ? 1 : 0;
  }
  relation_close(relation, NoLock);
  PG_RETURN_NULL();
}
