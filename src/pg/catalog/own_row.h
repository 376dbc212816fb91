// Rows of the extension's own tables, column by column. One description, a template over the row,
// says which column holds what, and by it rows are read, written and changed:
//
//   template <typename Row>
//   void columns_of(Row& row, Upkeep* u) {
//     row(kDrift, Or{&u->drift, -1.0});
//     row(kLastError, &u->last_error);
//   }
//
// Texts, arrays and values are NULL for a null pointer; of others Or{} says what NULL stands for. A
// column that is NULL in the row leaves what is read into as it was.
#pragma once

#include "pg/base/pg.h"
#include "pg/catalog/counters.h"
#include "pg/proof/proof.h"

extern "C" {
#include "access/genam.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"
}

namespace kde_pg {

template <typename T>
struct Or {
  T* value;
  T null;
};

// An interval, as seconds; NULL: a negative number.
struct Seconds {
  double* value;
};
// Months of 30 days, as PostgreSQL compares intervals.
double seconds_of(const Interval* interval);

// False: NULL.
inline bool to_datum(bool* x, Datum* out) { return *out = BoolGetDatum(*x), true; }
inline bool to_datum(int16* x, Datum* out) { return *out = Int16GetDatum(*x), true; }
inline bool to_datum(int32* x, Datum* out) { return *out = Int32GetDatum(*x), true; }
inline bool to_datum(Oid* x, Datum* out) { return *out = ObjectIdGetDatum(*x), true; }
inline bool to_datum(int64* x, Datum* out) { return *out = Int64GetDatum(*x), true; }
inline bool to_datum(double* x, Datum* out) { return *out = Float8GetDatum(*x), true; }
inline bool to_datum(const char** x, Datum* out) {
  if (*x != nullptr) *out = CStringGetTextDatum(*x);
  return *x != nullptr;
}
template <typename Pointee>  // ArrayType, struct varlena
bool to_datum(Pointee** x, Datum* out) {
  return *out = PointerGetDatum(*x), *x != nullptr;
}
inline bool to_datum(Counters* x, Datum* out) {
  ArrayType* array = counters_to_array(*x);
  return to_datum(&array, out);
}
inline bool to_datum(Proof* x, Datum* out) {
  bytea* bytes = proof_to_bytes(*x);
  return to_datum(&bytes, out);
}
bool to_datum(Seconds x, Datum* out);
template <typename T>
bool to_datum(Or<T> x, Datum* out) {
  return to_datum(x.value, out) && *x.value != x.null;
}

inline void from_datum(Datum value, bool* x) { *x = DatumGetBool(value); }
inline void from_datum(Datum value, int16* x) { *x = DatumGetInt16(value); }
inline void from_datum(Datum value, int32* x) { *x = DatumGetInt32(value); }
inline void from_datum(Datum value, Oid* x) { *x = DatumGetObjectId(value); }
inline void from_datum(Datum value, int64* x) { *x = DatumGetInt64(value); }
inline void from_datum(Datum value, double* x) { *x = DatumGetFloat8(value); }
inline void from_datum(Datum value, const char** x) { *x = TextDatumGetCString(value); }
inline void from_datum(Datum value, ArrayType** x) { *x = DatumGetArrayTypePCopy(value); }
// As it is stored, perhaps elsewhere.
inline void from_datum(Datum value, struct varlena** x) {
  *x = reinterpret_cast<struct varlena*>(DatumGetPointer(value));
}
inline void from_datum(Datum value, Counters* x) {
  *x = counters_from_array(DatumGetArrayTypePCopy(value));
}
inline void from_datum(Datum value, Proof* x) { *x = proof_from_bytes(DatumGetByteaPP(value)); }
inline void from_datum(Datum value, Seconds x) { *x.value = seconds_of(DatumGetIntervalP(value)); }
template <typename T>
void from_datum(Datum value, Or<T> x) {
  from_datum(value, x.value);
}

class RowReader {
 public:
  RowReader(HeapTuple tuple, TupleDesc desc) : tuple_(tuple), desc_(desc) {}

  // False: NULL.
  template <typename Column, typename Field>
  bool operator()(Column column, Field field) {
    bool is_null;
    const Datum value = heap_getattr(tuple_, static_cast<int>(column), desc_, &is_null);
    if (!is_null) from_datum(value, field);
    return !is_null;
  }

 private:
  HeapTuple tuple_;
  TupleDesc desc_;
};

// kColumns: of the table. Columns that nothing was put into are NULL in a new row, and stay as they
// are in one that is changed.
template <int kColumns>
class RowWriter {
 public:
  RowWriter() {
    for (bool& null : nulls_) null = true;
  }

  template <typename Column, typename Field>
  void operator()(Column column, Field field) {
    const int at = static_cast<int>(column) - 1;
    nulls_[at] = !to_datum(field, &values_[at]);
    replace_[at] = true;
  }

  HeapTuple make(TupleDesc desc) { return heap_form_tuple(desc, values_, nulls_); }
  // to: of the row to be, where its columns are of other types; null: `from`.
  HeapTuple change(HeapTuple old, TupleDesc from, TupleDesc to = nullptr) {
    Datum values[kColumns];
    bool nulls[kColumns];
    heap_deform_tuple(old, from, values, nulls);
    for (int i = 0; i < kColumns; ++i) {
      if (!replace_[i]) continue;
      values[i] = values_[i];
      nulls[i] = nulls_[i];
    }
    return heap_form_tuple(to != nullptr ? to : from, values, nulls);
  }

 private:
  Datum values_[kColumns] = {};
  bool nulls_[kColumns];
  bool replace_[kColumns] = {};
};

// The row of a table that was read at `tid`: a copy, palloc'ed; null if what `snapshot` sees there
// is no row with `id` in that column, as the row was moved (VACUUM FULL) or is gone. No search,
// whatever the table's size.
HeapTuple row_at(Relation table, ItemPointerData tid, AttrNumber id_column, int64 id,
                 Snapshot snapshot);

// Both tell other sessions, which keep what they have read (a relcache invalidation of the table).
// Rows are written under locks that exclude each other (a key's lock, the table's in DDL), so only
// a change by SQL to the table itself can come between: error 40001.
void insert_row(Relation table, HeapTuple tuple);
void delete_row(Relation table, HeapTuple tuple);
[[noreturn]] void raise_concurrent_update();

// The index of a table's key.
Oid key_index_of(Relation table);

// A row's first column, which is the key's first.
struct FirstColumn {
  RegProcedure equal;
  Datum value;
};
inline FirstColumn is_relation(Oid oid) { return {F_OIDEQ, ObjectIdGetDatum(oid)}; }
inline FirstColumn is_density(int64 id) { return {F_INT8EQ, Int64GetDatum(id)}; }

// Snapshots: null is the newest committed (or own) state, as a new one of the server's own is taken
// for tables that it does not cache. Calls visit(tuple) for the rows that `snapshot` sees, until it
// returns false: by the key's index, those with that first column (null: all); or without an index,
// which may not be there or be locked, all.
template <typename Visit>
void for_rows(Relation table, const FirstColumn* first, Snapshot snapshot, Visit visit,
              bool by_index = true) {
  ScanKeyData key;
  if (first != nullptr) ScanKeyInit(&key, 1, BTEqualStrategyNumber, first->equal, first->value);
  SysScanDesc scan = systable_beginscan(table, by_index ? key_index_of(table) : InvalidOid,
                                        by_index, snapshot, first != nullptr ? 1 : 0, &key);
  HeapTuple tuple;
  while (HeapTupleIsValid(tuple = systable_getnext(scan)))
    if (!visit(tuple)) break;
  systable_endscan(scan);
}

}  // namespace kde_pg
