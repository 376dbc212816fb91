// Rows in, arrays, copies; summary_merge.cpp has what is done with them.
#include "core/aggregate/summary.h"

#include "core/aggregate/incoming.h"
#include "core/sampling/sort.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace kde {

namespace {

constexpr std::size_t kFirstPending = 16;

Status out_of_memory() { return Status::error(Code::out_of_memory, "out of memory"); }

double* allocate_doubles(const Memory& memory, std::size_t count) {
  return static_cast<double*>(memory.allocate(memory.context, count * sizeof(double)));
}

void release(const Memory& memory, void* chunk) {
  if (chunk != nullptr) memory.release(memory.context, chunk);
}

bool is_whole(double x) { return x == std::nearbyint(x) && x < 0x1p53; }

// Values with weights in ascending order of value: few, as weights are rare.
void sort_weighted(double* value, double* weight, std::size_t size) {
  std::array<std::pair<double, double>, kSummaryBatch> row;
  for (std::size_t i = 0; i < size; ++i) row[i] = {value[i], weight[i]};
  std::sort(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(size));
  for (std::size_t i = 0; i < size; ++i) {
    value[i] = row[i].first;
    weight[i] = row[i].second;
  }
}

// Equal values, in order, become one; rows[i] is the negative of their rows, as a point's is.
std::size_t join_equal(double* value, const double* weight, std::size_t size, double* rows) {
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double w = weight != nullptr ? weight[i] : 1;
    if (distinct > 0 && value[distinct - 1] == value[i]) {
      rows[distinct - 1] -= w;
    } else {
      value[distinct] = value[i] + 0.0;  // -0 and 0 are one value
      rows[distinct] = -w;
      ++distinct;
    }
  }
  return distinct;
}

}  // namespace

Status Summary::add(double x, double weight) {
  if (std::isnan(x)) {
    specials_.nans += weight;
    return Status::success();
  }
  if (std::isinf(x)) {
    (x > 0 ? specials_.positive_infinities : specials_.negative_infinities) += weight;
    return Status::success();
  }
  if (!weighted_ && weight != 1) {
    if (pending_capacity_ > 0) {
      pending_weight_ = allocate_doubles(memory_, pending_capacity_);
      if (pending_weight_ == nullptr) return out_of_memory();
      std::fill_n(pending_weight_, pending_, 1.0);
    }
    weighted_ = true;
  }
  if (!is_whole(weight)) fractional_ = true;
  if (pending_ == pending_capacity_) {
    const Status status = make_room();
    if (!status.ok()) return status;
  }
  pending_value_[pending_] = x;
  if (weighted_) pending_weight_[pending_] = weight;
  ++pending_;
  return Status::success();
}

// For at least one more pending row.
Status Summary::make_room() {
  if (pending_capacity_ == kSummaryBatch) return settle();
  const std::size_t capacity =
      pending_capacity_ == 0 ? kFirstPending : std::min(2 * pending_capacity_, kSummaryBatch);
  double* value = allocate_doubles(memory_, capacity);
  if (value == nullptr) return out_of_memory();
  if (weighted_) {
    double* weight = allocate_doubles(memory_, capacity);
    if (weight == nullptr) {
      release(memory_, value);
      return out_of_memory();
    }
    if (pending_ > 0) std::memcpy(weight, pending_weight_, pending_ * sizeof(double));
    release(memory_, pending_weight_);
    pending_weight_ = weight;
  }
  if (pending_ > 0) std::memcpy(value, pending_value_, pending_ * sizeof(double));
  release(memory_, pending_value_);
  pending_value_ = value;
  pending_capacity_ = capacity;
  return Status::success();
}

Status Summary::settle() {
  if (pending_ == 0) return Status::success();
  // Room for every value first, so that a failure leaves all as it was.
  const std::size_t needed =
      std::min(cells_.size + pending_, kSummaryCells + kSummaryBatch);
  if (needed > cells_.capacity) {
    const Status status = allocate_cells(needed);
    if (!status.ok()) return status;
  }
  std::array<double, kSummaryBatch> rows;
  if (weighted_) {
    sort_weighted(pending_value_, pending_weight_, pending_);
  } else {
    sort_batch({pending_value_, pending_}, rows);
  }
  totals_.add({pending_value_, pending_}, {pending_weight_, weighted_ ? pending_ : 0});
  const std::size_t distinct =
      join_equal(pending_value_, weighted_ ? pending_weight_ : nullptr, pending_, rows.data());
  pending_ = 0;
  Incoming incoming(pending_value_, rows.data(), nullptr, distinct, !fractional_);
  return merge_cells(&incoming);
}

// Moves the cells to arrays of at least that capacity.
Status Summary::allocate_cells(std::size_t capacity) {
  // By doubling, so that a growing summary is copied few times.
  const std::size_t most = kSummaryCells + kSummaryBatch;
  std::size_t size = std::max<std::size_t>(cells_.capacity, 64);
  while (size < capacity) size *= 2;
  if (size > most / 2) size = most;
  // One chunk: rows after values, slack after rows.
  auto* chunk = static_cast<char*>(
      memory_.allocate(memory_.context, size * (2 * sizeof(double) + sizeof(float))));
  if (chunk == nullptr) return out_of_memory();
  CellArrays moved;
  moved.value = reinterpret_cast<double*>(chunk);
  moved.rows = moved.value + size;
  moved.slack = reinterpret_cast<float*>(moved.rows + size);
  moved.size = cells_.size;
  moved.capacity = size;
  if (cells_.size > 0) {
    std::memcpy(moved.value, cells_.value, cells_.size * sizeof(double));
    std::memcpy(moved.rows, cells_.rows, cells_.size * sizeof(double));
    std::memcpy(moved.slack, cells_.slack, cells_.size * sizeof(float));
  }
  release(memory_, cells_.value);
  cells_ = moved;
  return Status::success();
}

Status Summary::clone(const Memory& memory, Summary* out) const {
  Summary copy(memory);
  copy.specials_ = specials_;
  copy.totals_ = totals_;
  copy.depth_ = depth_;
  copy.cell_rows_ = cell_rows_;
  copy.weighted_ = weighted_;
  copy.fractional_ = fractional_;
  Status status;
  if (cells_.size > 0) {
    status = copy.allocate_cells(cells_.size);
    if (status.ok()) {
      std::memcpy(copy.cells_.value, cells_.value, cells_.size * sizeof(double));
      std::memcpy(copy.cells_.rows, cells_.rows, cells_.size * sizeof(double));
      std::memcpy(copy.cells_.slack, cells_.slack, cells_.size * sizeof(float));
      copy.cells_.size = cells_.size;
    }
  }
  while (status.ok() && copy.pending_capacity_ < pending_) status = copy.make_room();
  if (!status.ok()) {
    copy.release_all();
    return status;
  }
  if (pending_ > 0) {
    std::memcpy(copy.pending_value_, pending_value_, pending_ * sizeof(double));
    if (weighted_)
      std::memcpy(copy.pending_weight_, pending_weight_, pending_ * sizeof(double));
  }
  copy.pending_ = pending_;
  *out = copy;
  return status;
}

void Summary::release_all() {
  release(memory_, cells_.value);
  release(memory_, pending_value_);
  release(memory_, pending_weight_);
  *this = Summary(memory_);
}

HistogramCell Summary::cell(std::size_t i) const {
  return {cells_.value[i], std::fabs(cells_.rows[i]), cells_.rows[i] < 0};
}

double Summary::error_rows() const {
  double worst = 0;
  double below = 0;
  for (std::size_t i = 0; i < cells_.size; ++i) {
    const double slack = cells_.slack[i];
    // Within a range the truth lies between the counts at its ends.
    const double inside = cells_.rows[i] > 0 ? cells_.rows[i] : 0;
    worst = std::max(worst, std::max(below, slack) + inside);
    below = slack;
  }
  return worst;
}

}  // namespace kde
