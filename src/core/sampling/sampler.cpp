// The scan's accumulator of sampler.h.
#include "core/sampling/sampler.h"

#include "core/guarded.h"

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

// The numbers of rows, block by block.
std::vector<std::uint32_t> by_block(std::span<const std::uint32_t> block, std::size_t blocks) {
  std::vector<std::uint32_t> next(blocks + 1), order(block.size());
  for (const std::uint32_t b : block) ++next[b + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (std::size_t i = 0; i < block.size(); ++i)
    order[next[block[i]]++] = static_cast<std::uint32_t>(i);
  return order;
}

}  // namespace

Sampler::Sampler(const Options& options)
    : options_(options),
      reservoir_(static_cast<std::uint64_t>(options.sample_rows > 0 ? options.sample_rows
                                            : options.of_group      ? kGroupDrawnRows
                                                                    : kDrawnRows),
                 options.seed),
      cells_(std::make_unique<OwnedGridCells>(options.chain, options.measures,
                                              options.of_group ? kGroupCells : kMostGridCells)) {
  (*cells_)->keep_none();
}

void Sampler::draw(double x, std::span<const double> y) {
  const std::optional<std::uint64_t> at = reservoir_.place();
  if (!at) return;
  drawn_.resize(static_cast<std::size_t>(reservoir_.held()));
  drawn_block_.resize(drawn_.size());
  drawn_[*at] = x;
  drawn_y_.resize(drawn_.size() * y.size());
  std::copy(y.begin(), y.end(), drawn_y_.begin() + static_cast<std::ptrdiff_t>(*at * y.size()));
  drawn_block_[*at] = static_cast<std::uint32_t>(block_rows_.empty() ? 0 : block_rows_.size() - 1);
}

template <typename Before>
void Sampler::keep(double x, Before before, std::vector<double>* heap) {
  if (heap->size() == kOutermost) {
    if (!before(x, heap->front())) [[likely]]
      return;
    std::pop_heap(heap->begin(), heap->end(), before);
    heap->pop_back();
  }
  heap->push_back(x);
  std::push_heap(heap->begin(), heap->end(), before);
}

void Sampler::keep_outermost(double x) {
  keep(x, std::less<>(), &least_);
  keep(x, std::greater<>(), &greatest_);
}

void Sampler::push_block(std::uint32_t rows) {
  block_rows_.push_back(rows);
  block_measured_.resize(block_rows_.size() * measures(), 0);
}

Status Sampler::begin_block() noexcept {
  return guarded([&] {
    if (block_rows_.empty() && rows_before_ > 0) {
      push_block(rows_before_);
      std::copy_n(measured_before_, measures(), block_measured_.begin());
    }
    push_block(0);
    return Status::success();
  });
}

Status Sampler::begin_block(std::uint32_t number) noexcept {
  return guarded([&] {
    block_number_.push_back(number);
    push_block(0);
    return Status::success();
  });
}

Status Sampler::merge(Sampler* other) noexcept {
  if (Status s = cells().merge(&other->cells()); !s.ok()) return s;
  rows_before_ += other->rows_before_;
  return guarded([&] {
    const auto blocks = static_cast<std::uint32_t>(block_rows_.size());
    block_rows_.insert(block_rows_.end(), other->block_rows_.begin(), other->block_rows_.end());
    block_number_.insert(block_number_.end(), other->block_number_.begin(),
                         other->block_number_.end());
    block_measured_.insert(block_measured_.end(), other->block_measured_.begin(),
                           other->block_measured_.end());
    drawn_.insert(drawn_.end(), other->drawn_.begin(), other->drawn_.end());
    drawn_y_.insert(drawn_y_.end(), other->drawn_y_.begin(), other->drawn_y_.end());
    for (const std::uint32_t block : other->drawn_block_) drawn_block_.push_back(blocks + block);
    for (const double x : other->least_) keep(x, std::less<>(), &least_);
    for (const double x : other->greatest_) keep(x, std::greater<>(), &greatest_);
    return Status::success();
  });
}

// Blocks of a group's rows as if each had been begun: of those of the scan, at most kGroupBlocks
// that are some neighbours each.
void Sampler::gather_blocks(std::uint32_t blocks_read) {
  const std::uint32_t blocks = std::min(blocks_read, kGroupBlocks);
  const auto place = [&](std::uint32_t i) {
    return static_cast<std::uint32_t>(std::uint64_t{block_number_[i]} * blocks / blocks_read);
  };
  const std::size_t measures = this->measures();
  std::vector<std::uint32_t> rows(blocks), measured(blocks * measures);
  for (std::uint32_t i = 0; i < block_rows_.size(); ++i) {
    rows[place(i)] += block_rows_[i];
    for (std::size_t k = 0; k < measures; ++k)
      measured[place(i) * measures + k] += block_measured_[i * measures + k];
  }
  block_measured_.swap(measured);
  for (std::uint32_t& block : drawn_block_) block = place(block);
  block_rows_.swap(rows);
}

void Sampler::count_row(std::span<const double> y) {
  std::uint32_t* measured = measured_before_;
  if (!block_rows_.empty()) {
    ++block_rows_.back();
    measured = block_measured_.data() + block_measured_.size() - y.size();
  } else if (rows_before_ < std::numeric_limits<std::uint32_t>::max()) {
    ++rows_before_;
  } else {
    return;
  }
  for (std::size_t k = 0; k < y.size(); ++k) measured[k] += std::isnan(y[k]) ? 0 : 1;
}

Status Sampler::add(double x, std::span<const double> y) noexcept {
  for (const double value : y)
    if (std::isinf(value))
      return Status::error(Code::invalid_argument, "a measure has a value that is infinite");
  count_row(y);
  if (!std::isfinite(x)) return cells().add(x, y);
  x += 0.0;  // -0 becomes 0
  return guarded([&] {
    draw(x, y);
    keep_outermost(x);
    if (options_.sample_rows <= 0) return cells().add(x, y);
    batch_.push_back(x);
    if (batch_.size() == kBatch) {
      totals_.add(batch_, {});
      batch_.clear();
    }
    return Status::success();
  });
}

// By stretches, where each of them goes the same way.
Status Sampler::add_rows(std::span<const double> x) noexcept {
  bool finite = true;
  for (const double value : x) finite = finite && value - value == 0;
  if (!finite || options_.sample_rows > 0 || block_rows_.empty()) {
    for (const double value : x)
      if (Status s = add(value); !s.ok()) return s;
    return Status::success();
  }
  block_rows_.back() += static_cast<std::uint32_t>(x.size());
  try {
    for (std::size_t i = reservoir_.pass(x.size()); i < x.size();
         i += 1 + reservoir_.pass(x.size() - i - 1))
      draw(x[i] + 0.0, {});
    for (const double value : x) keep_outermost(value + 0.0);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  return cells().add(x);
}

// drawn_y: measure by measure. False if control asked to stop.
bool Sampler::estimate_variances(const BlockRows& blocks, std::span<const double> drawn_y,
                                 const Control& control, Sample* out) const {
  if (!estimate_block_variance(blocks, control, &out->blocks)) return false;
  const std::size_t rows = blocks.drawn.size();
  const std::size_t measures = out->means.size();
  for (std::size_t k = 0; k < measures; ++k) {
    const std::span<const double> y = drawn_y.subspan(k * rows, rows);
    if (!estimate_mean_variance(blocks, y, control, &out->means[k])) return false;
    std::vector<std::uint32_t> measured(block_rows_.size());
    for (std::size_t b = 0; b < measured.size(); ++b)
      measured[b] = block_measured_[b * measures + k];
    out->measured[k] = out->blocks;
    if (measured == block_rows_) continue;
    if (!estimate_measured_variance(blocks, y, measured, options_.range_cells, control,
                                    &out->measured[k], &out->measured_ranges[k]))
      return false;
  }
  return options_.range_cells == 0 || estimate_ranges(blocks, drawn_y, control, out);
}

bool Sampler::estimate_ranges(const BlockRows& blocks, std::span<const double> drawn_y,
                              const Control& control, Sample* out) const {
  const std::size_t rows = blocks.drawn.size();
  std::vector<std::span<const double>> y;
  for (std::size_t k = 0; k < out->means.size(); ++k) y.push_back(drawn_y.subspan(k * rows, rows));
  return estimate_range_variance(blocks, y, out->blocks, out->means, options_.range_cells, control,
                                 &out->ranges);
}

Status Sampler::finish(Sample* out, const Control& control, std::uint32_t blocks_read) noexcept {
  if (control.stop_requested()) return cancelled();
  return guarded([&] {
    if (!block_number_.empty() && blocks_read > 0) gather_blocks(blocks_read);
    if (options_.sample_rows > 0) {
      totals_.add(batch_, {});
      for (std::size_t i = 0; i < drawn_.size(); ++i) {
        if (i % kRowsPerPoll == 0 && control.stop_requested()) return cancelled();
        const auto y = std::span(drawn_y_).subspan(i * measures(), measures());
        if (Status s = cells().add(drawn_[i], y); !s.ok()) return s;
      }
    }
    if (Status s = cells().settle(); !s.ok()) return s;
    if (options_.sample_rows <= 0) totals_ = cells().totals();
    out->totals = totals_;
    out->specials = cells().specials();
    out->thinned = cells().totals().count() < totals_.count();
    out->cells = std::move(cells_);
    // As they were read: a place that was taken again holds a later row.
    out->drawn_block.clear();
    out->blocks = BlockVariance();
    out->means.assign(measures(), MeanVariance());
    out->measured.assign(out->means.size(), BlockVariance());
    out->ranges = RangeVariance();
    out->measured_ranges.assign(out->means.size(), RangeVariance());
    std::vector<double> drawn_y;
    if (block_rows_.empty()) {
      out->drawn = std::move(drawn_);
    } else {
      const std::vector<std::uint32_t> order = by_block(drawn_block_, block_rows_.size());
      if (control.stop_requested()) return cancelled();
      out->drawn.clear();
      for (const std::uint32_t i : order) {
        out->drawn.push_back(drawn_[i]);
        out->drawn_block.push_back(drawn_block_[i]);
      }
      for (std::size_t k = 0; k < measures(); ++k)
        for (const std::uint32_t i : order) drawn_y.push_back(drawn_y_[i * measures() + k]);
    }
    if (!block_rows_.empty()) {
      const BlockRows blocks = {out->drawn, out->drawn_block, block_rows_, totals_.count()};
      if (!estimate_variances(blocks, drawn_y, control, out)) return cancelled();
    }
    std::sort(least_.begin(), least_.end());
    std::sort(greatest_.begin(), greatest_.end());
    out->least = std::move(least_);
    out->greatest = std::move(greatest_);
    return Status::success();
  });
}

}  // namespace kde
