// See grid_cells.h: rows and measures. Which cells there are is in grid_levels.cpp.
#include "core/grid/grid_cells.h"

#include "core/summary/batch.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

constexpr std::size_t kFirstBatch = 8, kMostBatch = 512;
// Rows before a slot is looked for that it is asked for.
constexpr std::size_t kAhead = 16;
constexpr double kPowersOfTen[kMostValueDigits + 1] = {
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

// Whether that is the double nearest to a decimal fraction of so many digits.
bool is_decimal(double y, int digits) {
  return batch_work().are_decimal(&y, 1, kPowersOfTen[digits]);
}

}  // namespace

double GridCells::Measure::units_of_one() const { return power_of(decimals); }

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

void GridCells::take_values(int k, std::span<double> y) {
  Measure& m = measure_[k];
  double values[kMostBatch];
  std::size_t some = 0;
  for (const double value : y)
    if (!std::isnan(value)) values[some++] = value;
  if (some == 0) return;
  m.totals.add({values, some}, {});
  const int decimals = decimals_of({values, some}, m.decimals);
  // It may widen what is in the table.
  if (decimals > m.decimals) widen(k, decimals);
  const bool is_whole = decimals < kNoDecimals;
  if (!m.has_origin) {
    m.origin = is_whole ? nearest_whole(values[0] * kPowersOfTen[decimals]) : values[0];
    m.has_origin = true;
  }
  if (is_whole)
    batch_work().make_units(y.data(), y.size(), kPowersOfTen[decimals], m.origin);
  else
    for (double& value : y) value -= m.origin;
}

// ----------------------------------------------------------------------------------------- rows

Status GridCells::make_room_in_batch() {
  if (batch_capacity_ >= kMostBatch) return count_batch();
  const std::size_t capacity = std::max(2 * batch_capacity_, kFirstBatch);
  const auto columns = 1 + static_cast<std::size_t>(measures_);
  auto* batch =
      static_cast<double*>(memory_.allocate(memory_.context, capacity * columns * sizeof(double)));
  if (batch == nullptr) return out_of_memory();
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
    double value = y[k];
    take_values(static_cast<int>(k), {&value, 1});
    measure_[k].special[static_cast<int>(which)].add_value(value);
  }
}

Status GridCells::add_slowly(double x, std::span<const double> y) {
  if (!(x - x == 0)) {
    count_special(x, 1, y);
    return Status::success();
  }
  if (Status s = make_room_in_batch(); !s.ok()) return s;
  return add(x, y);
}

void GridCells::note_digits(std::span<const double> x) {
  if (digits_ == kNoValueDigits ||
      batch_work().are_decimal(x.data(), x.size(), kPowersOfTen[digits_]))
    return;
  for (const double value : x)
    while (digits_ < kNoValueDigits && !is_decimal(value, digits_)) ++digits_;
}

Status GridCells::add(std::span<const double> x) {
  while (!x.empty()) {
    const std::size_t n = std::min(x.size(), batch_capacity_ - waiting_);
    double finite = 0;  // or NaN
    for (std::size_t i = 0; i < n; ++i) {
      finite += x[i] - x[i];
      batch_[waiting_ + i] = x[i] + 0.0;
    }
    if (finite == 0) waiting_ += n;
    const std::size_t others = n == 0 ? 1 : finite == 0 ? 0 : n;
    for (const double value : x.first(others))
      if (Status s = add(value); !s.ok()) return s;
    x = x.subspan(std::max(n, others));
  }
  return Status::success();
}

Status GridCells::add_weighted(double x, double weight) {
  if (!(x - x == 0)) {
    count_special(x, weight, {});
    return Status::success();
  }
  x += 0.0;
  is_uneven_ = true;
  totals_.add({&x, 1}, {&weight, 1});
  note_digits({&x, 1});
  std::size_t at;
  if (Status s = find_or_add(x, key_of_value(level_, steps_of_one(level_), x), &at); !s.ok())
    return s;
  table_.slot(at)[1] += weight;
  return Status::success();
}

Status GridCells::add_values(std::span<const WeightedValue> values,
                             std::span<const MeasureSums> sums) {
  SummaryTotals t;
  is_uneven_ = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const WeightedValue& v = values[i];
    t.add({&v.value, 1}, {&v.weight, 1});
    note_digits({&v.value, 1});
    double slot[2 + 3 * kMaxMeasures];
    for (int k = 0; k < measures_; ++k)
      put_sums(slot, k,
               sums[i * static_cast<std::size_t>(measures_) + static_cast<std::size_t>(k)]);
    if (Status s = add_cell({v.value, v.weight, -1}, slot); !s.ok()) return s;
  }
  if (t.count() > 0) totals_.merge(t.rows(), t.rows(), t.min(), t.max(), t.mean(), t.variance());
  return fit_into_most();
}

Status GridCells::add_value(double x, double rows, std::span<const ValueSums> sums) {
  double slot[2 + 3 * kMaxMeasures] = {};
  for (int k = 0; k < measures_; ++k) {
    ValueSums from = sums[static_cast<std::size_t>(k)];
    from.settle();
    if (from.totals.count() == 0) continue;
    agree(k, from.decimals, from.origin);
    Measure& m = measure_[k];
    from.agree(m.decimals, m.origin);
    m.totals.merge(from.totals);
    m.sum_error += from.sum_error;
    put_sums(slot, k, from.sums);
  }
  is_uneven_ = true;
  totals_.add({&x, 1}, {&rows, 1});
  note_digits({&x, 1});
  if (Status s = add_cell({x, rows, -1}, slot); !s.ok()) return s;
  return table_.size() > most_ ? fit_into_most() : Status::success();
}

// The slot of a key, which is new perhaps: then there may be too many, and x has another key.
Status GridCells::find_or_add(double x, std::int64_t key, std::size_t* at) {
  if (table_.slots() > 0) {
    *at = table_.slot_of(key);
    if (table_.is_used(*at)) return Status::success();
  }
  if (table_.is_full() && size() > most_) {
    if (Status s = fit_into_most(); !s.ok()) return s;
    key = key_of_value(level_, steps_of_one(level_), x);
  }
  if (Status s = table_.make_room(memory_); !s.ok()) return s;
  *at = table_.slot_of(key);
  if (!table_.is_used(*at)) table_.put(*at, key);
  return Status::success();
}

Status GridCells::settle() {
  if (Status s = count_batch(); !s.ok()) return s;
  return fit_into_most();
}

Status GridCells::count_batch() {
  if (waiting_ == 0) return Status::success();
  const std::size_t n = waiting_;
  waiting_ = 0;
  is_uneven_ = true;
  totals_.add({batch_, n}, {});
  for (int k = 0; k < measures_; ++k)
    take_values(k, {batch_ + (static_cast<std::size_t>(k) + 1) * batch_capacity_, n});
  note_digits({batch_, n});
  if (table_.slots() == 0)
    if (Status s = table_.make_room(memory_); !s.ok()) return s;
  std::int64_t key[kMostBatch];
  for (std::size_t i = 0; i < n;) {
    find_keys(level_, {batch_ + i, n - i}, key + i);
    const int level = level_;
    if (Status s = measures_ == 0   ? count_keys<0>(key, n, &i)
                   : measures_ == 1 ? count_keys<1>(key, n, &i)
                                    : count_keys<kMaxMeasures>(key, n, &i);
        !s.ok())
      return s;
    if (level_ == level) break;
  }
  return Status::success();
}

// Counts rows of the batch from *i on, until the level is another.
template <int kMost>
Status GridCells::count_keys(const std::int64_t* key, std::size_t n, std::size_t* i) {
  const int level = level_;
  const int measures = kMost == kMaxMeasures ? measures_ : kMost;
  const double* const batch = batch_;
  const std::size_t apart = batch_capacity_;
  GridTable table = table_;
  for (; *i < n; ++*i) {
    // Memory is slow where the table is large: what is looked for is asked for beforehand.
    table.prefetch(key[std::min(*i + kAhead, n - 1)]);
    std::size_t at = table.slot_of(key[*i]);
    if (!table.is_used(at)) {
      if (Status s = find_or_add(batch[*i], key[*i], &at); !s.ok()) return s;
      table = table_;
    }
    double* slot = table.slot(at);
    slot[1] += 1;
    for (int k = 0; k < measures; ++k) {
      const double y = batch[(static_cast<std::size_t>(k) + 1) * apart + *i];
      if (std::isnan(y)) continue;
      double* sums = slot + 2 + 3 * k;
      sums[0] += 1;
      sums[1] += y;
      sums[2] += y * y;
    }
    if (level_ != level) {
      ++*i;
      break;
    }
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
  sampling_.add(other->sampling_);
  by_rows_ = by_rows_ || other->by_rows_;
  is_uneven_ = is_uneven_ || other->is_uneven_;
  has_lattices_ = has_lattices_ || other->has_lattices_;
  if (other->has_lattice_) note_lattice(other->lattice_step_, other->lattice_offset_);
  off_lattice_ += other->off_lattice_;
  for (int k = 0; k < measures_; ++k) {
    Measure& m = measure_[k];
    Measure& from = other->measure_[k];
    m.has_nulls = m.has_nulls || from.has_nulls;
    m.sampling.add(from.sampling);
    if (!from.has_origin) continue;
    agree(k, from.decimals, from.origin);
    if (from.decimals < m.decimals) other->widen(k, m.decimals);
    other->move_origin(k, m.origin);
    m.sum_error += from.sum_error;
    m.squares_error += from.squares_error;
    if (from.totals.count() > 0) m.totals.merge(from.totals);
    for (int x = 0; x < kSpecialX; ++x) m.special[x].add(from.special[x]);
  }
  if (Status s = keep_also(other->kept()); !s.ok()) return s;
  if (Status s = other->keep_also(kept()); !s.ok()) return s;
  if (level_ < other->level_)
    if (Status s = raise_level(other->level_); !s.ok()) return s;
  if (other->level_ < level_)
    if (Status s = other->raise_level(level_); !s.ok()) return s;
  if (Status s = table_.reserve_like(memory_, other->table_); !s.ok()) return s;
  if (Status s = add_cells_of({other->level_, other->table_}); !s.ok()) return s;
  for (int i = 0; i < other->loose_count_; ++i)
    if (Status s = add_cells_of(other->loose_[i]); !s.ok()) return s;
  return fit_into_most();
}

void GridCells::set_sampling(const CountSampling& counts, std::span<const MeanSampling> means) {
  sampling_ = counts;
  for (std::size_t k = 0; k < means.size(); ++k) measure_[k].sampling = means[k];
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
