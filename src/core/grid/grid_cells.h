// A column's rows counted into cells with round ends (round_ends.h), with what they have in sum of
// other columns, its measures: what a fit of every row reads.
//
// All cells have one level: the finest at which no more than so many have rows. As long as that is
// none, each value is counted by itself. A cell is the open interval between two neighbouring ends,
// or the values at an end; when there are too many, all go to the next level, where cells and
// ends become cells exactly. So whatever the order of the rows, and however they were divided among
// workers and added up, the cells are the same, and every count at an end is exact.
//
// Where numbers are so uneven that this would put many rows into one cell, it is those of few rows that
// are put together, each with all that is within a coarser cell (as in a q-digest). New rows go to the
// finest level even so. Counts then depend on the order of the rows, within what is told of them.
//
// A value that has many rows when a level would put it within a cell is kept: it is counted by itself
// from then on, beside the cell. Rows at it that were counted elsewhere before, by another worker or
// density, may be in the cell.
//
// Densities are added, too (grid_density.cpp): their cells are of the same grid, so equal ones are
// added and others nest. Rows of a cell that is coarser than the level stay loose, in a list of
// their own level, until it is theirs: what is finer beside them is not lost by it.
//
// Sums of a measure whose values are decimal fractions are whole numbers of 10^-d, d the most digits
// met, about an origin that is one: exact up to 2^53.
//
// It owns no memory and has no destructor: its arrays come from a Memory (summary/memory.h).
#pragma once

#include "core/control.h"
#include "core/density/histogram_view.h"
#include "core/density/measure_format.h"
#include "core/density/round_ends.h"
#include "core/function_ref.h"
#include "core/grid/grid_table.h"
#include "core/grid/grid_tree.h"
#include "core/grid/take_out.h"
#include "core/grid/value_sums.h"
#include "core/status.h"
#include "core/summary/added_sampling.h"
#include "core/summary/measure_sums.h"
#include "core/summary/memory.h"
#include "core/summary/totals.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kde {

// Cells of a column by itself, at most. While rows are counted there may be as many more as the table
// has room for, so that few levels are passed one by one.
inline constexpr std::size_t kMostGridCells = 131072;
// Digits of the column's own values that are looked for.
inline constexpr int kMostValueDigits = 15, kNoValueDigits = 16;

// So that sums and squares of any number of rows stay far from the ends of double precision.
inline constexpr double kLeastWeight = 1e-20, kMostWeight = 1e20;

// Ends are numbered up to kMostIndex; farther from 0 values are counted by themselves at that level,
// too.
inline constexpr std::int64_t kGreatestIndexKey = std::int64_t{1} << 53;

// Cells in the order of x, none within another: what a density is made of.
struct GridList {
  std::vector<GridEntry> entries;
  std::size_t kept = 0;            // the last of them: values that may lie within the others
  std::vector<MeasureSums> sums;   // of each entry each measure's, as of GridCells::Measure
  int finest = -1, coarsest = -1;  // levels
  // How far counts at ends may be off, in rows, and sums and squares of measures, by where some rows
  // were put.
  double error_rows = 0;
  std::array<double, kMaxMeasures> sum_error = {}, squares_error = {};
  bool is_even = false;  // rows are even within cells, but for that error
};

// Of a slot.
inline MeasureSums sums_in(const double* slot, int k) {
  const double* s = slot + 2 + 3 * k;
  return {s[0], s[1], s[2]};
}
inline void put_sums(double* slot, int k, const MeasureSums& sums) {
  double* s = slot + 2 + 3 * k;
  s[0] = sums.rows;
  s[1] = sums.sum;
  s[2] = sums.squares;
}

class GridCells {
 public:
  GridCells() = default;
  // measures: in [0, kMaxMeasures]. most: a power of 2.
  GridCells(const Memory& memory, Chain chain, int measures, std::size_t most = kMostGridCells)
      : memory_(memory), ends_(chain), measures_(measures), most_(most), table_(measures) {}

  int measures() const { return measures_; }

  // Before any row: none is counted at a finer level than that one, < 0: all are.
  void begin_at(int level) { level_ = level; }
  // One row; -0 counts as 0. y: of each measure, finite, or NaN where NULL. Errors: out_of_memory;
  // it must not be used further.
  Status add(double x, std::span<const double> y = {}) {
    return waits(x, y) ? Status::success() : add_slowly(x, y);
  }
  // Rows without measures.
  Status add(std::span<const double> x);
  // A row that counts as `weight`, in [kLeastWeight, kMostWeight]; without measures.
  Status add_weighted(double x, double weight);
  void add_null(double weight = 1) { specials_.nulls += weight; }
  // Values and their rows, whole numbers, with the sums of each's measures, in units about the origin:
  // those of begin_measure(), before any other row. Errors: out_of_memory.
  struct Measure;
  void begin_measure(int k, const Measure& measure) { measure_[k] = measure; }
  Status add_values(std::span<const WeightedValue> values, std::span<const MeasureSums> sums);
  // So many rows of a value, and what each measure has in them. Errors: out_of_memory.
  Status add_value(double x, double rows, std::span<const ValueSums> sums);
  // A density's, of the same chain and as many measures: valid, with round ends. Errors:
  // out_of_memory; invalid_format of what no fit writes (cells outside [min, max] or none of the
  // grid's, a measure's other than the rows', a unit that is not its decimals'). It must not be used
  // further then.
  Status add(const Header& density) { return add(density, {}); }
  // The same of what is in it without parts of it, of every row as it is. Errors: too_large where that
  // cannot be told: atoms, or a least or greatest value that may be gone; invalid_format for parts
  // that are none.
  struct Without {
    std::span<const Header* const> parts;
    // Others of it that are known, and what is to be added to it afterwards; all: there are no more
    // than those and the parts.
    std::span<const Header* const> others = {};
    bool all = false;
    const Control* control = nullptr;  // is asked for each part; error: cancelled
    // Of densities of values alone: what is put in the place of one's value, >= 0; then no least and
    // greatest of these need be known.
    const FunctionRef<double(const Header&, double)>* number = nullptr;
  };
  Status add(const Header& density, const Without& without);

  // As add(density, without) and of each that came, but that the cells stay where they are: of the
  // column's and measures' totals, and which cells changed, in units of the density's about its
  // origins (splice.h). Nothing was added before. Errors: too_large also for measures in other units.
  struct Replaced {
    CellList gone, came;  // of several densities one after the other
    // As of GridList, those of both.
    double error_rows = 0;
    std::array<double, kMaxMeasures> sum_error = {}, squares_error = {};
  };
  Status replace(const Header& density, const Without& without, std::span<const Header* const> came,
                 Replaced* out);
  // The cells of a density without atoms. Errors: invalid_format.
  Status list_of(const Header& density, std::vector<GridEntry>* out);

  // Adds what another has seen, of the same chain and as many measures; both are settled then.
  // Errors: out_of_memory.
  Status merge(GridCells* other);
  // From here on no more cells than that, a power of 2. Errors: out_of_memory.
  Status set_most(std::size_t most) {
    most_ = most;
    return fit_into_most();
  }
  // Counts the rows that wait, into no more cells than there may be. Errors: out_of_memory.
  Status settle();
  // No value is kept: what estimates a sample's rows takes heavy values apart by itself.
  void keep_none() { kept_room_ = 0; }
  // No row of a cell is put elsewhere within it: counts at ends of the coarsest are exact, and what is
  // finer beside such a row is lost.
  void keep_cells() { keeps_cells_ = true; }

  // ---- of settled cells
  const RoundEnds& ends() const { return ends_; }
  // < 0: each value is a cell.
  int level() const { return level_; }
  // Cells of all levels.
  std::size_t size() const;
  const SpecialRows& specials() const { return specials_; }
  const SummaryTotals& totals() const { return totals_; }
  // All values are whole multiples of 10^-that; kNoValueDigits: of none that is known.
  int digits() const { return digits_; }
  // How far counts at ends may be off, in rows: of densities that were.
  double error_rows() const { return error_rows_; }
  // How sure densities that were added were of their counts.
  const CountSampling& sampling() const { return sampling_; }
  // Who knows it better of all that was added says so. means: of each measure.
  void set_sampling(const CountSampling& counts, std::span<const MeanSampling> means);
  // Loose rows that are few beside what lies within their cell are put into the middle of that; else
  // it becomes theirs. For that header, and where all that was added is even within its cells, they are
  // divided evenly among finer cells on its lattice. Values are kept for one with exact ends alone.
  // Errors: out_of_memory.
  Status list(GridList* out, const Header* header = nullptr);

  // Of a measure: what a cell has, and rows whose x is special, in units of 10^-digits about
  // origin, which is in units too.
  struct Measure {
    SummaryTotals totals;
    MeasureSums special[kSpecialX];
    double origin = 0;
    bool has_origin = false;
    int decimals = 0;        // MeasureHeader::decimals
    bool has_nulls = false;  // in densities that were added
    // How far sums and squares may be off by densities that were added.
    double sum_error = 0, squares_error = 0;
    MeanSampling sampling;

    double units_of_one() const;  // 10^decimals, or 1
  };
  const Measure& measure(int k) const { return measure_[k]; }

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
  struct SerializedTable;
  // Cells of one level.
  struct Level {
    int level;
    GridTable table;
  };

  // Whether a key is a value's, and if not, of what lies between ends.
  static bool is_value(int level, std::int64_t key) {
    return level < 0 || key > kGreatestIndexKey || key < -kGreatestIndexKey;
  }
  static bool is_inside(int level, std::int64_t key) {
    return !is_value(level, key) && (key & 1) != 0;
  }
  bool is_cell(int level, std::int64_t key) const;
  // Where a cell begins, or the value.
  double begin_of(int level, std::int64_t key) const;
  std::int64_t key_of_level(int level, double x, bool inside) const;
  // The same cell's at a coarser level.
  std::int64_t key_in(int to, int from, std::int64_t key) const {
    return key_of_level(to, begin_of(from, key), is_inside(from, key));
  }
  // 1/step of an even level; else 0.
  double steps_of_one(int level) const {
    return level >= 0 && ends_.is_even(level) ? 1 / ends_.step(level) : 0;
  }
  bool is_kept(double x) const {
    return (kept_mask_ >> mask_bit(x) & 1) != 0 &&
           std::find(kept_, kept_ + kept_count_, x) != kept_ + kept_count_;
  }
  static int mask_bit(double x) {
    return static_cast<int>(std::bit_cast<std::uint64_t>(x) * 0x9e3779b97f4a7c15U >> 58);
  }
  // Those with the most rows, as many as there is room for.
  void keep(std::vector<WeightedValue> values);
  bool note_kept(double x);
  Status drop_kept();
  Status keep_also(std::span<const double> values);
  std::span<const double> kept() const { return {kept_, static_cast<std::size_t>(kept_count_)}; }
  // Of a value; of values.
  std::int64_t key_of_value(int level, double steps_of_one, double x) const;
  void find_keys(int level, std::span<const double> x, std::int64_t* keys) const;
  // Of those of the table.
  std::vector<double> sorted_values() const;
  std::size_t cells_at(int level, std::span<const double> values) const;
  Status raise_level(int level);
  // All cells, by x.
  struct Place;
  class Divider;
  void list_places(std::vector<Place>* out) const;
  void list_cells(std::vector<Place>& all, GridList* out) const;
  void note_lattice(double step, double offset);
  bool is_on(const Header& lattice) const;
  Status fit_into_most();
  bool find_level(int* level);
  Status raise_by_one(bool* is_even);
  double share_of_one() const;
  Status put_light_together();
  Status find_or_add(double x, std::int64_t key, std::size_t* at);
  Status table_of(int level, GridTable** out);
  Status add_cell(const GridEntry& cell, double* slot);
  Status add_cells_of(const Level& from);
  // f: of a level and its table.
  template <typename F>
  void for_each_table(const F& f) const {
    f(level_, table_);
    for (int i = 0; i < loose_count_; ++i) f(loose_[i].level, loose_[i].table);
  }
  template <typename F>
  void for_each_slot(const F& f) {
    for_each_table([&f](int /*level*/, const GridTable& table) {
      for (std::size_t i = 0; i < table.slots(); ++i)
        if (table.is_used(i)) f(table.slot(i));
    });
  }
  bool waits(double x, std::span<const double> y) {
    if (!(x - x == 0) || waiting_ == batch_capacity_) return false;
    batch_[waiting_] = x + 0.0;
    for (std::size_t k = 0; k < y.size(); ++k) batch_[(k + 1) * batch_capacity_ + waiting_] = y[k];
    ++waiting_;
    return true;
  }
  Status add_slowly(double x, std::span<const double> y);
  Status make_room_in_batch();
  Status count_batch();
  template <int kMost>
  Status count_keys(const std::int64_t* key, std::size_t n, std::size_t* i);
  void count_special(double x, double weight, std::span<const double> y);
  void note_digits(std::span<const double> x);
  // Of a measure; they are then in units about the origin.
  void take_values(int k, std::span<double> y);
  void widen(int k, int decimals);
  void move_origin(int k, double to);
  // Sums are then about that origin, and of as many decimals at least.
  void agree(int k, int decimals, double origin);
  class DensityReader;
  Status agree_with(const Header& density, int k);
  Status agree_with(const Header& density, std::span<const Header* const> others);
  SummaryTotals& totals_of(int k) { return k < 0 ? totals_ : measure_[k].totals; }
  Status narrow(const Header& density, const Without& without,
                const SummaryTotals (&before)[1 + kMaxMeasures]);
  Status reserve(const std::vector<GridEntry>& cells);
  Status take_out(const Header& density, const Without& without, CellList* list);

  Memory memory_ = {};
  RoundEnds ends_{Chain::decimal};
  int measures_ = 0;
  std::size_t most_ = kMostGridCells;
  int level_ = -1;
  int digits_ = 0;
  bool keeps_cells_ = false;
  bool by_rows_ = false;  // cells of few rows are put together, not all of a level
  // Of densities of samples alone, which are even within their cells, and their lattice.
  bool is_uneven_ = false, has_lattice_ = false, has_lattices_ = false;  // several
  double lattice_step_ = 0, lattice_offset_ = 0;
  double off_lattice_ = 0;  // rows that another lattice puts elsewhere
  int narrow_ = 0;          // levels that hardly made room
  GridTable table_;         // of the level, and values that are kept
  static constexpr int kMostKept = 16;
  double kept_[kMostKept] = {};
  int kept_count_ = 0, kept_room_ = kMostKept;
  std::uint64_t kept_mask_ = 0;  // of mask_bit() of them
  // Loose rows, ascending by level; all coarser than level_.
  Level* loose_ = nullptr;
  int loose_count_ = 0, loose_capacity_ = 0;
  Measure measure_[kMaxMeasures];
  SpecialRows specials_;
  SummaryTotals totals_;
  double error_rows_ = 0;
  CountSampling sampling_;
  // Rows that wait, column by column: x and the measures.
  double* batch_ = nullptr;
  std::size_t waiting_ = 0, batch_capacity_ = 0;
};

// The level of the coarsest cell of a stored list of times, at most a day's; -1: it has none, or is not of
// times. list: valid.
int coarsest_time_level(const Header& list);

}  // namespace kde
