// Rows in, cells followed, copies and bytes of measures.h.
#include "core/summary/measures.h"

#include "core/summary/measure_encode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <vector>

namespace kde {

namespace {

constexpr std::size_t kFirstPending = 16;
// Rows that wait, at most, as settling goes through all cells.
constexpr std::size_t kMostPending = 8192;
constexpr std::uint32_t kMagic = 0x6b646d73;
constexpr std::uint32_t kVersion = 3;

Status out_of_memory() { return Status::error(Code::out_of_memory, "out of memory"); }

Status invalid(const char* what) { return Status::error(Code::invalid_format, "%s", what); }

constexpr double kPowersOfTen[kDecimals + 1] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};

// Whether that is the double nearest to a decimal fraction of so many digits.
bool has_decimals(double y, int decimals) {
  const double units = std::nearbyint(y * kPowersOfTen[decimals]);
  return std::fabs(units) < 0x1p53 && units / kPowersOfTen[decimals] == y;
}

bool is_count(double x) { return std::isfinite(x) && x >= 0; }

bool valid_sums(const MeasureSums& s) {
  return is_count(s.rows) && std::isfinite(s.sum) && is_count(s.squares);
}

}  // namespace

void MeasureSampling::add(const MeasureSampling& other) {
  sum_error = std::min(std::numeric_limits<double>::max(), std::hypot(sum_error, other.sum_error));
  for (int i = 0; i < kErrorScales; ++i) weight[i] = std::max(weight[i], other.weight[i]);
  counts.add(other.counts);
}

void Measures::set_origin(int k, double y) {
  if (has_origin_[k]) return;
  origin_[k] = y;
  has_origin_[k] = true;
}

void Measures::note_decimals(int k, double y) {
  while (decimals_[k] <= kDecimals && !has_decimals(y, decimals_[k])) ++decimals_[k];
}

Status Measures::add(double x, std::span<const double> y, Summary* rows) {
  Status status = rows->add(x);
  if (!status.ok() || count_ == 0) return status;
  if (!std::isfinite(x)) {
    const SpecialX which = std::isnan(x) ? SpecialX::nan
                           : x > 0       ? SpecialX::positive_infinity
                                         : SpecialX::negative_infinity;
    for (int k = 0; k < count_; ++k) {
      const double value = y[static_cast<std::size_t>(k)];
      if (std::isnan(value)) continue;
      set_origin(k, value);
      note_decimals(k, value);
      totals_[k].add({&value, 1}, {});
      special_[static_cast<int>(which)][k].add_value(value - origin_[k]);
    }
    return status;
  }
  if (pending_rows_ == pending_capacity_) {
    status = pending_capacity_ < kMostPending ? make_room(*rows) : settle(rows);
    if (!status.ok()) return status;
    // This row is in the cells already, by the summary: it is counted with those to come.
  }
  const auto width = static_cast<std::size_t>(count_) + 1;
  double* row = pending_ + pending_rows_ * width;
  row[0] = x + 0.0;
  for (int k = 0; k < count_; ++k) row[k + 1] = y[static_cast<std::size_t>(k)];
  ++pending_rows_;
  return status;
}

Status Measures::make_room(const Summary&) {
  const std::size_t capacity =
      pending_capacity_ == 0 ? kFirstPending : std::min(2 * pending_capacity_, kMostPending);
  const std::size_t width = (static_cast<std::size_t>(count_) + 1) * sizeof(double);
  auto* moved = static_cast<double*>(memory_.allocate(memory_.context, capacity * width));
  if (moved == nullptr) return out_of_memory();
  if (pending_rows_ > 0) std::memcpy(moved, pending_, pending_rows_ * width);
  release(pending_);
  pending_ = moved;
  pending_capacity_ = capacity;
  return Status::success();
}

// One chunk: sums, ends, kinds.
Status Measures::allocate(std::size_t size, Cells* out) const {
  const std::size_t sums = size * static_cast<std::size_t>(count_) * sizeof(MeasureSums);
  auto* chunk = static_cast<char*>(
      memory_.allocate(memory_.context, sums + size * sizeof(double) + size + sizeof(double)));
  if (chunk == nullptr) return out_of_memory();
  out->sums = reinterpret_cast<MeasureSums*>(chunk);
  out->end = reinterpret_cast<double*>(chunk + sums);
  out->point = reinterpret_cast<std::uint8_t*>(out->end + size);
  out->size = size;
  std::fill_n(out->sums, size * static_cast<std::size_t>(count_), MeasureSums());
  return Status::success();
}

// Whether the cells are still those of the summary.
bool Measures::is_of(const Summary& rows) const {
  if (cells_.size != rows.cells()) return false;
  for (std::size_t i = 0; i < cells_.size; ++i) {
    const HistogramCell cell = rows.cell(i);
    if (cell.value != cells_.end[i] || cell.point != (cells_.point[i] != 0)) return false;
  }
  return true;
}

// Moves the sums to the cells that the summary has now.
Status Measures::follow(const Summary& rows) {
  if (is_of(rows)) return Status::success();
  Cells now;
  if (Status status = allocate(rows.cells(), &now); !status.ok()) return status;
  for (std::size_t i = 0; i < now.size; ++i) {
    const HistogramCell cell = rows.cell(i);
    now.end[i] = cell.value;
    now.point[i] = cell.point;
  }
  distribute(cells_, &now);
  release(sums_);
  cells_ = now;
  sums_ = now.sums;
  return Status::success();
}

// Adds sums to other cells of the same line: those of a point to the cell that holds it, those of a
// range to the ranges that share it, by width. What lies in no cell of those goes to the next.
void Measures::distribute(const Cells& from, Cells* to) const {
  const auto count = static_cast<std::size_t>(count_);
  if (to->size == 0) return;
  std::size_t at = 0;
  const auto add = [&](std::size_t cell, std::size_t source, double share) {
    for (std::size_t k = 0; k < count; ++k)
      to->sums[cell * count + k].add(from.sums[source * count + k].times(share));
  };
  const std::size_t last = to->size - 1;
  for (std::size_t i = 0; i < from.size; ++i) {
    const double end = from.end[i];
    if (from.point[i] != 0 || i == 0) {
      while (at < last && to->end[at] < end) ++at;
      const bool point_next = at < last && to->end[at] == end && to->end[at + 1] == end;
      add(point_next ? at + 1 : at, i, 1);
      continue;
    }
    const double begin = from.end[i - 1];
    const double width = end / 2 - begin / 2;
    while (at < last && to->end[at] <= begin) ++at;
    double done = 0;
    while (done < 1) {
      const bool whole = at == last || to->end[at] >= end || !(width > 0);
      const double share = whole ? 1 : std::clamp((to->end[at] / 2 - begin / 2) / width, done, 1.0);
      if (share > done) add(at, i, share - done);
      done = share;
      if (whole) break;
      ++at;
    }
    // A point at the end of a range comes after it.
    while (at > 0 && to->end[at - 1] >= end) --at;
  }
}

std::size_t Measures::cell_of(double x) const {
  const double* found = std::lower_bound(cells_.end, cells_.end + cells_.size, x);
  auto at = static_cast<std::size_t>(found - cells_.end);
  if (at + 1 < cells_.size && cells_.end[at + 1] == x) ++at;
  return std::min(at, cells_.size - 1);
}

void Measures::count_pending() {
  const auto width = static_cast<std::size_t>(count_) + 1;
  for (int k = 0; k < count_; ++k) {
    if (has_origin_[k]) continue;
    // Some value of many is no outlier more often than the first.
    for (std::size_t i = 0; i < pending_rows_ && !has_origin_[k]; ++i) {
      const double y = pending_[((i + pending_rows_ / 2) % pending_rows_) * width +
                                static_cast<std::size_t>(k) + 1];
      if (!std::isnan(y)) set_origin(k, y);
    }
  }
  double batch[256];
  for (int k = 0; k < count_; ++k) {
    std::size_t waiting = 0;
    for (std::size_t i = 0; i < pending_rows_; ++i) {
      const double y = pending_[i * width + static_cast<std::size_t>(k) + 1];
      if (std::isnan(y)) continue;
      note_decimals(k, y);
      batch[waiting++] = y;
      if (waiting < std::size(batch)) continue;
      totals_[k].add({batch, waiting}, {});
      waiting = 0;
    }
    totals_[k].add({batch, waiting}, {});
  }
  for (std::size_t i = 0; i < pending_rows_; ++i) {
    const double* row = pending_ + i * width;
    MeasureSums* sums = sums_ + cell_of(row[0]) * static_cast<std::size_t>(count_);
    for (int k = 0; k < count_; ++k)
      if (!std::isnan(row[k + 1])) sums[k].add_value(row[k + 1] - origin_[k]);
  }
  pending_rows_ = 0;
}

Status Measures::settle(Summary* rows) {
  if (Status status = rows->settle(); !status.ok() || count_ == 0) return status;
  if (Status status = follow(*rows); !status.ok()) return status;
  if (pending_rows_ > 0) count_pending();
  return Status::success();
}

Status Measures::merge(Measures* other, Summary* other_rows, Summary* rows) {
  if (Status status = settle(rows); !status.ok()) return status;
  if (Status status = other->settle(other_rows); !status.ok()) return status;
  if (Status status = rows->merge(*other_rows); !status.ok() || count_ == 0) return status;
  if (Status status = settle(rows); !status.ok()) return status;
  Cells moved;
  const std::size_t size = other->cells_.size;
  const auto count = static_cast<std::size_t>(count_);
  if (size > 0) {
    if (Status status = allocate(size, &moved); !status.ok()) return status;
    std::copy_n(other->cells_.end, size, moved.end);
    std::copy_n(other->cells_.point, size, moved.point);
  }
  for (int k = 0; k < count_; ++k) {
    if (other->has_origin_[k]) set_origin(k, other->origin_[k]);
    const double by = origin_[k] - other->origin_[k];
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = i * count + static_cast<std::size_t>(k);
      moved.sums[at] = other->cells_.sums[at].moved(by);
    }
    for (int s = 0; s < kSpecialX; ++s) special_[s][k].add(other->special_[s][k].moved(by));
    totals_[k].merge(other->totals_[k]);
    decimals_[k] = std::max(decimals_[k], other->decimals_[k]);
    slack_[k] += other->slack_[k];
    sampling_[k].add(other->sampling_[k]);
  }
  if (size > 0) {
    distribute(moved, &cells_);
    release(moved.sums);
  }
  return Status::success();
}

Status Measures::merge(const Stored& density, Summary* rows) {
  if (Status status = settle(rows); !status.ok()) return status;
  if (Status status = rows->merge(*density.header, density.cells); !status.ok()) return status;
  if (Status status = settle(rows); !status.ok()) return status;
  for (int k = 0; k < count_; ++k) sampling_[k].add(density.sampling[static_cast<std::size_t>(k)]);
  return add_sums(density);
}

Status Measures::merge_many(std::span<const Header* const> densities, Summary* rows,
                            const Control& control) {
  if (Status status = settle(rows); !status.ok()) return status;
  try {
    std::vector<MeasureSampling> sampling;
    double steps = 0;
    if (Status status = rows->merge_many(densities, &sampling, control, &steps); !status.ok())
      return status;
    if (Status status = settle(rows); !status.ok()) return status;
    for (std::size_t k = 0; k < sampling.size(); ++k) sampling_[k].add(sampling[k]);
    DecodedMeasures decoded;
    for (const Header* density : densities) {
      if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
      decode_measures(density, &decoded);
      if (Status status = add_sums(decoded.stored(*density)); !status.ok()) return status;
    }
    // Rows on the wrong side of an end, each at most the whole range of y off the origin.
    for (int k = 0; k < count_ && steps > 0; ++k)
      if (totals_[k].count() > 0)
        slack_[k] = std::min(slack_[k] + steps * (totals_[k].max() - totals_[k].min()),
                             std::numeric_limits<double>::max());
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  return Status::success();
}

// Of a density whose rows are in the summary that the cells are of.
Status Measures::add_sums(const Stored& density) {
  const std::size_t size = density.cells.size();
  const auto count = static_cast<std::size_t>(count_);
  Cells moved;
  if (size > 0) {
    if (Status status = allocate(size, &moved); !status.ok() || moved.end == nullptr) return status;
    for (std::size_t i = 0; i < size; ++i) {
      moved.end[i] = density.cells[i].value;
      moved.point[i] = density.cells[i].point;
    }
  }
  for (int k = 0; k < count_; ++k) {
    const auto at = static_cast<std::size_t>(k);
    if (density.totals[at].count() > 0) set_origin(k, density.origin[at]);
    const double by = origin_[k] - density.origin[at];
    for (std::size_t i = 0; i < size; ++i)
      moved.sums[i * count + at] = density.sums[i * count + at].moved(by);
    for (std::size_t s = 0; s < kSpecialX; ++s)
      special_[s][k].add(density.special[s * count + at].moved(by));
    totals_[k].merge(density.totals[at]);
    decimals_[k] = std::max(decimals_[k], static_cast<std::uint8_t>(density.decimals[at]));
    slack_[k] += density.slack[at];
  }
  if (size > 0) {
    distribute(moved, &cells_);
    release(moved.sums);
  }
  return Status::success();
}

Status Measures::clone(const Memory& memory, Measures* out) const {
  Measures copy = *this;
  copy.memory_ = memory;
  copy.cells_ = {};
  copy.sums_ = nullptr;
  copy.pending_ = nullptr;
  copy.pending_rows_ = copy.pending_capacity_ = 0;
  if (cells_.size > 0) {
    if (Status status = copy.allocate(cells_.size, &copy.cells_); !status.ok()) return status;
    copy.sums_ = copy.cells_.sums;
    std::copy_n(cells_.end, cells_.size, copy.cells_.end);
    std::copy_n(cells_.point, cells_.size, copy.cells_.point);
    std::copy_n(sums_, cells_.size * static_cast<std::size_t>(count_), copy.sums_);
  }
  const std::size_t width = static_cast<std::size_t>(count_) + 1;
  if (pending_capacity_ > 0) {
    copy.pending_ = static_cast<double*>(
        memory.allocate(memory.context, pending_capacity_ * width * sizeof(double)));
    if (copy.pending_ == nullptr) {
      copy.release(copy.sums_);
      return out_of_memory();
    }
    std::copy_n(pending_, pending_rows_ * width, copy.pending_);
    copy.pending_rows_ = pending_rows_;
    copy.pending_capacity_ = pending_capacity_;
  }
  *out = copy;
  return Status::success();
}

struct Measures::Serialized {
  std::uint32_t magic, version;
  std::uint32_t count, cells;
  SummaryTotals totals[kMaxMeasures];
  MeasureSums special[kSpecialX][kMaxMeasures];
  double origin[kMaxMeasures], slack[kMaxMeasures];
  MeasureSampling sampling[kMaxMeasures];
  std::uint8_t decimals[kMaxMeasures], has_origin[kMaxMeasures];
};

std::size_t Measures::serialized_size() const {
  return sizeof(Serialized) + cells_.size * static_cast<std::size_t>(count_) * sizeof(MeasureSums);
}

void Measures::serialize(void* out) const {
  static_assert(std::is_trivially_copyable_v<Serialized>);
  Serialized head;
  std::memset(static_cast<void*>(&head), 0, sizeof head);
  head.magic = kMagic;
  head.version = kVersion;
  head.count = static_cast<std::uint32_t>(count_);
  head.cells = static_cast<std::uint32_t>(cells_.size);
  for (int k = 0; k < kMaxMeasures; ++k) {
    head.totals[k] = totals_[k];
    for (int s = 0; s < kSpecialX; ++s) head.special[s][k] = special_[s][k];
    head.origin[k] = origin_[k];
    head.slack[k] = slack_[k];
    head.sampling[k] = sampling_[k];
    head.decimals[k] = decimals_[k];
    head.has_origin[k] = has_origin_[k];
  }
  std::memcpy(out, &head, sizeof head);
  if (cells_.size > 0)
    std::memcpy(static_cast<char*>(out) + sizeof head, sums_,
                cells_.size * static_cast<std::size_t>(count_) * sizeof(MeasureSums));
}

Status Measures::deserialize(const void* bytes, std::size_t size, const Summary& rows) {
  Serialized head;
  if (size < sizeof head) return invalid("too short");
  std::memcpy(static_cast<void*>(&head), bytes, sizeof head);
  if (head.magic != kMagic || head.version != kVersion)
    return invalid("no measures of this byte order and version");
  if (head.count > kMaxMeasures || head.cells != rows.cells() ||
      size != sizeof head + std::size_t{head.cells} * head.count * sizeof(MeasureSums))
    return invalid("length does not fit its contents");
  Measures read(memory_, static_cast<int>(head.count));
  for (int k = 0; k < kMaxMeasures; ++k) {
    bool valid = head.totals[k].valid() && std::isfinite(head.origin[k]) &&
                 is_count(head.slack[k]) && head.decimals[k] <= kNoDecimals &&
                 head.has_origin[k] <= 1;
    valid = valid && is_count(head.sampling[k].sum_error) && head.sampling[k].counts.valid();
    for (const float w : head.sampling[k].weight) valid = valid && is_count(w);
    for (auto& special : head.special) valid = valid && valid_sums(special[k]);
    if (!valid) return invalid("a sum is not finite, or a count negative");
    read.totals_[k] = head.totals[k];
    for (int s = 0; s < kSpecialX; ++s) read.special_[s][k] = head.special[s][k];
    read.origin_[k] = head.origin[k];
    read.slack_[k] = head.slack[k];
    read.sampling_[k] = head.sampling[k];
    read.sampling_[k].counts.padding = 0;
    read.decimals_[k] = head.decimals[k];
    read.has_origin_[k] = head.has_origin[k] != 0;
  }
  if (Status status = read.follow(rows); !status.ok()) return status;
  const std::size_t sums = std::size_t{head.cells} * head.count;
  if (sums > 0)
    std::memcpy(static_cast<void*>(read.sums_), static_cast<const char*>(bytes) + sizeof head,
                sums * sizeof(MeasureSums));
  for (std::size_t i = 0; i < sums; ++i) {
    if (valid_sums(read.sums_[i])) continue;
    read.release(read.sums_);
    return invalid("a sum is not finite, or a count negative");
  }
  *this = read;
  return Status::success();
}

}  // namespace kde
