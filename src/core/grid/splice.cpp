// See splice.h. Of a list the blocks from before the first cell that changes to behind the last one are packed
// anew, in the list's own unit; rows below those that follow are moved by what came to that.
#include "core/grid/splice.h"

#include "core/density/checks.h"
#include "core/density/histogram_pack.h"
#include "core/density/histogram_steps.h"
#include "core/density/histogram_view.h"
#include "core/density/measure_format.h"
#include "core/grid/grid_encode.h"
#include "core/grid/owned_cells.h"
#include "core/grid/stored_cells.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace kde {

namespace {

// A list's rows are so many units at most.
constexpr double kMostUnits = 0x1p53;

Status not_told(const char* why) { return Status::error(Code::too_large, "%s", why); }

// A cell of the column.
struct Place {
  GridEntry cell;
  ListCell before, now;  // its ends, by their keys; before: if it was one
  bool was = true;
  int number = -1;  // of those that change
};

// What came to one, less what went.
struct Difference {
  double rows = 0, now = 0;  // now: with those that it had
  std::array<MeasureSums, kMaxMeasures> sums = {};
};

// The open cell's, or the value.
double end_of(const RoundEnds& ends, const GridEntry& e) {
  return e.level < 0 ? e.x : ends.end(e.level, ends.cell(e.level, e.x) + 1);
}

// Some blocks of a list that follow each other.
struct Window {
  int first = 0, end = 0;
  std::vector<ListCell> cells;
};

// Those that may have cells that meet [low, high], and one on either side.
Window window_of(const DensityView& list, const CellFinder& finder, double low, double high) {
  Window out;
  out.end = list.blocks();
  const auto begins = [&](int b) { return finder.value(list.block(b).first_key); };
  out.first = first_true(0, list.blocks(), [&](int b) { return !(begins(b) < low); });
  out.first = std::max(out.first - 2, 0);
  out.end = first_true(out.first, list.blocks(), [&](int b) { return begins(b) > high; });
  out.end = std::min(out.end + 1, list.blocks());
  for (int b = out.first; b < out.end; ++b) {
    CellReader reader = list.cells(b);
    StoredCell cell;
    while (reader.next(&cell))
      if (cell.units != 0) out.cells.push_back(list_cell(cell, 1));
  }
  return out;
}

// One list whose window is another. header: of it, all but rows of cells, unit and error. off: how far it
// may be off, in rows, but for what packing adds.
class ListSplicer {
 public:
  ListSplicer(const DensityView& list, const Window& window, const Header& header, double off)
      : list_(list), window_(window), header_(header), off_(off) {
    steps_.lattice = header.lattice_step > 0;
    steps_.list.reserve(window.cells.size() + 16);
  }

  // In their order, in units.
  void add(const ListCell& cell, double units) {
    if (!(units > 0)) return;
    at(cell.begin);
    sum_ += units;
    if (cell.begin == cell.end)
      steps_.list.back().through = sum_;
    else
      at(cell.end);
  }

  Status write(double rows_share, DensityBytes* out) {
    const double below = rows_below(window_.first), was = rows_below(window_.end) - below;
    const double unit = list_.header().row_unit;
    const double moved = sum_ * unit - was;
    const double cell_rows = list_.header().cell_rows + moved;
    if (!in_order_ || !fits_between() || !(unit > 0) || !(cell_rows > 0) ||
        !(cell_rows / unit < kMostUnits))
      return not_told("a list of other cells");
    HistogramPacking packing(header_);
    if (!steps_.list.empty()) {
      packing.plan(steps_, 1, rows_share);
      packing.pack(rows_share > 0);
      if (rows_share > 0) off_ += unit * largest_distance(steps_, packing.packed());
    }
    std::vector<HistogramBlock> blocks;
    std::vector<std::uint64_t> words;
    const auto copy = [&](const HistogramBlock* block, int n, const std::uint64_t* from,
                          std::size_t size, double rows, double times) {
      const std::size_t first = n > 0 ? block->word : 0;
      for (int b = 0; b < n; ++b) {
        HistogramBlock to = block[b];
        to.word = static_cast<std::uint16_t>(to.word - first + words.size());
        to.rows_below = to.rows_below * times + rows;
        blocks.push_back(to);
      }
      words.insert(words.end(), from + first, from + first + size);
      return words.size() <= std::numeric_limits<std::uint16_t>::max();
    };
    const HistogramBlock* all = list_.blocks() > 0 ? &list_.block(0) : nullptr;
    const std::size_t to_first = word(window_.first), to_end = word(window_.end);
    const int n = static_cast<int>(packing.blocks().size());
    if (!copy(all, window_.first, list_.words(), to_first, 0, 1) ||
        !copy(packing.blocks().data(), n, packing.words().data(), packing.words().size(), below,
              unit) ||
        !copy(all + window_.end, list_.blocks() - window_.end, list_.words(),
              word(list_.blocks()) - to_end, moved, 1))
      return not_told("a list of too many cells");
    Header header = header_;
    header.cell_rows = cell_rows;
    header.error = off_ > 0 ? std::min(1.0, off_ / header.rows) : 0;
    *out = lay_out(header, {}, {}, blocks, words);
    return out->size() <= kMostListBytes ? Status::success() : not_told("a list of many bytes");
  }

 private:
  double rows_below(int block) const { return list_.rows_below(block); }
  // Where a block's begin, or all end.
  std::size_t word(int block) const {
    if (block < list_.blocks()) return list_.block(block).word;
    return block == 0 ? 0 : list_.block(block - 1).word + block_words(list_.block(block - 1));
  }
  bool fits_between() const {
    if (steps_.list.empty()) return true;
    return (window_.first == 0 ||
            steps_.list.front().key >= list_.block(window_.first).first_key) &&
           (window_.end == list_.blocks() ||
            steps_.list.back().key <= list_.block(window_.end).first_key);
  }
  void at(std::int64_t key) {
    if (!steps_.list.empty() && steps_.list.back().key == key) return;
    in_order_ = in_order_ && (steps_.list.empty() || steps_.list.back().key < key);
    Step s;
    s.key = key;
    s.x = steps_.lattice || header_.grid_level > 0 ? static_cast<double>(key) : value_of_key(key);
    s.below = s.through = sum_;
    steps_.list.push_back(s);
  }

  const DensityView& list_;
  const Window& window_;
  const Header& header_;
  double off_;
  Steps steps_;
  double sum_ = 0;
  bool in_order_ = true;
};

class Splicer {
 public:
  Splicer(const Header& density, const GridCells::Without& without,
          std::span<const Header* const> came)
      : density_(density),
        without_(without),
        came_(came),
        cells_(density.chain, density.measures),
        ends_(density.chain),
        finder_(ends_, density, false) {}

  Status run(std::size_t most, DensityBytes* out) {
    if (density_.words > 0 || density_.effects > 0 || !(density_.finite_rows() > 0))
      return not_told("no list of cells");
    if (Status s = cells_->replace(density_, without_, came_, &replaced_); !s.ok()) return s;
    if (Status s = make_header(); !s.ok()) return s;
    if (Status s = find_places(); !s.ok()) return s;
    std::vector<DensityBytes> lists(1);
    if (Status s = splice_rows(&lists[0]); !s.ok()) return s;
    for (int k = 0; k < density_.measures; ++k)
      if (Status s = splice_measure(k, &lists); !s.ok()) return s;
    std::size_t bytes = 0;
    for (const DensityBytes& list : lists) bytes += aligned(list.size());
    if (bytes > most) return not_told("more bytes than there may be");
    if (density_.measures == 0) {
      *out = std::move(lists[0]);
      return Status::success();
    }
    *out = DensityBytes(bytes);
    char* to = out->data();
    for (const DensityBytes& list : lists) {
      std::memcpy(to, list.data(), list.size());
      to += aligned(list.size());
    }
    out->header().measures = density_.measures;
    return Status::success();
  }

 private:
  // ------------------------------------------------------------------------------------- totals

  Status make_header() {
    const SpecialRows& s = cells_->specials();
    const SummaryTotals& t = cells_->totals();
    Header& h = header_ = density_;
    h.measures = h.grouped = 0;
    h.varlena = 0;
    h.flags &= static_cast<std::uint8_t>(~kFitted);
    h.nulls = s.nulls;
    h.nans = s.nans;
    h.negative_infinities = s.negative_infinities;
    h.positive_infinities = s.positive_infinities;
    h.rows = t.rows() + s.nans + s.negative_infinities + s.positive_infinities;
    if (!(t.count() > 0) || !(std::max(h.rows, h.nulls) <= kMostRows))
      return not_told("no rows that are left");
    h.min = t.min();
    h.max = t.max();
    h.mean = t.mean();
    h.variance = t.variance();
    h.sample_rows = std::min(t.count(), 0x1p62);
    const double farthest = std::max(std::fabs(h.min), std::fabs(h.max));
    if ((h.lattice_step > 0 && !lattice_resolved(h)) ||
        (h.grid_level > 0 && !(farthest < kMostIndex * ends_.step(h.grid_level - 1))))
      return not_told("values of another lattice");
    return Status::success();
  }

  // ------------------------------------------------------------------------------------- places

  // What goes, what comes, and, of no rows, a least and a greatest value that are others.
  struct Change {
    GridEntry cell;
    double sign;
    const MeasureSums* sums;
  };

  std::vector<Change> changes() const {
    std::vector<Change> out;
    for (const bool came : {false, true}) {
      const CellList& list = came ? replaced_.came : replaced_.gone;
      for (std::size_t i = 0; i < list.entries.size(); ++i)
        out.push_back({list.entries[i], came ? 1.0 : -1.0,
                       list.sums.data() + i * static_cast<std::size_t>(density_.measures)});
    }
    if (header_.min != density_.min) out.push_back({{header_.min, 0, -1}, 0, nullptr});
    if (header_.max != density_.max) out.push_back({{header_.max, 0, -1}, 0, nullptr});
    // A value before the cells that begin at it, of these the coarser first.
    std::stable_sort(out.begin(), out.end(), [](const Change& a, const Change& b) {
      if (a.cell.x != b.cell.x) return a.cell.x < b.cell.x;
      return a.cell.level < 0 || b.cell.level < 0 ? a.cell.level < b.cell.level && a.cell.level < 0
                                                  : a.cell.level > b.cell.level;
    });
    return out;
  }

  const Difference& difference(const Place& place) const {
    return differences_[static_cast<std::size_t>(place.number)];
  }
  double end(const GridEntry& e) const { return end_of(ends_, e); }
  bool is_before(const GridEntry& a, const GridEntry& b) const {
    return a.level < 0 && b.level < 0 ? a.x < b.x : end(a) <= b.x;
  }
  bool holds(const GridEntry& a, const GridEntry& b) const {
    if (a.level < 0) return b.level < 0 && a.x == b.x;
    return b.level < 0 ? a.x < b.x && b.x < end(a) : a.x <= b.x && end(b) <= end(a);
  }

  Status find_places() {
    const std::vector<Change> all = changes();
    if (all.empty()) return not_told("nothing that changes");
    low_ = all.front().cell.x;
    high_ = low_;
    for (const Change& c : all) high_ = std::max(high_, end(c.cell));
    rows_ = window_of(DensityView(&density_), finder_, low_, high_);
    std::vector<Place> old;
    old.reserve(rows_.cells.size());
    for (const ListCell& cell : rows_.cells) {
      Place place;
      place.before = place.now = cell;
      if (!finder_.find(cell, &place.cell)) return invalid("a cell is none of the grid's");
      old.push_back(place);
    }
    widen_outermost(&old);
    places_.reserve(old.size() + 16);
    std::size_t i = 0;
    for (const Change& c : all) {
      for (; i < old.size() && is_before(old[i].cell, c.cell); ++i) places_.push_back(old[i]);
      Place* to = nullptr;
      if (i < old.size() && holds(old[i].cell, c.cell))
        to = &old[i];
      else if (!places_.empty() && holds(places_.back().cell, c.cell))
        to = &places_.back();
      if (to == nullptr && c.sign == 0) continue;
      if (to == nullptr) {
        if (c.sign < 0) return not_told("a part has finer cells than the whole");
        const Place* next = i < old.size() ? &old[i] : nullptr;
        if (Status s = add_place(c.cell, next); !s.ok()) return s;
        to = &places_.back();
      }
      if (to->number < 0) {
        to->number = static_cast<int>(differences_.size());
        differences_.emplace_back();
      }
      if (c.sign == 0) continue;
      Difference& own = differences_[static_cast<std::size_t>(to->number)];
      own.rows += c.sign * c.cell.rows;
      for (std::size_t k = 0; k < density_.measures; ++k) own.sums[k].add(c.sums[k].times(c.sign));
    }
    places_.insert(places_.end(), old.begin() + static_cast<std::ptrdiff_t>(i), old.end());
    for (Place& place : places_)
      if (place.number >= 0)
        if (Status s = number(&place); !s.ok()) return s;
    return Status::success();
  }

  // The outermost cells are stored no wider than the column was: they are as wide as their neighbours.
  void widen_outermost(std::vector<Place>* places) const {
    if (places->size() < 2) return;
    const auto widen = [this](const Place& beside, bool below, Place* place) {
      GridEntry& e = place->cell;
      if (e.level < 0) return;
      for (int level = beside.cell.level; level > e.level; --level) {
        const GridEntry wide = {ends_.begin(level, ends_.cell(level, e.x)), 0, level};
        if (!(below ? is_before(beside.cell, wide) : is_before(wide, beside.cell))) continue;
        e.x = wide.x;
        e.level = level;
        return;
      }
    };
    if (rows_.first == 0) widen((*places)[1], false, &places->front());
    if (rows_.end == static_cast<int>(density_.blocks))
      widen((*places)[places->size() - 2], true, &places->back());
  }

  // next: the one after it; null: there is none.
  Status add_place(const GridEntry& cell, const Place* next) {
    const Place* before = places_.empty() ? nullptr : &places_.back();
    const int widest = std::max(before != nullptr ? before->cell.level : -1,
                                next != nullptr ? next->cell.level : -1);
    const auto is_free = [&](const GridEntry& e) {
      return (before == nullptr || is_before(before->cell, e)) &&
             (next == nullptr || is_before(e, next->cell));
    };
    if (widest < 0 && cell.level >= 0) return not_told("a range among values");
    GridEntry own = cell;
    for (int level = widest; level > cell.level; --level) {
      const std::int64_t k = ends_.cell(level, cell.x);
      if (cell.level < 0 && ends_.end(level, k) == cell.x) continue;
      const GridEntry wide = {ends_.begin(level, k), 0, level};
      if (!is_free(wide)) continue;
      own = wide;
      break;
    }
    if (!is_free(own)) return not_told("cells that come hold those that there are");
    Place place;
    place.cell = own;
    place.was = false;
    places_.push_back(place);
    return Status::success();
  }

  // Keys of its ends, as GridEncoder numbers them; false for a value that has none.
  bool key_of_end(double x, std::int64_t* key) const {
    if (header_.grid_level > 0)
      *key = 2 * ends_.cell(header_.grid_level - 1, x);
    else if (header_.lattice_step == 0)
      *key = key_of(x);
    else
      *key = static_cast<std::int64_t>(std::clamp(
          std::nearbyint((x - header_.lattice_offset) / header_.lattice_step), -0x1p62, 0x1p62));
    return finder_.value(*key) == x;
  }

  Status number(Place* place) const {
    std::int64_t least, greatest;
    (void)key_of_end(header_.min, &least);
    (void)key_of_end(header_.max, &greatest);
    const std::int64_t step = header_.grid_level > 0 ? 2 : 1;
    const double high = end(place->cell);
    std::int64_t begin, last;
    bool told = key_of_end(place->cell.x, &begin);
    told = key_of_end(high, &last) && told;
    if (place->cell.level < 0) {
      if (!told) return not_told("a value that has no key");
      place->now = {begin, begin, 0};
      return Status::success();
    }
    if (header_.lattice_step == 0 && place->cell.x < 0 && high > 0)
      return not_told("a cell on both sides of 0");
    place->now = {std::max(begin, least - step), std::min(last, greatest + step), 0};
    told = (told || place->now.begin > begin || place->now.end < last) &&
           place->now.begin < place->now.end;
    return told ? Status::success() : not_told("a cell that has no keys");
  }

  // -------------------------------------------------------------------------------------- lists

  // Calls f with cells of a list, in their order: one that changed is given by its number, and units that
  // it had.
  template <typename F>
  void merge(const Window& window, const F& f) const {
    std::size_t i = 0;
    for (std::size_t p = 0; p < places_.size(); ++p) {
      const Place& place = places_[p];
      if (place.number < 0) continue;
      const ListCell& at = place.was ? place.before : place.now;
      for (; i < window.cells.size() && kde::is_before(window.cells[i], at); ++i)
        f(window.cells[i], nullptr, window.cells[i].weight);
      double had = 0;
      if (place.was && i < window.cells.size() && is_same(window.cells[i], at))
        had = window.cells[i++].weight;
      f(place.now, &place, had);
    }
    for (; i < window.cells.size(); ++i) f(window.cells[i], nullptr, window.cells[i].weight);
  }

  Status splice_rows(DensityBytes* out) {
    const DensityView list(&density_);
    ListSplicer to(list, rows_, header_, density_.error * density_.rows + replaced_.error_rows);
    const char* wrong = nullptr;
    merge(rows_, [&](const ListCell& cell, const Place* place, double units) {
      if (place != nullptr) {
        Difference& own = differences_[static_cast<std::size_t>(place->number)];
        own.now = own.rows + units * density_.row_unit;
        units += own.rows / density_.row_unit;
      }
      if (units < 0) wrong = "a part is none of the whole";
      if (units != std::nearbyint(units)) wrong = "rows of other weights";
      to.add(cell, units);
    });
    if (wrong != nullptr) return not_told(wrong);
    return to.write(0, out);
  }

  // What a part of a measure holds of sums.
  static double weight_of(MeasurePart part, const MeasureSums& s) {
    switch (part) {
      case MeasurePart::rows:
        return s.rows;
      case MeasurePart::above:
        return std::max(s.sum, 0.0);
      case MeasurePart::below:
        return std::max(-s.sum, 0.0);
      default:
        return std::max(s.squares, 0.0);
    }
  }

  // What cells have that changed, as stored and as it is to be.
  struct Sums {
    std::vector<MeasureSums> now;
    double sums_left_out = 0, squares_left_out = 0;
    Window window[kMeasureParts];
  };

  Status sums_of(int k, const MeasureView& view, Sums* out) const {
    const auto at = static_cast<std::size_t>(k);
    const bool counts = view.header().has(MeasurePart::rows);
    for (const Place& place : places_) {
      if (place.number < 0) continue;
      const Difference& came = difference(place);
      if (!counts && came.sums[at].rows != came.rows) return not_told("NULLs that came");
      out->now.push_back(came.sums[at]);
      if (!counts) out->now.back().rows = came.now;
    }
    for (int p = 0; p < kMeasureParts; ++p) {
      const auto part = static_cast<MeasurePart>(p);
      if (!view.header().has(part)) continue;
      const DensityView list = view.part(part);
      const double unit = list.header().row_unit;
      out->window[p] = window_of(list, finder_, low_, high_);
      auto now = out->now.begin();
      merge(out->window[p], [&](const ListCell&, const Place* place, double units) {
        if (place == nullptr) return;
        const double had = units * unit;
        if (part == MeasurePart::rows) now->rows += had;
        if (part == MeasurePart::above) now->sum += had;
        if (part == MeasurePart::below) now->sum -= had;
        if (part == MeasurePart::squares) now->squares += had;
        ++now;
      });
    }
    for (MeasureSums& s : out->now) {
      if (s.rows < 0) return not_told("a part is none of the whole");
      // What rounding left of nothing is left out, which the sums behind it do not have either.
      const MeasureSums kept =
          s.rows == 0 ? MeasureSums() : MeasureSums{s.rows, s.sum, std::max(s.squares, 0.0)};
      out->sums_left_out += std::fabs(s.sum - kept.sum);
      out->squares_left_out += std::fabs(s.squares - kept.squares);
      s = kept;
    }
    return Status::success();
  }

  Status splice_measure(int k, std::vector<DensityBytes>* lists) const {
    const MeasureView view(&density_, k);
    const GridCells::Measure& measure = cells_->measure(k);
    const auto at = static_cast<std::size_t>(k);
    Sums sums;
    if (Status s = sums_of(k, view, &sums); !s.ok()) return s;
    if (!(measure.totals.count() > 0)) return not_told("a measure without rows");
    const MeasureHeader& then = view.header();
    MeasureHeader m = then;
    if (m.scale != 1 || view.effects() != nullptr) return not_told("a measure of a sample");
    if (!m.has(MeasurePart::rows) && has_special_nulls(measure)) return not_told("NULLs that came");
    m.rows = measure.totals.rows();
    m.min = measure.totals.min();
    m.max = measure.totals.max();
    m.mean = std::clamp(measure.totals.mean(), m.min, m.max);
    m.variance = std::min(measure.totals.variance(), std::numeric_limits<double>::max());
    m.bytes = sizeof m;
    const std::size_t front = lists->size();
    lists->emplace_back(sizeof m);
    const double sums_off =
        rounding_of_sums(sums.now) + sums.sums_left_out + replaced_.sum_error[at];
    const double off[kMeasureParts] = {
        replaced_.error_rows, sums_off, sums_off,
        rounding_of_squares(sums.now, 0) + sums.squares_left_out + replaced_.squares_error[at]};
    // Of no cells.
    Header none = header_;
    none.atoms = none.blocks = 0;
    none.cell_rows = none.rows = none.error = 0;
    for (int p = 0; p < kMeasureParts; ++p) {
      const auto part = static_cast<MeasurePart>(p);
      if (p == 0 && !then.has(part)) continue;
      none.row_unit = then.has(MeasurePart::above) ? view.part(MeasurePart::above).header().row_unit
                      : then.has(MeasurePart::below)
                          ? view.part(MeasurePart::below).header().row_unit
                          : 1;
      const DensityView list = then.has(part) ? view.part(part) : DensityView(&none);
      DensityBytes own;
      if (Status s = splice_part(list, part, sums, measure, off[p], &own); !s.ok()) return s;
      const auto bit = static_cast<std::uint8_t>(1U << p);
      m.parts = static_cast<std::uint8_t>(own.size() > 0 ? m.parts | bit : m.parts & ~bit);
      if (own.size() == 0) continue;
      m.bytes += static_cast<std::uint32_t>(aligned(own.size()));
      lists->push_back(std::move(own));
    }
    std::memcpy((*lists)[front].data(), &m, sizeof m);
    return Status::success();
  }

  bool has_special_nulls(const GridCells::Measure& measure) const {
    const double rows[kSpecialX] = {header_.nans, header_.negative_infinities,
                                    header_.positive_infinities};
    for (int x = 0; x < kSpecialX; ++x)
      if (measure.special[x].rows != rows[x]) return true;
    return false;
  }

  // out: of no bytes where it has no sums.
  Status splice_part(const DensityView& list, MeasurePart part, const Sums& sums,
                     const GridCells::Measure& measure, double off, DensityBytes* out) const {
    const Header& old = list.header();
    Header h = old;
    h.flags = header_.flags;
    h.min = header_.min;
    h.max = header_.max;
    h.mean = header_.mean;
    h.variance = header_.variance;
    h.nans = weight_of(part, measure.special[0]);
    h.negative_infinities = weight_of(part, measure.special[1]);
    h.positive_infinities = weight_of(part, measure.special[2]);
    const double unit = old.row_unit;
    if (!(unit > 0) || old.atoms > 0 || old.effects > 0) return not_told("a list of no cells");
    std::vector<double> units;
    const bool whole = unit == 1;
    double in_window = 0, rounded = 0;
    for (const MeasureSums& s : sums.now) {
      const double own = weight_of(part, s) / unit;
      units.push_back(std::nearbyint(own));
      if (whole && units.back() != own) return not_told("sums that are not whole");
      rounded += std::fabs(units.back() - own) * unit;
    }
    const Window& window = sums.window[static_cast<int>(part)];
    std::size_t i = 0;
    std::vector<std::pair<ListCell, double>> cells;
    merge(window, [&](const ListCell& cell, const Place* place, double had) {
      const double own = place != nullptr ? units[i++] : had;
      in_window += own;
      cells.emplace_back(cell, own);
    });
    const double was = list.rows_below(window.end) - list.rows_below(window.first);
    h.rows = old.cell_rows + (in_window * unit - was) + h.nans + h.negative_infinities +
             h.positive_infinities;
    if (!(h.rows > 0) && part != MeasurePart::rows) return Status::success();
    h.sample_rows = std::max(part == MeasurePart::rows ? h.rows : header_.sample_rows, 1.0);
    ListSplicer to(list, window, h, old.error * old.rows + off + rounded);
    for (const auto& [cell, own] : cells) to.add(cell, own);
    // Where they have been rounded they are so again.
    return to.write(part == MeasurePart::squares && old.error > 0 ? kSquaresShare : 0, out);
  }

  const Header& density_;
  const GridCells::Without& without_;
  std::span<const Header* const> came_;
  mutable OwnedGridCells cells_;
  RoundEnds ends_;
  mutable CellFinder finder_;
  GridCells::Replaced replaced_;
  Header header_ = {};
  double low_ = 0, high_ = 0;
  Window rows_;
  std::vector<Place> places_;
  std::vector<Difference> differences_;
};

}  // namespace

Status splice(const Header& density, const GridCells::Without& without,
              std::span<const Header* const> came, std::size_t most, DensityBytes* out) {
  return Splicer(density, without, came).run(most, out);
}

}  // namespace kde
