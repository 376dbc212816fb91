// See joint_sampler.h.
#include "core/joint/joint_sampler.h"

#include "core/guarded.h"

#include <algorithm>
#include <new>

namespace kde {

namespace {

constexpr std::int64_t kRowsReserved = 1 << 20;

}  // namespace

JointSampler::JointSampler(const Options& options)
    : options_(options), reservoir_(static_cast<std::uint64_t>(options.sample_rows), options.seed) {
  for (int k = 0; k < options.columns; ++k)
    column_.emplace_back(
        Sampler::Options{0, options.seed + static_cast<std::uint64_t>(k) + 1, options.chain[k]});
  for (int k = 0; options.categories != 0 && k < options.columns; ++k) {
    Words::Options words;
    words.seed = options.seed + static_cast<std::uint64_t>(k) + 1;
    words.most_bytes = options.words_bytes;
    words.placed = (options.placed >> k & 1) != 0;
    words_.push_back((options.categories >> k & 1) != 0 ? std::make_shared<Words>(words) : nullptr);
  }
  // Growing by doubling would copy all of a large sample in one go, which nobody could cancel. What
  // is not used of it is never touched.
  const auto rows = static_cast<std::size_t>(std::min(options.sample_rows, kRowsReserved));
  value_.reserve(rows * static_cast<std::size_t>(options.columns));
}

Status JointSampler::add(const double* value, std::uint16_t null) noexcept {
  const auto d = static_cast<std::size_t>(options_.columns);
  for (std::size_t k = 0; k < d; ++k) {
    const bool is_null = (null >> k & 1) != 0;
    if (!words_.empty() && words_[k] != nullptr) {
      if (is_null)
        words_[k]->add_null();
      else if (Status s = words_[k]->add(static_cast<std::uint32_t>(value[k])); !s.ok())
        return s;
    } else if (is_null) {
      column_[k].add_null();
    } else if (Status s = column_[k].add(value[k]); !s.ok()) {
      return s;
    }
  }
  ++seen_;
  if (!block_rows_.empty()) ++block_rows_.back();
  const std::optional<std::uint64_t> place = reservoir_.place();
  if (!place) return Status::success();
  const auto at = static_cast<std::size_t>(*place);
  try {
    const auto held = static_cast<std::size_t>(reservoir_.held());
    value_.resize(held * d);
    null_.resize(held);
    row_block_.resize(held);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  for (std::size_t k = 0; k < d; ++k)
    value_[at * d + k] = (null >> k & 1) != 0 ? 0.0 : value[k] + 0.0;  // -0 becomes 0
  null_[at] = null;
  row_block_[at] = static_cast<std::uint32_t>(block_rows_.empty() ? 0 : block_rows_.size() - 1);
  return Status::success();
}

Status JointSampler::begin_block() noexcept {
  for (Sampler& column : column_) {
    if (Status s = column.begin_block(); !s.ok()) return s;
  }
  for (const std::shared_ptr<Words>& words : words_) {
    if (words == nullptr) continue;
    if (Status s = words->begin_block(); !s.ok()) return s;
  }
  return guarded([&] {
    if (block_rows_.empty() && seen_ > 0) block_rows_.push_back(static_cast<std::uint32_t>(seen_));
    block_rows_.push_back(0);
    return Status::success();
  });
}

Status JointSampler::finish(JointSample* out, const Control& control) noexcept {
  return guarded([&] {
    JointSample result;
    for (Sampler& column : column_) {
      control.tell({WorkUnit::steps, options_.columns}, std::ssize(result.column));
      Words* const own = words(static_cast<int>(std::ssize(result.column)));
      Sample* const sample = &result.column.emplace_back();
      if (Status s = own != nullptr ? own->finish(sample, control) : column.finish(sample, control);
          !s.ok())
        return s;
    }
    const auto d = static_cast<std::size_t>(options_.columns);
    for (std::size_t k = 0; k < words_.size(); ++k) {
      if (words_[k] == nullptr) continue;
      for (std::size_t i = 0; i < null_.size(); ++i) {
        if ((null_[i] >> k & 1) != 0) continue;
        double& x = value_[i * d + k];
        x = words_[k]->rank_of(static_cast<std::uint32_t>(x));
      }
    }
    result.words.assign(words_.begin(), words_.end());
    result.columns = options_.columns;
    result.rows_read = seen_;
    result.rows = static_cast<std::int64_t>(reservoir_.held());
    result.value = std::move(value_);
    result.null = std::move(null_);
    result.row_block = std::move(row_block_);
    result.block_rows = std::move(block_rows_);
    *out = std::move(result);
    return Status::success();
  });
}

}  // namespace kde
