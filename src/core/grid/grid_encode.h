// The stored form of a column's cells with round ends and of its measures: histogram.h,
// measure_format.h.
//
// Which cells are stored is a cut through the tree that the levels make (round_ends.h). A cell is
// divided
//
//   down to a level, the floor: of times the finest of hour, day, month and year that fits; of
//              numbers the finest that fits into half the bytes, where rows are, not in the tails
//   beyond     where it has more rows than a limit, the least with which all fits
//   in tails   unless no floor leaves room for that, where it has more than a share 1/kTailRows of the rows between it and the nearer end
//              of the column, so that quantiles have a relative error there
//
// and a value that has a cell by itself below the floor is a point. Values that are kept, and of a
// sample few that are no ends of the finest cells, as its outermost rows are, lie beside these as
// atoms. Counts and sums at every end of a cell are those of the list; within one they are spread
// evenly. Of a list of every row that is all that is told of them (Header::has_exact_ends()); else
// errors are those at any value: how far what is stored is from the list, and the list from what it
// is of.
#pragma once

#include "core/control.h"
#include "core/density/bytes.h"
#include "core/grid/grid_cells.h"
#include "core/grid/grid_tree.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace kde {

// Bytes of a list with its first measure, by default; each measure more takes half of that.
inline constexpr std::size_t kGridBytes = std::size_t{256} << 10;

// What rounding may add to bytes as planned is less than one in so many.
inline constexpr std::size_t kPlanned = 128;

// Of many cells squares are rounded to this share.
inline constexpr double kSquaresShare = 0x1p-12;

// How far the sums of whole numbers over any of the cells may be off; of squares, which are moved by so
// much.
double rounding_of_sums(const std::vector<MeasureSums>& cells);
double rounding_of_squares(const std::vector<MeasureSums>& cells, double by);

// The bytes of a density: of its ends at which people ask, and with finer cells beside them.
struct GridBytes {
  GridBytes(std::size_t both) : most(both), finer(both) {}
  GridBytes(std::size_t all, std::size_t of_finer) : most(all), finer(std::min(all, of_finer)) {}

  std::size_t most, finer;
};

// What is known of a measure beside its sums.
struct MeasureFit {
  double mean_error = 0;
  float mean_variance[kErrorScales] = {};
  // How sure counts of the rows where it is not NULL are; none: as those of the column, NULLs
  // falling by chance.
  std::optional<CountSampling> counts;
};

// Rows that are a sample: of each measure, rows of the table for one of the cells, and for one whose x
// is in no cell.
struct SampledMeasures {
  std::span<const MeasureFit> fits;
  double scale = 1, special_scale = 1;
};

// The finest level whose cells have several points of a lattice, if their ends are points of it, too;
// else there is none, -1.
int level_on(const RoundEnds& ends, const Header& lattice);

class GridEncoder {
 public:
  // cells, and list, theirs, outlive it. header: all but atoms, blocks, cell_rows and row_unit is
  // set; of rows that are all of `cells`. measure_types: as many as it has measures. trials: of best(),
  // how much of the bytes it uses.
  GridEncoder(const GridCells& cells, const GridList& list, const Header& header,
              const ValueType* measure_types, const Control& control, int trials = 3)
      : cells_(cells),
        list_(list),
        header_(header),
        measure_types_(measure_types),
        control_(control),
        trials_(trials) {}

  // Of a sample, before all else; it outlives this. The header's rows, and the list's, are then the
  // table's, but not the measures'.
  void begin_sampled(const SampledMeasures* sampled) { sampled_ = sampled; }
  // Errors: out_of_memory, cancelled; out_of_range of a measure whose squares overflow. This and the
  // following throw std::bad_alloc.
  Status prepare();
  // The floors there may be, the finest first.
  const std::vector<int>& floors() {
    make_tree();
    return floors_;
  }
  // Bytes that a cut takes, but for what rounding adds, which is less than 1 %; more than `most` of
  // those that take more.
  std::size_t bytes_of(const GridCut& cut, std::size_t most);
  // The best that fits into so many bytes; where none does the coarsest.
  GridCut best(const GridBytes& bytes);
  Status write(const GridCut& cut, DensityBytes* density);
  // Of what was written last: whether every value is a point.
  bool has_all_values() const { return ranges_ == 0; }

 private:
  // One cell of the cut: of entries [begin, end).
  struct Cell {
    std::size_t begin, end;
    double low, high;                // its ends; of a point equal
    std::int64_t low_key, high_key;  // of number_ends()
    bool is_atom;
  };
  class Part;
  struct Packed;

  bool is_of_values() const { return list_.finest < 0 && list_.coarsest < 0; }
  bool is_on_a_grid() const;
  void make_tree();
  bool cut_into(const GridCut& cut, std::size_t most_cells);
  void find_lattice_of_values();
  void find_atoms();
  std::size_t cells() const { return list_.entries.size() - list_.kept; }
  bool is_atom(std::size_t i) const {
    const GridEntry& e = list_.entries[i];
    return i >= cells() || (level_beside_atoms_ >= 0 && e.level < 0 &&
                            !cells_.ends().is_end(level_beside_atoms_, e.x));
  }
  // Once asked to stop it does not ask any more.
  bool is_stopped() { return stopped_ = stopped_ || control_.stop_requested(); }
  std::pair<double, double> ends_of(int level, std::size_t entry) const;
  bool is_across_zero(int level, std::size_t entry) const;
  void add_up_errors();
  void put_range(int level, std::size_t begin, std::size_t end);
  std::int64_t key_of_end(double x) const;
  void number_ends();
  void find_limit(std::size_t budget, int trials, GridCut* cut);
  std::size_t pack(std::size_t most, bool to_try, std::vector<DensityBytes>* out);
  void pack_measure(int k, Packed* packed);
  double share_of_rounding() const;
  Status check_finite() const;
  bool has_nulls(int k) const;
  template <typename Weight>
  double largest_distance_within(const Weight& weight) const;
  Header part_header(int k, int part, double rows, const double (&special)[kSpecialX]) const;

  const MeasureSums& sums(int k, std::size_t i) const {
    return list_
        .sums[i * static_cast<std::size_t>(cells_.measures()) + static_cast<std::size_t>(k)];
  }

  const GridCells& cells_;
  const GridList& list_;
  Header header_;
  std::optional<Header> of_values_;  // with their own lattice, which no type has
  const ValueType* measure_types_;
  const Control& control_;
  const SampledMeasures* sampled_ = nullptr;
  std::vector<int> floors_;
  int trials_;  // to find the limit
  bool stopped_ = false;
  std::optional<GridTree> tree_;  // where values are to be put together
  bool keys_of_doubles_ = false;
  int level_beside_atoms_ = -1;  // values that are none of its ends are atoms
  double rows_error_ = 0;
  std::array<double, kMaxMeasures> measured_error_ = {}, sum_error_ = {}, squares_error_ = {};
  int least_ = 0;  // no cell but a value is finer
  std::vector<Cell> cut_;
  struct Planned {
    GridCut cut;
    std::size_t bytes;
    std::vector<DensityBytes> lists;  // if they are written
  };
  std::optional<Planned> planned_;  // of what cut_ is
  std::size_t ranges_ = 0;
  bool has_nulls_[kMaxMeasures] = {};  // some y are NULL where x is not
};

}  // namespace kde
