// See grid_encode.h. Every list, that of the rows and those of each measure's parts, has the cut's
// cells, and is stored as it is (histogram_pack.h), but squares, which are rounded to 2^-12 of a
// cell's where cells are many: they are in variances alone.
#include "core/grid/grid_encode.h"

#include "core/density/checks.h"
#include "core/density/histogram_pack.h"
#include "core/density/histogram_steps.h"
#include "core/density/histogram_view.h"
#include "core/density/measure_format.h"
#include "core/grid/lattice.h"
#include "core/first_true.h"
#include "core/grid/even_cell.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace kde {

namespace {

// Of samples so are counts.
constexpr double kSampledShare = 0x1p-10;
// Of so many cells squares are stored as they are.
constexpr std::size_t kFewCells = 1024;
// A cell takes so many bits, at least, so that cuts of too many need not be packed.
constexpr std::size_t kLeastBitsOfCell = 2;
// And a value no more bytes, even in a block by itself, whose place is rounded up.
constexpr std::size_t kMostOfValue = sizeof(HistogramBlock) + 24;
// Those of the tails take some hundred bytes.
constexpr std::size_t kLeastWithTails = 1536;
// Of the bytes that a first trial aims at.
constexpr double kLess = 0.95;
// For less bytes than that there are so many.
constexpr std::size_t kFewBytes = 32768;
constexpr int kManyTrials = 8;
// Values beside the cells, at most.
constexpr int kMostAtoms = 128;
// Rows are stored up to here as they are.
constexpr double kMostWhole = 0x1p53;

// About which sums take fewer bits: the mean, where cells are above it or below it and each list has
// gaps, or the least of the cells' means, where one list has all; but where that is so far from the
// mean that squares would lose the variance.
double best_origin(const std::vector<MeasureSums>& cells, bool whole) {
  constexpr double kBitsOfGap = 6, kFar = 4;
  MeasureSums all;
  for (const MeasureSums& s : cells) all.add(s);
  if (!(all.rows > 0)) return 0;
  double mean = all.sum / all.rows;
  if (cells.size() <= kFewCells) return whole ? std::nearbyint(mean) : mean;
  double least = mean;
  for (const MeasureSums& s : cells)
    if (s.rows > 0) least = std::min(least, s.sum / s.rows);
  if (whole) {
    mean = std::nearbyint(mean);
    least = std::floor(least);
  }
  const double variance = std::max(all.moved(mean).squares / all.rows, 0.0);
  if (!((mean - least) * (mean - least) <= kFar * variance)) return mean;
  double by_mean = 0, by_least = 0;
  for (const MeasureSums& s : cells) {
    if (!(s.rows > 0)) continue;
    by_mean += kBitsOfGap + std::log2(1 + std::fabs(s.sum - mean * s.rows));
    by_least += std::log2(1 + std::fabs(s.sum - least * s.rows));
  }
  return by_least < by_mean ? least : mean;
}

// But for the column's part in it. by: of best_origin().
MeasureHeader header_of(const GridCells::Measure& measure, double by) {
  MeasureHeader m{};
  m.bytes = sizeof m;
  m.decimals = static_cast<std::uint8_t>(measure.decimals);
  m.unit = 1 / measure.units_of_one();
  m.origin = (measure.origin + by) / measure.units_of_one();
  m.scale = 1;
  if (measure.totals.count() > 0) {
    m.min = measure.totals.min();
    m.max = measure.totals.max();
    m.mean = std::clamp(measure.totals.mean(), m.min, m.max);
    m.variance = std::min(measure.totals.variance(), std::numeric_limits<double>::max());
  }
  return m;
}

}  // namespace

// As no sum of some of n rows is
// beyond sqrt(n sum of their squares), by Cauchy's and Schwarz's inequality, it was exact at every
// step where that is a whole number that doubles have; else each of them may have lost an ulp.
double rounding_of_sums(const std::vector<MeasureSums>& cells) {
  double out = 0;
  for (const MeasureSums& s : cells) {
    const double most = std::sqrt(s.rows * s.squares);
    if (!(most < kMostWhole / 2)) out += s.rows * most * 0x1p-52;
  }
  return out;
}

double rounding_of_squares(const std::vector<MeasureSums>& cells, double by) {
  double out = 0;
  for (const MeasureSums& s : cells) {
    const double most = std::max(s.squares, 0.0) + by * by * s.rows;
    if (!(most < kMostWhole / 4)) out += (s.rows + 4) * most * 0x1p-53;
  }
  return out;
}

// One list: a distribution function that grows cell by cell.
class GridEncoder::Part {
 public:
  explicit Part(const GridEncoder& encoder) : encoder_(encoder) {
    steps_.lattice = encoder.header_.lattice_step > 0;
    steps_.list.reserve(encoder.cut_.size() + 1);
  }

  void add(const Cell& cell, double rows) {
    if (!(rows > 0)) return;
    if (cell.is_atom) {
      of_atoms_.add(rows);
      atom_value_.push_back(cell.low);
      atom_rows_.push_back(of_atoms_.value());
      return;
    }
    whole_ = whole_ && rows == std::floor(rows);
    at(cell.low_key, cell.low);
    sum_.add(rows);
    if (cell.low == cell.high)
      steps_.list.back().through = sum_.value();
    else
      at(cell.high_key, cell.high);
  }

  double rows() const { return sum_.value() + of_atoms_.value(); }

  // Bytes that it takes, but for what rounding adds.
  std::size_t planned_bytes(const Header& header, double rows_share) const {
    HistogramPacking packing(header);
    return sizeof(Header) + 2 * sizeof(double) * atom_value_.size() +
           packing.plan(steps_, unit(), rows_share);
  }

  // header: of the list. rows_share: 0: as they are. rounded: how far what was added may be off.
  // *planned: as planned_bytes().
  DensityBytes pack(Header header, double rows_share, double rounded, std::size_t* planned) const {
    HistogramPacking packing(header);
    const bool fits = is_whole();
    *planned = sizeof(Header) + 2 * sizeof(double) * atom_value_.size() +
               packing.plan(steps_, unit(), rows_share);
    // What doubles have not.
    if (!fits) rounded += 0x1p-52 * rows();
    const bool is_off = (!fits || rows_share > 0 || rounded > 0) && rows() > 0;
    packing.pack(is_off);
    header.cell_rows = sum_.value();
    header.row_unit = packing.blocks().empty() ? 0 : packing.unit();
    if (is_off)
      header.error = std::min(1.0, (largest_distance(steps_, packing.packed()) + rounded) / rows());
    return lay_out(header, atom_value_, atom_rows_, packing.blocks(), packing.words());
  }

 private:
  bool is_whole() const { return whole_ && sum_.value() < kMostWhole; }
  double unit() const {
    if (is_whole()) return 1;
    return std::max(std::ldexp(1.0, std::ilogb(sum_.value()) - 50),
                    std::numeric_limits<double>::denorm_min());
  }
  void at(std::int64_t key, double x) {
    if (!steps_.list.empty() && steps_.list.back().key == key) return;
    Step s;
    s.key = key;
    s.x = steps_.lattice || encoder_.header_.grid_level > 0 ? static_cast<double>(key) : x;
    s.below = s.through = sum_.value();
    steps_.list.push_back(s);
  }

  const GridEncoder& encoder_;
  Steps steps_;
  DoubleDouble sum_, of_atoms_;
  std::vector<double> atom_value_, atom_rows_;
  bool whole_ = true;
};

// What lists take, and if they are wanted these.
struct GridEncoder::Packed {
  std::size_t most;
  std::vector<DensityBytes>* out;
  bool to_try;  // it fits where it is planned to
  std::size_t bytes = 0, planned = 0;
  bool fits = true;

  bool wants_errors(const Header& h) const { return out != nullptr && !h.has_exact_ends(); }
  // rounded: how far it may be off that comes from elsewhere.
  std::size_t add(const Part& part, const Header& header, double rows_share, double rounded) {
    std::size_t own = 0, size = 0;
    if (out != nullptr) {
      out->push_back(part.pack(header, rows_share, rounded, &own));
      size = aligned(out->back().size());
    } else {
      own = part.planned_bytes(header, rows_share);
    }
    own = aligned(own);
    bytes += size;
    planned += own;
    fits = fits && (to_try ? planned <= most && own <= kMostListBytes - own / kPlanned
                           : bytes <= most && size <= kMostListBytes);
    return size;
  }
};

std::int64_t GridEncoder::key_of_end(double x) const {
  if (header_.grid_level > 0) return 2 * cells_.ends().cell(header_.grid_level - 1, x);
  if (header_.lattice_step == 0) return key_of(x);
  // Far beyond the column, as the ends of its outermost cells may lie.
  return static_cast<std::int64_t>(std::clamp(
      std::nearbyint((x - header_.lattice_offset) / header_.lattice_step), -0x1p62, 0x1p62));
}

// No end is farther out than the value, or the level's end, before all rows and behind them.
void GridEncoder::number_ends() {
  const std::int64_t step = header_.grid_level > 0 ? 2 : 1;
  const std::int64_t least = key_of_end(header_.min) - step;
  const std::int64_t greatest = key_of_end(header_.max) + step;
  double x = std::numeric_limits<double>::quiet_NaN();
  std::int64_t key = 0;
  const auto number = [&](double end) {
    // Mostly where the cell before ends.
    if (end != x) key = key_of_end(end);
    x = end;
    return key;
  };
  for (Cell& cell : cut_) {
    cell.is_atom = cell.low == cell.high && is_atom(cell.begin);
    if (cell.is_atom) continue;
    cell.low_key = cell.high_key = number(cell.low);
    if (cell.low == cell.high) continue;
    cell.low_key = std::max(cell.low_key, least);
    cell.high_key = std::min(number(cell.high), greatest);
  }
}

Status GridEncoder::check_finite() const {
  for (int k = 0; k < cells_.measures(); ++k) {
    double squares = 0, rows = 0;
    double farthest = 0;  // mean of a cell
    for (std::size_t i = 0; i < list_.entries.size(); ++i) {
      const MeasureSums& s = sums(k, i);
      squares += s.squares;
      rows += s.rows;
      if (s.rows > 0) farthest = std::max(farthest, std::fabs(s.sum / s.rows));
    }
    for (const MeasureSums& s : cells_.measure(k).special) {
      squares += s.squares;
      rows += s.rows;
    }
    // Lists of a density may say more than it has.
    const bool fits = rows <= kMostRows;
    if (fits && std::isfinite(squares + (farthest + std::fabs(cells_.measure(k).origin)))) continue;
    Status s =
        fits ? Status::error(Code::out_of_range,
                             "the sum of the squares of measure %d is beyond double precision",
                             k + 1)
             : Status::error(Code::out_of_range, "rows of measure %d weigh more than %g together",
                             k + 1, kMostRows);
    s.measure = k;
    return s;
  }
  return Status::success();
}

// Whether some y are NULL where x is not.
bool GridEncoder::has_nulls(int k) const {
  const GridCells::Measure& measure = cells_.measure(k);
  if (measure.has_nulls) return true;
  double rows = 0;
  bool less = false;
  for (std::size_t i = 0; i < list_.entries.size(); ++i) {
    rows += sums(k, i).rows;
    less = less || sums(k, i).rows < list_.entries[i].rows;
  }
  const SpecialRows& s = cells_.specials();
  const double special_rows[kSpecialX] = {s.nans, s.negative_infinities, s.positive_infinities};
  for (int x = 0; x < kSpecialX; ++x)
    if (measure.special[x].rows < special_rows[x]) return true;
  // An estimate's rows are not those that were counted.
  return header_.has_exact_ends() ? less : rows < (1 - 1e-9) * cells_.totals().rows();
}

// How far a distribution function of such weights of the list's entries may be from that of the cut's
// cells, anywhere.
template <typename Weight>
double GridEncoder::largest_distance_within(const Weight& weight) const {
  const RoundEnds& ends = cells_.ends();
  double worst = 0;
  for (const Cell& cell : cut_) {
    if (cell.low == cell.high || cell.end - cell.begin == 1) continue;
    double all = 0, sum = 0;
    for (std::size_t i = cell.begin; i < cell.end; ++i) all += weight(i);
    const EvenCell even(header_, cell.low, cell.high);
    const auto compare = [&](double x, bool at, double own) {
      worst = std::max(worst, std::fabs(own - all * even.share(x, at)));
    };
    for (std::size_t i = cell.begin; i < cell.end; ++i) {
      const GridEntry& e = list_.entries[i];
      const bool is_value = e.level < 0;
      compare(e.x, !is_value, sum);
      sum += weight(i);
      compare(is_value ? e.x : ends.end(e.level, ends.cell(e.level, e.x) + 1), is_value, sum);
    }
  }
  return worst;
}

// How far counts and sums may be off that do not come from storing them.
void GridEncoder::add_up_errors() {
  rows_error_ = cells_.error_rows() + list_.error_rows;
  std::array<double, kMaxMeasures> within_sum = {}, within_squares = {}, within_measured = {};
  double within_rows = 0;
  measured_error_.fill(rows_error_);
  for (std::size_t i = 0; i < list_.entries.size() && !header_.has_exact_ends(); ++i) {
    const GridEntry& e = list_.entries[i];
    if (e.level < 0) continue;
    // Nor is a measure of an estimate's rows known to lie elsewhere than even within a cell.
    if (list_.is_even) continue;
    within_rows = std::max(within_rows, e.rows);
    for (int k = 0; k < cells_.measures(); ++k) {
      // No sum of some of n rows is beyond sqrt(n sum of their squares).
      const MeasureSums& s = sums(k, i);
      const auto at = static_cast<std::size_t>(k);
      within_sum[at] = std::max(within_sum[at], std::sqrt(s.rows * std::max(s.squares, 0.0)));
      within_squares[at] = std::max(within_squares[at], s.squares);
      within_measured[at] = std::max(within_measured[at], s.rows);
    }
  }
  rows_error_ += within_rows;
  // A sample's are not the table's.
  if (!header_.has_exact_ends()) measured_error_ = within_measured;
  for (int k = 0; k < cells_.measures(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    sum_error_[at] = cells_.measure(k).sum_error + list_.sum_error[at] + within_sum[at];
    squares_error_[at] =
        cells_.measure(k).squares_error + list_.squares_error[at] + within_squares[at];
  }
  // What lies on both sides of 0 is put on one.
  for (std::size_t i = 0; i < list_.entries.size(); ++i) {
    const GridEntry& e = list_.entries[i];
    if (e.level < 0 || !is_across_zero(e.level, i)) continue;
    rows_error_ += e.rows;
    for (int k = 0; k < cells_.measures(); ++k) {
      const MeasureSums& s = sums(k, i);
      sum_error_[static_cast<std::size_t>(k)] += std::sqrt(s.rows * std::max(s.squares, 0.0));
      squares_error_[static_cast<std::size_t>(k)] += std::max(s.squares, 0.0);
    }
  }
}

Status GridEncoder::prepare() {
  if (Status s = check_finite(); !s.ok()) return s;
  if (is_stopped()) return cancelled();
  find_lattice_of_values();
  if (const int level = of_values_ ? level_on(cells_.ends(), *of_values_) : -1; level >= 0) {
    header_ = *of_values_;
    least_ = level;
  } else if (!header_.has_exact_ends() && header_.lattice_step > 0) {
    // One that was found, too.
    least_ = std::max(level_on(cells_.ends(), header_), 0);
  }
  find_atoms();
  if (header_.lattice_step == 0 && is_on_a_grid()) make_tree();
  keys_of_doubles_ = header_.lattice_step == 0 && header_.grid_level == 0;
  add_up_errors();
  for (int k = 0; k < cells_.measures(); ++k) has_nulls_[k] = has_nulls(k);
  return Status::success();
}

void GridEncoder::find_atoms() {
  const RoundEnds& ends = cells_.ends();
  const double farthest = std::max(std::fabs(header_.min), std::fabs(header_.max));
  if (header_.has_exact_ends() || header_.lattice_step > 0 || list_.finest < 0 ||
      !(farthest < kMostIndex * ends.step(list_.finest)))
    return;
  level_beside_atoms_ = list_.finest;
  int atoms = 0;
  for (std::size_t i = 0; i < cells(); ++i) atoms += is_atom(i) ? 1 : 0;
  if (atoms > kMostAtoms) level_beside_atoms_ = -1;
}

// False where some value is no end of a level that has a number for the farthest.
bool GridEncoder::is_on_a_grid() const {
  if (!is_of_values() || list_.entries.empty()) return true;
  const RoundEnds& ends = cells_.ends();
  const double farthest = std::max(std::fabs(header_.min), std::fabs(header_.max));
  const int level =
      first_true(0, ends.levels(), [&](int of) { return farthest < kMostIndex * ends.step(of); });
  return level == ends.levels() ||
         std::all_of(list_.entries.begin(), list_.entries.end(),
                     [&](const GridEntry& e) { return ends.is_end(level, e.x); });
}

// With the floors there may be, and the finest level whose ends all cells end at.
void GridEncoder::make_tree() {
  if (tree_) return;
  const RoundEnds& ends = cells_.ends();
  tree_.emplace(ends, std::span(list_.entries).first(cells()));
  int finest = ends.levels() - 1;
  double farthest = std::max(std::fabs(header_.min), std::fabs(header_.max));
  for (std::size_t i = 0; i < cells(); ++i) {
    const GridTree::Entry& e = tree_->entries()[i];
    if (!is_atom(i)) finest = std::min(finest, e.inside ? e.own : e.own - 1);
    farthest = std::max(farthest, std::fabs(e.x));
  }
  if (header_.lattice_step == 0 && finest >= 0 && farthest < kMostIndex * ends.step(finest))
    header_.grid_level = static_cast<std::uint16_t>(finest + 1);
  finest = std::max(finest, 0);
  if (ends.is_of_times()) {
    for (int level = kHourLevel; level < ends.levels(); ++level)
      if (level >= finest) floors_.push_back(level);
  } else {
    // From where cells are too many to where all rows are in few.
    const double width = std::max(header_.max - header_.min, 0x1p-1000);
    for (int level = finest; level < ends.levels(); ++level) {
      const double cells = width / ends.step(level);
      if (cells <= 8.0 * static_cast<double>(kMostListBytes)) floors_.push_back(level);
      if (cells < 2) break;
    }
  }
  if (floors_.empty()) floors_.push_back(ends.levels() - 1);
}

// -------------------------------------------------------------------------------------- the cut

// The ends of the cell that holds an entry.
std::pair<double, double> GridEncoder::ends_of(int level, std::size_t entry) const {
  const RoundEnds& ends = cells_.ends();
  const std::int64_t k = ends.cell(level, list_.entries[entry].x);
  return {ends.end(level, k), ends.end(level, k + 1)};
}

// Keys of doubles have no range with both signs, which the calendar has.
bool GridEncoder::is_across_zero(int level, std::size_t entry) const {
  if (!keys_of_doubles_ || !cells_.ends().is_calendar()) return false;
  const auto [low, high] = ends_of(level, entry);
  return low < 0 && high > 0;
}

void GridEncoder::put_range(int level, std::size_t begin, std::size_t end) {
  auto [low, high] = ends_of(level, begin);
  if (is_across_zero(level, begin)) (high > -low ? low : high) = 0;
  cut_.push_back({begin, end, low, high, 0, 0, false});
  ++ranges_;
}

// False for too many cells.
bool GridEncoder::cut_into(const GridCut& cut, std::size_t most_cells) {
  cut_.clear();
  ranges_ = 0;
  if (cut.limit == 0 && is_of_values()) {
    cut_.reserve(list_.entries.size());
    for (std::size_t i = 0; i < list_.entries.size(); ++i)
      cut_.push_back({i, i + 1, list_.entries[i].x, list_.entries[i].x, 0, 0, false});
    return cut_.size() <= most_cells;
  }
  make_tree();
  const std::vector<GridTree::Node>& nodes = tree_->nodes();
  for (std::size_t n = 0; n < nodes.size() && cut_.size() <= most_cells;) {
    const GridTree::Node& node = nodes[n];
    const GridTree::Entry& first = tree_->entries()[node.begin];
    const bool alone = node.parts == 0;
    // A value at an end is in no cell; one that is alone below the floor is where it is.
    const int level = std::max<int>(node.level, std::min<int>(cut.floor, node.widest));
    const bool is_cell = node.is_in_a_cell() && (!alone || first.inside || node.level <= cut.floor);
    if (is_cell && level >= least_ && !is_across_zero(level, node.begin) &&
        !tree_->is_divided(cut, node)) {
      put_range(level, node.begin, node.end);
      n = node.next;
      continue;
    }
    if (alone && first.inside) put_range(first.own, node.begin, node.end);
    if (alone && !first.inside)
      cut_.push_back({node.begin, node.end, first.x, first.x, 0, 0, false});
    ++n;
  }
  for (std::size_t i = cells(); i < list_.entries.size(); ++i)
    cut_.push_back({i, i + 1, list_.entries[i].x, list_.entries[i].x, 0, 0, true});
  return cut_.size() <= most_cells;
}

// -------------------------------------------------------------------------------------- storage

// The bytes of the column's list and of the measures; 0 for more than so many, or for a list longer
// than blocks can tell places in. out: these, of each measure its header and its parts; null: they
// are not wanted. to_try: the bytes are as planned.
std::size_t GridEncoder::pack(std::size_t most, bool to_try, std::vector<DensityBytes>* out) {
  Packed packed{most, out, to_try};
  number_ends();
  Part rows(*this);
  for (const Cell& cell : cut_) {
    // Not the difference of sums, which loses digits of weights.
    double own = 0;
    for (std::size_t i = cell.begin; i < cell.end; ++i) own += list_.entries[i].rows;
    rows.add(cell, own);
  }
  const double within =
      packed.wants_errors(header_)
          ? largest_distance_within([this](std::size_t i) { return list_.entries[i].rows; })
          : 0;
  packed.add(rows, header_, share_of_rounding(), rows_error_ + within);
  for (int k = 0; k < cells_.measures() && packed.fits; ++k) pack_measure(k, &packed);
  if (!packed.fits) return 0;
  return to_try ? packed.planned : packed.bytes;
}

// Where ends are not exact, neither are counts: they are rounded.
double GridEncoder::share_of_rounding() const {
  return !header_.has_exact_ends() && cut_.size() > kFewCells ? kSampledShare : 0;
}

void GridEncoder::pack_measure(int k, Packed* packed) {
  const GridCells::Measure& measure = cells_.measure(k);
  std::vector<MeasureSums> of_cells(cut_.size());
  for (std::size_t c = 0; c < cut_.size(); ++c)
    for (std::size_t i = cut_[c].begin; i < cut_[c].end; ++i) of_cells[c].add(sums(k, i));
  const double by = best_origin(of_cells, measure.decimals < kNoDecimals);
  const auto at = static_cast<std::size_t>(k);
  const double sums_off = rounding_of_sums(of_cells) + sum_error_[at];
  double off[kMeasureParts] = {measured_error_[at], sums_off, sums_off,
                               rounding_of_squares(of_cells, by) + squares_error_[at]};
  if (packed->wants_errors(header_)) {
    const auto moved = [&](std::size_t i) { return sums(k, i).moved(by); };
    // Of the difference of above and below.
    const double of_sums = largest_distance_within([&](std::size_t i) { return moved(i).sum; });
    off[0] += largest_distance_within([&](std::size_t i) { return moved(i).rows; });
    off[1] += of_sums;
    off[2] += of_sums;
    off[3] += largest_distance_within([&](std::size_t i) { return moved(i).squares; });
  }
  std::array<Part, kMeasureParts> part = {Part(*this), Part(*this), Part(*this), Part(*this)};
  const auto weights_of = [&](const MeasureSums& sums, double(&weight)[kMeasureParts]) {
    const MeasureSums s = sums.moved(by);
    weight[0] = s.rows;
    weight[1] = std::max(s.sum, 0.0);
    weight[2] = std::max(-s.sum, 0.0);
    weight[3] = std::max(s.squares, 0.0);
  };
  for (std::size_t c = 0; c < cut_.size(); ++c) {
    double weight[kMeasureParts];
    weights_of(of_cells[c], weight);
    for (int p = 0; p < kMeasureParts; ++p) part[p].add(cut_[c], weight[p]);
  }
  double special[kMeasureParts][kSpecialX];
  const double times = sampled_ != nullptr ? sampled_->special_scale / sampled_->scale : 1;
  for (int x = 0; x < kSpecialX; ++x) {
    double weight[kMeasureParts];
    weights_of(measure.special[x], weight);
    for (int p = 0; p < kMeasureParts; ++p) special[p][x] = weight[p] * times;
  }

  MeasureHeader m = header_of(measure, by);
  m.value_type = measure_types_[k];
  m.nulls = has_nulls_[k];
  m.rows = part[0].rows();
  for (const double rows_of_special : special[0]) m.rows += rows_of_special;
  if (sampled_ != nullptr) {
    const MeasureFit& fit = sampled_->fits[at];
    m.scale = sampled_->scale;
    m.rows *= m.scale;
    m.mean_error = fit.mean_error;
    std::copy_n(fit.mean_variance, kErrorScales, m.mean_variance);
  }
  const std::size_t front = packed->out != nullptr ? packed->out->size() : 0;
  if (packed->out != nullptr) packed->out->emplace_back(sizeof m);
  packed->bytes += sizeof m;
  packed->planned += sizeof m;
  for (int p = 0; p < kMeasureParts && packed->fits; ++p) {
    // Where none is NULL the column's own list counts them, if it does count.
    if (p == 0 && !has_nulls_[k] && sampled_ == nullptr) continue;
    const Header h = part_header(k, p, part[p].rows(), special[p]);
    if (!(h.rows > 0) && p > 0) continue;
    const bool rounds = p == static_cast<int>(MeasurePart::squares) && cut_.size() > kFewCells;
    const std::size_t size = packed->add(part[static_cast<std::size_t>(p)], h,
                                         rounds ? kSquaresShare : share_of_rounding(), off[p]);
    m.bytes += static_cast<std::uint32_t>(size);
    m.parts |= static_cast<std::uint8_t>(1U << p);
  }
  if (packed->out != nullptr) std::memcpy((*packed->out)[front].data(), &m, sizeof m);
}

// Of the list of a measure's part.
Header GridEncoder::part_header(int k, int part, double rows,
                                const double (&special)[kSpecialX]) const {
  Header h = header_;
  h.measures = h.grouped = 0;
  h.nulls = 0;
  h.nans = special[0];
  h.negative_infinities = special[1];
  h.positive_infinities = special[2];
  h.rows = rows + h.nans + h.negative_infinities + h.positive_infinities;
  if (rows == 0) h.leave_specials_alone();
  h.known_below = -std::numeric_limits<double>::infinity();
  h.known_above = std::numeric_limits<double>::infinity();
  h.mean_error = 0;
  if (part > 0 || sampled_ == nullptr) {
    h.sample_rows = std::max(part == 0 ? rows : h.sample_rows, 1.0);
    h.rows_variance = h.end_variance = 0;
    for (auto& scales : h.count_variance) std::fill(std::begin(scales), std::end(scales), 0.0F);
    return h;
  }
  h.sample_rows = std::max(std::min(cells_.measure(k).totals.count(), header_.sample_rows), 1.0);
  const auto& counts = sampled_->fits[static_cast<std::size_t>(k)].counts;
  if (counts && h.rows > 0) {
    Header table = h;
    table.rows = h.rows * sampled_->scale;
    counts->describe(&table);
    h.rows_variance = table.rows_variance;
    h.end_variance = table.end_variance;
    std::copy_n(&table.count_variance[0][0], kShapes * kErrorScales, &h.count_variance[0][0]);
    return h;
  }
  // Of those read so many are NULL by chance.
  const double all = cells_.totals().rows();
  const double share = all > 0 ? std::min(rows / all, 1.0) : 1;
  if (share > 0 && share < 1 && header_.sample_rows > 0)
    h.rows_variance =
        std::min(h.rows_variance + h.count_variance[static_cast<int>(Shape::two_ends)][0] *
                                       (1 - share) / (share * header_.sample_rows),
                 kMostVariance);
  return h;
}

// Where every value is known the lattice is that of the values, which may be coarser than the type's.
void GridEncoder::find_lattice_of_values() {
  const std::vector<GridEntry>& entries = list_.entries;
  if (list_.finest >= 0 || list_.coarsest >= 0 || entries.size() < 2) return;
  std::vector<WeightedValue> values;
  values.reserve(entries.size());
  for (const GridEntry& e : entries) values.push_back({e.x, e.rows});
  const Lattice lattice = find_lattice(values, control_);
  if (!lattice) return;
  Header h = header_;
  h.lattice_step = lattice.step();
  h.lattice_offset = lattice.value(lattice.nearest(h.min));
  h.lattice_scale = lattice.scale;
  if (!lattice_resolved(h)) return;
  for (const GridEntry& e : entries)
    if (h.lattice_point(std::nearbyint((e.x - h.lattice_offset) / h.lattice_step)) != e.x) return;
  of_values_ = h;
}

int level_on(const RoundEnds& ends, const Header& lattice) {
  const int first = first_true(0, ends.levels(),
                               [&](int level) { return ends.step(level) > lattice.lattice_step; });
  if (first == ends.levels()) return -1;
  const auto divides = [&](double x) {
    const double k = std::nearbyint((x - lattice.lattice_offset) / lattice.lattice_step);
    return lattice.lattice_point(k) == x;
  };
  // Months and years end where days do.
  const int even = ends.is_even(first) ? first : kDayLevel;
  const std::int64_t k = ends.cell(even, lattice.min);
  return divides(ends.end(even, k)) && divides(ends.end(even, k + 1)) ? first : -1;
}

std::size_t GridEncoder::bytes_of(const GridCut& cut, std::size_t most) {
  // Who stops cannot wait for all trials; write() says so.
  if (is_stopped()) return most + 1;
  if (!planned_ || !(planned_->cut == cut)) {
    planned_.reset();
    if (!cut_into(cut, 8 * most / kLeastBitsOfCell)) return most + 1;
    // All that there is is written where it fits; but for values that are to get a lattice.
    const bool is_to_write = cut.limit == 0 && !(has_all_values() && of_values_);
    std::vector<DensityBytes> lists;
    const std::size_t bytes = pack(most, true, is_to_write ? &lists : nullptr);
    if (bytes == 0) return most + 1;
    planned_ = {cut, bytes, std::move(lists)};
  }
  return std::min(planned_->bytes, most + 1);
}

GridCut GridEncoder::best(const GridBytes& bytes) {
  const std::size_t budget = bytes.finer - bytes.finer / kPlanned;
  const auto fits = [&](const GridCut& cut, std::size_t most) {
    return bytes_of(cut, most) <= most;
  };
  // All that there is; of few values without a look.
  const GridCut whole = {0, 0};
  const auto lists = 1 + kMeasureParts * static_cast<std::size_t>(cells_.measures());
  if (is_of_values() &&
      lists * (2 * sizeof(Header) + kMostOfValue * list_.entries.size()) <= budget)
    return whole;
  if (fits(whole, budget)) return whole;
  make_tree();
  const bool times = cells_.ends().is_of_times();
  const std::size_t for_floor = times ? bytes.most - bytes.most / kPlanned : budget / 2;
  const auto n = static_cast<int>(floors_.size());
  GridCut cut;
  for (const bool tails : {true, false}) {
    cut.tails = tails && budget >= kLeastWithTails;
    const int first = first_true(0, n - 1, [&](int i) {
      cut.floor = floors_[static_cast<std::size_t>(i)];
      return fits(cut, for_floor);
    });
    cut.floor = floors_[static_cast<std::size_t>(first)];
    if (fits(cut, times ? for_floor : budget)) break;
  }
  if (!fits(cut, budget)) return cut;
  find_limit(budget, budget < kFewBytes ? kManyTrials : trials_, &cut);
  return cut;
}

// The least limit that fits: bytes are about in proportion to cells.
void GridEncoder::find_limit(std::size_t budget, int trials, GridCut* cut) {
  const GridTree::Limits limits(*tree_, cut->floor);
  // What lists take without cells.
  const auto fixed = static_cast<double>((1 + kMeasureParts * cells_.measures()) * sizeof(Header));
  double bytes = static_cast<double>(bytes_of(*cut, budget));
  double cells = static_cast<double>(cut_.size());
  const double at_floor = cells;
  int fits = limits.none(), is_more = -1;
  for (int i = 0; i < trials && fits - is_more > 1 && !is_stopped(); ++i) {
    const double wanted = (static_cast<double>(budget) - fixed) * cells /
                          std::max(bytes - fixed, 1.0) * (i == 0 ? kLess : 1);
    int least = limits.least(at_floor, wanted);
    if (least >= fits || least <= is_more) least = (fits + is_more) / 2;
    GridCut trial = *cut;
    trial.limit = limits.limit(least);
    // Of one that does not fit, too, it says what a cell takes.
    bytes = static_cast<double>(bytes_of(trial, 2 * budget));
    cells = static_cast<double>(cut_.size());
    const bool does = bytes <= static_cast<double>(budget);
    (does ? fits : is_more) = least;
    if (does) cut->limit = trial.limit;
  }
}

Status GridEncoder::write(const GridCut& cut, DensityBytes* density) {
  if (is_stopped()) return cancelled();
  std::vector<DensityBytes> lists;
  std::size_t bytes = 0;
  if (planned_ && planned_->cut == cut) lists = std::move(planned_->lists);
  planned_.reset();
  for (const DensityBytes& list : lists) bytes += aligned(list.size());
  if (lists.empty()) {
    cut_into(cut, std::numeric_limits<std::size_t>::max());
    if (has_all_values() && of_values_) header_ = *of_values_;
    bytes = pack(std::numeric_limits<std::size_t>::max(), false, &lists);
  }
  if (bytes == 0)
    return Status::error(Code::too_large, "cells of the column take more than %zu bytes",
                         kMostListBytes);
  if (cells_.measures() == 0) {
    *density = std::move(lists.front());
  } else {
    DensityBytes all(bytes);
    char* to = all.data();
    for (const DensityBytes& list : lists) {
      std::memcpy(to, list.data(), list.size());
      to += aligned(list.size());
    }
    all.header().measures = static_cast<std::uint8_t>(cells_.measures());
    *density = std::move(all);
  }
  // Where even the widest cells end beyond double precision some have no keys.
  constexpr double kFar = 0x1p1023;
  if (std::max(std::fabs(header_.min), std::fabs(header_.max)) < kFar ||
      validate(density->data(), density->size(), control_).ok())
    return Status::success();
  return Status::error(Code::out_of_range, "values lie too far apart for so few bytes");
}

}  // namespace kde
