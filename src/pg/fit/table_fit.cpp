// kde_fit of a whole table: its columns that are worth a density, by one scan. A density with
// measures stays: nobody has said that they are to go. Or of one, by 'table.column'.
#include "pg/base/options.h"
#include "pg/base/fault.h"
#include "pg/values/result_set.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/column_name.h"
#include "pg/catalog/privileges.h"
#include "pg/fit/density_fit.h"
#include "pg/fit/fit_record.h"
#include "pg/fit/shard_fit.h"
#include "pg/fit/road.h"

extern "C" {
#include "access/genam.h"
#include "catalog/pg_index.h"
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
  for (const Oid oid : oids(indexes)) {
    HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(oid));
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
  for (const ForeignKeyCacheInfo* key :
       of_list<const ForeignKeyCacheInfo>(RelationGetFKeyList(relation))) {
    if (key->nkeys == 1 && key->conkey[0] == attnum) return true;
  }
  return false;
}

// Why a column is left out, whatever is fitted to it; null where it is worth a density.
const char* why_not(Relation relation, const FormData_pg_attribute* attribute) {
  kde::ValueType type;
  if (!value_type_of(attribute->atttypid, &type))
    return psprintf("No density can hold the type %s.", format_type_be(attribute->atttypid));
  const TableColumn column{RelationGetRelid(relation), attribute->attnum};
  if (!is_owner(column.relation) && !is_readable(column)) return "Its values may not be read.";
  if (is_key(relation, attribute->attnum, type)) return "A unique index says that it is a key.";
  if (is_reference(relation, attribute->attnum)) return "A foreign key says that it is a key.";
  return nullptr;
}

// What is decided of a column, once: others may change what the decision was by while rows are
// read.
struct Column {
  NameData name;
  DensityKey key;
  const char* steps = nullptr;   // of the density there is
  const char* reason = nullptr;  // of being left out; null: it is fitted
  DensityFit fit = {};
};

// The table's columns as they are now: palloc'ed Column*.
List* columns_of(Relation relation) {
  const TupleDesc desc = RelationGetDescr(relation);
  List* columns = NIL;
  for (int i = 0; i < desc->natts; ++i) {
    const Form_pg_attribute attribute = TupleDescAttr(desc, i);
    if (attribute->attisdropped) continue;
    auto* column = new (palloc(sizeof(Column))) Column;
    column->name = attribute->attname;
    column->key = key_of({RelationGetRelid(relation), attribute->attnum});
    column->reason = why_not(relation, attribute);
    columns = lappend(columns, column);
  }
  return columns;
}

bool is_left_out(const Column* column) { return column->reason != nullptr; }

// Locks the densities of those that are to be fitted. What is fitted to them is known only then.
void lock_columns(List* columns) {
  List* keys = NIL;
  for (Column* column : of_list<Column>(columns)) {
    if (!is_left_out(column)) keys = lappend(keys, &column->key);
  }
  catalog_lock_all(keys);
  for (Column* column : of_list<Column>(columns)) {
    if (is_left_out(column)) continue;
    const CatalogEntry* before = catalog_entry(column->key);
    if (before == nullptr) continue;
    column->steps = before->request.steps;
    if (before->key.measures > 0)
      column->reason = "Its density has measures, and stays: kde_refresh() fits it anew.";
    else if (before->request.query != nullptr)
      column->reason = "Its density is stored by kde_store(), and stays.";
  }
}

void put_row(const ResultRows& rows, const Column& column) {
  const bool fitted = column.reason == nullptr;
  const auto if_fitted = [&](auto text) { return Field(fitted, fitted ? text(column.fit) : 0); };
  rows.put(NameStr(column.name), fitted, column.reason, if_fitted(model_text),
           Field(fitted, fitted ? whole_rows(column.fit) : 0.0),
           fitted ? column.fit.expected_error : nullptr, if_fitted(size_text),
           if_fitted(took_text));
}

void fit_together(Column** columns, int n, const DensityRequest* requests, Relation relation) {
  auto* road = static_cast<Road*>(palloc(sizeof(Road) * n));
  auto** roads = static_cast<Road**>(palloc(sizeof(Road*) * n));
  const Road* first = nullptr;  // of a category: all of them have one limit
  for (int k = 0; k < n; ++k) {
    roads[k] = new (&road[k]) Road;
    road[k].begin(requests[k]);
    if (!is_category(requests[k].key, 0)) continue;
    if (first != nullptr) road[k].share_memory(*first);
    first = &road[k];
  }
  progress_begin(Road::key_of(roads, n), Operation::fit);
  for (int k = 0; k < n; ++k) catalog_lock(requests[k].key);
  Road::read(roads, n, relation, true);
  Road::finish(roads, n);
  Road::fit(roads, n);
  for (int k = 0; k < n; ++k) {
    columns[k]->reason = road[k].nothing_to_fit();
    if (columns[k]->reason == nullptr) road[k].store(&columns[k]->fit);
  }
  progress_end();
  for (int k = 0; k < n; ++k) road[k].end();
}

// Columns that shards summarise by themselves are fitted one by one, the others by one scan.
void fit_columns(List* columns, const FitRequest& asked, Relation relation) {
  DensityRequest together[kMostOfScan];
  Column* of[kMostOfScan];
  int size = 0;
  for (Column* column : of_list<Column>(columns)) {
    if (is_left_out(column)) continue;
    DensityRequest request;
    request.asked = asked;
    request.asked.steps = column->steps;
    request.of_table = true;
    request.key = column->key;
    if (is_read_by_shard(request)) {
      column->reason = fit_shards(request, relation, &column->fit);
      continue;
    }
    of[size] = column;
    together[size++] = request;
    if (size < kMostOfScan) continue;
    fit_together(of, size, together, relation);
    size = 0;
  }
  if (size > 0) fit_together(of, size, together, relation);
}

// As kde_fit() of that column does, whatever it is worth.
Column* fit_named(const char* name, const DensityKey& key, const FitRequest& asked,
                  Relation relation) {
  auto* column = new (palloc(sizeof(Column))) Column;
  namestrcpy(&column->name, name);
  column->key = key;
  check_may_fit(column->key);
  check_steps(column->key, asked);
  DensityRequest request;
  request.asked = asked;
  request.key = column->key;
  Road road;
  const bool has_road = begin_road(request, relation, &road);
  fit_density(request, relation, has_road ? &road : nullptr, &column->fit);
  return column;
}

constexpr FitArguments kOfTable = {1, 4, 5, 6, 7, 8, 9, 10};

// What is chosen for each column of a table is chosen by the column.
void check_of_table(FunctionCallInfo fcinfo, const FitRequest& asked, text* table) {
  const char* given = nullptr;
  const auto note = [&](bool is_given, const char* name) {
    if (is_given && given == nullptr) given = name;
  };
  note(strcmp(asked.method, "auto") != 0, "method");
  note(asked.sample_rows != kAllRowsRead, "sample_rows");
  note(asked.exact, "exact");
  note(!PG_ARGISNULL(kOfTable.filter), "filter");
  note(asked.max_error > 0, "max_relative_error");
  note(!PG_ARGISNULL(kOfTable.measures), "measures");
  note(!PG_ARGISNULL(kOfTable.group_by), "group_by");
  note(asked.alias != nullptr, "name");
  note(asked.steps != nullptr, "steps");
  if (given == nullptr) return;
  const char* example = psprintf("%s.column", text_to_cstring(table));
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                  errmsg("argument \"%s\" is of one column, and none is named", given),
                  errhint("Name it: kde_fit(%s, %s => ...).", quote_literal_cstr(example), given)));
}

}  // namespace

}  // namespace kde_pg

// kde_fit(names, seed, method, sample_rows, ...)
KDE_EXPORT(kde_fit_table);
Datum kde_fit_table(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  check_may_write("kde_fit()");
  reject_null(fcinfo, 0, "relation");
  const ResultRows rows = begin_rows(fcinfo, kResults);
  const TableColumn only = table_or_column(PG_GETARG_TEXT_PP(0));
  Relation relation = open_maintained_relation(only.relation);
  check_kind(relation);
  const FitRequest asked = asked_by_call(fcinfo, kOfTable);
  List* columns;
  if (only.attnum == 0) {
    check_of_table(fcinfo, asked, PG_GETARG_TEXT_PP(0));
    columns = columns_of(relation);
    lock_columns(columns);
    KDE_FAULT("fit.decided");
    fit_columns(columns, asked, relation);
  } else {
    const char* name = live_column_name(only.relation, only.attnum);
    const DensityKey key = key_by_call(fcinfo, kOfTable, only.relation, name);
    columns = list_make1(fit_named(name, key, asked, relation));
  }
  for (const Column* item : of_list<const Column>(columns)) put_row(rows, *item);
  relation_close(relation, NoLock);
  PG_RETURN_NULL();
}
