// See grid_cells.h. The table is open-addressed with linear probing (D. E. Knuth, The Art of Computer
// Programming, vol. 3, section 6.4), at most half full.
#include "core/grid/grid_cells.h"

#include "core/density/histogram.h"
#include "core/first_true.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <numeric>
#include <vector>

namespace kde {

namespace {

constexpr std::size_t kFirstCapacity = 16, kFirstBatch = 8, kMostBatch = 512;
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

double power_of(int decimals) { return decimals < kNoDecimals ? kPowersOfTen[decimals] : 1; }

std::size_t hash_of(std::int64_t key) {
  const auto mixed = static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15U;
  return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

template <typename T>
Status allocate_array(const Memory& memory, std::size_t n, T** out) {
  *out = static_cast<T*>(memory.allocate(memory.context, n * sizeof(T)));
  return *out != nullptr ? Status::success() : out_of_memory();
}

bool is_count(double x) { return std::isfinite(x) && x >= 0; }

}  // namespace

// As stored between processes: this, the measures, then the arrays of `size` each.
struct GridCells::SerializedMeasure {
  SummaryTotals totals;
  MeasureSums special[kSpecialX];
  double origin;
  std::int32_t has_origin, decimals;
};
struct GridCells::Serialized {
  std::uint32_t magic;
  std::int32_t chain, measures, level, digits, reserved;
  std::uint64_t size, most;
  Summary::Specials specials;
  SummaryTotals totals;
};

double GridCells::Measure::units_of_one() const { return power_of(decimals); }

bool GridCells::has_digits(double x, int digits) { return is_decimal(x, digits); }

// ------------------------------------------------------------------------------------ the table

// Where a key is, or is to be.
std::size_t GridCells::slot_of(std::int64_t key) const {
  const std::size_t mask = capacity_ - 1;
  std::size_t i = hash_of(key) & mask;
  while (rows_at(i) != 0 && key_at(i) != key) i = (i + 1) & mask;
  return i;
}

// Where a cell begins, or its value.
double GridCells::begin_of(std::int64_t key) const {
  return is_value(key) ? value_of_key(key) : ends_.end(level_, key >> 1);
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

// Adds a slot's rows and sums; there is room.
void GridCells::add_to(std::int64_t key, const double* from) {
  const std::size_t at = slot_of(key);
  double* to = slot(at);
  if (to[1] == 0) {
    to[0] = std::bit_cast<double>(key);
    ++size_;
  }
  for (std::size_t i = 1; i < stride(); ++i) to[i] += from[i];
}

// Into a table of that capacity, at a level that is as coarse or coarser.
Status GridCells::rebuild(std::size_t capacity, int level) {
  double* const before = table_;
  const std::size_t n = slots();
  double* table;
  if (Status s = allocate_array(memory_, capacity * stride(), &table); !s.ok()) return s;
  std::fill_n(table, capacity * stride(), 0.0);
  // Keys of the level before are told by it.
  std::vector<std::int64_t> keys;
  if (level != level_) {
    try {
      keys.resize(n);
    } catch (const std::bad_alloc&) {
      memory_.release(memory_.context, table);
      return out_of_memory();
    }
    for (std::size_t i = 0; i < n; ++i)
      if (rows_at(i) != 0) keys[i] = key_in(level, key_at(i));
  }
  table_ = table;
  capacity_ = capacity;
  size_ = 0;
  sorted_ = false;
  set_level(level);
  for (std::size_t i = 0; i < n; ++i) {
    const double* from = before + i * stride();
    if (from[1] != 0) add_to(keys.empty() ? std::bit_cast<std::int64_t>(from[0]) : keys[i], from);
  }
  if (before != nullptr) memory_.release(memory_.context, before);
  return Status::success();
}

// As many cells as there may be, at the finest level at which that is so: the coarser the fewer.
Status GridCells::fit_into_most() {
  // Mostly it is the next one.
  while (level_ >= 0 && size_ > most_ && level_ + 1 < ends_.levels())
    if (Status s = rebuild(capacity_, level_ + 1); !s.ok()) return s;
  if (level_ >= 0 || size_ <= most_) return Status::success();
  std::vector<std::int64_t> keys;
  try {
    keys.reserve(size_);
    for (std::size_t i = 0; i < slots(); ++i)
      if (rows_at(i) != 0) keys.push_back(key_at(i));
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  std::sort(keys.begin(), keys.end());
  const auto fits = [&](int level) {
    std::size_t cells = 0;
    std::int64_t last = 0;
    for (const std::int64_t key : keys) {
      const std::int64_t parent = key_in(level, key);
      if (cells == 0 || parent != last) ++cells;
      last = parent;
      if (cells > most_) return false;
    }
    return true;
  };
  return rebuild(capacity_, first_true(0, ends_.levels() - 1, fits));
}

Status GridCells::make_room_for_one() {
  if (!sorted_ && 2 * (size_ + 1) <= capacity_) return Status::success();
  std::size_t capacity = kFirstCapacity;
  while (2 * (size_ + 1) > capacity) capacity *= 2;
  return rebuild(std::max(capacity, sorted_ ? std::size_t{0} : capacity_), level_);
}

// ------------------------------------------------------------------------------------- measures

// Sums of values with more digits, or with none that are known.
void GridCells::widen(int k, int decimals) {
  Measure& m = measure_[k];
  const double by = power_of(decimals) / power_of(m.decimals);
  const auto scaled = [by](const MeasureSums& s) {
    return MeasureSums{s.rows, s.sum * by, s.squares * by * by};
  };
  for (std::size_t i = 0; i < slots(); ++i) put_sums(i, k, scaled(sums_at(i, k)));
  for (MeasureSums& s : m.special) s = scaled(s);
  m.origin *= by;
  m.decimals = decimals;
}

void GridCells::move_origin(int k, double to) {
  Measure& m = measure_[k];
  const double by = to - m.origin;
  if (by != 0) {
    for (std::size_t i = 0; i < slots(); ++i) put_sums(i, k, sums_at(i, k).moved(by));
    for (MeasureSums& s : m.special) s = s.moved(by);
  }
  m.origin = to;
  m.has_origin = true;
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

void GridCells::count_special(double x, std::span<const double> y) {
  const SpecialX which = std::isnan(x) ? SpecialX::nan
                         : x > 0       ? SpecialX::positive_infinity
                                       : SpecialX::negative_infinity;
  (which == SpecialX::nan                 ? specials_.nans
   : which == SpecialX::positive_infinity ? specials_.positive_infinities
                                          : specials_.negative_infinities) += 1;
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (std::isnan(y[k])) continue;
    const double units = in_units(static_cast<int>(k), y[k]);
    measure_[k].totals.add({&y[k], 1}, {});
    measure_[k].special[static_cast<int>(which)].add_value(units);
  }
}

Status GridCells::add(double x, std::span<const double> y) {
  if (!(x - x == 0)) {
    count_special(x, y);
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

// A row of the batch, in a cell that there is.
void GridCells::count_value(std::size_t at, std::size_t row) {
  slot(at)[1] += 1;
  for (int k = 0; k < measures_; ++k) {
    const double y = batch_[(static_cast<std::size_t>(k) + 1) * batch_capacity_ + row];
    if (std::isnan(y)) continue;
    // It may widen what is in the table.
    const double units = in_units(k, y);
    double* s = slot(at) + 2 + 3 * k;
    s[0] += 1;
    s[1] += units;
    s[2] += units * units;
  }
}

// The slot of a key, which is new perhaps: then there may be too many, and x has another key.
Status GridCells::find_or_add(double x, std::int64_t key, std::size_t* at) {
  *at = slot_of(key);
  if (rows_at(*at) != 0) return Status::success();
  // So that it is there, of no rows.
  constexpr double kNoRows = 0x1p-1022;
  if (Status s = make_room_for_one(); !s.ok()) return s;
  *at = slot_of(key);
  slot(*at)[0] = std::bit_cast<double>(key);
  slot(*at)[1] = kNoRows;
  ++size_;
  if (size_ > most_) {
    if (Status s = fit_into_most(); !s.ok()) return s;
    *at = slot_of(key_of_row(x));
  }
  if (rows_at(*at) < 1) slot(*at)[1] = 0;
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
  if (sorted_ || capacity_ == 0)
    if (Status s = make_room_for_one(); !s.ok()) return s;
  // Memory is slow where the table is large: what is looked for is asked for beforehand.
  std::int64_t key[kMostBatch];
  for (std::size_t i = 0; i < n; ++i) {
    key[i] = key_of_row(batch_[i]);
    __builtin_prefetch(slot(hash_of(key[i]) & (capacity_ - 1)));
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
  for (int k = 0; k < measures_; ++k) {
    Measure& m = measure_[k];
    Measure& from = other->measure_[k];
    if (!from.has_origin) continue;
    if (m.decimals < from.decimals) widen(k, from.decimals);
    if (from.decimals < m.decimals) other->widen(k, m.decimals);
    if (!m.has_origin) move_origin(k, from.origin);
    other->move_origin(k, m.origin);
    if (from.totals.count() > 0) m.totals.merge(from.totals);
    for (int x = 0; x < kSpecialX; ++x) m.special[x].add(from.special[x]);
  }
  const int level = std::max(level_, other->level_);
  if (level != level_ && size_ > 0)
    if (Status s = rebuild(capacity_, level); !s.ok()) return s;
  set_level(level);
  if (level != other->level_ && other->size_ > 0)
    if (Status s = other->rebuild(other->capacity_, level); !s.ok()) return s;
  other->set_level(level);
  for (std::size_t i = 0; i < other->slots(); ++i) {
    if (other->rows_at(i) == 0) continue;
    if (Status s = make_room_for_one(); !s.ok()) return s;
    add_to(other->key_at(i), other->slot(i));
  }
  return fit_into_most();
}

Status GridCells::sort() {
  if (Status s = settle(); !s.ok()) return s;
  if (sorted_) return Status::success();
  try {
    struct Place {
      std::int64_t key;
      std::size_t at;
    };
    std::vector<Place> order;
    order.reserve(size_);
    for (std::size_t i = 0; i < capacity_; ++i)
      if (rows_at(i) != 0) order.push_back({key_at(i), i});
    std::sort(order.begin(), order.end(),
              [](const Place& a, const Place& b) { return a.key < b.key; });
    std::vector<double> list;
    list.reserve(size_ * stride());
    for (const Place& p : order) list.insert(list.end(), slot(p.at), slot(p.at) + stride());
    std::copy(list.begin(), list.end(), table_);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  sorted_ = true;
  return Status::success();
}

// ------------------------------------------------------------------------------ between processes

std::size_t GridCells::serialized_size() const {
  const auto measures = static_cast<std::size_t>(measures_);
  return sizeof(Serialized) + measures * sizeof(SerializedMeasure) +
         size_ * (2 + 3 * measures) * sizeof(double);
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
  s.level = level_;
  s.digits = digits_;
  s.size = size_;
  s.most = most_;
  s.specials = specials_;
  s.totals = totals_;
  put(&s, sizeof s);
  for (int k = 0; k < measures_; ++k) {
    const Measure& m = measure_[k];
    SerializedMeasure of = {m.totals, {}, m.origin, m.has_origin ? 1 : 0, m.decimals};
    std::copy(std::begin(m.special), std::end(m.special), of.special);
    put(&of, sizeof of);
  }
  for (std::size_t i = 0; i < slots(); ++i)
    if (rows_at(i) != 0) put(slot(i), stride() * sizeof(double));
}

Status GridCells::deserialize(const void* bytes, std::size_t size) {
  const auto* from = static_cast<const char*>(bytes);
  const char* const end = from + size;
  const auto take = [&](void* to, std::size_t n) {
    if (static_cast<std::size_t>(end - from) < n) return false;
    std::memcpy(to, from, n);
    from += n;
    return true;
  };
  Serialized s;
  if (!take(&s, sizeof s) || s.magic != kMagic) return invalid("not the cells of a column");
  if (s.measures != measures_ || s.chain != static_cast<std::int32_t>(ends_.chain()))
    return invalid("cells of another column");
  if (s.level < -1 || s.level >= ends_.levels() || s.digits < 0 || s.digits > kNoValueDigits ||
      s.size > 2 * kMostGridCells || s.most == 0 || s.most > kMostGridCells ||
      (s.most & (s.most - 1)) != 0 || !s.totals.valid() || !is_count(s.specials.nulls) ||
      !is_count(s.specials.nans) || !is_count(s.specials.negative_infinities) ||
      !is_count(s.specials.positive_infinities))
    return invalid("cells of a column are out of range");
  most_ = s.most;
  set_level(s.level);
  digits_ = s.digits;
  specials_ = s.specials;
  totals_ = s.totals;
  for (int k = 0; k < measures_; ++k) {
    SerializedMeasure of;
    if (!take(&of, sizeof of)) return invalid("cells of a column are too short");
    if (!of.totals.valid() || !std::isfinite(of.origin) || of.decimals < 0 ||
        of.decimals > kNoDecimals)
      return invalid("a measure's cells are out of range");
    Measure& m = measure_[k];
    m.totals = of.totals;
    std::copy(std::begin(of.special), std::end(of.special), m.special);
    m.origin = of.origin;
    m.has_origin = of.has_origin != 0;
    m.decimals = of.decimals;
  }
  if (static_cast<std::size_t>(end - from) !=
      s.size * (2 + 3 * static_cast<std::size_t>(measures_)) * sizeof(double))
    return invalid("cells of a column have another length");
  if (s.size == 0) return Status::success();
  if (Status status = allocate_array(memory_, s.size * stride(), &table_); !status.ok())
    return status;
  capacity_ = size_ = s.size;
  sorted_ = true;  // as a list; in no order, which is what rebuild() takes
  take(table_, size_ * stride() * sizeof(double));
  for (std::size_t i = 0; i < size_; ++i)
    if (!(rows_at(i) >= 1) || !std::isfinite(rows_at(i))) return invalid("a cell has no rows");
  // Keys of one cell would be two.
  std::size_t capacity = kFirstCapacity;
  while (capacity < 2 * (size_ + 1)) capacity *= 2;
  return rebuild(capacity, level_);
}

void GridCells::release() {
  if (table_ != nullptr) memory_.release(memory_.context, table_);
  if (batch_ != nullptr) memory_.release(memory_.context, batch_);
  table_ = batch_ = nullptr;
}

}  // namespace kde
