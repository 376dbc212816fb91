// GridCells for another process of this machine, in its bytes.
#include "core/grid/grid_cells.h"

#include "core/density/checks.h"
#include "core/density/histogram.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

namespace kde {

namespace {

constexpr std::uint32_t kMagic = 0x6b646763;
// Cells of a level: more than a table has room for before it is told to have fewer.
constexpr std::uint64_t kMostRead = 4 * kMostGridCells;

// Sums of many stay far from the ends of double precision.
bool is_count(double x) { return x >= 0 && x <= 1e100; }

// False: it is none.
template <typename SerializedMeasure, typename Measure>
bool bring(const SerializedMeasure& of, Measure* m) {
  if (!of.totals.valid() || !std::isfinite(of.origin) || of.decimals < 0 ||
      of.decimals > kNoDecimals || !is_count(of.sum_error) || !is_count(of.squares_error) ||
      !of.sampling.valid())
    return false;
  for (const MeasureSums& s : of.special)
    if (!is_count(s.rows)) return false;
  m->totals = of.totals;
  std::copy(std::begin(of.special), std::end(of.special), m->special);
  m->origin = of.origin;
  m->has_origin = of.has_origin != 0;
  m->has_nulls = of.has_nulls != 0;
  m->sampling = of.sampling;
  m->decimals = of.decimals;
  m->sum_error = of.sum_error;
  m->squares_error = of.squares_error;
  return true;
}

}  // namespace

// As stored between processes: this, the measures, values that are kept, then the tables, each with its
// slots.
struct GridCells::SerializedMeasure {
  SummaryTotals totals;
  MeasureSums special[kSpecialX];
  MeanSampling sampling;
  double origin, sum_error, squares_error;
  std::int32_t has_origin, has_nulls, decimals, reserved;
};
struct GridCells::Serialized {
  std::uint32_t magic;
  std::int32_t chain, measures, digits, tables, by_rows, is_uneven, lattices, kept, kept_room;
  std::uint64_t most;
  SpecialRows specials;
  SummaryTotals totals;
  double error_rows, lattice_step, lattice_offset, off_lattice;
  CountSampling sampling;
};
struct GridCells::SerializedTable {
  std::int32_t level, reserved;
  std::uint64_t size;
  std::int64_t first;
  std::uint64_t window, hashed;
};

std::size_t GridCells::serialized_size() const {
  return sizeof(Serialized) + static_cast<std::size_t>(measures_) * sizeof(SerializedMeasure) +
         static_cast<std::size_t>(kept_count_) * sizeof(double) +
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
  s.is_uneven = is_uneven_ ? 1 : 0;
  s.lattices = has_lattices_ ? 2 : has_lattice_ ? 1 : 0;
  s.lattice_step = lattice_step_;
  s.lattice_offset = lattice_offset_;
  s.off_lattice = off_lattice_;
  s.kept = kept_count_;
  s.kept_room = kept_room_;
  s.most = most_;
  s.specials = specials_;
  s.totals = totals_;
  s.error_rows = error_rows_;
  s.sampling = sampling_;
  put(&s, sizeof s);
  for (int k = 0; k < measures_; ++k) {
    const Measure& m = measure_[k];
    SerializedMeasure of = {m.totals,        {},           m.sampling,  m.origin,   m.sum_error,
                            m.squares_error, m.has_origin, m.has_nulls, m.decimals, 0};
    std::copy(std::begin(m.special), std::end(m.special), of.special);
    put(&of, sizeof of);
  }
  put(kept_, static_cast<std::size_t>(kept_count_) * sizeof *kept_);
  for_each_table([&](int level, const GridTable& table) {
    const SerializedTable of = {level,         0, table.size(), table.first(), table.window(),
                                table.hashed()};
    put(&of, sizeof of);
    for (std::size_t i = 0; i < table.slots(); ++i) {
      if (!table.is_used(i)) continue;
      const std::int64_t key = table.key_at(i);
      put(&key, sizeof key);
      put(table.slot(i) + 1, (table.stride() - 1) * sizeof(double));
    }
  });
}

// Of unknown origin: whether it is one of the level's, with a place within [min, max].
bool GridCells::is_cell(int level, std::int64_t key) const {
  constexpr std::int64_t kMostKey = std::int64_t{1} << 51;  // 2 kMostIndex
  if (key == std::numeric_limits<std::int64_t>::min()) return false;
  const bool value = is_value(level, key);
  if (!value && (key < -kMostKey || key > kMostKey)) return false;
  const double begin = begin_of(level, key);
  if (!std::isfinite(begin)) return false;
  const bool inside = is_inside(level, key);
  if (level >= 0 && key_of_level(level, begin, inside) != key) return false;
  if (!(totals_.count() > 0)) return true;
  return inside ? begin < totals_.max() && ends_.end(level, (key >> 1) + 1) > totals_.min()
                : begin <= totals_.max() && begin >= totals_.min();
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
      s.kept < 0 || s.kept > s.kept_room || s.kept_room > kMostKept || s.most == 0 ||
      s.most > kMostGridCells || (s.most & (s.most - 1)) != 0 || !s.totals.valid() ||
      !is_count(s.specials.nulls) || !is_count(s.specials.nans) ||
      !is_count(s.specials.negative_infinities) || !is_count(s.specials.positive_infinities) ||
      !is_count(s.error_rows) || !is_count(s.lattice_step) || !std::isfinite(s.lattice_offset) ||
      !is_count(s.off_lattice) || !s.sampling.valid())
    return invalid("cells of a column are out of range");
  most_ = s.most;
  digits_ = s.digits;
  by_rows_ = s.by_rows != 0;
  is_uneven_ = s.is_uneven != 0;
  has_lattice_ = s.lattices > 0;
  has_lattices_ = s.lattices > 1;
  lattice_step_ = s.lattice_step;
  lattice_offset_ = s.lattice_offset;
  off_lattice_ = s.off_lattice;
  specials_ = s.specials;
  totals_ = s.totals;
  error_rows_ = s.error_rows;
  sampling_ = s.sampling;
  for (int k = 0; k < measures_; ++k) {
    SerializedMeasure of;
    if (!take(&of, sizeof of)) return invalid("cells of a column are too short");
    if (!bring(of, &measure_[k])) return invalid("a measure's cells are out of range");
  }
  kept_room_ = s.kept_room;
  for (int i = 0; i < s.kept; ++i) {
    double x;
    if (!take(&x, sizeof x) || !std::isfinite(x) || !note_kept(x))
      return invalid("values of a column are out of range");
  }
  for (int i = 0; i < s.tables; ++i) {
    SerializedTable of;
    if (!take(&of, sizeof of)) return invalid("cells of a column are too short");
    const int least = i == 0 ? -1 : std::max(level_, i == 1 ? level_ : loose_[i - 2].level) + 1;
    if (of.level < least || of.level >= ends_.levels() || of.size > kMostRead ||
        of.size > left() / (table_.stride() * sizeof(double)) || of.hashed > of.size ||
        of.window > GridTable::kMostWindow)
      return invalid("cells of a column are out of range");
    if (i == 0) level_ = of.level;
    GridTable* table = &table_;
    if (i > 0)
      if (Status status = table_of(of.level, &table); !status.ok()) return status;
    if (Status status = table->begin(memory_, of.hashed, of.first, of.window); !status.ok())
      return status;
    double slot[2 + 3 * kMaxMeasures] = {};
    for (std::uint64_t c = 0; c < of.size; ++c) {
      std::int64_t key = 0;
      take(&key, sizeof key);
      take(slot + 1, (table_.stride() - 1) * sizeof(double));
      for (int k = 0; k < measures_; ++k)
        if (!is_count(sums_in(slot, k).rows)) return invalid("a measure's cell out of range");
      if (!is_count(slot[1]) || !is_cell(of.level, key)) return invalid("a cell out of range");
      if (Status status = table->make_room(memory_); !status.ok()) return status;
      table->add(key, slot);
    }
    if (table->size() != of.size) return invalid("a cell twice");
  }
  return left() == 0 ? fit_into_most() : invalid("cells of a column have another length");
}

}  // namespace kde
