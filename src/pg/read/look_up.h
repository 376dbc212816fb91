// Rows of a table found by their value of one column, through an index of which it is certain that
// it finds all of them: a valid B-tree over every row whose first column it is, by the equality and
// the collation that tell the values apart (categories.h). Index entries are visited one by one and
// counted, those of dead rows too, so that what is visited has a bound.
#pragma once

#include "pg/base/pg.h"
#include "pg/read/categories.h"
#include "pg/read/row_reader.h"

extern "C" {
#include "access/genam.h"
#include "access/skey.h"
}

namespace kde_pg {

// Trivially destructible.
class LookUp {
 public:
  // table: locked by the caller, with rows of its own. values: of its column. False: there is no
  // such index, and nothing to end. Runs as the current user, as a scan does.
  bool begin(Relation table, Snapshot snapshot, AttrNumber attnum, Categories* values);
  // Of a column that is compared as its type is by itself.
  bool begin(Relation table, Snapshot snapshot, AttrNumber attnum);

  // Whether no row that is seen has a value beyond one and before the other, begun without values.
  // False, too: there are more than `most` entries.
  bool has_none_between(Datum beyond, Datum before, Size most);

  // Numbers the values of the rows seen that are not NULL, each by one descent of the index (a
  // loose index scan). False: it took more than `most` entries, and some may have no number.
  bool number_values(Size most);

  // Hands the rows of a value, by its number (0: of NULL), to the reader, which has begun the
  // table. False: there are more than `most` entries, those of so many were handed on.
  bool read(uint32 number, Size most, RowReader* reader);

  void end();

 private:
  bool open(Relation table, Snapshot snapshot, AttrNumber attnum, Oid equality, Oid collation,
            int keys);
  // The next entry's row into slot_; seen: whether the snapshot sees one. False: none is left.
  bool next(bool* seen);

  Categories* values_;
  AttrNumber attnum_;
  Relation index_;
  IndexScanDesc scan_;
  TupleTableSlot* slot_;
  MemoryContext each_;  // what a value's functions leave behind
};

}  // namespace kde_pg
