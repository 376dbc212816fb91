// See histogram_pack.h. Blocks are chosen by dynamic programming over chunks of cells: the cells of
// a block have fields of one width, which the widest needs, and a block costs 24 bytes.
#include "core/density/histogram_pack.h"

#include "core/density/histogram_view.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace kde {

namespace {

constexpr std::size_t kChunk = 8;
// Of the rows, at either end of all.
constexpr double kOutermost = 1e-3;
constexpr int kMostShift = 52;

// Of x >= 0; less than of any normal number where x is none.
int floor_log2(double x) {
  const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52);
  return exponent > 0 ? exponent - 1023 : -1100;
}

int rows_shift_of(double rows) { return rows < 1 ? 0 : std::min(floor_log2(rows), 52); }

}  // namespace

HistogramPacking::HistogramPacking(const Header& header) : has_grid_(header.grid_level > 0) {
  const int most = header.lattice_step == 0 && !has_grid_ ? 0 : kMostShift;
  for (int i = 0; i <= most; ++i) {
    key_unit_[i] = static_cast<std::uint64_t>(key_unit(header, static_cast<unsigned>(i)));
    if (key_unit_[i] != 0) most_key_shift_ = i;
  }
}

// The coarsest step of the grid that a width is a multiple of. guess: of the cell before.
std::uint8_t HistogramPacking::round_shift(std::uint64_t width, std::uint8_t guess) const {
  const auto divides = [&](int i) { return key_unit_[i] != 0 && width % key_unit_[i] == 0; };
  int best = 0;
  int i = divides(guess) ? guess : 0;
  // Each divides the next, but for those finer than the lattice's.
  for (; i <= most_key_shift_; ++i) {
    if (divides(i))
      best = i;
    else if (key_unit_[i] != 0)
      break;
  }
  return static_cast<std::uint8_t>(best);
}

double HistogramPacking::rows(std::uint64_t units) const {
  return static_cast<double>(units) * unit_;
}

std::uint64_t HistogramPacking::units(double rows) const {
  const double units = rows / unit_;
  // Without a call, where a half is told.
  return static_cast<std::uint64_t>(units < 0x1p51 ? units + 0.5 : std::nearbyint(units));
}

void HistogramPacking::list_cells(const Steps& steps, double rows_share) {
  const std::vector<Step>& list = steps.list;
  cells_.clear();
  lattice_ = steps.lattice;
  is_by_largest_ = rows_share > 0;
  if (list.empty() || !(steps.rows() > 0)) return;
  cells_.reserve(list.size() + list.size() / 2);
  first_key_ = list.front().key;
  std::uint64_t through = 0;
  std::int64_t end = first_key_;  // of the last cell
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Step& s = list[i];
    const std::uint64_t at_below = units(s.below);
    const std::uint64_t at_through = units(s.through);
    if (at_through == through) continue;  // an end of no rows: stated where a range begins
    Cell cell;
    cell.key = s.key;
    cell.point = false;
    const auto rows_shift = [&](std::uint64_t own) {
      return is_by_largest_ ? rows_shift_of(rows_share * static_cast<double>(own)) : 0;
    };
    if (at_below > through) {
      if (list[i - 1].key != end) {
        // No rows to where the range begins.
        Cell gap = cell;
        gap.key = list[i - 1].key;
        gap.through = through;
        gap.rows_shift = kMostShift;
        if (cells_.empty())
          first_key_ = gap.key;
        else
          cells_.push_back(gap);
      }
      cell.through = at_below;
      cell.rows_shift = static_cast<std::uint8_t>(rows_shift(at_below - through));
      cells_.push_back(cell);
    }
    if (at_through > at_below) {
      cell.point = true;
      const std::uint64_t own = at_through - std::max(at_below, through);
      cell.through = at_through;
      // A point keeps rows; an outermost one, which may be far from all others, its own.
      const bool outermost =
          std::min(s.below, steps.rows() - s.through) <= kOutermost * steps.rows();
      cell.rows_shift = static_cast<std::uint8_t>(
          outermost ? 0 : std::min(rows_shift(own), static_cast<int>(std::bit_width(own)) - 1));
      cells_.push_back(cell);
    }
    through = at_through;
    end = s.key;
  }
  std::int64_t before = first_key_;
  std::uint8_t shift = round_shift(0, 0);
  std::uint64_t last = 0;
  for (Cell& cell : cells_) {
    const std::uint64_t width =
        static_cast<std::uint64_t>(cell.key) - static_cast<std::uint64_t>(before);
    if (width != last) shift = round_shift(width, shift);
    cell.key_shift = shift;
    last = width;
    before = cell.key;
  }
}

void HistogramPacking::list_chunks() {
  chunks_.clear();
  std::int64_t begin = first_key_;
  std::uint64_t below = 0;
  bool negative = first_key_ < 0 && !lattice_;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    const bool crosses = negative && (cell.key > 0 || (cell.point && cell.key == 0));
    if (crosses) negative = false;
    if (i == 0 || crosses || chunks_.back().end - chunks_.back().begin == kChunk) {
      Chunk chunk{};
      chunk.begin = i;
      chunk.after_zero = crosses;
      chunk.key_shift = kMostShift;
      chunk.rows_shift = is_by_largest_ ? 0 : kMostShift;
      chunks_.push_back(chunk);
    }
    Chunk& chunk = chunks_.back();
    chunk.end = i + 1;
    chunk.points |= cell.point;
    chunk.ranges |= !cell.point;
    chunk.key_shift = std::min(chunk.key_shift, cell.key_shift);
    if (!is_by_largest_)
      chunk.rows_shift = std::min(chunk.rows_shift, cell.rows_shift);
    else if (cell.through > below)
      chunk.rows_shift = std::max(chunk.rows_shift, cell.rows_shift);
    // So that the rows add up.
    if (i + 1 == cells_.size()) chunk.rows_shift = 0;
    // Of a point that crosses 0 nobody asks.
    const auto width = static_cast<std::uint64_t>(cell.key) - static_cast<std::uint64_t>(begin);
    std::uint64_t& widest = i == chunk.begin ? chunk.first_width : chunk.other_width;
    widest = std::max(widest, width);
    chunk.rows = std::max(chunk.rows, cell.through - below);
    begin = cell.key;
    below = cell.through;
  }
}

std::size_t HistogramPacking::plan_blocks() {
  plan_.clear();
  const std::size_t n = chunks_.size();
  if (n == 0) return 0;
  struct Best {
    std::size_t bytes = std::numeric_limits<std::size_t>::max();
    std::size_t from = 0;
    std::uint8_t key_shift = 0, rows_shift = 0;
  };
  std::vector<Best> best(n + 1);
  best[0].bytes = 0;
  for (std::size_t i = 0; i < n; ++i) {
    Chunk all = chunks_[i];
    // A block may begin at a point.
    if (!cells_[all.begin].point) all.other_width = std::max(all.other_width, all.first_width);
    for (std::size_t j = i; j < n; ++j) {
      const Chunk& c = chunks_[j];
      if (j > i) {
        if (c.after_zero || c.end - all.begin > kHistogramCells) break;
        all.end = c.end;
        all.points |= c.points;
        all.ranges |= c.ranges;
        all.key_shift = std::min(all.key_shift, c.key_shift);
        all.rows_shift = std::min(all.rows_shift, c.rows_shift);
        all.other_width = std::max({all.other_width, c.first_width, c.other_width});
        all.rows = std::max(all.rows, c.rows);
      }
      const std::size_t bits =
          (all.points && all.ranges ? 1 : 0) +
          static_cast<std::size_t>(std::bit_width(quanta(all.other_width, all.key_shift))) +
          static_cast<std::size_t>(std::bit_width(all.rows >> all.rows_shift));
      const std::size_t bytes =
          best[i].bytes + sizeof(HistogramBlock) + ((all.end - all.begin) * bits + 63) / 64 * 8;
      if (bytes < best[j + 1].bytes) best[j + 1] = {bytes, i, all.key_shift, all.rows_shift};
    }
  }
  for (std::size_t j = n; j > 0; j = best[j].from) {
    const Best& b = best[j];
    plan_.push_back({chunks_[b.from].begin, chunks_[j - 1].end, b.key_shift, b.rows_shift});
  }
  std::reverse(plan_.begin(), plan_.end());
  return (best[n].bytes + 7) / 8 * 8;
}

std::size_t HistogramPacking::plan(const Steps& steps, double unit, double rows_share) {
  unit_ = unit;
  list_cells(steps, rows_share);
  list_chunks();
  return plan_blocks();
}

void HistogramPacking::append_packed(std::int64_t key, std::uint64_t below, std::uint64_t through) {
  if (!keeps_) return;
  Step s;
  s.key = key;
  s.x = lattice_ || has_grid_ ? static_cast<double>(key) : value_of_key(key);
  s.below = rows(below);
  s.through = rows(through);
  std::vector<Step>& list = packed_.list;
  if (!list.empty() && list.back().x == s.x)
    list.back().through = s.through;
  else
    list.push_back(s);
}

void HistogramPacking::pack_block(const Block& planned) {
  const Cell& first = cells_[planned.begin];
  HistogramBlock block{};
  block.first_key = key_;
  // What lies on the other side of 0 has ended, but for what rounding left.
  if (key_ < 0 && !lattice_ && first.key > 0) block.first_key = 0;
  if (first.point) block.first_key = std::max(block.first_key, first.key);
  block.rows_below = rows(units_);
  block.last_cell = static_cast<std::uint8_t>(planned.end - planned.begin - 1);
  block.key_shift = planned.key_shift;
  block.rows_shift = planned.rows_shift;

  const int shift = planned.key_shift;
  std::uint64_t quanta[kHistogramCells], own[kHistogramCells];
  std::uint64_t all_quanta = 0, all_units = 0, used_quanta = 0, used_units = 0;
  bool points = false, ranges = false;
  append_packed(block.first_key, units_, units_);
  const std::uint64_t before = units_;
  for (std::size_t i = planned.begin; i < planned.end; ++i) {
    const Cell& cell = cells_[i];
    const std::size_t c = i - planned.begin;
    std::uint64_t q = 0;
    if (cell.key > block.first_key) {
      const auto distance =
          static_cast<std::uint64_t>(cell.key) - static_cast<std::uint64_t>(block.first_key);
      q = this->quanta(distance, shift);
    }
    const bool distinct = !cell.point || (c > 0 && cells_[i - 1].point);
    quanta[c] = std::max(q, all_quanta + (distinct ? 1 : 0)) - all_quanta;
    own[c] = ((cell.through - before) >> planned.rows_shift) - all_units;
    // What rounding left is none of a gap's.
    if (is_by_largest_ && cell.through == (i > 0 ? cells_[i - 1].through : 0)) own[c] = 0;
    const std::uint64_t below = units_;
    all_quanta += quanta[c];
    all_units += own[c];
    used_quanta |= quanta[c];
    used_units |= own[c];
    points |= cell.point;
    ranges |= !cell.point;
    key_ = block.first_key + static_cast<std::int64_t>(all_quanta * key_unit_[shift]);
    units_ = before + (all_units << planned.rows_shift);
    append_packed(key_, cell.point ? below : units_, units_);
  }
  block.kinds = points && ranges ? CellKinds::mixed
                : points         ? CellKinds::points
                                 : CellKinds::ranges;
  block.key_bits = static_cast<std::uint8_t>(std::bit_width(used_quanta));
  block.rows_bits = static_cast<std::uint8_t>(std::bit_width(used_units));
  block.word = static_cast<std::uint16_t>(bits_.next_word());
  for (std::size_t c = 0; c <= block.last_cell; ++c) {
    if (block.kinds == CellKinds::mixed) bits_.put(cells_[planned.begin + c].point ? 1 : 0, 1);
    bits_.put(quanta[c], block.key_bits);
    bits_.put(own[c], block.rows_bits);
  }
  blocks_.push_back(block);
}

std::size_t HistogramPacking::pack(bool keep) {
  keeps_ = keep;
  blocks_.clear();
  packed_.list.clear();
  if (keep) packed_.list.reserve(cells_.size() + plan_.size() + 1);
  packed_.lattice = lattice_;
  bits_ = {};
  key_ = first_key_;
  units_ = 0;
  for (const Block& block : plan_) pack_block(block);
  return blocks_.size() * sizeof(HistogramBlock) + words().size() * sizeof(std::uint64_t);
}

DensityBytes lay_out(Header header, std::span<const double> atom_value,
                     std::span<const double> atom_rows, std::span<const HistogramBlock> blocks,
                     std::span<const std::uint64_t> words) {
  header.version = kFormatVersion;
  header.kind = Kind::one_column;
  header.atoms = static_cast<std::uint32_t>(atom_value.size());
  header.blocks = static_cast<std::uint32_t>(blocks.size());
  DensityBytes density(sizeof header + atom_value.size_bytes() + atom_rows.size_bytes() +
                       blocks.size_bytes() + words.size_bytes());
  char* out = density.data();
  const auto put = [&out](const void* from, std::size_t n) {
    if (n > 0) std::memcpy(out, from, n);
    out += n;
  };
  put(&header, sizeof header);
  put(atom_value.data(), atom_value.size_bytes());
  put(atom_rows.data(), atom_rows.size_bytes());
  put(blocks.data(), blocks.size_bytes());
  put(words.data(), words.size_bytes());
  return density;
}

}  // namespace kde
