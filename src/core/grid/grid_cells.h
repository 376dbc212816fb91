// A column's rows counted into cells with round ends (round_ends.h), with what they have in sum of
// other columns, its measures: what a fit of every row reads.
//
// All cells have one level: the finest at which no more than so many have rows. As long as that is
// none, each value is counted by itself. A cell is the open interval between two neighbouring ends,
// or the values at an end; when there are too many, all go to the next level, where cells and
// ends become cells exactly. So whatever the order of the rows, and however they were divided among
// workers and added up, the cells are the same, and every count at an end is exact.
//
// Sums of a measure whose values are decimal fractions are whole numbers of 10^-d, d the most digits
// met, about an origin that is one: exact up to 2^53.
//
// It owns no memory and has no destructor: its arrays come from a Memory (summary/summary.h).
#pragma once

#include "core/density/histogram_view.h"
#include "core/density/measure_format.h"
#include "core/density/round_ends.h"
#include "core/status.h"
#include "core/summary/measures.h"
#include "core/summary/summary.h"
#include "core/summary/totals.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kde {

// Cells of a column by itself, at most.
inline constexpr std::size_t kMostGridCells = 131072;
// Digits of the column's own values that are looked for.
inline constexpr int kMostValueDigits = 15, kNoValueDigits = 16;

// Ends are numbered up to kMostIndex; farther from 0 values are counted by themselves at that level,
// too.
inline constexpr std::int64_t kGreatestIndexKey = std::int64_t{1} << 53;

// One cell; they ascend by key.
struct GridCell {
  // 2k at the k-th end and 2k + 1 above it, or that of a value by itself (key_of() of histogram.h).
  std::int64_t key;
  double rows;
};

class GridCells {
 public:
  GridCells() = default;
  // measures: in [0, kMaxMeasures]. most: a power of 2.
  GridCells(const Memory& memory, Chain chain, int measures, std::size_t most = kMostGridCells)
      : memory_(memory), ends_(chain), measures_(measures), most_(most) {}

  int measures() const { return measures_; }

  // One row; -0 counts as 0. y: of each measure, finite, or NaN where NULL. Errors: out_of_memory;
  // it must not be used further.
  Status add(double x, std::span<const double> y = {});
  // Rows without measures.
  Status add(std::span<const double> x);
  void add_null() { specials_.nulls += 1; }

  // Adds what another has seen, of the same chain and as many measures; both are settled then.
  // Errors: out_of_memory.
  Status merge(GridCells* other);
  // From here on no more cells than that, a power of 2. Errors: out_of_memory.
  Status set_most(std::size_t most) {
    most_ = most;
    return fit_into_most();
  }
  // Counts the rows that wait. Errors: out_of_memory.
  Status settle();

  // ---- of settled cells
  const RoundEnds& ends() const { return ends_; }
  // < 0: each value is a cell.
  int level() const { return level_; }
  std::size_t size() const { return size_; }
  const Summary::Specials& specials() const { return specials_; }
  const SummaryTotals& totals() const { return totals_; }
  // All values are whole multiples of 10^-that; kNoValueDigits: of none that is known.
  int digits() const { return digits_; }
  // Puts the cells into ascending order; later rows lose it. Errors: out_of_memory.
  Status sort();
  GridCell cell(std::size_t i) const { return {key_at(i), rows_at(i)}; }
  // Whether a key is a value's, and if not, of what lies between ends.
  bool is_value(std::int64_t key) const {
    return level_ < 0 || key > kGreatestIndexKey || key < -kGreatestIndexKey;
  }
  bool is_inside(std::int64_t key) const { return !is_value(key) && (key & 1) != 0; }
  // Where a cell begins, or the value.
  double begin_of(std::int64_t key) const;

  // Of a measure: what a cell has, and rows whose x is special, in units of 10^-digits about
  // origin, which is in units too.
  struct Measure {
    SummaryTotals totals;
    MeasureSums special[kSpecialX];
    double origin = 0;
    bool has_origin = false;
    int decimals = 0;  // MeasureHeader::decimals

    double units_of_one() const;  // 10^decimals, or 1
  };
  const Measure& measure(int k) const { return measure_[k]; }
  MeasureSums sums(int k, std::size_t i) const { return sums_at(i, k); }

  // For another process of this machine. bytes: of unknown origin and alignment; checked. Errors:
  // invalid_format, out_of_memory.
  std::size_t serialized_size() const;
  void serialize(void* out) const;
  Status deserialize(const void* bytes, std::size_t size);

  // Frees what it holds; it must not be used further.
  void release();

 private:
  struct Serialized;
  struct SerializedMeasure;

  // Of a slot: the key, the rows, and of each measure its sums.
  std::size_t stride() const { return 2 + 3 * static_cast<std::size_t>(measures_); }
  double* slot(std::size_t i) const { return table_ + i * stride(); }
  std::int64_t key_at(std::size_t i) const { return std::bit_cast<std::int64_t>(slot(i)[0]); }
  double rows_at(std::size_t i) const { return slot(i)[1]; }
  MeasureSums sums_at(std::size_t i, int k) const {
    const double* s = slot(i) + 2 + 3 * k;
    return {s[0], s[1], s[2]};
  }
  void put_sums(std::size_t i, int k, const MeasureSums& sums) {
    double* s = slot(i) + 2 + 3 * k;
    s[0] = sums.rows;
    s[1] = sums.sum;
    s[2] = sums.squares;
  }
  // Of the table, or of the list that it becomes.
  std::size_t slots() const { return sorted_ ? size_ : capacity_; }

  std::int64_t key_of_level(int level, double x, bool inside) const;
  // The same cell's at a coarser level.
  std::int64_t key_in(int level, std::int64_t key) const {
    return key_of_level(level, begin_of(key), is_inside(key));
  }
  std::int64_t key_of_row(double x) const;
  void set_level(int level);
  Status rebuild(std::size_t capacity, int level);
  Status fit_into_most();
  std::size_t slot_of(std::int64_t key) const;
  Status find_or_add(double x, std::int64_t key, std::size_t* at);
  void add_to(std::int64_t key, const double* from);
  Status make_room_for_one();
  Status make_room_in_batch();
  void count_value(std::size_t at, std::size_t row);
  void count_special(double x, std::span<const double> y);
  double in_units(int k, double y);
  void widen(int k, int decimals);
  void move_origin(int k, double to);
  void note_digits(double x) {
    while (digits_ < kNoValueDigits && !has_digits(x, digits_)) ++digits_;
  }
  static bool has_digits(double x, int digits);

  Memory memory_ = {};
  RoundEnds ends_{Chain::decimal};
  int measures_ = 0;
  std::size_t most_ = kMostGridCells;
  int level_ = -1;
  int digits_ = 0;
  bool sorted_ = false;
  std::size_t size_ = 0, capacity_ = 0;
  // A hash table; where rows are 0 there is none. Sorted: the first `size` are all.
  double* table_ = nullptr;
  // 1/step of an even level; 0 where keys take longer.
  double steps_of_one_ = 0;
  Measure measure_[kMaxMeasures];
  Summary::Specials specials_;
  SummaryTotals totals_;
  // Rows that wait, column by column: x and the measures.
  double* batch_ = nullptr;
  std::size_t waiting_ = 0, batch_capacity_ = 0;
};

}  // namespace kde
