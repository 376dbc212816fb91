// See sampler.h.
#include "core/joint/sampler.h"

#include "core/sampling/design_effect.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>

namespace kde {

namespace {

constexpr std::int64_t kRowsReserved = 1 << 20;

constexpr std::size_t kRowsPerPoll = 1 << 16;  // less than a millisecond

// The design effect on one column, of the rows that have a finite value there. False: told to stop.
bool effect_of_column(const JointSample& sample, const std::vector<std::uint32_t>& block, int k,
                      const Control& control, double* effect) {
  const auto d = static_cast<std::size_t>(sample.columns);
  std::vector<double> value;
  std::vector<std::uint32_t> of;
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (i % kRowsPerPoll == 0 && control.stop_requested()) return false;
    const double x = sample.value[i * d + static_cast<std::size_t>(k)];
    if ((sample.null[i] >> k & 1) != 0 || !std::isfinite(x)) continue;
    value.push_back(x);
    of.push_back(block[i]);
  }
  *effect = 1;
  return value.size() < 2 || estimate_design_effect(value, of, control, effect);
}

}  // namespace

// Memory from malloc, as a Summary releases none by itself: every chunk is kept in a list, of some
// six for each column.
struct JointSampler::Columns {
  std::vector<void*> chunks;
  std::vector<Summary> summary;

  static void* allocate(void* context, std::size_t bytes) {
    auto* self = static_cast<Columns*>(context);
    try {
      self->chunks.reserve(self->chunks.size() + 1);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    void* chunk = std::malloc(bytes);
    if (chunk != nullptr) self->chunks.push_back(chunk);
    return chunk;
  }
  static void release(void* context, void* chunk) {
    auto* self = static_cast<Columns*>(context);
    std::erase(self->chunks, chunk);
    std::free(chunk);
  }

  explicit Columns(int n) {
    const Memory memory{allocate, release, this};
    for (int k = 0; k < n; ++k) summary.emplace_back(memory);
  }
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;
  ~Columns() {
    for (void* chunk : chunks) std::free(chunk);
  }
};

JointSampler::JointSampler(const Options& options)
    : options_(options),
      random_(options.seed),
      columns_(std::make_unique<Columns>(options.columns)) {
  // Growing by doubling would copy all of a large sample in one go, which nobody could cancel. What
  // is not used of it is never touched.
  const auto rows = static_cast<std::size_t>(std::min(options.sample_rows, kRowsReserved));
  value_.reserve(rows * static_cast<std::size_t>(options.columns));
}

JointSampler::~JointSampler() = default;

const Summary& JointSampler::summary(int column) const {
  return columns_->summary[static_cast<std::size_t>(column)];
}

void JointSampler::begin_skipping() {
  w_ = std::exp(std::log(random_.uniform()) / static_cast<double>(options_.sample_rows));
  next_skip();
}

void JointSampler::next_skip() {
  const double skip = std::floor(std::log(random_.uniform()) / std::log1p(-w_));
  // A skip beyond any table's length never ends.
  skip_ = skip < 0x1p62 ? static_cast<std::uint64_t>(skip) : std::uint64_t{1} << 62;
  w_ *= std::exp(std::log(random_.uniform()) / static_cast<double>(options_.sample_rows));
}

Status JointSampler::add(const double* value, std::uint16_t null) noexcept {
  const auto d = static_cast<std::size_t>(options_.columns);
  for (std::size_t k = 0; k < d; ++k) {
    Summary& summary = columns_->summary[k];
    if ((null >> k & 1) != 0) {
      summary.add_null(1);
    } else if (Status s = summary.add(value[k] + 0.0); !s.ok()) {
      return s;
    }
  }
  ++seen_;
  std::size_t at;
  try {
    if (held_ < options_.sample_rows) {
      at = static_cast<std::size_t>(held_++);
      value_.resize((at + 1) * d);
      null_.resize(at + 1);
      row_block_.resize(at + 1);
      if (held_ == options_.sample_rows) begin_skipping();
    } else if (skip_ > 0) {
      --skip_;
      return Status::success();
    } else {
      at = random_.below(static_cast<std::uint64_t>(options_.sample_rows));
      next_skip();
    }
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory while sampling");
  }
  for (std::size_t k = 0; k < d; ++k)
    value_[at * d + k] = (null >> k & 1) != 0 ? 0.0 : value[k] + 0.0;  // -0 becomes 0
  null_[at] = null;
  row_block_[at] = block_;
  return Status::success();
}

Status JointSampler::finish(JointSample* out, const Control& control) noexcept {
  try {
    for (Summary& summary : columns_->summary) {
      if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
      if (Status s = summary.settle(); !s.ok()) return s;
    }
    JointSample result;
    result.columns = options_.columns;
    result.rows_read = seen_;
    result.rows = held_;
    result.value = std::move(value_);
    result.null = std::move(null_);
    if (block_ > 0) {
      for (int k = 0; k < options_.columns; ++k) {
        control.tell({WorkUnit::steps, options_.columns}, k);
        double effect;
        if (!effect_of_column(result, row_block_, k, control, &effect))
          return Status::error(Code::cancelled, "cancelled");
        result.design_effect = std::max(result.design_effect, effect);
      }
    }
    std::vector<std::uint32_t>().swap(row_block_);
    *out = std::move(result);
    return Status::success();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory while sampling");
  }
}

}  // namespace kde
