// Rows in, arrays, copies; summary_merge.cpp has what is done with them.
#include "core/summary/summary.h"

#include "core/summary/incoming.h"
#include "core/summary/sort.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

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

void copy_cells(const CellArrays& from, CellArrays* to) {
  if (from.size == 0) return;
  std::memcpy(to->value, from.value, from.size * sizeof(double));
  std::memcpy(to->rows, from.rows, from.size * sizeof(double));
  std::memcpy(to->slack, from.slack, from.size * sizeof(float));
}

bool is_whole(double x) { return x == std::nearbyint(x) && x < 0x1p53; }

// Values with weights in ascending order of value. row: scratch for as many.
void sort_weighted(double* value, double* weight, std::size_t size, WeightedValue* row) {
  for (std::size_t i = 0; i < size; ++i) row[i] = {value[i], weight[i]};
  std::sort(row, row + size, [](const WeightedValue& a, const WeightedValue& b) {
    return std::tie(a.value, a.weight) < std::tie(b.value, b.weight);
  });
  for (std::size_t i = 0; i < size; ++i) {
    value[i] = row[i].value;
    weight[i] = row[i].weight;
  }
}

// Equal values, in order, become one; rows[i] is the negative of their rows, as a point's is.
// weight null: ones.
std::size_t join_equal(double* value, const double* weight, std::size_t size, double* rows) {
  std::size_t distinct = 0;
  double before = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t i = 0; i < size; ++i) {
    const double w = weight != nullptr ? weight[i] : 1;
    const double x = value[i];
    if (x == before) {
      rows[distinct - 1] -= w;
    } else {
      value[distinct] = x + 0.0;  // -0 and 0 are one value
      rows[distinct] = -w;
      ++distinct;
      before = x;
    }
  }
  return distinct;
}

// Of independent sums; finite.
double error_of_sum(double a, double b) {
  return std::min(std::numeric_limits<double>::max(), std::hypot(a, b));
}

}  // namespace

void SummarySampling::add(const Header& h) {
  if ((h.flags & kEveryRowRead) == 0) any = 1;
  rows_variance += h.rows_variance * h.rows * h.rows;
  end_variance += h.end_variance * h.rows * h.rows;
  sum_error = error_of_sum(sum_error, h.mean_error > 0 ? h.mean_error * h.finite_rows() : 0);
  if (!(h.sample_rows > 0)) return;
  const double each = h.rows / h.sample_rows;
  for (int shape = 0; shape < kShapes; ++shape) {
    for (int i = 0; i < kErrorScales; ++i)
      weight[shape][i] =
          std::max(weight[shape][i], finite_float(each * h.count_variance[shape][i]));
  }
}

void SummarySampling::add(const SummarySampling& other) {
  any = std::max(any, other.any);
  rows_variance += other.rows_variance;
  end_variance += other.end_variance;
  sum_error = error_of_sum(sum_error, other.sum_error);
  for (int shape = 0; shape < kShapes; ++shape) {
    for (int i = 0; i < kErrorScales; ++i)
      weight[shape][i] = std::max(weight[shape][i], other.weight[shape][i]);
  }
}

void SummarySampling::describe(Header* h) const {
  h->rows_variance = std::min(rows_variance / h->rows / h->rows, kMostVariance);
  h->end_variance = std::min(end_variance / h->rows / h->rows, kMostVariance);
  const double finite = h->finite_rows();
  h->mean_error = finite > 0 ? std::min(sum_error / finite, std::numeric_limits<double>::max()) : 0;
  for (int shape = 0; shape < kShapes; ++shape) {
    for (int i = 0; i < kErrorScales; ++i)
      h->count_variance[shape][i] = finite_float(weight[shape][i] * h->sample_rows / h->rows);
  }
}

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
    const Status status = begin_weights();
    if (!status.ok()) return status;
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

Status Summary::add(std::span<const double> x) {
  for (std::size_t i = 0; i < x.size();) {
    if (weighted_) {
      if (Status s = add(x[i++], 1); !s.ok()) return s;
      continue;
    }
    if (pending_ == pending_capacity_) {
      const Status status = make_room();
      if (!status.ok()) return status;
    }
    const std::size_t some = std::min(pending_capacity_ - pending_, x.size() - i);
    double* to = pending_value_ + pending_;
    for (std::size_t k = 0; k < some; ++k) to[k] = x[i + k] + 0.0;  // -0 and 0 are one value
    pending_ += some;
    i += some;
  }
  return Status::success();
}

// Weights for the pending rows, which are fewer from now on.
Status Summary::begin_weights() {
  if (pending_capacity_ > batch() / 2) {
    const Status status = settle();
    if (!status.ok()) return status;
    release(memory_, pending_value_);
    pending_value_ = nullptr;
    pending_capacity_ = 0;
  }
  if (pending_capacity_ > 0) {
    pending_weight_ = allocate_doubles(memory_, pending_capacity_);
    if (pending_weight_ == nullptr) return out_of_memory();
    std::fill_n(pending_weight_, pending_, 1.0);
  }
  weighted_ = true;
  return Status::success();
}

// For at least one more pending row.
Status Summary::make_room() {
  const std::size_t most = batch();
  if (pending_capacity_ == most) return merge_pending(false);
  const std::size_t capacity =
      pending_capacity_ == 0 ? kFirstPending : std::min(2 * pending_capacity_, most);
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

Status Summary::settle() { return merge_pending(true); }

// Merges pending rows into the cells: all of them, or those that fall into cells that are there,
// as long as the others are few.
Status Summary::merge_pending(bool all) {
  if (pending_ == 0) return Status::success();
  // Room for every value first, so that a failure leaves all as it was.
  const std::size_t needed = std::min(cells_.size + pending_, most_cells());
  if (needed > cells_.capacity) {
    const Status status = allocate_cells(needed);
    if (!status.ok()) return status;
  }
  // Of rows and places, and of weighted rows before.
  double* rows = allocate_doubles(memory_, 2 * pending_);
  if (rows == nullptr) return out_of_memory();
  const std::size_t fresh = pending_ - counted_;
  totals_.add({pending_value_ + counted_, fresh},
              {weighted_ ? pending_weight_ + counted_ : nullptr, weighted_ ? fresh : 0});

  auto* place = reinterpret_cast<std::uint32_t*>(rows + pending_);
  if (weighted_) {
    sort_weighted(pending_value_, pending_weight_, pending_,
                  reinterpret_cast<WeightedValue*>(rows));
  } else {
    sort_batch({pending_value_, pending_}, {rows, pending_});
  }
  std::size_t left =
      join_equal(pending_value_, weighted_ ? pending_weight_ : nullptr, pending_, rows);
  left = count_into_cells(pending_value_, rows, left, place);
  counted_ = 0;
  pending_ = 0;
  Status status;
  if (all || !keep_pending(rows, left)) {
    Incoming incoming(pending_value_, rows, nullptr, left, !fractional_);
    status = merge_cells(&incoming);
  }
  release(memory_, rows);
  return status;
}

// Lets the first `size` values wait, rows[i] as join_equal leaves them, if they are few.
bool Summary::keep_pending(const double* rows, std::size_t size) {
  const std::size_t few = pending_capacity_ / 4;
  if (weighted_) {
    if (size > few) return false;
    for (std::size_t i = 0; i < size; ++i) pending_weight_[i] = -rows[i];
    pending_ = counted_ = size;
    return true;
  }
  double sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum -= rows[i];
  if (!(sum <= static_cast<double>(few))) return false;
  // Row by row again, from the last on: a value's rows end no earlier than where it stands.
  auto end = static_cast<std::size_t>(sum);
  pending_ = counted_ = end;
  for (std::size_t i = size; i-- > 0;) {
    const double value = pending_value_[i];
    const std::size_t begin = end - static_cast<std::size_t>(-rows[i]);
    std::fill(pending_value_ + begin, pending_value_ + end, value);
    end = begin;
  }
  return true;
}

// Moves the cells to arrays of at least that capacity.
Status Summary::allocate_cells(std::size_t capacity) {
  // By doubling, so that a growing summary is copied few times.
  std::size_t size = std::max<std::size_t>(cells_.capacity, 64);
  while (size < capacity) size *= 2;
  if (size > most_cells() / 2) size = most_cells();
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
  copy_cells(cells_, &moved);
  release(memory_, cells_.value);
  cells_ = moved;
  return Status::success();
}

Status Summary::clone(const Memory& memory, Summary* out) const {
  Summary copy(memory, resolution_);
  copy.specials_ = specials_;
  copy.sampling_ = sampling_;
  copy.totals_ = totals_;
  copy.depth_ = depth_;
  copy.within_ = within_;
  copy.lattice_ = lattice_;
  copy.cell_rows_ = cell_rows_;
  copy.weighted_ = weighted_;
  copy.fractional_ = fractional_;
  Status status;
  if (cells_.size > 0) {
    status = copy.allocate_cells(cells_.size);
    if (status.ok()) {
      copy_cells(cells_, &copy.cells_);
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
    if (weighted_) std::memcpy(copy.pending_weight_, pending_weight_, pending_ * sizeof(double));
  }
  copy.pending_ = pending_;
  copy.counted_ = counted_;
  *out = copy;
  return status;
}

void Summary::release_all() {
  release(memory_, cells_.value);
  release(memory_, pending_value_);
  release(memory_, pending_weight_);
  *this = Summary(memory_, resolution_);
}

HistogramCell Summary::cell(std::size_t i) const {
  return {cells_.value[i], std::fabs(cells_.rows[i]), cells_.rows[i] < 0};
}

double Summary::error_rows() const { return std::min(error_of_cells(), within_); }

double Summary::error_of_cells() const {
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
