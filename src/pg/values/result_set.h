// What functions return that have columns: a record, or rows in a tuplestore of the caller's memory, as
// they are few and gone through once.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "funcapi.h"
#include "utils/tuplestore.h"
}

#include <cmath>
#include <initializer_list>

namespace kde_pg {

// A column of a row, by the type of what is put: NaN and null pointers are NULL.
struct Field {
  Field(Datum datum) : value(datum) {}
  Field(int number) : value(Int32GetDatum(number)) {}
  Field(int64 number) : value(Int64GetDatum(number)) {}
  Field(Oid oid) : value(ObjectIdGetDatum(oid)) {}
  Field(bool truth) : value(BoolGetDatum(truth)) {}
  Field(double x) : value(Float8GetDatum(x)), is_null(std::isnan(x)) {}
  Field(const char* word)
      : value(word != nullptr ? CStringGetTextDatum(word) : 0), is_null(word == nullptr) {}
  Field(bool known, const Field& field) : value(field.value), is_null(!known || field.is_null) {}

  Datum value;
  bool is_null = false;
};

// As PostgreSQL takes them.
template <int N>
struct Row {
  Datum values[N];
  bool nulls[N];

  template <typename... Fields>
  explicit Row(const Fields&... fields) {
    int at = 0;
    for (const Field& field : {Field(fields)...}) {
      values[at] = field.value;
      nulls[at++] = field.is_null;
    }
  }
};

struct ResultRows {
  Tuplestorestate* rows;
  TupleDesc desc;

  template <typename... Fields>
  void put(const Fields&... fields) const {
    Row<sizeof...(Fields)> row(fields...);
    tuplestore_putvalues(rows, desc, row.values, row.nulls);
  }
};

// Those of the call, none yet. The function's result must have that many columns; of a single one it
// may be the value itself. Error 0A000 where no set is expected.
ResultRows begin_rows(FunctionCallInfo fcinfo, int columns);

// The row type that the call declares, of so many columns.
TupleDesc record_type(FunctionCallInfo fcinfo, int columns);

template <typename... Fields>
Datum record_of(FunctionCallInfo fcinfo, const Fields&... fields) {
  Row<sizeof...(Fields)> row(fields...);
  const TupleDesc desc = record_type(fcinfo, sizeof...(Fields));
  return HeapTupleGetDatum(heap_form_tuple(desc, row.values, row.nulls));
}

}  // namespace kde_pg
