// The columns that the records of both forms of kde_fit share.
#pragma once

#include "pg/base/row.h"
#include "pg/catalog/catalog.h"

namespace kde_pg {

template <int N>
void put_text(Row<N>* row, const char* text) {
  row->put(text != nullptr ? CStringGetTextDatum(text) : 0, text == nullptr);
}

// relation, column_names
template <int N>
void put_key(Row<N>* row, const DensityKey& key) {
  row->put(ObjectIdGetDatum(key.relation));
  row->put(PointerGetDatum(column_names_of(key)));
}

// engine, threads, scan_ms, select_ms, estimate_ms, total_ms, seed
template <int N>
void put_cost(Row<N>* row, const FitRecord& record) {
  put_text(row, record.engine);
  row->put(Int32GetDatum(record.threads));
  row->put(Float8GetDatum(record.scan_ms));
  row->put(Float8GetDatum(record.select_ms));
  row->put(Float8GetDatum(record.estimate_ms));
  row->put(Float8GetDatum(record.scan_ms + record.select_ms + record.estimate_ms));
  row->put(Int64GetDatum(record.request.seed));
}

}  // namespace kde_pg
