// From a table's row to the numbers of a density's columns.
#pragma once

#include "pg/values/values.h"
#include "pg/catalog/density_key.h"
#include "pg/read/row_sink.h"

extern "C" {
#include "executor/tuptable.h"
#include "executor/spi.h"
#include "nodes/execnodes.h"
}

namespace kde_pg {

// Rows between looks at interrupts and resets of the conversions' memory.
inline constexpr int kRowsPerBreath = 1000;

// Trivially destructible. What it allocates goes with the memory context it was begun in.
class RowReader {
 public:
  // key, value_types, doing: as of scan_rows() (scan.h), which outlive the reader.
  void begin(const DensityKey& key, const kde::ValueType* value_types, const char* doing,
             RowSink* sink);
  void end();

  // The rows to come are of `leaf`, whose columns are matched to the key's relation by name.
  void begin_leaf(Relation relation, Relation leaf);
  // Whether what is read of the leaf's rows must be computed by a query.
  static bool needs_query(Relation relation, const DensityKey& key, Relation leaf);

  // A row of the leaf; it is handed on if the filter accepts it.
  void take(TupleTableSlot* slot);
  // A row of a query, of whose columns the key's begin after so many others; the filter has been
  // applied.
  void take(HeapTuple tuple, TupleDesc desc, int before);
  // A row that was read and left.
  void skip() {
    if (++rows_since_breath_ >= kRowsPerBreath) take_breath();
  }
  void begin_block() {
    if (const kde::Status s = sink_->begin_block(); !s.ok()) check_status(s, doing_);
  }
  // Looks at interrupts and frees what conversions left behind.
  void take_breath();
  // Rows of leaves, where there is a filter or an expression: accepted or not.
  int64 rows_met() const { return rows_met_; }
  int columns() const { return key_->columns; }
  // As far as a row has to be taken apart in any case.
  AttrNumber attributes() const { return computes_ ? InvalidAttrNumber : last_attnum_; }

 private:
  const DensityKey* key_;
  const kde::ValueType* value_types_;
  const char* doing_;
  RowSink* sink_;
  ExprContext* context_;  // its memory is that of a row, or of the rows between two breaths
  int rows_since_breath_;
  int64 rows_met_;

  Categories* categories_[kde::kMaxColumns];
  AttrNumber attnum_[kde::kMaxColumns];  // of the leaf; 0: an expression
  AttrNumber last_attnum_;               // the greatest of them
  ExprState* expression_[kde::kMaxColumns];
  ExprState* filter_;
  bool computes_;  // there are expressions or a filter

  void put(int column, Datum value, bool is_null, double* values, uint16* nulls) const;
  void hand_on(const double* values, uint16 nulls);
  void take_computed(TupleTableSlot* slot);
};

// The readers of all that a scan serves: each gets every row. Trivially destructible.
class RowReaders {
 public:
  // reader: begun; they outlive it.
  RowReaders(RowReader* reader, int n) : reader_(reader), n_(n) {}

  void begin_leaf(Relation relation, Relation leaf);
  void take(TupleTableSlot* slot);
  // A row of a query whose columns are theirs, one reader's after another's.
  void take(HeapTuple tuple, TupleDesc desc);
  void begin_block() {
    for (int k = 0; k < n_; ++k) reader_[k].begin_block();
  }
  // Whether a row is taken, of which each is with probability `keep`: below 1 as a block of its own.
  bool draws(double keep, kde::Random* random) {
    if (keep >= 1) return true;
    if (random->uniform() >= keep) {
      reader_[0].skip();
      return false;
    }
    begin_block();
    return true;
  }
  // All rows of a query's portal, in an SPI connection, thinned so. rows: read so far, to which they
  // are added and which is shown; null or -1: they are not counted.
  void take_all(Portal portal, double keep, kde::Random* random, int64* rows);
  void take_breath() {
    for (int k = 0; k < n_; ++k) reader_[k].take_breath();
  }

 private:
  RowReader* reader_;
  int n_;
  AttrNumber attributes_ = InvalidAttrNumber;  // the most of any reader
};

// The attribute number in `leaf` of a column of `relation`. Error 42703 if there is none.
AttrNumber leaf_attnum(Relation relation, AttrNumber attnum, Relation leaf);

}  // namespace kde_pg
