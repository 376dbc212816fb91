// Which cells there are, as of grid_cells.h: the levels, and what is put together.
#include "core/grid/grid_cells.h"

#include "core/density/histogram.h"
#include "core/first_true.h"
#include "core/grid/even_cell.h"
#include "core/guarded.h"
#include "core/summary/batch.h"
#include "core/summary/sort.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <new>
#include <span>
#include <utility>

namespace kde {

namespace {

// Rows of other cells that a level may put into one, of all, and so many times the mean of a cell.
constexpr double kMostShare = 1.0 / 256, kMostOfMean = 64;
// Levels that may make room for less than one in so many cells.
constexpr int kMostNarrow = 32;
constexpr std::size_t kNarrow = 64;
// Loose rows are few where those within their cell are more than so many times as many, and worth
// keeping apart where they are such a share of all.
constexpr double kFew = 16, kHeavy = 1.0 / 1024;
// Of a row that was read, what is not divided any more.
constexpr double kLittle = 1.0 / 64;

bool is_multiple(double x, double step) {
  const double steps = x / step;
  return std::fabs(steps - std::nearbyint(steps)) < 1e-6;
}

}  // namespace

std::size_t GridCells::size() const {
  std::size_t cells = 0;
  for_each_table([&cells](int /*level*/, const GridTable& table) { cells += table.size(); });
  return cells;
}

double GridCells::begin_of(int level, std::int64_t key) const {
  return is_value(level, key) ? value_of_key(key) : ends_.begin(level, key >> 1);
}

std::int64_t GridCells::key_of_level(int level, double x, bool inside) const {
  if (level < 0 || std::fabs(x) >= kMostIndex * ends_.step(level)) return key_of(x);
  if (!inside && is_kept(x)) return key_of(x);
  const std::int64_t k = ends_.cell(level, x);
  return 2 * k + ((inside || ends_.end(level, k) != x) ? 1 : 0);
}

// Where the quotient is near a whole number, no other end than that is near: it is off by at most 2^-52
// of it.
std::int64_t GridCells::key_of_value(int level, double steps_of_one, double x) const {
  const double steps = x * steps_of_one;
  if (level < 0 || kept_mask_ != 0 || !(steps_of_one > 0 && std::fabs(steps) < kMostSteps))
    return key_of_level(level, x, false);
  const auto k = static_cast<std::int64_t>(nearest_whole(steps));
  const double rest = steps - static_cast<double>(k);
  if (std::fabs(rest) > kNearEnd) return rest < 0 ? 2 * k - 1 : 2 * k + 1;
  const double end = ends_.end(level, k);
  return x == end ? 2 * k : x < end ? 2 * k - 1 : 2 * k + 1;
}

void GridCells::find_keys(int level, std::span<const double> x, std::int64_t* keys) const {
  if (level < 0) {
    std::transform(x.begin(), x.end(), keys, key_of);
    return;
  }
  const double scale = steps_of_one(level);
  if (scale > 0)
    batch_work().find_keys(x.data(), x.size(), scale, keys);
  else
    std::fill_n(keys, x.size(), kSlowKey);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (keys[i] == kSlowKey) keys[i] = key_of_value(level, scale, x[i]);
  for (std::size_t i = 0; i < x.size() && kept_mask_ != 0; ++i)
    if (is_kept(x[i])) keys[i] = key_of(x[i]);
}

// ---------------------------------------------------------------------------- values that are kept

// What is no value's key in tables of all levels is left out: those next to 0.
bool GridCells::note_kept(double x) {
  const std::int64_t key = key_of(x);
  if (is_kept(x) || kept_count_ >= kept_room_ || std::abs(key) <= kGreatestIndexKey) return false;
  kept_[kept_count_++] = x;
  kept_mask_ |= std::uint64_t{1} << mask_bit(x);
  return true;
}

void GridCells::keep(std::vector<WeightedValue> values) {
  std::sort(values.begin(), values.end(), [](const WeightedValue& a, const WeightedValue& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.value < b.value;
  });
  for (const WeightedValue& v : values) note_kept(v.value);
}

// Of a value at an end the rows are known.
Status GridCells::keep_also(std::span<const double> values) {
  bool is_more = false;
  for (const double x : values) is_more = note_kept(x) || is_more;
  if (!is_more || level_ < 0) return Status::success();
  return table_.map(memory_, [this](std::int64_t key) {
    return is_inside(level_, key) ? key : key_of_level(level_, begin_of(level_, key), false);
  });
}

// From here on none is: those that are go into the cells that hold them.
Status GridCells::drop_kept() {
  kept_count_ = 0;
  kept_mask_ = 0;
  return table_.map(memory_, [this](std::int64_t key) {
    return is_inside(level_, key) ? key : key_in(level_, level_, key);
  });
}

// ------------------------------------------------------------------------------------------ levels

// To a coarser one. Loose rows of its cells and of finer ones are not loose any more.
Status GridCells::raise_level(int level) {
  const int from = level_;
  const std::int64_t parts = from < 0 ? 0 : ends_.parts(from, level);
  const double scale = steps_of_one(level);
  const auto coarser = [&](std::int64_t key) {
    if (from < 0) return key_of_value(level, scale, value_of_key(key));
    if (parts == 0 || is_value(from, key) || (kept_mask_ != 0 && !is_inside(from, key)))
      return key_in(level, from, key);
    std::int64_t k = (key >> 1) / parts;
    std::int64_t rest = (key >> 1) - k * parts;
    if (rest < 0) {
      rest += parts;
      --k;
    }
    return 2 * k + (rest > 0 || (key & 1) != 0 ? 1 : 0);
  };
  if (Status s = table_.map(memory_, coarser); !s.ok()) return s;
  level_ = level;
  int theirs = 0;
  for (; theirs < loose_count_ && loose_[theirs].level <= level; ++theirs) {
    if (Status s = add_cells_of(loose_[theirs]); !s.ok()) return s;
    loose_[theirs].table.release(memory_);
  }
  if (theirs == 0) return Status::success();
  loose_count_ -= theirs;
  std::copy_n(loose_ + theirs, loose_count_, loose_);
  return Status::success();
}

std::vector<double> GridCells::sorted_values() const {
  std::vector<double> values;
  values.reserve(table_.size());
  for (std::size_t i = 0; i < table_.slots(); ++i)
    if (table_.is_used(i)) values.push_back(value_of_key(table_.key_at(i)));
  sort_values(&values, {});
  return values;
}

// How many cells values in their order are in.
std::size_t GridCells::cells_at(int level, std::span<const double> values) const {
  constexpr std::size_t kBatch = 512;
  std::int64_t key[kBatch];
  std::int64_t last = kSlowKey;
  std::size_t cells = 0;
  for (std::size_t i = 0; i < values.size() && cells <= most_; i += kBatch) {
    const auto batch = values.subspan(i, std::min(kBatch, values.size() - i));
    find_keys(level, batch, key);
    for (std::size_t j = 0; j < batch.size(); ++j) {
      cells += key[j] != last ? 1 : 0;
      last = key[j];
    }
  }
  return cells;
}

// Of values, the finest level at which cells are not too many: the coarser the fewer. False where
// that would put many rows of several values into one cell.
bool GridCells::find_level(int* level) {
  // As some stretches of the values say, and from there on.
  constexpr std::size_t kStretch = 64, kStretches = 64;
  const std::vector<double> values = sorted_values();
  const std::size_t apart = std::max(values.size() / kStretches, kStretch);
  const auto seem_to_fit = [&](int to) {
    std::size_t n = 0, of = 0;
    for (std::size_t i = 0; i + kStretch <= values.size(); i += apart, of += kStretch)
      n += cells_at(to, std::span(values).subspan(i, kStretch)) - 1;
    return n * values.size() <= most_ * of;
  };
  const auto fits = [&](int to) {
    std::size_t n = cells_at(to, values);
    for (int i = 0; i < loose_count_; ++i)
      if (loose_[i].level > to) n += loose_[i].table.size();
    return n <= most_;
  };
  const int last_level = ends_.levels() - 1;
  *level = first_true(0, last_level, seem_to_fit);
  while (*level < last_level && !fits(*level)) ++*level;
  while (*level > 0 && fits(*level - 1)) --*level;
  const double scale = steps_of_one(*level);
  std::vector<double> rows(values.size());
  double all = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    all += rows[i] = table_.slot(table_.slot_of(key_of(values[i])))[1];
  const double many = share_of_one() * all;
  std::vector<WeightedValue> heavy;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (rows[i] > many && is_inside(*level, key_of_value(*level, scale, values[i])))
      heavy.push_back({values[i], rows[i]});
  keep(std::move(heavy));
  double most = 0, own = 0, heaviest = 0;
  std::int64_t last = kSlowKey;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_kept(values[i])) continue;
    const std::int64_t parent = key_of_value(*level, scale, values[i]);
    if (parent != last) own = heaviest = 0;
    last = parent;
    own += rows[i];
    heaviest = std::max(heaviest, rows[i]);
    most = std::max(most, own - heaviest);
  }
  return most <= many;
}

// Raises the level by one. *is_even: false where many rows of several values would be in one cell, and
// where they are, or one level after another hardly made room.
Status GridCells::raise_by_one(bool* is_even) {
  const std::size_t before = size();
  double all = 0;
  for (std::size_t i = 0; i < table_.slots(); ++i)
    if (table_.is_used(i)) all += table_.slot(i)[1];
  const double many = share_of_one() * all;
  // As many as neighbours have that are alike; cells that hold one such value may.
  const double parts = ends_.step(level_ + 1) / ends_.step(level_);
  std::vector<WeightedValue> heavy;
  for (std::size_t i = 0; i < table_.slots(); ++i) {
    if (!table_.is_used(i) || !(table_.slot(i)[1] * parts > many)) continue;
    const std::int64_t key = table_.key_at(i);
    *is_even = *is_even && !is_inside(level_, key);
    const double x = begin_of(level_, key);
    if (!is_inside(level_, key) && is_inside(level_ + 1, key_of_level(level_ + 1, x, false)))
      heavy.push_back({x, table_.slot(i)[1]});
  }
  if (!*is_even && !ends_.is_of_times()) return Status::success();
  std::vector<WeightedValue> heavier;
  std::copy_if(heavy.begin(), heavy.end(), std::back_inserter(heavier),
               [many](const WeightedValue& v) { return v.weight > many; });
  keep(std::move(heavier));
  if (Status s = raise_level(level_ + 1); !s.ok()) return s;
  if (size() + before / kNarrow > before) ++narrow_;
  *is_even = *is_even && narrow_ <= kMostNarrow;
  for (std::size_t i = 0; i < table_.slots(); ++i) {
    if (!table_.is_used(i) || !is_inside(level_, table_.key_at(i))) continue;
    double rows = table_.slot(i)[1];
    if (!(rows > many)) continue;
    double heaviest = 0;
    for (const WeightedValue& v : heavy)
      if (!is_kept(v.value) && key_of_level(level_, v.value, false) == table_.key_at(i))
        heaviest = std::max(heaviest, v.weight);
    *is_even = *is_even && !(rows - heaviest > many);
  }
  return Status::success();
}

// Of all rows, how many a level may put into one cell.
double GridCells::share_of_one() const {
  return std::max(kMostShare, kMostOfMean / static_cast<double>(most_));
}

Status GridCells::fit_into_most() {
  const bool numbers = !ends_.is_of_times();
  while (size() > most_ && level_ + 1 < ends_.levels()) {
    is_uneven_ = true;
    try {
      bool is_even = true;
      if (level_ < 0 && !by_rows_) {
        int level;
        is_even = find_level(&level) || !numbers;
        if (is_even)
          if (Status s = raise_level(level); !s.ok()) return s;
      } else if (!by_rows_) {
        if (Status s = raise_by_one(&is_even); !s.ok()) return s;
      }
      by_rows_ = by_rows_ || (numbers && !is_even);
      if (by_rows_ && size() > most_) return put_light_together();
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
  }
  return Status::success();
}

struct GridCells::Place {
  GridEntry entry;
  const double* slot;
};

// A value before the cells that begin at it, of these the coarser first.
void GridCells::list_places(std::vector<Place>* out) const {
  out->reserve(size());
  if (level_ < 0 && loose_count_ == 0) {
    for (const double x : sorted_values()) {
      const double* slot = table_.slot(table_.slot_of(key_of(x)));
      out->push_back({{x, slot[1], -1}, slot});
    }
    return;
  }
  for_each_table([&](int level, const GridTable& table) {
    for (std::size_t i = 0; i < table.slots(); ++i) {
      if (!table.is_used(i)) continue;
      const std::int64_t key = table.key_at(i);
      const int of = is_inside(level, key) ? level : -1;
      out->push_back({{begin_of(level, key), table.slot(i)[1], of}, table.slot(i)});
    }
  });
  const auto is_before = [](const Place& a, const Place& b) {
    if (a.entry.x != b.entry.x) return a.entry.x < b.entry.x;
    if ((a.entry.level < 0) != (b.entry.level < 0)) return a.entry.level < 0;
    return a.entry.level > b.entry.level;
  };
  // Those of the table's window are in order.
  const auto others = std::is_sorted_until(out->begin(), out->end(), is_before);
  std::sort(others, out->end(), is_before);
  std::inplace_merge(out->begin(), others, out->end(), is_before);
}

// Of all cells those with the least rows, so that half of the room is left.
Status GridCells::put_light_together() {
  std::vector<Place> places;
  list_places(&places);
  std::vector<GridEntry> entries;
  entries.reserve(places.size());
  for (const Place& p : places) entries.push_back(p.entry);
  const GridTree tree(ends_, entries);
  const auto count = [&](const GridCut& cut, const auto& put) {
    std::size_t cells = 0;
    for (std::size_t n = 0; n < tree.nodes().size(); ++cells) {
      const GridTree::Node& node = tree.nodes()[n];
      const bool together = node.parts > 0 && node.is_in_a_cell() && !tree.is_divided(cut, node);
      if (node.parts == 0 || together) put(node, together);
      cells -= node.parts > 0 && !together ? 1 : 0;
      n = together ? node.next : n + 1;
    }
    return cells;
  };
  // Some of the room is for ends that are round everywhere.
  const auto cells_at = [&](int floor) {
    return count({floor}, [](const GridTree::Node&, bool) {});
  };
  GridCut cut;
  cut.floor = first_true(std::max(level_, 0), ends_.levels(),
                         [&](int floor) { return cells_at(floor) <= most_ / 4; });
  const GridTree::Limits limits(tree, cut.floor);
  cut.limit = limits.limit(
      limits.least(static_cast<double>(cells_at(cut.floor)), static_cast<double>(most_) / 2));

  // Into tables of their own, as what they had is read meanwhile.
  GridCells to(memory_, ends_.chain(), measures_, most_);
  to.level_ = level_;
  if (Status s = to.keep_also(kept()); !s.ok()) return s;
  Status status;
  std::vector<double> slot(table_.stride());
  count(cut, [&](const GridTree::Node& node, bool together) {
    if (!status.ok()) return;
    GridEntry entry = places[node.begin].entry;
    std::fill(slot.begin(), slot.end(), 0.0);
    for (std::uint32_t i = node.begin; i < node.end; ++i)
      for (std::size_t s = 1; s < slot.size(); ++s) slot[s] += places[i].slot[s];
    entry.rows = slot[1];
    if (together)
      entry = {ends_.begin(node.level, ends_.cell(node.level, entry.x)), slot[1], node.level};
    status = to.add_cell(entry, slot.data());
  });
  std::swap(table_, to.table_);
  std::swap(loose_, to.loose_);
  std::swap(loose_count_, to.loose_count_);
  std::swap(loose_capacity_, to.loose_capacity_);
  to.release();
  return status;
}

// Of a level coarser than level_.
Status GridCells::table_of(int level, GridTable** out) {
  int at = 0;
  while (at < loose_count_ && loose_[at].level < level) ++at;
  if (at == loose_count_ || loose_[at].level != level) {
    if (loose_count_ == loose_capacity_) {
      const int capacity = std::max(2 * loose_capacity_, 2);
      auto* moved = static_cast<Level*>(
          memory_.allocate(memory_.context, static_cast<std::size_t>(capacity) * sizeof(Level)));
      if (moved == nullptr) return out_of_memory();
      std::copy_n(loose_, loose_count_, moved);
      if (loose_ != nullptr) memory_.release(memory_.context, loose_);
      loose_ = moved;
      loose_capacity_ = capacity;
    }
    std::copy_backward(loose_ + at, loose_ + loose_count_, loose_ + loose_count_ + 1);
    loose_[at] = {level, GridTable(measures_)};
    ++loose_count_;
  }
  *out = &loose_[at].table;
  return Status::success();
}

// slot: all but its key.
Status GridCells::add_cell(const GridEntry& cell, double* slot) {
  GridTable* table = &table_;
  std::int64_t key = key_of_level(level_, cell.x, cell.level >= 0);
  if (cell.level > level_) {
    if (Status s = table_of(cell.level, &table); !s.ok()) return s;
    key = key_of_level(cell.level, cell.x, true);
  }
  if (Status s = table->make_room(memory_); !s.ok()) return s;
  slot[1] = cell.rows;
  table->add(key, slot);
  return Status::success();
}

// Room for most of those, which are of one level.
Status GridCells::reserve(const std::vector<GridEntry>& cells) {
  if (cells.empty() || size() > 0) return Status::success();
  const int level = cells[cells.size() / 2].level;
  GridTable* table = &table_;
  if (level > level_)
    if (Status s = table_of(level, &table); !s.ok()) return s;
  return table->reserve(memory_, std::min(cells.size(), 2 * most_));
}

Status GridCells::add_cells_of(const Level& from) {
  for (std::size_t i = 0; i < from.table.slots(); ++i) {
    if (!from.table.is_used(i)) continue;
    double* slot = from.table.slot(i);
    const std::int64_t key = from.table.key_at(i);
    if (from.level == level_) {
      if (Status s = table_.make_room(memory_); !s.ok()) return s;
      table_.add(key, slot);
      continue;
    }
    const int level = is_inside(from.level, key) ? from.level : -1;
    if (Status s = add_cell({begin_of(from.level, key), slot[1], level}, slot); !s.ok()) return s;
  }
  return Status::success();
}

// The lattice of densities with cells.
void GridCells::note_lattice(double step, double offset) {
  has_lattices_ = has_lattices_ ||
                  (has_lattice_ && (step != lattice_step_ ||
                                    (step > 0 && !is_multiple(offset - lattice_offset_, step))));
  if (has_lattice_) return;
  has_lattice_ = true;
  lattice_step_ = step;
  lattice_offset_ = offset;
}

bool GridCells::is_on(const Header& lattice) const {
  const double step = lattice.lattice_step;
  return !has_lattices_ && step == lattice_step_ &&
         (step == 0 || is_multiple(lattice.lattice_offset - lattice_offset_, step));
}

// Rows that are even within cells, cells of any width beside each other, in cells none within another.
class GridCells::Divider {
 public:
  // few: rows that need not be divided.
  Divider(const RoundEnds& ends, const Header& lattice, std::span<const Place> all,
          std::size_t measures, double few, GridList* out)
      : ends_(ends), lattice_(lattice), all_(all), measures_(measures), few_(few), out_(*out) {}

  void run() { put_all(0, all_.size()); }

 private:
  struct Sums {
    double rows = 0;
    std::array<MeasureSums, kMaxMeasures> of = {};
  };

  void add(std::size_t place, Sums* to) const {
    to->rows += all_[place].entry.rows;
    for (std::size_t k = 0; k < measures_; ++k)
      to->of[k].add(sums_in(all_[place].slot, static_cast<int>(k)));
  }
  Sums share(const Sums& from, double of) const {
    Sums out;
    out.rows = of * from.rows;
    for (std::size_t k = 0; k < measures_; ++k)
      out.of[k] = {of * from.of[k].rows, of * from.of[k].sum, of * from.of[k].squares};
    return out;
  }
  void add(const Sums& from, Sums* to) const {
    to->rows += from.rows;
    for (std::size_t k = 0; k < measures_; ++k) to->of[k].add(from.of[k]);
  }
  void put(double x, int level, const Sums& sums) {
    out_.entries.push_back({x, sums.rows, level});
    out_.sums.insert(out_.sums.end(), sums.of.begin(),
                     sums.of.begin() + static_cast<std::ptrdiff_t>(measures_));
    if (level < 0) return;
    out_.finest = out_.finest < 0 ? level : std::min(out_.finest, level);
    out_.coarsest = std::max(out_.coarsest, level);
  }

  void put_all(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end;) {
      const GridEntry& e = all_[i].entry;
      Sums sums;
      add(i++, &sums);
      if (e.level < 0) {
        put(e.x, -1, sums);
        continue;
      }
      const std::int64_t k = ends_.cell(e.level, e.x);
      const std::size_t last = first_from(i, end, ends_.end(e.level, k + 1));
      put_cell(e.level, k, sums, i, last);
      i = last;
    }
  }

  // A cell with what lies within it.
  void put_cell(int level, std::int64_t k, const Sums& sums, std::size_t first, std::size_t end) {
    const double low = ends_.end(level, k), high = ends_.end(level, k + 1);
    if (first == end) {
      const auto is_there = [](const MeasureSums& m) { return m.rows > 0 || m.squares > 0; };
      if (sums.rows > 0 || std::any_of(sums.of.begin(), sums.of.end(), is_there))
        put(low, level, sums);
      return;
    }
    const bool is_finest = level == 0 || !(std::max(std::fabs(low), std::fabs(high)) <
                                           kMostIndex * ends_.step(level - 1));
    if (is_finest || sums.rows <= few_) {
      put_beside(sums, first, end);
      return;
    }
    const EvenCell even(lattice_, low, high);
    // None beyond the least and the greatest value.
    const double first_share = lattice_.min > low ? even.share(lattice_.min, false) : 0;
    const double last_share = lattice_.max < high ? even.share(lattice_.max, true) : 1;
    const auto share_to = [&](double x, bool at) {
      if (x > lattice_.max) return 1.0;
      if (x < lattice_.min || !(last_share > first_share)) return 0.0;
      return std::clamp((even.share(x, at) - first_share) / (last_share - first_share), 0.0, 1.0);
    };
    double before = 0;
    for (std::int64_t j = ends_.cell(level - 1, low); ends_.end(level - 1, j) < high; ++j) {
      const double begin = ends_.end(level - 1, j);
      if (begin > low) {
        const double through = share_to(begin, true);
        Sums at = share(sums, through - before);
        before = through;
        if (first < end && all_[first].entry.x == begin && all_[first].entry.level < 0)
          add(first++, &at);
        if (at.rows > 0) put(begin, -1, at);
      }
      const double next = std::min(ends_.end(level - 1, j + 1), high);
      const double below = next < high ? share_to(next, false) : 1;
      Sums within = share(sums, below - before);
      before = below;
      const std::size_t last = first_from(first, end, next);
      if (first < last && all_[first].entry.x == begin && all_[first].entry.level == level - 1)
        add(first++, &within);
      put_cell(level - 1, j, within, first, last);
      first = last;
    }
  }

  // Few rows beside others, which the heaviest of these takes.
  void put_beside(const Sums& sums, std::size_t first, std::size_t end) {
    const std::size_t from = out_.entries.size();
    put_all(first, end);
    std::size_t heaviest = from;
    for (std::size_t i = from; i < out_.entries.size(); ++i)
      if (out_.entries[i].rows > out_.entries[heaviest].rows) heaviest = i;
    out_.entries[heaviest].rows += sums.rows;
    for (std::size_t k = 0; k < measures_; ++k) {
      const MeasureSums& s = sums.of[k];
      out_.sums[heaviest * measures_ + k].add(s);
      out_.sum_error[k] = std::max(out_.sum_error[k], std::sqrt(s.rows * std::max(s.squares, 0.0)));
      out_.squares_error[k] = std::max(out_.squares_error[k], std::max(s.squares, 0.0));
    }
    out_.error_rows = std::max(out_.error_rows, sums.rows);
  }

  std::size_t first_from(std::size_t first, std::size_t end, double x) const {
    while (first < end && all_[first].entry.x < x) ++first;
    return first;
  }

  const RoundEnds& ends_;
  const Header& lattice_;
  std::span<const Place> all_;
  std::size_t measures_;
  double few_;
  GridList& out_;
};

// Cells with what is loose: few rows beside what lies within their cell are put into the middle of that.
void GridCells::list_cells(std::vector<Place>& all, GridList* out) const {
  out->finest = out->coarsest = level_;
  const auto measures = static_cast<std::size_t>(measures_);
  std::vector<double> below(all.size() + 1);
  std::vector<MeasureSums> sums(all.size() * measures);
  for (std::size_t i = 0; i < all.size(); ++i) {
    below[i + 1] = below[i] + all[i].entry.rows;
    for (std::size_t k = 0; k < measures; ++k)
      sums[i * measures + k] = sums_in(all[i].slot, static_cast<int>(k));
  }
  const auto move = [&](std::size_t from, std::size_t to) {
    all[to].entry.rows += all[from].entry.rows;
    for (std::size_t k = 0; k < measures; ++k)
      sums[to * measures + k].add(sums[from * measures + k]);
  };
  // Of cells with rows that were put elsewhere, each within the one before.
  struct Moved {
    double end, rows;
    std::array<double, kMaxMeasures> sum, squares;
  };
  std::vector<Moved> moved;
  out->entries.reserve(all.size());
  out->sums.reserve(all.size() * measures);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const GridEntry& e = all[i].entry;
    while (!moved.empty() && moved.back().end <= e.x) moved.pop_back();
    if (e.level > level_) {
      const double end = ends_.end(e.level, ends_.cell(e.level, e.x) + 1);
      std::size_t last = i + 1;
      while (last < all.size() && all[last].entry.x < end) ++last;
      const double within = below[last] - below[i + 1];
      if (!keeps_cells_ && last > i + 1 && within > kFew * e.rows &&
          within > kHeavy * below.back()) {
        const auto middle = static_cast<std::size_t>(
            std::upper_bound(below.begin() + static_cast<std::ptrdiff_t>(i) + 2,
                             below.begin() + static_cast<std::ptrdiff_t>(last),
                             below[i + 1] + within / 2) -
            below.begin() - 1);
        Moved m = moved.empty() ? Moved{} : moved.back();
        m.end = end;
        m.rows += e.rows;
        for (std::size_t k = 0; k < measures; ++k) {
          const MeasureSums& s = sums[i * measures + k];
          m.sum[k] += std::sqrt(s.rows * std::max(s.squares, 0.0));
          m.squares[k] += std::max(s.squares, 0.0);
          out->sum_error[k] = std::max(out->sum_error[k], m.sum[k]);
          out->squares_error[k] = std::max(out->squares_error[k], m.squares[k]);
        }
        out->error_rows = std::max(out->error_rows, m.rows);
        moved.push_back(m);
        move(i, middle);
        continue;
      }
      for (std::size_t j = i + 1; j < last; ++j) move(j, i);
      out->coarsest = std::max(out->coarsest, e.level);
      out->entries.push_back(e);
      for (std::size_t k = 0; k < measures; ++k) out->sums.push_back(sums[i * measures + k]);
      i = last - 1;
      continue;
    }
    out->entries.push_back(e);
    for (std::size_t k = 0; k < measures; ++k) out->sums.push_back(sums[i * measures + k]);
  }
}

Status GridCells::list(GridList* out, const Header* header) {
  if (Status s = settle(); !s.ok()) return s;
  if (kept_mask_ != 0 && (header == nullptr || !header->has_exact_ends()))
    if (Status s = drop_kept(); !s.ok()) return s;
  return guarded([&] {
    std::vector<Place> all;
    list_places(&all);
    const auto kept = std::stable_partition(all.begin(), all.end(), [this](const Place& p) {
      return p.entry.level >= 0 || !is_kept(p.entry.x);
    });
    const std::vector<Place> beside(kept, all.end());
    all.erase(kept, all.end());
    *out = {};
    if (!is_uneven_ && has_lattice_ && header != nullptr && beside.empty()) {
      const double row = totals_.count() > 0 ? totals_.rows() / totals_.count() : 0;
      Divider(ends_, *header, all, static_cast<std::size_t>(measures_), kLittle * row, out).run();
      out->is_even = true;
      if (!is_on(*header)) out->error_rows += off_lattice_;
      return Status::success();
    }
    list_cells(all, out);
    for (const Place& p : beside) {
      out->entries.push_back(p.entry);
      for (int k = 0; k < measures_; ++k) out->sums.push_back(sums_in(p.slot, k));
    }
    out->kept = beside.size();
    return Status::success();
  });
}

}  // namespace kde
