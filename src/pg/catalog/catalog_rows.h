// Internal to src/pg/catalog. The rows of kde_aqp.fitted: what each column holds, and how they are
// found. What is in one may have come by a dump: rows that are not what is written here are
// skipped.
#pragma once

#include "pg/catalog/catalog_entry.h"
#include "pg/catalog/extension_lock.h"
#include "pg/catalog/own_row.h"

namespace kde_pg {

// A row's key.
struct CatalogRow {
  DensityKey key;  // without trees
  NamedColumns columns, references;
};

// False if the row is none of a key.
bool read_row(HeapTuple tuple, TupleDesc desc, CatalogRow* row);
CatalogEntry* read_entry(HeapTuple tuple, TupleDesc desc, const CatalogRow& row);
int64 id_of(HeapTuple tuple, TupleDesc desc);

// Whether every column and reference has its present name.
bool is_current(const CatalogRow& row);

using CatalogWriter = RowWriter<kCatalogColumns>;

template <typename Row>
void columns_of(Row& row, RefreshSettings* s) {
  using C = CatalogColumn;
  row(C::refresh_enabled, &s->enabled);
  row(C::refresh_scale_factor, Or{&s->scale_factor, -1.0});
  row(C::refresh_threshold, Or{&s->threshold, int64{-1}});
  row(C::refresh_max_age, Seconds{&s->max_age});
  row(C::plain_sql, &s->plain_sql);
  row(C::plain_sql_age, Seconds{&s->plain_sql_age});
}

// But for the seeds.
template <typename Row>
void columns_of(Row& row, FitRequest* r) {
  using C = CatalogColumn;
  row(C::requested_method, &r->method);
  row(C::requested_exact, &r->exact);
  row(C::requested_sample_rows, &r->sample_rows);
  row(C::requested_error, Or{&r->max_error, 0.0});
  row(C::alias, &r->alias);
  row(C::requested_bytes, Or{&r->bytes, int32{0}});
  row(C::requested_steps, &r->steps);
  row(C::refresh_query, &r->query);
}

template <typename Row>
void columns_of(Row& row, Proof* proof) {
  row(CatalogColumn::proof, proof);
  row(CatalogColumn::as_of, Or{&proof->as_of, TimestampTz{0}});
}

// From a key with its analysed references.
void put_key(CatalogWriter* row, const DensityKey& key);

inline Relation open_catalog(LOCKMODE lock) {
  return open_own_table(OwnTable::fitted, kCatalogColumns, lock);
}

// Calls visit(tuple, row) for each row of a relation, or (InvalidOid) of all, until it returns
// false.
template <typename Visit>
void for_rows_of(Relation catalog, Oid relation, Snapshot snapshot, Visit visit) {
  const FirstColumn key = is_relation(relation);
  for_rows(catalog, OidIsValid(relation) ? &key : nullptr, snapshot, [&](HeapTuple tuple) {
    CatalogRow row;
    return !read_row(tuple, RelationGetDescr(catalog), &row) || visit(tuple, row);
  });
}

// The current row of a key, copied, or null.
HeapTuple row_of(Relation catalog, const DensityKey& key, Snapshot snapshot);
// The same of an entry: where it was read, else (as after VACUUM FULL) where it is now.
HeapTuple row_of(Relation catalog, const CatalogEntry& entry, Snapshot snapshot);

// The row of an entry whose key is locked. Error 42704 if it has gone, as with an extension that
// was made anew.
HeapTuple locked_row(Relation catalog, const CatalogEntry& entry);

// A row, and what is kept beside it.
void delete_whole(Relation catalog, HeapTuple tuple);
// What other tables have of a density: upkeep, stretches.
void remove_beside(int64 id);

}  // namespace kde_pg
