// Rows of a scan that serves several sinks, gathered for each and handed on when there are many:
// then what a sink counts them into stays in the processor's cache, and threads share the sinks.
//
// A sink gets what it would get alone, in the same order. One that fails gets no more, and the
// others go on.
#pragma once

#include "pg/read/row_sink.h"

extern "C" {
#include "utils/palloc.h"
}

namespace kde_pg {

class RowBatches;

// Those of one sink. Owns nothing: what it gathers lies in a memory context.
class RowBatch final : public RowSink {
 public:
  RowBatch(RowSink* target, int columns, RowBatches* all, MemoryContext context);

  Categories* categories(int column) override { return target_->categories(column); }
  kde::Status add(const double* values, uint16 nulls) noexcept override;
  kde::Status begin_block() noexcept override;

  // To the sink.
  void hand_on() noexcept;
  // From here on rows are handed on at once.
  void hand_on_at_once() { at_once_ = true; }
  // Of the sink.
  const kde::Status& status() const { return status_; }

 private:
  static constexpr Size kValues = 65536, kBlocks = 65536;

  RowSink* target_;
  RowBatches* all_;
  Size columns_, most_;
  double* value_;  // row by row
  uint16* nulls_;  // as they came
  uint32* block_;  // before which of the rows each block begins
  Size rows_ = 0, blocks_ = 0;
  bool at_once_ = false;
  kde::Status status_;
};

// Of all sinks: as many threads as a fit may use, but no more than there are sinks.
class RowBatches {
 public:
  RowBatches(RowBatch** batches, int n) : batches_(batches), n_(n) {}

  // Errors: cancelled, out_of_memory.
  kde::Status hand_on() noexcept;

 private:
  RowBatch** batches_;
  int n_;
};

}  // namespace kde_pg
