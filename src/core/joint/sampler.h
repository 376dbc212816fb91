// What a scan of several columns feeds, row by row: a uniform sample of whole rows (reservoir:
// Algorithm L, K.-H. Li, ACM TOMS 20(4), 1994), and of every column all rows that were read, in
// bounded memory (aggregate/summary.h), from which its marginal is made.
#pragma once

#include "core/aggregate/summary.h"
#include "core/control.h"
#include "core/joint/format.h"
#include "core/random.h"
#include "core/room.h"
#include "core/status.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace kde {

struct JointSample {
  int columns = 0;
  std::int64_t rows_read = 0;       // every row that was fed
  std::int64_t rows = 0;            // of the sample
  std::vector<double> value;        // rows x columns, row by row; NaN and infinities are values
  std::vector<std::uint16_t> null;  // rows; bit k: column k is NULL (its value is 0)
  double design_effect = 1;         // >= 1, as Sample::design_effect; the largest of the columns'
};

class JointSampler {
 public:
  struct Options {
    int columns = 0;                   // 1 .. kMaxColumns
    std::int64_t sample_rows = 10000;  // >= 2
    std::uint64_t seed = 0;
  };

  explicit JointSampler(const Options& options);
  ~JointSampler();
  JointSampler(const JointSampler&) = delete;
  JointSampler& operator=(const JointSampler&) = delete;

  // One row. value: `columns` doubles; null: bit k for column k, whose value is not looked at.
  // Errors: out_of_memory (the sampler must not be used further).
  Status add(const double* value, std::uint16_t null) noexcept;
  // The rows to come lie in another block than those before; never called: they are independent.
  void begin_block() { ++block_; }

  // Ends the scan: no row may be added afterwards. Errors: out_of_memory; cancelled, after which
  // the sampler must not be used further.
  Status finish(JointSample* out, const Control& control = {}) noexcept;

  // After finish(): of every row that was read.
  const Summary& summary(int column) const;

 private:
  struct Columns;

  Options options_;
  Random random_;
  std::unique_ptr<Columns> columns_;
  std::vector<double> value_;
  std::vector<std::uint16_t> null_;
  std::vector<std::uint32_t> row_block_;
  std::int64_t seen_ = 0, held_ = 0;
  std::uint32_t block_ = 0;
  double w_ = 1;
  std::uint64_t skip_ = 0;

  void begin_skipping();
  void next_skip();
};

}  // namespace kde
