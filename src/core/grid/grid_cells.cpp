// See grid_cells.h.
#include "core/grid/grid_cells.h"

#include "core/density/histogram.h"
#include "core/first_true.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <utility>
#include <numeric>
#include <vector>

namespace kde {

namespace {

constexpr std::size_t kFirstBatch = 8, kMostBatch = 512;
// Rows of other cells that a level may put into one, of all, and so many times the mean of a cell.
constexpr double kMostShare = 1.0 / 256, kMostOfMean = 64;
// Levels that may make room for less than one in so many cells.
constexpr int kMostNarrow = 32;
constexpr std::size_t kNarrow = 64;
// Loose rows are few where those within their cell are more than so many times as many, and worth
// keeping apart where they are such a share of all.
constexpr double kFew = 16, kHeavy = 1.0 / 1024;
constexpr double kPowersOfTen[kMostValueDigits + 1] = {
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
constexpr std::uint32_t kMagic = 0x6b646763;

Status out_of_memory() { return Status::error(Code::out_of_memory, "out of memory"); }
Status invalid(const char* what) { return Status::error(Code::invalid_format, "%s", what); }

// As nearbyint() up to 2^51, without a call.
[[gnu::always_inline]] inline double nearest_whole(double x) {
  constexpr double kOnes = 0x1.8p52;
  return (x + kOnes) - kOnes;
}

// Whether that is the double nearest to a decimal fraction of so many digits.
bool is_decimal(double y, int digits) {
  const double units = nearest_whole(y * kPowersOfTen[digits]);
  return std::fabs(units) < 0x1p51 && units / kPowersOfTen[digits] == y;
}

template <typename T>
Status allocate_array(const Memory& memory, std::size_t n, T** out) {
  *out = static_cast<T*>(memory.allocate(memory.context, n * sizeof(T)));
  return *out != nullptr ? Status::success() : out_of_memory();
}

bool is_count(double x) { return std::isfinite(x) && x >= 0; }

}  // namespace

// As stored between processes: this, the measures, then the tables, each with its slots.
struct GridCells::SerializedMeasure {
  SummaryTotals totals;
  MeasureSums special[kSpecialX];
  double origin, sum_error, squares_error;
  std::int32_t has_origin, decimals;
};
struct GridCells::Serialized {
  std::uint32_t magic;
  std::int32_t chain, measures, digits, tables, by_rows;
  std::uint64_t most;
  Summary::Specials specials;
  SummaryTotals totals;
  double error_rows;
};
struct GridCells::SerializedTable {
  std::int32_t level, reserved;
  std::uint64_t size;
};

double power_of(int decimals) { return decimals < kNoDecimals ? kPowersOfTen[decimals] : 1; }

double GridCells::Measure::units_of_one() const { return power_of(decimals); }

bool GridCells::has_digits(double x, int digits) { return is_decimal(x, digits); }

// ----------------------------------------------------------------------------------- the tables

template <typename F>
void GridCells::for_each_slot(const F& f) {
  for_each_table([&f](int /*level*/, const GridTable& table) {
    for (std::size_t i = 0; i < table.capacity(); ++i)
      if (table.is_used(i)) f(table.slot(i));
  });
}

template <typename F>
void GridCells::for_each_table(const F& f) const {
  f(level_, table_);
  for (int i = 0; i < loose_count_; ++i) f(loose_[i].level, loose_[i].table);
}

std::size_t GridCells::size() const {
  std::size_t cells = 0;
  for_each_table([&cells](int /*level*/, const GridTable& table) { cells += table.size(); });
  return cells;
}

double GridCells::begin_of(int level, std::int64_t key) const {
  return is_value(level, key) ? value_of_key(key) : ends_.end(level, key >> 1);
}

std::int64_t GridCells::key_of_level(int level, double x, bool inside) const {
  if (level < 0 || std::fabs(x) >= kMostIndex * ends_.step(level)) return key_of(x);
  const std::int64_t k = ends_.cell(level, x);
  return 2 * k + ((inside || ends_.end(level, k) != x) ? 1 : 0);
}

// Where the quotient is not near a whole number, no end is between it and x: it is off by at most
// 2^-52 of it.
std::int64_t GridCells::key_of_row(double x) const {
  constexpr double kMostQuotient = 0x1p30, kNear = 0x1p-20;
  const double steps = x * steps_of_one_;
  if (std::fabs(steps) < kMostQuotient && steps_of_one_ > 0) {
    auto k = static_cast<std::int64_t>(steps);
    double rest = steps - static_cast<double>(k);
    if (rest < 0) {
      rest += 1;
      --k;
    }
    if (rest > kNear && rest < 1 - kNear) return 2 * k + 1;
  }
  return key_of_level(level_, x, false);
}

void GridCells::set_level(int level) {
  level_ = level;
  steps_of_one_ = level >= 0 && ends_.is_even(level) ? 1 / ends_.step(level) : 0;
}

// To a coarser one. Loose rows of its cells and of finer ones are not loose any more.
Status GridCells::raise_level(int level) {
  const int from = level_;
  if (Status s = table_.map(memory_, [&](std::int64_t key) { return key_in(level, from, key); });
      !s.ok())
    return s;
  set_level(level);
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

// Of values, the finest level at which cells are not too many: the coarser the fewer. False where
// that would put many rows of several values into one cell.
bool GridCells::find_level(int* level) const {
  std::vector<std::pair<std::int64_t, double>> cells;
  cells.reserve(table_.size());
  for (std::size_t i = 0; i < table_.capacity(); ++i)
    if (table_.is_used(i)) cells.emplace_back(table_.key_at(i), table_.slot(i)[1]);
  std::sort(cells.begin(), cells.end());
  const auto fits = [&](int to) {
    std::size_t n = 0;
    for (int i = 0; i < loose_count_; ++i)
      if (loose_[i].level > to) n += loose_[i].table.size();
    std::int64_t last = 0;
    for (std::size_t i = 0; i < cells.size() && n <= most_; ++i) {
      const std::int64_t parent = key_in(to, level_, cells[i].first);
      if (i == 0 || parent != last) ++n;
      last = parent;
    }
    return n <= most_;
  };
  *level = first_true(0, ends_.levels() - 1, fits);
  double all = 0, most = 0, own = 0, heaviest = 0;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto [key, rows] = cells[i];
    const std::int64_t parent = key_in(*level, level_, key);
    if (i == 0 || parent != last) own = heaviest = 0;
    last = parent;
    own += rows;
    heaviest = std::max(heaviest, rows);
    most = std::max(most, own - heaviest);
    all += rows;
  }
  return most <= share_of_one() * all;
}

// Raises the level by one. *is_even: false where many rows of several values would be in one cell, and
// where they are, or one level after another hardly made room.
Status GridCells::raise_by_one(bool* is_even) {
  const std::size_t before = size();
  double all = 0;
  for (std::size_t i = 0; i < table_.capacity(); ++i)
    if (table_.is_used(i)) all += table_.slot(i)[1];
  const double many = share_of_one() * all;
  // As many as neighbours have that are alike; cells that hold one such value may.
  const double parts = ends_.step(level_ + 1) / ends_.step(level_);
  std::vector<std::pair<std::int64_t, double>> heavy;
  for (std::size_t i = 0; i < table_.capacity(); ++i) {
    if (!table_.is_used(i) || !(table_.slot(i)[1] * parts > many)) continue;
    const std::int64_t key = table_.key_at(i);
    *is_even = *is_even && !is_inside(level_, key);
    heavy.emplace_back(key_in(level_ + 1, level_, key), table_.slot(i)[1]);
  }
  if (!*is_even && ends_.chain() == Chain::decimal) return Status::success();
  if (Status s = raise_level(level_ + 1); !s.ok()) return s;
  if (size() + before / kNarrow > before) ++narrow_;
  *is_even = *is_even && narrow_ <= kMostNarrow;
  for (std::size_t i = 0; i < table_.capacity(); ++i) {
    if (!table_.is_used(i) || !is_inside(level_, table_.key_at(i))) continue;
    double rows = table_.slot(i)[1];
    if (!(rows > many)) continue;
    double heaviest = 0;
    for (const auto& [key, own] : heavy)
      if (key == table_.key_at(i)) heaviest = std::max(heaviest, own);
    *is_even = *is_even && !(rows - heaviest > many);
  }
  return Status::success();
}

// Of all rows, how many a level may put into one cell.
double GridCells::share_of_one() const {
  return std::max(kMostShare, kMostOfMean / static_cast<double>(most_));
}

Status GridCells::fit_into_most() {
  const bool numbers = ends_.chain() == Chain::decimal;
  while (size() > most_ && level_ + 1 < ends_.levels()) {
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
  for_each_table([&](int level, const GridTable& table) {
    for (std::size_t i = 0; i < table.capacity(); ++i) {
      if (!table.is_used(i)) continue;
      const std::int64_t key = table.key_at(i);
      const int of = is_inside(level, key) ? level : -1;
      out->push_back({{begin_of(level, key), table.slot(i)[1], of}, table.slot(i)});
    }
  });
  std::sort(out->begin(), out->end(), [](const Place& a, const Place& b) {
    if (a.entry.x != b.entry.x) return a.entry.x < b.entry.x;
    if ((a.entry.level < 0) != (b.entry.level < 0)) return a.entry.level < 0;
    return a.entry.level > b.entry.level;
  });
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
  to.set_level(level_);
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
      entry = {ends_.end(node.level, ends_.cell(node.level, entry.x)), slot[1], node.level};
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
      Level* moved;
      if (Status s = allocate_array(memory_, static_cast<std::size_t>(capacity), &moved); !s.ok())
        return s;
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

Status GridCells::add_cells_of(const Level& from) {
  for (std::size_t i = 0; i < from.table.capacity(); ++i) {
    if (!from.table.is_used(i)) continue;
    double* slot = from.table.slot(i);
    const std::int64_t key = from.table.key_at(i);
    const int level = is_inside(from.level, key) ? from.level : -1;
    if (Status s = add_cell({begin_of(from.level, key), slot[1], level}, slot); !s.ok()) return s;
  }
  return Status::success();
}

// ------------------------------------------------------------------------------------- measures

// Sums of values with more digits, or with none that are known.
void GridCells::widen(int k, int decimals) {
  Measure& m = measure_[k];
  const double by = power_of(decimals) / power_of(m.decimals);
  const auto scaled = [by](const MeasureSums& s) {
    return MeasureSums{s.rows, s.sum * by, s.squares * by * by};
  };
  for_each_slot([&](double* slot) { put_sums(slot, k, scaled(sums_in(slot, k))); });
  for (MeasureSums& s : m.special) s = scaled(s);
  m.origin *= by;
  m.sum_error *= by;
  m.squares_error *= by * by;
  m.decimals = decimals;
}

void GridCells::move_origin(int k, double to) {
  Measure& m = measure_[k];
  const double by = to - m.origin;
  if (by != 0) {
    if (m.decimals == kNoDecimals) m.sum_error += kRoundingOfMove * m.totals.rows() * std::fabs(by);
    for_each_slot([&](double* slot) { put_sums(slot, k, sums_in(slot, k).moved(by)); });
    for (MeasureSums& s : m.special) s = s.moved(by);
  }
  m.origin = to;
  m.has_origin = true;
}

void GridCells::agree(int k, int decimals, double origin) {
  Measure& m = measure_[k];
  if (m.decimals < decimals) widen(k, decimals);
  if (!m.has_origin) move_origin(k, origin * power_of(m.decimals) / power_of(decimals));
}

double GridCells::in_units(int k, double y) {
  Measure& m = measure_[k];
  double units = y;
  if (m.decimals < kNoDecimals) {
    const double tens = kPowersOfTen[m.decimals];
    units = nearest_whole(y * tens);
    if (!(std::fabs(units) < 0x1p51 && units / tens == y)) {
      int decimals = m.decimals;
      while (decimals < kNoDecimals && !is_decimal(y, decimals)) ++decimals;
      widen(k, decimals);
      units = decimals < kNoDecimals ? nearest_whole(y * kPowersOfTen[decimals]) : y;
    }
  }
  if (!m.has_origin) {
    m.origin = units;
    m.has_origin = true;
  }
  return units - m.origin;
}

// ----------------------------------------------------------------------------------------- rows

Status GridCells::make_room_in_batch() {
  if (waiting_ < batch_capacity_) return Status::success();
  if (batch_capacity_ >= kMostBatch) return settle();
  const std::size_t capacity = std::max(2 * batch_capacity_, kFirstBatch);
  double* batch;
  const auto columns = 1 + static_cast<std::size_t>(measures_);
  if (Status s = allocate_array(memory_, capacity * columns, &batch); !s.ok()) return s;
  for (std::size_t c = 0; c < columns && waiting_ > 0; ++c)
    std::copy_n(batch_ + c * batch_capacity_, waiting_, batch + c * capacity);
  if (batch_ != nullptr) memory_.release(memory_.context, batch_);
  batch_ = batch;
  batch_capacity_ = capacity;
  return Status::success();
}

void GridCells::count_special(double x, double weight, std::span<const double> y) {
  const SpecialX which = std::isnan(x) ? SpecialX::nan
                         : x > 0       ? SpecialX::positive_infinity
                                       : SpecialX::negative_infinity;
  (which == SpecialX::nan                 ? specials_.nans
   : which == SpecialX::positive_infinity ? specials_.positive_infinities
                                          : specials_.negative_infinities) += weight;
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (std::isnan(y[k])) continue;
    const double units = in_units(static_cast<int>(k), y[k]);
    measure_[k].totals.add({&y[k], 1}, {});
    measure_[k].special[static_cast<int>(which)].add_value(units);
  }
}

Status GridCells::add(double x, std::span<const double> y) {
  if (!(x - x == 0)) {
    count_special(x, 1, y);
    return Status::success();
  }
  if (Status s = make_room_in_batch(); !s.ok()) return s;
  batch_[waiting_] = x + 0.0;
  for (std::size_t k = 0; k < y.size(); ++k) batch_[(k + 1) * batch_capacity_ + waiting_] = y[k];
  ++waiting_;
  return Status::success();
}

Status GridCells::add(std::span<const double> x) {
  for (const double value : x)
    if (Status s = add(value); !s.ok()) return s;
  return Status::success();
}

Status GridCells::add_weighted(double x, double weight) {
  if (!(x - x == 0)) {
    count_special(x, weight, {});
    return Status::success();
  }
  x += 0.0;
  totals_.add({&x, 1}, {&weight, 1});
  note_digits(x);
  std::size_t at;
  if (Status s = find_or_add(x, key_of_row(x), &at); !s.ok()) return s;
  table_.slot(at)[1] += weight;
  return Status::success();
}

// A row of the batch, in a cell that there is.
void GridCells::count_value(std::size_t at, std::size_t row) {
  table_.slot(at)[1] += 1;
  for (int k = 0; k < measures_; ++k) {
    const double y = batch_[(static_cast<std::size_t>(k) + 1) * batch_capacity_ + row];
    if (std::isnan(y)) continue;
    // It may widen what is in the table.
    const double units = in_units(k, y);
    double* s = table_.slot(at) + 2 + 3 * k;
    s[0] += 1;
    s[1] += units;
    s[2] += units * units;
  }
}

// The slot of a key, which is new perhaps: then there may be too many, and x has another key.
Status GridCells::find_or_add(double x, std::int64_t key, std::size_t* at) {
  if (table_.capacity() > 0) {
    *at = table_.slot_of(key);
    if (table_.is_used(*at)) return Status::success();
  }
  if (Status s = table_.make_room(memory_); !s.ok()) return s;
  *at = table_.slot_of(key);
  table_.put(*at, key);
  if (size() <= most_) return Status::success();
  if (Status s = fit_into_most(); !s.ok()) return s;
  // It may have been put into another.
  key = key_of_row(x);
  if (Status s = table_.make_room(memory_); !s.ok()) return s;
  *at = table_.slot_of(key);
  if (!table_.is_used(*at)) table_.put(*at, key);
  return Status::success();
}

Status GridCells::settle() {
  if (waiting_ == 0) return Status::success();
  const std::size_t n = waiting_;
  waiting_ = 0;
  totals_.add({batch_, n}, {});
  for (int k = 0; k < measures_; ++k) {
    double values[kMostBatch];
    std::size_t some = 0;
    const double* y = batch_ + (static_cast<std::size_t>(k) + 1) * batch_capacity_;
    for (std::size_t i = 0; i < n; ++i)
      if (!std::isnan(y[i])) values[some++] = y[i];
    measure_[k].totals.add({values, some}, {});
  }
  for (std::size_t i = 0; i < n && digits_ < kNoValueDigits; ++i) note_digits(batch_[i]);
  if (Status s = table_.make_room(memory_); !s.ok()) return s;
  // Memory is slow where the table is large: what is looked for is asked for beforehand.
  std::int64_t key[kMostBatch];
  for (std::size_t i = 0; i < n; ++i) {
    key[i] = key_of_row(batch_[i]);
    table_.prefetch(key[i]);
  }
  int level = level_;
  for (std::size_t i = 0; i < n; ++i) {
    if (level_ != level) {
      level = level_;
      for (std::size_t j = i; j < n; ++j) key[j] = key_of_row(batch_[j]);
    }
    std::size_t at;
    if (Status s = find_or_add(batch_[i], key[i], &at); !s.ok()) return s;
    count_value(at, i);
  }
  return Status::success();
}

Status GridCells::merge(GridCells* other) {
  if (Status s = settle(); !s.ok()) return s;
  if (Status s = other->settle(); !s.ok()) return s;
  specials_.nulls += other->specials_.nulls;
  specials_.nans += other->specials_.nans;
  specials_.negative_infinities += other->specials_.negative_infinities;
  specials_.positive_infinities += other->specials_.positive_infinities;
  if (other->totals_.count() > 0) totals_.merge(other->totals_);
  digits_ = std::max(digits_, other->digits_);
  error_rows_ += other->error_rows_;
  by_rows_ = by_rows_ || other->by_rows_;
  for (int k = 0; k < measures_; ++k) {
    Measure& m = measure_[k];
    Measure& from = other->measure_[k];
    if (!from.has_origin) continue;
    agree(k, from.decimals, from.origin);
    if (from.decimals < m.decimals) other->widen(k, m.decimals);
    other->move_origin(k, m.origin);
    m.sum_error += from.sum_error;
    m.squares_error += from.squares_error;
    if (from.totals.count() > 0) m.totals.merge(from.totals);
    for (int x = 0; x < kSpecialX; ++x) m.special[x].add(from.special[x]);
  }
  if (level_ < other->level_)
    if (Status s = raise_level(other->level_); !s.ok()) return s;
  if (Status s = add_cells_of({other->level_, other->table_}); !s.ok()) return s;
  for (int i = 0; i < other->loose_count_; ++i)
    if (Status s = add_cells_of(other->loose_[i]); !s.ok()) return s;
  return fit_into_most();
}

Status GridCells::list(GridList* out) {
  if (Status s = settle(); !s.ok()) return s;
  try {
    std::vector<Place> all;
    list_places(&all);
    *out = {};
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
        if (last > i + 1 && within > kFew * e.rows && within > kHeavy * below.back()) {
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
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  return Status::success();
}

// ------------------------------------------------------------------------------ between processes

std::size_t GridCells::serialized_size() const {
  return sizeof(Serialized) + static_cast<std::size_t>(measures_) * sizeof(SerializedMeasure) +
         static_cast<std::size_t>(1 + loose_count_) * sizeof(SerializedTable) +
         size() * table_.stride() * sizeof(double);
}

void GridCells::serialize(void* out) const {
  auto* to = static_cast<char*>(out);
  const auto put = [&to](const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    to += bytes;
  };
  Serialized s = {};
  s.magic = kMagic;
  s.chain = static_cast<std::int32_t>(ends_.chain());
  s.measures = measures_;
  s.digits = digits_;
  s.tables = 1 + loose_count_;
  s.by_rows = by_rows_ ? 1 : 0;
  s.most = most_;
  s.specials = specials_;
  s.totals = totals_;
  s.error_rows = error_rows_;
  put(&s, sizeof s);
  for (int k = 0; k < measures_; ++k) {
    const Measure& m = measure_[k];
    SerializedMeasure of = {
        m.totals, {}, m.origin, m.sum_error, m.squares_error, m.has_origin ? 1 : 0, m.decimals};
    std::copy(std::begin(m.special), std::end(m.special), of.special);
    put(&of, sizeof of);
  }
  for_each_table([&](int level, const GridTable& table) {
    const SerializedTable of = {level, 0, table.size()};
    put(&of, sizeof of);
    for (std::size_t i = 0; i < table.capacity(); ++i) {
      if (!table.is_used(i)) continue;
      const std::int64_t key = table.key_at(i);
      put(&key, sizeof key);
      put(table.slot(i) + 1, (table.stride() - 1) * sizeof(double));
    }
  });
}

Status GridCells::deserialize(const void* bytes, std::size_t size) {
  const auto* from = static_cast<const char*>(bytes);
  const char* const end = from + size;
  const auto left = [&] { return static_cast<std::size_t>(end - from); };
  const auto take = [&](void* to, std::size_t n) {
    if (left() < n) return false;
    std::memcpy(to, from, n);
    from += n;
    return true;
  };
  Serialized s;
  if (!take(&s, sizeof s) || s.magic != kMagic) return invalid("not the cells of a column");
  if (s.measures != measures_ || s.chain != static_cast<std::int32_t>(ends_.chain()))
    return invalid("cells of another column");
  if (s.digits < 0 || s.digits > kNoValueDigits || s.tables < 1 || s.tables > ends_.levels() + 1 ||
      s.most == 0 || s.most > kMostGridCells || (s.most & (s.most - 1)) != 0 || !s.totals.valid() ||
      !is_count(s.specials.nulls) || !is_count(s.specials.nans) ||
      !is_count(s.specials.negative_infinities) || !is_count(s.specials.positive_infinities) ||
      !is_count(s.error_rows))
    return invalid("cells of a column are out of range");
  most_ = s.most;
  digits_ = s.digits;
  by_rows_ = s.by_rows != 0;
  specials_ = s.specials;
  totals_ = s.totals;
  error_rows_ = s.error_rows;
  for (int k = 0; k < measures_; ++k) {
    SerializedMeasure of;
    if (!take(&of, sizeof of)) return invalid("cells of a column are too short");
    if (!of.totals.valid() || !std::isfinite(of.origin) || of.decimals < 0 ||
        of.decimals > kNoDecimals || !is_count(of.sum_error) || !is_count(of.squares_error))
      return invalid("a measure's cells are out of range");
    Measure& m = measure_[k];
    m.totals = of.totals;
    std::copy(std::begin(of.special), std::end(of.special), m.special);
    m.origin = of.origin;
    m.has_origin = of.has_origin != 0;
    m.decimals = of.decimals;
    m.sum_error = of.sum_error;
    m.squares_error = of.squares_error;
  }
  for (int i = 0; i < s.tables; ++i) {
    SerializedTable of;
    if (!take(&of, sizeof of)) return invalid("cells of a column are too short");
    const int least = i == 0 ? -1 : std::max(level_, i == 1 ? level_ : loose_[i - 2].level) + 1;
    if (of.level < least || of.level >= ends_.levels() ||
        of.size > left() / (table_.stride() * sizeof(double)))
      return invalid("cells of a column are out of range");
    if (i == 0) set_level(of.level);
    GridTable* table = &table_;
    if (i > 0)
      if (Status status = table_of(of.level, &table); !status.ok()) return status;
    for (std::uint64_t c = 0; c < of.size; ++c) {
      std::int64_t key = 0;
      double slot[2 + 3 * kMaxMeasures] = {};
      take(&key, sizeof key);
      take(slot + 1, (table_.stride() - 1) * sizeof(double));
      constexpr std::int64_t kMostKey = std::int64_t{1} << 51;  // 2 kMostIndex
      if (key == std::numeric_limits<std::int64_t>::min()) return invalid("a cell has no key");
      const bool is_there = is_value(of.level, key) ? std::isfinite(value_of_key(key))
                                                    : key >= -kMostKey && key <= kMostKey + 1;
      if (!is_count(slot[1]) || !is_there) return invalid("a cell is out of range");
      if (Status status = table->make_room(memory_); !status.ok()) return status;
      table->add(key, slot);
    }
  }
  return left() == 0 ? fit_into_most() : invalid("cells of a column have another length");
}

void GridCells::release() {
  table_.release(memory_);
  for (int i = 0; i < loose_count_; ++i) loose_[i].table.release(memory_);
  if (loose_ != nullptr) memory_.release(memory_.context, loose_);
  if (batch_ != nullptr) memory_.release(memory_.context, batch_);
  loose_ = nullptr;
  loose_count_ = loose_capacity_ = 0;
  batch_ = nullptr;
}

}  // namespace kde
