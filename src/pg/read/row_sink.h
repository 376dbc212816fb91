// What the rows of a scan (scan.h) are read into.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

extern "C" {
#include "utils/relcache.h"
#include "utils/snapshot.h"
}

#include <span>

namespace kde_pg {

class Categories;
class RowReader;
struct ScanResult;

// Where rows go.
class RowSink {
 public:
  // Raises an error that add() returned; doing: what the scan was.
  virtual void raise(const kde::Status& status, const char* doing) const {
    check_status(status, doing);
  }
  // What numbers the values of a column of the key that are none; null: they are converted.
  virtual Categories* categories(int) { return nullptr; }
  // values: one for each column of the key; bit k of nulls: column k is null, and its value 0.
  virtual kde::Status add(const double* values, uint16 nulls) noexcept = 0;
  // Of one column, rows of the block that was begun last; no value is NULL. As add() of each.
  virtual kde::Status add_rows(std::span<const double> values) noexcept {
    for (const double& x : values)
      if (const kde::Status s = add(&x, 0); !s.ok()) return s;
    return kde::Status::success();
  }
  // The rows to come lie in the next block that was chosen, in their order; it may have none.
  virtual kde::Status begin_block() noexcept = 0;
  // Before the rows: whether all there are will come.
  virtual void begin_rows(bool /*every_row*/) {}
  // Whether cells of every row may come in the place of the rows, of one column; and those. They are
  // used up.
  virtual bool takes_cells() const { return false; }
  virtual kde::Status add_cells(kde::GridCells*) noexcept { return kde::Status::success(); }
  // Whether the values of every row may come once each in the place of the rows, of a column that is
  // numbered; and so many rows of one, 0: of NULL, whose measures are none.
  virtual bool takes_values() const { return false; }
  virtual kde::Status add_value(uint32 /*number*/, double /*rows*/,
                                std::span<const kde::ValueSums>) noexcept {
    return kde::Status::success();
  }
  // After the rows of a sample of blocks of a table by itself: may have the reader take more of its
  // rows, by the scan's snapshot and as its user. May raise errors.
  virtual void look_again(Relation, Snapshot, const ScanResult&, RowReader*) {}

 protected:
  ~RowSink() = default;
};

}  // namespace kde_pg
