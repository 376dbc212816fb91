// A column's rows in bounded memory, whatever their number: what a fit reads, and the state of the
// aggregate kde_agg.
//
// A summary is a sequence of cells that partition the line, each with the number of its rows:
// cell i has those in (value_{i-1}, value_i], or, of a point, those at value_i. As long as there
// are no more distinct values than it has cells each is a point, and everything is exact.
// Beyond that cells are joined and rows are counted into the cells that there are, exactly; what is
// unknown is only how the rows of a joined cell lie within it:
//
//   join    neighbours are joined, from the left on, while the joined cell has at most
//             limit(r) = min(t, r / kTailRows),     t = depth N / cells,
//           rows, N the rows so far and r those between it and the nearer end of the column. So
//           points heavier than that stay exact, the outermost rows stay points, and quantiles have
//           a relative error in the tails. The depth is kDepth, or what it takes to make the cells
//           fit. A cell does not join one more than 64 times as sparse, unless they would not
//           fit: that would spread rows over a void.
//   split   rows that make a cell heavier than twice that divide it at values of theirs, what it
//           held before being divided by width. The count of the rows below such a value may be
//           wrong by what the cell held; that bound is kept with the value (slack). As cells grow
//           no faster than the limit unless the distribution changes, they are divided seldom, and
//           the bounds add up like a geometric series.
//
// Every boundary is a value that occurred, or one of a stored histogram that was merged, which may
// be rounded. The result depends on the order of the rows, and on how
// they were split among workers, within the stated bound and only where cells were joined.
// Related: M. Greenwald & S. Khanna, SIGMOD 2001 (quantile summaries); N. Shrivastava et al.,
// SenSys 2004 (q-digest); T. Dunning, arXiv:1902.04023 (relative errors in the tails).
//
// A Summary owns no memory and has no destructor: it is flat, its arrays come from a Memory, so
// that PostgreSQL's memory contexts own it and see its size.
#pragma once

#include "core/summary/totals.h"
#include "core/control.h"
#include "core/density/histogram.h"
#include "core/status.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kde {

// How many cells there are at most. Coarse ones are for many summaries at a time.
enum class Resolution : std::uint8_t { coarse = 0, fine = 1 };
inline constexpr std::size_t kCoarseCells = 9216, kFineCells = 65536;
// Rows that wait to be merged, at most, as a merge goes through all cells; of weighted rows half as
// many.
inline constexpr std::size_t kCoarseBatch = 4096, kFineBatch = 16384;

// Where a summary's arrays live. Both keep to C: no exception, no jump.
struct Memory {
  void* (*allocate)(void* context, std::size_t bytes);  // 8-byte aligned; null: out of memory
  void (*release)(void* context, void* chunk);          // of allocate's; not null
  void* context;
};

// Cells in arrays of their own: 20 bytes each.
struct CellArrays {
  double* value;  // ascending
  double* rows;   // > 0, or of a point its negative
  float* slack;   // bound for the error of the count of the rows <= value, in rows
  std::size_t size, capacity;
};

class Incoming;
struct MeasureSampling;

// A lattice that all values of merged densities lie on: Header::lattice_step, _offset and _scale.
struct MergedLattice {
  double step = 0, offset = 0, scale = 0;  // step 0: none is known
  double within = 0;  // of a count at any x, in rows, where ranges are read on that lattice
};

// A weight N v / n, or a variance, in single precision: finite, whatever its parts are.
inline float finite_float(double x) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return x < kMost ? static_cast<float>(x) : kMost;
}

// How sure merged densities were of their counts. The variance of a count is the sum of theirs,
//   sum_k N_k^2 p_k (1 - p_k) v_k / n_k  <=  max_k (N_k v_k / n_k)  N p (1 - p),
// as p (1 - p) is concave: what is kept is that maximum, by shape and scale.
struct SummarySampling {
  // Of the number of rows, and of an end, in rows squared.
  double rows_variance = 0, end_variance = 0;
  double sum_error = 0;                      // the standard error of the sum of finite values
  float weight[kShapes][kErrorScales] = {};  // N_k v_k / n_k
  std::uint32_t any = 0;                     // 1: one of them was sampled
  std::uint32_t padding = 0;

  void add(const Header& h);
  void add(const SummarySampling& other);
  // Of bytes of unknown origin: whether every number is one there can be.
  bool valid() const;
  // Header::count_variance, rows_variance, end_variance and mean_error; its rows and sample_rows
  // are set, rows > 0.
  void describe(Header* h) const;
};

class Summary {
 public:
  // An empty one; allocates nothing. At most 256 KB with all its arrays, or 2 MB of a fine one; for
  // the length of a merge 16 bytes more for each row that waits.
  explicit Summary(const Memory& memory, Resolution resolution = Resolution::coarse)
      : memory_(memory), resolution_(resolution) {}

  // One row. x: any double; NaN and infinities are counted apart. weight: in [kLeastWeight,
  // kMostWeight] (checked by the caller); the row counts as that many. Usually a store, every few
  // thousand rows a merge of some tens of microseconds.
  // Errors: out_of_memory; the row is then not counted.
  Status add(double x) {
    if (weighted_ || !(x - x == 0)) return add(x, 1);
    if (pending_ == pending_capacity_) {
      const Status status = make_room();
      if (!status.ok()) return status;
    }
    pending_value_[pending_++] = x;
    return Status::success();
  }
  Status add(double x, double weight);
  // Rows of finite values. Errors: out_of_memory; some of them are then counted.
  Status add(std::span<const double> x);
  void add_null(double weight) { specials_.nulls += weight; }

  // Adds what another has seen, of whatever resolution; `other` is not changed. Errors:
  // out_of_memory.
  Status merge(const Summary& other);

  // Adds a density: the cells of a histogram in the form of decode_histogram, its totals, its error
  // in rows. Errors: out_of_memory; invalid_argument (cells that are no partition).
  Status merge(const Header& header, std::span<const HistogramCell> cells);

  // Adds many at once (merge_many.h): in a fraction of the time, with a smaller error and, of
  // sampled ones, a variance that knows them as strata. densities: of one column each, valid.
  // measured: if not null, takes that of their measures; steps: SumOfDensities::steps.
  // Errors: out_of_memory; cancelled, and then none is added.
  Status merge_many(std::span<const Header* const> densities,
                    std::vector<MeasureSampling>* measured = nullptr, const Control& control = {},
                    double* steps = nullptr);

  // Folds the rows not yet merged into the cells. Errors: out_of_memory.
  Status settle();

  // A copy whose arrays come from `memory`. Errors: out_of_memory.
  Status clone(const Memory& memory, Summary* out) const;

  struct Specials {
    double nulls = 0, nans = 0, negative_infinities = 0, positive_infinities = 0;
  };
  const Specials& specials() const { return specials_; }
  const SummarySampling& sampling() const { return sampling_; }
  // Of the finite rows. This and all below: of a settled summary.
  const SummaryTotals& totals() const { return totals_; }
  // Whether rows had weights that are not whole.
  bool fractional() const { return fractional_; }

  std::size_t cells() const { return cells_.size; }
  HistogramCell cell(std::size_t i) const;
  // A bound for how far the count of the rows up to the i-th cell's value is from the truth.
  double slack(std::size_t i) const { return cells_.slack[i]; }
  // A bound for how far the count of the rows <= x, or < x, is from the truth, for every x, in
  // rows; 0: every cell is exact.
  double error_rows() const;
  // That bound of whatever lies in these cells, however it does.
  double error_of_cells() const;
  // Whether densities were merged whose counts are known within ranges, too: these are read evenly,
  // as a line or on the lattice.
  bool known_within() const { return within_ < std::numeric_limits<double>::max(); }
  const MergedLattice& lattice() const { return lattice_; }
  // Points heavier than this are values of their own: no cell of that many rows is joined.
  double join_limit() const;

  // The serialised form: for another process, or a machine of the same byte order and version.
  std::size_t serialized_size() const;
  void serialize(void* out) const;
  // bytes: of unknown origin and alignment; everything is checked. Replaces an empty summary, its
  // resolution too. Errors: invalid_format, out_of_memory.
  Status deserialize(const void* bytes, std::size_t size);

  // So that sums, squares and bounds of any number of rows stay far from the ends of double and
  // single precision.
  static constexpr double kLeastWeight = 1e-20, kMostWeight = 1e20;

 private:
  struct Serialized;

  std::size_t cell_limit() const {
    return resolution_ == Resolution::fine ? kFineCells : kCoarseCells;
  }
  // With room for cells to come.
  std::size_t most_cells() const { return cell_limit() + cell_limit() / 9; }
  std::size_t batch() const {
    return (resolution_ == Resolution::fine ? kFineBatch : kCoarseBatch) / (weighted_ ? 2 : 1);
  }

  Status make_room();
  Status begin_weights();
  Status merge_pending(bool all);
  std::size_t count_into_cells(double* value, double* rows, std::size_t size, std::uint32_t* place);
  bool keep_pending(const double* rows, std::size_t size);
  void add_specials(const Header& header);
  void forget_within() {
    within_ = std::numeric_limits<double>::max();
    lattice_ = {};
  }
  Status merge_known(std::span<const HistogramCell> cells, double slack, double* rows,
                     double* moved);
  Status allocate_cells(std::size_t capacity);
  Status merge_cells(Incoming* incoming);
  void merge_stretch(Incoming* incoming);
  void compact();
  bool try_compact(double depth, double tail_rows, double contrast);
  void release_all();

  Memory memory_;
  Resolution resolution_;
  Specials specials_;
  SummarySampling sampling_;
  SummaryTotals totals_;
  CellArrays cells_ = {};
  double depth_ = 0;      // 0: nothing was ever joined
  double cell_rows_ = 0;  // rows of all cells
  // A bound for the count's error at any x that is known otherwise, where ranges are read as lines;
  // the most there is: none is.
  double within_ = std::numeric_limits<double>::max();
  MergedLattice lattice_;  // a step > 0 only where that is known
  double* pending_value_ = nullptr;
  double* pending_weight_ = nullptr;  // null until a weight other than 1 comes
  // Of the pending rows the first `counted_` are in the totals: they wait for others that need a
  // place of their own among the cells as well.
  std::size_t pending_ = 0, counted_ = 0, pending_capacity_ = 0;
  bool weighted_ = false, fractional_ = false;
};

}  // namespace kde
