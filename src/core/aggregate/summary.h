// A column's rows in bounded memory, whatever their number: the state of the aggregate kde_agg.
//
// A summary is a sequence of cells that partition the line, each with the number of its rows:
// cell i has those in (value_{i-1}, value_i], or, of a point, those at value_i. As long as there
// are no more than kSummaryCells distinct values each is a point, and everything is exact.
// Beyond that cells are joined and rows counted into the cells that there are, exactly; what is
// unknown is only how the rows of a joined cell lie within it:
//
//   join    a cell may hold at most
//             limit(r) = min(t, r / kTailRows),     t = kDepth N / kSummaryCells,
//           rows, N the rows so far and r those between it and the nearer end of the column:
//           neighbours are joined, from the left on, where the sum stays within it. So points
//           heavier than that stay exact, the kTailRows outermost rows stay points, and quantiles
//           have a relative error in the tails.
//   split   rows that arrive in a cell that would become heavier than that divide it at values of
//           theirs, what it held before being divided by width. The count of the rows below such a
//           value may be wrong by what the cell held; that bound is kept with the value (slack).
//           A column that doubles splits its cells once, at half their weight: the bounds add up
//           like a geometric series.
//
// Every boundary is a value that occurred. The result depends on the order of the rows, and on how
// they were split among workers, within the stated bound and only where cells were joined.
// Related: M. Greenwald & S. Khanna, SIGMOD 2001 (quantile summaries); N. Shrivastava et al.,
// SenSys 2004 (q-digest); T. Dunning, arXiv:1902.04023 (relative errors in the tails).
//
// A Summary owns no memory and has no destructor: it is flat, its arrays come from a Memory, so
// that PostgreSQL's memory contexts own it and see its size.
#pragma once

#include "core/aggregate/totals.h"
#include "core/density/histogram.h"
#include "core/room.h"
#include "core/status.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kde {

inline constexpr std::size_t kSummaryCells = 9216;
inline constexpr std::size_t kSummaryBatch = 2048;

// Where a summary's arrays live. Both keep to C: no exception, no jump.
struct Memory {
  void* (*allocate)(void* context, std::size_t bytes);  // 8-byte aligned; null: out of memory
  void (*release)(void* context, void* chunk);          // of allocate's; not null
  void* context;
};

class Summary {
 public:
  // An empty one; allocates nothing.
  explicit Summary(const Memory& memory) : memory_(memory) {}

  // Of a row. x: any double; NaN and infinities are counted apart. Usually a store; every
  // kSummaryBatch values a merge of some tens of microseconds.
  // Errors: out_of_memory; the row is then not counted.
  Status add(double x) { return add(x, 1); }
  // weight: finite, > 0 (checked by the caller); the row counts as that many.
  Status add(double x, double weight);
  void add_null(double weight) { specials_.nulls += weight; }

  // Adds what another has seen; `other` is not changed. Errors: out_of_memory.
  Status merge(const Summary& other);

  // Adds a stored histogram (DensityView of Kind::histogram): cells, totals, counts, error.
  // Errors: out_of_memory; invalid_argument (the other kind).
  Status merge(const void* density);

  // Folds the rows not yet merged into the cells. Errors: out_of_memory.
  Status settle();

  // A copy whose arrays come from `memory`. Errors: out_of_memory.
  Status clone(const Memory& memory, Summary* out) const;

  struct Specials {
    double nulls = 0, nans = 0, negative_infinities = 0, positive_infinities = 0;
  };
  const Specials& specials() const { return specials_; }
  const Totals& totals() const { return totals_; }  // of the finite rows; settled ones only
  double finite_rows() const;                       // settled or not

  // Of a settled summary.
  std::size_t cells() const { return cells_; }
  HistogramCell cell(std::size_t i) const;
  // A bound for how far the count of the rows <= x is from the truth, for every x, in rows.
  double error_rows() const;

  // Bytes of the serialised form, and the form itself: for the same or another machine of the same
  // byte order. Of a settled summary.
  std::size_t serialized_size() const;
  void serialize(void* out) const;
  // bytes: of unknown origin; everything is checked. Replaces an empty summary's contents.
  // Errors: invalid_format, out_of_memory.
  Status deserialize(const void* bytes, std::size_t size);

 private:
  Memory memory_;
  Specials specials_;
  Totals totals_;
};

}  // namespace kde
