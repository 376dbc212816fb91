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

Status GridCells::allocate_table(std::size_t capacity) {
  if (Status s = allocate_array(memory_, capacity, &key_); !s.ok()) return s;
  if (Status s = allocate_array(memory_, capacity, &rows_); !s.ok()) return s;
  std::fill_n(rows_, capacity, 0.0);
  for (int k = 0; k < measures_; ++k) {
    for (double** column : {&measure_[k].rows, &measure_[k].sum, &measure_[k].squares}) {
      if (Status s = allocate_array(memory_, capacity, column); !s.ok()) return s;
      std::fill_n(*column, capacity, 0.0);
    }
  }
  capacity_ = capacity;
  return Status::success();
}

void GridCells::release_table(std::int64_t* key, double* rows, const Measure* measure) const {
  const auto release = [this](void* chunk) {
    if (chunk != nullptr) memory_.release(memory_.context, chunk);
  };
  release(key);
  release(rows);
  for (int k = 0; k < measures_; ++k)
    for (double* column : {measure[k].rows, measure[k].sum, measure[k].squares}) release(column);
}

// Where a key is, or is to be.
std::size_t GridCells::slot_of(std::int64_t key) {
  const std::size_t mask = capacity_ - 1;
  std::size_t i = hash_of(key) & mask;
  while (rows_[i] != 0 && key_[i] != key) i = (i + 1) & mask;
  return i;
}

// Where a cell begins, or its value.
double GridCells::begin_of(std::int64_t key) const {
  return is_value(key) ? value_of_key(key) : ends_.end(level_, key >> 1);
}

std::int64_t GridCells::key_at(int level, double x, bool inside) const {
  if (level < 0 || std::fabs(x) >= kMostIndex * ends_.step(level)) return key_of(x);
  const std::int64_t k = ends_.cell(level, x);
  return 2 * k + ((inside || ends_.end(level, k) != x) ? 1 : 0);
}

// Into a table of that capacity, at a level that is as coarse or coarser.
Status GridCells::rebuild(std::size_t capacity, int level) {
  std::int64_t* const key = key_;
  double* const rows = rows_;
  Measure before[kMaxMeasures];
  std::copy_n(measure_, measures_, before);
  const std::size_t slots = sorted_ ? size_ : capacity_;
  const auto forget = [this] {
    key_ = nullptr;
    rows_ = nullptr;
    for (int k = 0; k < measures_; ++k)
      measure_[k].rows = measure_[k].sum = measure_[k].squares = nullptr;
  };
  forget();
  if (Status s = allocate_table(capacity); !s.ok()) {
    release_table(key_, rows_, measure_);
    forget();
    release_table(key, rows, before);
    size_ = capacity_ = 0;
    return s;
  }
  size_ = 0;
  sorted_ = false;
  low_ = high_ = 0;
  for (std::size_t i = 0; i < slots; ++i) {
    if (rows[i] == 0) continue;
    const std::int64_t to = level == level_ ? key[i] : key_in(level, key[i]);
    const std::size_t at = slot_of(to);
    if (rows_[at] == 0) {
      key_[at] = to;
      ++size_;
    }
    rows_[at] += rows[i];
    for (int m = 0; m < measures_; ++m) {
      measure_[m].rows[at] += before[m].rows[i];
      measure_[m].sum[at] += before[m].sum[i];
      measure_[m].squares[at] += before[m].squares[i];
    }
  }
  level_ = level;
  release_table(key, rows, before);
  return Status::success();
}

// As many cells as there may be, at the finest level at which that is so: the coarser the fewer.
Status GridCells::fit_into_most() {
  if (size_ <= most_) return Status::success();
  std::vector<std::int64_t> keys;
  try {
    keys.reserve(size_);
    for (std::size_t i = 0; i < (sorted_ ? size_ : capacity_); ++i)
      if (rows_[i] != 0) keys.push_back(key_[i]);
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
  // Mostly it is the next one.
  int level = level_ + 1;
  if (level_ < 0 || !fits(level)) level = first_true(level_ + 1, ends_.levels() - 1, fits);
  return rebuild(capacity_, level);
}

Status GridCells::make_room_for_one() {
  if (!sorted_ && 2 * (size_ + 1) <= capacity_) return Status::success();
  std::size_t capacity = std::max(capacity_, kFirstCapacity);
  while (2 * (size_ + 1) > capacity) capacity *= 2;
  return rebuild(capacity, level_);
}

// ------------------------------------------------------------------------------------- measures

// Sums of values with more digits, or with none that are known.
void GridCells::widen(int k, int decimals) {
  Measure& m = measure_[k];
  const double by = power_of(decimals) / power_of(m.decimals);
  const auto scale = [by](MeasureSums* s) {
    s->sum *= by;
    s->squares *= by * by;
  };
  for (std::size_t i = 0; i < (sorted_ ? size_ : capacity_); ++i) {
    m.sum[i] *= by;
    m.squares[i] *= by * by;
  }
  for (MeasureSums& s : m.special) scale(&s);
  m.origin *= by;
  m.decimals = decimals;
}

void GridCells::move_origin(int k, double to) {
  Measure& m = measure_[k];
  const double by = to - m.origin;
  if (by != 0) {
    const auto move = [by](double rows, double* sum, double* squares) {
      const MeasureSums moved = MeasureSums{rows, *sum, *squares}.moved(by);
      *sum = moved.sum;
      *squares = moved.squares;
    };
    for (std::size_t i = 0; i < (sorted_ ? size_ : capacity_); ++i)
      move(m.rows[i], &m.sum[i], &m.squares[i]);
    for (MeasureSums& s : m.special) move(s.rows, &s.sum, &s.squares);
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
  const auto columns = static_cast<std::size_t>(1 + measures_);
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
void GridCells::count_value(std::size_t row) {
  rows_[last_] += 1;
  for (int k = 0; k < measures_; ++k) {
    const double y = batch_[static_cast<std::size_t>(k + 1) * batch_capacity_ + row];
    if (std::isnan(y)) continue;
    const double units = in_units(k, y);
    measure_[k].rows[last_] += 1;
    measure_[k].sum[last_] += units;
    measure_[k].squares[last_] += units * units;
  }
}

Status GridCells::settle() {
  if (waiting_ == 0) return Status::success();
  const std::size_t n = waiting_;
  waiting_ = 0;
  totals_.add({batch_, n}, {});
  for (int k = 0; k < measures_; ++k) {
    double values[kMostBatch];
    std::size_t some = 0;
    const double* y = batch_ + static_cast<std::size_t>(k + 1) * batch_capacity_;
    for (std::size_t i = 0; i < n; ++i)
      if (!std::isnan(y[i])) values[some++] = y[i];
    measure_[k].totals.add({values, some}, {});
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double x = batch_[i];
    note_digits(x);
    if (!(x > low_ && x < high_) || sorted_) {
      if (Status s = make_room_for_one(); !s.ok()) return s;
      std::int64_t key = key_at(level_, x, false);
      last_ = slot_of(key);
      if (rows_[last_] == 0) {
        key_[last_] = key;
        rows_[last_] = 0x1p-1022;  // so that it is there
        ++size_;
        if (size_ > most_) {
          if (Status s = fit_into_most(); !s.ok()) return s;
          key = key_at(level_, x, false);
          last_ = slot_of(key);
        }
        if (rows_[last_] < 1) rows_[last_] = 0;
      }
      low_ = high_ = 0;
      if (is_inside(key)) {
        low_ = ends_.end(level_, key >> 1);
        high_ = ends_.end(level_, (key >> 1) + 1);
      }
    }
    count_value(i);
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
  if (level != level_ && capacity_ > 0)
    if (Status s = rebuild(capacity_, level); !s.ok()) return s;
  level_ = level;
  if (level != other->level_ && other->capacity_ > 0)
    if (Status s = other->rebuild(other->capacity_, level); !s.ok()) return s;
  other->level_ = level;
  low_ = high_ = 0;
  const std::size_t slots = other->sorted_ ? other->size_ : other->capacity_;
  for (std::size_t i = 0; i < slots; ++i) {
    if (other->rows_[i] == 0) continue;
    if (Status s = make_room_for_one(); !s.ok()) return s;
    const std::size_t at = slot_of(other->key_[i]);
    if (rows_[at] == 0) {
      key_[at] = other->key_[i];
      ++size_;
    }
    rows_[at] += other->rows_[i];
    for (int k = 0; k < measures_; ++k) {
      measure_[k].rows[at] += other->measure_[k].rows[i];
      measure_[k].sum[at] += other->measure_[k].sum[i];
      measure_[k].squares[at] += other->measure_[k].squares[i];
    }
  }
  return fit_into_most();
}

Status GridCells::sort() {
  if (Status s = settle(); !s.ok()) return s;
  if (sorted_) return Status::success();
  try {
    std::vector<std::size_t> order;
    order.reserve(size_);
    for (std::size_t i = 0; i < capacity_; ++i)
      if (rows_[i] != 0) order.push_back(i);
    std::sort(order.begin(), order.end(),
              [this](std::size_t a, std::size_t b) { return key_[a] < key_[b]; });
    std::vector<double> column(size_);
    const auto reorder = [&](double* values) {
      for (std::size_t i = 0; i < size_; ++i) column[i] = values[order[i]];
      std::copy(column.begin(), column.end(), values);
    };
    std::vector<std::int64_t> keys(size_);
    for (std::size_t i = 0; i < size_; ++i) keys[i] = key_[order[i]];
    std::copy(keys.begin(), keys.end(), key_);
    if (size_ > 0) reorder(rows_);
    for (int k = 0; k < measures_ && size_ > 0; ++k) {
      reorder(measure_[k].rows);
      reorder(measure_[k].sum);
      reorder(measure_[k].squares);
    }
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
  const std::size_t slots = sorted_ ? size_ : capacity_;
  const auto put_column = [&](const auto* column) {
    for (std::size_t i = 0; i < slots; ++i)
      if (rows_[i] != 0) put(column + i, sizeof column[i]);
  };
  put_column(key_);
  put_column(rows_);
  for (int k = 0; k < measures_; ++k) {
    put_column(measure_[k].rows);
    put_column(measure_[k].sum);
    put_column(measure_[k].squares);
  }
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
  level_ = s.level;
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
  if (Status status = allocate_table(s.size); !status.ok()) return status;
  size_ = s.size;
  sorted_ = true;  // as a list; in no order, which is what sort() and rebuild() take
  take(key_, size_ * sizeof *key_);
  take(rows_, size_ * sizeof *rows_);
  for (int k = 0; k < measures_; ++k)
    for (double* column : {measure_[k].rows, measure_[k].sum, measure_[k].squares})
      take(column, size_ * sizeof *column);
  for (std::size_t i = 0; i < size_; ++i)
    if (!(rows_[i] >= 1) || !std::isfinite(rows_[i])) return invalid("a cell has no rows");
  // Keys of one cell would be two.
  std::size_t capacity = kFirstCapacity;
  while (capacity < 2 * (size_ + 1)) capacity *= 2;
  return rebuild(capacity, level_);
}

void GridCells::release() {
  release_table(key_, rows_, measure_);
  if (batch_ != nullptr) memory_.release(memory_.context, batch_);
  batch_ = nullptr;
  key_ = nullptr;
  rows_ = nullptr;
}

}  // namespace kde
