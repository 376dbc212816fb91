// The scan's accumulator of sampler.h.
#include "core/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

namespace kde {

namespace {

constexpr std::size_t kBatch = 1024;
constexpr std::size_t kRowsPerPoll = 1 << 16;

Status out_of_memory() {
  return Status::error(Code::out_of_memory, "out of memory while sampling");
}

}  // namespace

Sampler::Sampler(const Options& options)
    : options_(options),
      reservoir_(
          static_cast<std::uint64_t>(options.sample_rows > 0 ? options.sample_rows : kDrawnRows),
          options.seed) {}

void Sampler::draw(double x) {
  const std::optional<std::uint64_t> at = reservoir_.place();
  if (!at) return;
  drawn_.resize(static_cast<std::size_t>(reservoir_.held()));
  drawn_block_.resize(drawn_.size());
  drawn_[*at] = x;
  drawn_block_[*at] = static_cast<std::uint32_t>(block_rows_.empty() ? 0 : block_rows_.size() - 1);
}

void Sampler::keep_outermost(double x) {
  const auto keep = [x](std::vector<double>* heap, auto before) {
    if (heap->size() == kOutermost) {
      if (!before(x, heap->front())) return;
      std::pop_heap(heap->begin(), heap->end(), before);
      heap->pop_back();
    }
    heap->push_back(x);
    std::push_heap(heap->begin(), heap->end(), before);
  };
  keep(&least_, std::less<>());
  keep(&greatest_, std::greater<>());
}

Status Sampler::begin_block() noexcept {
  try {
    if (block_rows_.empty() && rows_before_ > 0) block_rows_.push_back(rows_before_);
    block_rows_.push_back(0);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  return Status::success();
}

Status Sampler::add(double x) noexcept {
  if (!block_rows_.empty()) {
    ++block_rows_.back();
  } else if (rows_before_ < std::numeric_limits<std::uint32_t>::max()) {
    ++rows_before_;
  }
  if (!std::isfinite(x)) {
    (std::isnan(x) ? specials_.nans
     : x > 0       ? specials_.positive_infinities
                   : specials_.negative_infinities) += 1;
    return Status::success();
  }
  x += 0.0;  // -0 becomes 0
  try {
    draw(x);
    if (options_.sample_rows <= 0) return summary_->add(x);
    keep_outermost(x);
    batch_.push_back(x);
    if (batch_.size() == kBatch) {
      totals_.add(batch_, {});
      batch_.clear();
    }
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  return Status::success();
}

Status Sampler::add_summary(const Summary& rows) noexcept {
  specials_ = rows.specials();
  return summary_->merge(rows);
}

Status Sampler::finish(Sample* out, const Control& control) noexcept {
  if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
  try {
    if (options_.sample_rows > 0) {
      totals_.add(batch_, {});
      for (std::size_t i = 0; i < drawn_.size(); ++i) {
        if (i % kRowsPerPoll == 0 && control.stop_requested())
          return Status::error(Code::cancelled, "cancelled");
        if (Status s = summary_->add(drawn_[i]); !s.ok()) return s;
      }
    }
    if (Status s = summary_->settle(); !s.ok()) return s;
    if (options_.sample_rows <= 0) totals_ = summary_->totals();
    out->totals = totals_;
    out->specials = specials_;
    out->thinned = summary_->totals().count() < totals_.count();
    out->summary.swap(summary_);
    // As they were read: a place that was taken again holds a later row.
    out->drawn_block.clear();
    out->blocks = BlockVariance();
    if (block_rows_.empty()) {
      out->drawn = std::move(drawn_);
    } else {
      std::vector<std::uint32_t> order(drawn_.size());
      std::iota(order.begin(), order.end(), 0U);
      std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
        return drawn_block_[a] < drawn_block_[b];
      });
      if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
      out->drawn.clear();
      for (const std::uint32_t i : order) {
        out->drawn.push_back(drawn_[i]);
        out->drawn_block.push_back(drawn_block_[i]);
      }
    }
    if (!block_rows_.empty() &&
        !estimate_block_variance({out->drawn, out->drawn_block, block_rows_, totals_.count()},
                                 control, &out->blocks))
      return Status::error(Code::cancelled, "cancelled");
    if (out->thinned && least_.size() == kOutermost) {
      std::sort(least_.begin(), least_.end());
      std::sort(greatest_.begin(), greatest_.end());
      out->known_below = least_.back();
      out->known_above = greatest_.front();
      for (double x : least_) {
        if (x < out->known_below) out->least.push_back(x);
      }
      for (double x : greatest_) {
        if (x > out->known_above) out->greatest.push_back(x);
      }
    }
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  return Status::success();
}

}  // namespace kde
