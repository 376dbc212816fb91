// What the rows of a column's summary have in sum of other columns, its measures: beside each cell
// of x the number, the sum and the sum of squares of y, so that SUM, AVG, COUNT and the variance of
// y over ranges of x can be told: a regressogram (J. W. Tukey, Curves as parameters, and touch
// estimation, Proc. 4th Berkeley Symp., 1961), whose cells are those of the summary.
//
// Sums are counted about an origin, a value that occurred, so that a variance survives values far
// from 0, and they are added up wherever rows are:
//
//   cells joined    their sums are added
//   a cell divided  by width, as its rows are (summary.h: split); what that may be off by is told
//                   by the bound for its rows
//
// As long as the summary holds every distinct value the sums are exact.
//
// Like a Summary these are flat: their arrays come from the summary's Memory and go with it.
#pragma once

#include "core/control.h"
#include "core/density/measure_format.h"
#include "core/status.h"
#include "core/summary/summary.h"
#include "core/summary/totals.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace kde {

// Rows whose y is not NULL, and their sums of y - origin and of its square.
struct MeasureSums {
  double rows = 0, sum = 0, squares = 0;

  void add(const MeasureSums& other) {
    rows += other.rows;
    sum += other.sum;
    squares += other.squares;
  }
  void add_value(double y) {
    rows += 1;
    sum += y;
    squares += y * y;
  }
  MeasureSums times(double share) const { return {rows * share, sum * share, squares * share}; }
  // About an origin that lies `by` higher.
  MeasureSums moved(double by) const {
    const double moved = squares - by * (2 * sum - by * rows);
    return {rows, sum - by * rows, moved <= 0 ? 0 : moved};  // NaN stays
  }
};

// Values of x that are in no cell.
enum class SpecialX : std::uint8_t { nan = 0, negative_infinity = 1, positive_infinity = 2 };
inline constexpr int kSpecialX = 3;

// How sure merged densities were of means, as SummarySampling of counts: of weights N v / n.
struct MeasureSampling {
  double sum_error = 0;  // the standard error of the sum of y
  float weight[kErrorScales] = {};
  SummarySampling counts;  // of the rows where y is not NULL

  void add(const MeasureSampling& other);
};

class Measures {
 public:
  Measures() = default;
  // count: in [0, kMaxMeasures]. memory: the summary's.
  Measures(const Memory& memory, int count) : memory_(memory), count_(count) {}

  int count() const { return count_; }

  // One row, of the summary too. x: any double; y: count() values, finite or, where NULL, NaN.
  // Errors: out_of_memory.
  Status add(double x, std::span<const double> y, Summary* rows);

  // Adds what others have seen of as many measures, whose summary is theirs; both are settled, and
  // not changed otherwise. Errors: out_of_memory.
  Status merge(Measures* other, Summary* other_rows, Summary* rows);

  // A density's part: its cells, as merged into the summary, and of each, measure by measure, sums
  // about origin[k].
  struct Stored {
    const Header* header;
    std::span<const HistogramCell> cells;
    std::span<const MeasureSums> sums;     // cells x count()
    std::span<const MeasureSums> special;  // kSpecialX x count()
    std::span<const SummaryTotals> totals;
    std::span<const double> origin;
    std::span<const int> decimals;
    std::span<const double> slack;
    std::span<const MeasureSampling> sampling;
  };
  Status merge(const Stored& density, Summary* rows);
  // Many densities with as many measures each (Summary::merge_many), valid. Errors: out_of_memory,
  // cancelled; both are then of no further use.
  Status merge_many(std::span<const Header* const> densities, Summary* rows,
                    const Control& control = {});

  // Settles the summary and folds the rows that wait into its cells. Errors: out_of_memory.
  Status settle(Summary* rows);

  // What follows: of settled ones.
  // Of the summary's i-th cell, about origin(k).
  const MeasureSums& cell(std::size_t i, int k) const {
    return sums_[i * static_cast<std::size_t>(count_) + static_cast<std::size_t>(k)];
  }
  const MeasureSums& special(SpecialX x, int k) const { return special_[static_cast<int>(x)][k]; }
  // Of all rows whose x and y are not NULL.
  const SummaryTotals& totals(int k) const { return totals_[k]; }
  double origin(int k) const { return origin_[k]; }
  int decimals(int k) const { return decimals_[k]; }
  // How far a sum of y below any x may be off by what was merged, beside what the cells themselves
  // do not tell.
  double slack(int k) const { return slack_[k]; }
  const MeasureSampling& sampling(int k) const { return sampling_[k]; }

  // A copy for a clone of the summary. Errors: out_of_memory.
  Status clone(const Memory& memory, Measures* out) const;

  // Beside the summary's serialised form.
  std::size_t serialized_size() const;
  void serialize(void* out) const;
  // bytes: of unknown origin and alignment; rows: settled, as deserialised. Errors: invalid_format,
  // out_of_memory.
  Status deserialize(const void* bytes, std::size_t size, const Summary& rows);

 private:
  struct Cells {
    double* end = nullptr;
    std::uint8_t* point = nullptr;
    MeasureSums* sums = nullptr;
    std::size_t size = 0;
  };
  struct Serialized;

  Status add_sums(const Stored& density);
  Status make_room(const Summary& rows);
  Status allocate(std::size_t size, Cells* out) const;
  void release(void* chunk) const {
    if (chunk != nullptr) memory_.release(memory_.context, chunk);
  }
  void set_origin(int k, double y);
  void note_decimals(int k, double y);
  bool is_of(const Summary& rows) const;
  Status follow(const Summary& rows);
  void distribute(const Cells& from, Cells* to) const;
  std::size_t cell_of(double x) const;
  void count_pending();

  Memory memory_ = {};
  int count_ = 0;
  Cells cells_;
  MeasureSums* sums_ = nullptr;  // cells_.sums
  double* pending_ = nullptr;    // x and the y's of each row
  std::size_t pending_rows_ = 0, pending_capacity_ = 0;
  SummaryTotals totals_[kMaxMeasures];
  MeasureSums special_[kSpecialX][kMaxMeasures];
  double origin_[kMaxMeasures] = {};
  double slack_[kMaxMeasures] = {};
  MeasureSampling sampling_[kMaxMeasures];
  std::uint8_t decimals_[kMaxMeasures] = {};
  bool has_origin_[kMaxMeasures] = {};
};

}  // namespace kde
