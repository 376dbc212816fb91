// What a scan of a column feeds, row by row: totals over every row, a uniform sample of the
// finite values (or all of them, compacted), and the values the bandwidth's sums will use.
//
//   reservoir   Algorithm L: K.-H. Li, ACM TOMS 20(4), 1994: a uniform sample without replacement
//               of a stream of unknown length, with O(n log(N/n)) random numbers
//   totals      shifted sums in long double: the shift is the first finite value, so that a
//               column far from 0 loses no digits in its variance
//   stream      compactor.h
//   design      how much less a sample says that came in whole blocks of rows: Pearson's X^2 of
//               blocks against classes of values estimates the design effect (design_effect.h)
#pragma once

#include "core/control.h"
#include "core/random.h"
#include "core/sampling/compactor.h"
#include "core/sampling/distinct_counts.h"
#include "core/status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace kde {

// Distinct values counted exactly at most.
inline constexpr std::size_t kMaxDistinct = 500;

// Of every row the scan read.
struct Totals {
  std::int64_t nulls = 0;
  std::int64_t nans = 0;
  std::int64_t negative_infinities = 0;
  std::int64_t positive_infinities = 0;
  std::int64_t finite = 0;
  double min = 0, max = 0;  // of the finite values; 0 if there are none
  double mean = 0;          // of the finite values
  double variance = 0;      // of the finite values, divisor `finite`; infinite if it overflows

  std::int64_t non_null() const {
    return nans + negative_infinities + positive_infinities + finite;
  }
  std::int64_t rows() const { return nulls + non_null(); }
};

// A finished sample.
struct Sample {
  Totals totals;
  std::vector<WeightedValue>
      values;                    // finite values in ascending order; weights are 1 unless compacted
  double rank_error = 0;         // Compactor::rank_error of `values`
  std::int64_t sample_rows = 0;  // finite values the sample stands for (sum of the weights)
  // >= 1: the variance of a count from rows that came by block, divided by that from as many
  // independent rows, estimated (design_effect). 1 where rows did not come by block.
  double design_effect = 1;
  std::vector<double> bandwidth_values;  // in ascending order: the subset for O(n^2) sums
  bool distinct_known = false;           // `distinct` counts every finite value the scan read
  std::vector<std::pair<double, std::int64_t>> distinct;
};

class Sampler {
 public:
  struct Options {
    std::int64_t sample_rows = 100000;    // >= 1; or -1: every row, compacted
    std::int64_t bandwidth_rows = 32768;  // >= 2
    std::uint64_t seed = 0;
    std::size_t compactor_capacity = std::size_t{1} << 19;
  };

  explicit Sampler(const Options& options);

  // One value; -0 counts as 0. Errors: out_of_memory (the sampler must not be used further).
  Status add(double x) noexcept;
  void add_null() { ++totals_.nulls; }
  // The rows to come lie in another block than those before; never called: they are independent.
  void begin_block() { ++block_; }

  // Ends the scan. The sampler is empty afterwards. Errors: out_of_memory, cancelled.
  Status finish(Sample* out, const Control& control = {}) noexcept;

  // The state of the scan as bytes for load(), before finish(): about 8 bytes a row of the sample,
  // 12 where rows came by block, 8 bytes a value that the compactor holds. The same state gives the
  // same bytes. Errors: out_of_memory.
  Status save(std::vector<std::uint8_t>* out) const noexcept;
  // Becomes the sampler that was saved, options and all, and goes on as that one would have, to the
  // last bit. Bytes of any origin are checked: what passes can be used like any other sampler's
  // state. Errors: invalid_format (the sampler stays as it was), out_of_memory.
  Status load(std::span<const std::uint8_t> bytes) noexcept;

  const Options& options() const { return options_; }
  // Of the rows added so far; mean and variance are not filled in.
  const Totals& totals() const { return totals_; }

 private:
  // A reservoir of the first kind: holds `size` values drawn uniformly from those offered, and
  // the block each came from.
  class Reservoir {
   public:
    Reservoir(std::size_t size, std::uint64_t seed) : size_(size), random_(seed) {}
    void offer(double x, std::uint32_t block) {
      if (values_.size() < size_) {
        values_.push_back(x);
        blocks_.push_back(block);
        if (values_.size() == size_) begin_skipping();
      } else if (skip_ > 0) {
        --skip_;
      } else {
        const std::size_t at = random_.below(size_);
        values_[at] = x;
        blocks_[at] = block;
        next_skip();
      }
    }
    std::vector<double>& values() { return values_; }
    std::vector<std::uint32_t>& blocks() { return blocks_; }

    // As those of Compactor. by_block: whether the blocks are worth keeping (else all are 0);
    // `count` values were offered, from min to max, of blocks up to `block`.
    void save(ByteWriter* out, bool by_block) const;
    const char* load(ByteReader* in, std::int64_t count, double min, double max,
                     std::uint32_t block);

   private:
    void begin_skipping();
    void next_skip();

    std::size_t size_;
    Random random_;
    std::vector<double> values_;
    std::vector<std::uint32_t> blocks_;
    double w_ = 1;
    std::uint64_t skip_ = 0;
  };

  void finish_totals();
  const char* load_totals(ByteReader* in);

  Options options_;
  Totals totals_;
  std::uint32_t block_ = 0;
  bool any_finite_ = false;
  double shift_ = 0;
  long double sum_ = 0, sum_squares_ = 0;  // of (x - shift)
  DistinctCounts distinct_;
  Reservoir reservoir_;  // the sample; with sample_rows = -1, the bandwidth's values
  Compactor compactor_;
};

// A uniform subset of `values` of size m (all of them if m >= size), order kept. Selection
// sampling: Knuth, TAOCP 2, 3.4.2, Algorithm S.
std::vector<double> random_subset(const std::vector<double>& values, std::size_t m,
                                  std::uint64_t seed);

}  // namespace kde
