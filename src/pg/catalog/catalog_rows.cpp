// Rows of kde_aqp.fitted: their keys and entries, where they are, and how they go.
#include "pg/catalog/catalog_rows.h"

#include "pg/base/text_list.h"
#include "pg/catalog/as_fitted.h"
#include "pg/catalog/stretches.h"

extern "C" {
#include "access/tableam.h"
}

namespace kde_pg {

using C = CatalogColumn;

namespace {

constexpr auto kIdNumber = static_cast<AttrNumber>(C::id);

bool are_current(Oid relation, const NamedColumns& columns) {
  for (int i = 0; i < columns.count; ++i) {
    // An expression has no number.
    if (columns.number[i] != 0 && get_attnum(relation, columns.name[i]) != columns.number[i])
      return false;
  }
  return true;
}

}  // namespace

bool read_row(HeapTuple tuple, TupleDesc desc, CatalogRow* row) {
  RowReader read(tuple, desc);
  ArrayType *names, *numbers, *reference_names, *reference_numbers, *fitted = nullptr;
  int16 measures, groups;
  DensityKey& key = row->key = {};
  if (!read(C::relation, &key.relation) || !read(C::column_names, &names) ||
      !read(C::attribute_numbers, &numbers) || !read(C::filter, &key.filter) ||
      !read(C::reference_names, &reference_names) ||
      !read(C::reference_numbers, &reference_numbers) || !read(C::measures, &measures) ||
      !read(C::groups, &groups) ||
      !read_named_columns(names, numbers, kde::kMaxColumns, &row->columns) ||
      !read_named_columns(reference_names, reference_numbers, MaxHeapAttributeNumber,
                          &row->references) ||
      row->columns.count == 0 || !divide_columns(row->columns.count, measures, groups, &key))
    return false;
  for (int i = 0; i < row->columns.count; ++i)
    key.column[i] = {row->columns.number[i], row->columns.name[i], nullptr};
  key.references = row->references.count;
  key.reference = row->references.number;
  (void)read(C::as_fitted, &fitted);
  key.settings = settings_in(fitted);
  return true;
}

bool is_current(const CatalogRow& row) {
  return are_current(row.key.relation, row.columns) &&
         are_current(row.key.relation, row.references);
}

CatalogEntry* read_entry(HeapTuple tuple, TupleDesc desc, const CatalogRow& row) {
  auto* entry = static_cast<CatalogEntry*>(palloc(sizeof(CatalogEntry)));
  *entry = {};
  entry->key = row.key;
  entry->tid = tuple->t_self;
  RowReader read(tuple, desc);
  double scan_ms = 0, select_ms = 0, estimate_ms = 0;
  read(C::fitted_at, &entry->fitted_at);
  read(C::id, &entry->id);
  read(C::scan_ms, &scan_ms);
  read(C::select_ms, &select_ms);
  read(C::estimate_ms, &estimate_ms);
  entry->cost_ms = scan_ms + select_ms + estimate_ms;
  columns_of(read, &entry->request);
  entry->request.seed_given = read(C::requested_seed, &entry->request.seed);
  columns_of(read, &entry->settings);
  columns_of(read, &entry->proof);
  entry->has_stretches = !heap_attisnull(tuple, static_cast<int>(C::hash_seed), desc);
  read(C::as_fitted, &entry->fitted);
  return entry;
}

int64 id_of(HeapTuple tuple, TupleDesc desc) {
  int64 id = 0;
  (void)RowReader(tuple, desc)(C::id, &id);
  return id;
}

HeapTuple row_of(Relation catalog, const DensityKey& key, Snapshot snapshot) {
  HeapTuple out = nullptr;
  for_rows_of(catalog, key.relation, snapshot, [&](HeapTuple tuple, const CatalogRow& row) {
    if (same_key(row.key, key) && is_current(row)) out = heap_copytuple(tuple);
    return out == nullptr;
  });
  return out;
}

HeapTuple row_of(Relation catalog, const CatalogEntry& entry, Snapshot snapshot) {
  HeapTuple out = row_at(catalog, entry.tid, kIdNumber, entry.id, snapshot);
  return out != nullptr ? out : row_of(catalog, entry.key, snapshot);
}

HeapTuple locked_row(Relation catalog, const CatalogEntry& entry) {
  HeapTuple row = row_of(catalog, entry, nullptr);
  if (row == nullptr)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                    errmsg("no density is fitted for %s", display_name(entry.key)),
                    errhint("Fit one: SELECT * FROM %s;", fit_call(entry.key))));
  return row;
}

void put_key(CatalogWriter* row, const DensityKey& key) {
  const auto check = [&](const char* name, AttrNumber number) {
    if (name == nullptr) elog(ERROR, "column %d of relation %u is gone", number, key.relation);
    return name;
  };
  const auto put = [row](C names_to, C numbers_to, int n, const char** names, AttrNumber* numbers) {
    Datum* values = static_cast<Datum*>(palloc(sizeof(Datum) * static_cast<Size>(n + 1)));
    for (int i = 0; i < n; ++i) values[i] = Int16GetDatum(numbers[i]);
    ArrayType* texts = array_of_texts(names, n);
    ArrayType* array = construct_array(values, n, INT2OID, sizeof(int16), true, TYPALIGN_SHORT);
    (*row)(names_to, &texts);
    (*row)(numbers_to, &array);
  };
  const int room = Max(key.all(), key.references) + 1;
  const char** names = static_cast<const char**>(palloc(sizeof(char*) * static_cast<Size>(room)));
  auto* numbers = static_cast<AttrNumber*>(palloc(sizeof(AttrNumber) * static_cast<Size>(room)));
  for (int i = 0; i < key.all(); ++i)
    names[i] = check(key.column[i].text, numbers[i] = key.column[i].attnum);
  put(C::column_names, C::attribute_numbers, key.all(), names, numbers);
  for (int i = 0; i < key.references; ++i)
    names[i] =
        check(live_column_name(key.relation, key.reference[i]), numbers[i] = key.reference[i]);
  put(C::reference_names, C::reference_numbers, key.references, names, numbers);
  DensityKey of = key;
  auto measures = static_cast<int16>(key.measures), groups = static_cast<int16>(key.groups);
  (*row)(C::relation, &of.relation);
  (*row)(C::filter, &of.filter);
  (*row)(C::measures, &measures);
  (*row)(C::groups, &groups);
}

void remove_beside(int64 id) {
  upkeep_remove(id);
  stretches_store(id, NIL);
}

void delete_whole(Relation catalog, HeapTuple tuple) {
  delete_row(catalog, tuple);
  remove_beside(id_of(tuple, RelationGetDescr(catalog)));
}

}  // namespace kde_pg
