// What a scan of several columns feeds, row by row: a uniform sample of whole rows
// (sampling/reservoir.h), the block that each of them lay in, and of every
// column what one column's scan feeds (sampling/sampler.h; of a category fit/words.h), from which
// its marginal is made.
#pragma once

#include "core/control.h"
#include "core/density/joint_format.h"
#include "core/fit/words.h"
#include "core/sampling/reservoir.h"
#include "core/sampling/sampler.h"
#include "core/status.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace kde {

struct JointSample {
  int columns = 0;
  std::int64_t rows_read = 0;  // every row that was fed
  std::int64_t rows = 0;       // of the sample
  // rows x columns, row by row; NaN and infinities are values. Of a category the ranks of its
  // words.
  std::vector<double> value;
  std::vector<std::uint16_t> null;  // rows; bit k: column k is NULL (its value is 0)
  // The block of each row of the sample, and the rows that each block had, in the blocks' order;
  // block_rows is empty where rows did not come by block.
  std::vector<std::uint32_t> row_block, block_rows;
  std::deque<Sample> column;  // of every row that was fed
  // Of each column, null where it is no category; shared with the sampler.
  std::vector<std::shared_ptr<const Words>> words;

  bool is_category(std::size_t k) const { return k < words.size() && words[k] != nullptr; }

  double design_effect() const {  // the largest of the columns'
    double most = 0;
    for (const Sample& s : column) most = std::max(most, s.blocks.design_effect());
    return most;
  }
};

class JointSampler {
 public:
  struct Options {
    int columns = 0;                   // 1 .. kMaxColumns
    std::int64_t sample_rows = 10000;  // >= 2
    std::uint64_t seed = 0;
    Chain chain[kMaxColumns] = {};          // of each column
    std::uint16_t categories = 0;           // bit k: column k is one
    std::uint16_t placed = 0;               // of them, those whose words have places
    std::size_t words_bytes = kWordsBytes;  // of each
  };

  explicit JointSampler(const Options& options);

  // One row. value: `columns` doubles, of a category the number of its value (Words::add); null:
  // bit k for column k, whose value is not looked at. Errors: out_of_memory (the sampler must not
  // be used further).
  Status add(const double* value, std::uint16_t null) noexcept;
  // As of Sampler.
  Status begin_block() noexcept;

  // Of a category, whose values are to be ranked and kept before finish(); null of others.
  Words* words(int k) {
    return words_.empty() ? nullptr : words_[static_cast<std::size_t>(k)].get();
  }

  // Ends the scan: no row may be added afterwards. Errors: out_of_memory; cancelled, after which
  // the sampler must not be used further.
  Status finish(JointSample* out, const Control& control = {}) noexcept;

 private:
  Options options_;
  Reservoir reservoir_;
  std::deque<Sampler> column_;
  std::vector<std::shared_ptr<Words>> words_;  // none where no column is a category
  std::vector<double> value_;
  std::vector<std::uint16_t> null_;
  std::vector<std::uint32_t> row_block_, block_rows_;
  std::int64_t seen_ = 0;
};

}  // namespace kde
