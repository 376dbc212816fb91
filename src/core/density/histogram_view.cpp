// Reading the layout of histogram.h.
#include "core/density/histogram_view.h"

#include "core/density/round_ends.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

// Collects the cells of decode_histogram: what has no width becomes a point, and points at one
// value become one.
class CellList {
 public:
  CellList(const DensityView& view, std::vector<HistogramCell>* cells)
      : view_(view), lattice_(view.header().lattice_step > 0), cells_(*cells) {
    cells_.clear();
    cells_.reserve(static_cast<std::size_t>(view.steps()) + 1);
  }

  // Of a key; the last one's is that of the next cell's beginning.
  double value(std::int64_t key) {
    if (key != key_) {
      value_ = view_.value(key);
      key_ = key;
    }
    return value_;
  }

  void add_atoms_below(double value) {
    for (; atom_ < view_.atoms() && view_.atom_value(atom_) < value; ++atom_)
      add_point(view_.atom_value(atom_), atom_rows());
  }

  // Where a range begins: what lies before has no rows.
  void begin_at(double value) {
    if (cells_.empty() || cells_.back().value < value) cells_.push_back({value, 0, false});
  }

  // Divided by width at the atoms in it.
  void add_range(const StoredCell& cell, double begin, double rows) {
    const double end = value(cell.key);
    double before = 0;  // share already added
    for (; atom_ < view_.atoms() && view_.atom_value(atom_) < end; ++atom_) {
      const double value = view_.atom_value(atom_);
      const double share = std::clamp(share_at(cell, begin, end, value), before, 1.0);
      add_part(value, rows * (share - before));
      before = share;
      add_point(value, atom_rows());
    }
    add_part(end, rows * (1 - before));
  }

  void add_point(double value, double rows) {
    if (!cells_.empty() && cells_.back().point && cells_.back().value == value) {
      cells_.back().rows += rows;
    } else {
      cells_.push_back({value, rows, true});
    }
  }

 private:
  double atom_rows() const {
    const double before = atom_ > 0 ? view_.atom_cumulative_rows(atom_ - 1) : 0;
    return view_.atom_cumulative_rows(atom_) - before;
  }

  double share_at(const StoredCell& cell, double begin, double end, double value) const {
    if (!lattice_) return end > begin ? (value - begin) / (end - begin) : 1;
    const Header& h = view_.header();
    const double k = std::nearbyint((value - h.lattice_offset) / h.lattice_step);
    return (k - static_cast<double>(cell.begin)) / static_cast<double>(cell.key - cell.begin);
  }

  void add_part(double value, double rows) {
    if (!cells_.empty() && cells_.back().value >= value) {
      if (rows > 0) add_point(cells_.back().value, rows);
    } else {
      cells_.push_back({value, rows, false});
    }
  }

  const DensityView& view_;
  bool lattice_;
  std::vector<HistogramCell>& cells_;
  int atom_ = 0;
  std::int64_t key_ = std::numeric_limits<std::int64_t>::min();
  double value_ = -std::numeric_limits<double>::infinity();  // of no key
};

}  // namespace

DensityView::DensityView(const void* bytes, const BlockSums& sums) : sums_(sums) {
  const char* p = static_cast<const char*>(bytes);
  header_ = reinterpret_cast<const Header*>(p);
  p += sizeof(Header);
  atom_value_ = reinterpret_cast<const double*>(p);
  p += header_->atoms * sizeof(double);
  atom_rows_ = reinterpret_cast<const double*>(p);
  p += header_->atoms * sizeof(double);
  block_ = reinterpret_cast<const HistogramBlock*>(p);
  p += header_->blocks * sizeof(HistogramBlock);
  words_ = reinterpret_cast<const std::uint64_t*>(p);
}

int DensityView::steps() const {
  int steps = atoms();
  for (int b = 0; b < blocks(); ++b) steps += block(b).last_cell + 1;
  return steps;
}

double DensityView::value(std::int64_t key) const {
  const Header& h = *header_;
  if (h.lattice_step > 0)
    return std::min(std::max(h.lattice_point(static_cast<double>(key)), h.min), h.max);
  if (h.grid_level > 0) {
    const RoundEnds ends(h.chain);
    return std::min(std::max(ends.end(h.grid_level - 1, (key + (key & 1)) / 2), h.min), h.max);
  }
  // The end of a range may be beyond them.
  if (key >= key_of(h.max)) return h.max;
  if (key <= key_of(h.min)) return h.min;
  return value_of_key(key);
}

std::int64_t key_unit(const Header& h, unsigned key_shift) {
  const Chain chain = h.chain;
  if (h.grid_level > 0) {
    // Two for each step of the keys' level.
    const RoundEnds ends(chain);
    const int level = h.grid_level - 1 + static_cast<int>(key_shift);
    if (key_shift == 0) return 2;
    if (key_shift > 36 || level >= ends.levels() || !ends.is_even(level)) return 0;
    const double ratio = std::nearbyint(ends.step(level) / ends.step(h.grid_level - 1));
    return ratio <= 0x1p53 ? 2 * static_cast<std::int64_t>(ratio) : 0;
  }
  if (key_shift == 0) return 1;
  if (!(h.lattice_step > 0)) return 0;
  if (chain == Chain::decimal) {
    // 5, 10, 50 ... 10^18.
    if (key_shift > 36) return 0;
    std::int64_t unit = key_shift % 2 == 0 ? 1 : 5;
    for (unsigned i = 0; i < key_shift / 2; ++i) unit *= 10;
    return unit;
  }
  if (key_shift > static_cast<unsigned>(kDayLevel)) return 0;
  const double unit =
      std::nearbyint(RoundEnds(chain).step(static_cast<int>(key_shift)) / h.lattice_step);
  return unit >= 1 && unit <= 0x1p53 ? static_cast<std::int64_t>(unit) : 0;
}

std::int64_t grid_key(const Header& h, double x) {
  const RoundEnds ends(h.chain);
  const std::int64_t k = ends.cell(h.grid_level - 1, x);
  return 2 * k + (ends.end(h.grid_level - 1, k) != x ? 1 : 0);
}

std::size_t histogram_cells_size(const void* bytes, std::size_t available) {
  const Header& h = *static_cast<const Header*>(bytes);
  constexpr std::size_t kMost = kMostListBytes;
  if (h.atoms > kMost / (2 * sizeof(double)) || h.blocks > kMost / sizeof(HistogramBlock)) return 0;
  const std::size_t arrays =
      sizeof(Header) + h.atoms * 2 * sizeof(double) + h.blocks * sizeof(HistogramBlock);
  if (arrays > std::min(available, kMost)) return 0;
  const DensityView view(bytes);
  std::size_t end = 0;  // of words
  for (int b = 0; b < view.blocks(); ++b) {
    const HistogramBlock& block = view.block(b);
    if (block.last_cell >= kHistogramCells || block.key_shift > 62 || block.key_bits > 63 ||
        block.rows_bits + block.rows_shift > 53 || block.kinds > CellKinds::mixed ||
        block.word != end)
      return 0;
    end += block_words(block);
  }
  const std::size_t size = view.cells_bytes();
  return size <= kMost ? size : 0;
}

std::size_t histogram_size(const void* bytes, std::size_t available) {
  const std::size_t cells = histogram_cells_size(bytes, available);
  if (cells == 0 || static_cast<const Header*>(bytes)->effects == 0) return cells;
  if (cells + sizeof(RangeEffectsHeader) > available) return 0;
  const RangeEffectsHeader& e = *DensityView(bytes).effects();
  const bool fits = e.cells >= 2 && e.cells <= kMostEffectCells &&
                    e.bytes == effects_bytes(e.cells, e.flags) && cells + e.bytes <= kMostListBytes;
  return fits ? cells + e.bytes : 0;
}

double error_rows(const DensityView& view) {
  const Header& h = view.header();
  double most = 0;
  for (int b = 0; b < view.blocks() && h.has_exact_ends(); ++b) {
    CellReader reader = view.cells(b);
    StoredCell cell;
    while (reader.next(&cell))
      if (!cell.point) most = std::max(most, static_cast<double>(cell.units) * h.row_unit);
  }
  return h.error * h.rows + most;
}

void decode_histogram(const DensityView& view, std::vector<HistogramCell>* cells) {
  CellList list(view, cells);
  const double unit = view.header().row_unit;
  for (int b = 0; b < view.blocks(); ++b) {
    CellReader reader = view.cells(b);
    StoredCell cell;
    while (reader.next(&cell)) {
      const double rows = static_cast<double>(cell.units) * unit;
      if (cell.point) {
        const double at = list.value(cell.key);
        list.add_atoms_below(at);
        list.add_point(at, rows);
      } else {
        const double begin = list.value(cell.begin);
        list.add_atoms_below(begin);
        list.begin_at(begin);
        list.add_range(cell, begin, rows);
      }
    }
  }
  list.add_atoms_below(std::numeric_limits<double>::infinity());
}

}  // namespace kde
