// See row_batches.h.
#include "pg/read/row_batches.h"

#include "pg/base/interrupts.h"
#include "pg/base/options.h"

#include <algorithm>

namespace kde_pg {

RowBatch::RowBatch(RowSink* target, int columns, RowBatches* all, MemoryContext context)
    : target_(target), all_(all), columns_(static_cast<Size>(columns)), most_(kValues / columns_) {
  value_ = static_cast<double*>(MemoryContextAlloc(context, sizeof(double) * most_ * columns_));
  nulls_ = static_cast<uint16*>(MemoryContextAlloc(context, sizeof(uint16) * most_));
  block_ = static_cast<uint32*>(MemoryContextAlloc(context, sizeof(uint32) * kBlocks));
}

kde::Status RowBatch::add(const double* values, uint16 nulls) noexcept {
  if (!status_.ok()) return kde::Status::success();
  if (at_once_) {
    status_ = target_->add(values, nulls);
    return kde::Status::success();
  }
  std::copy_n(values, columns_, value_ + rows_ * columns_);
  nulls_[rows_++] = nulls;
  return rows_ == most_ ? all_->hand_on() : kde::Status::success();
}

kde::Status RowBatch::begin_block() noexcept {
  if (blocks_ == kBlocks)
    if (const kde::Status s = all_->hand_on(); !s.ok()) return s;
  block_[blocks_++] = static_cast<uint32>(rows_);
  return kde::Status::success();
}

void RowBatch::hand_on() noexcept {
  Size block = 0;
  for (Size row = 0; status_.ok();) {
    for (; block < blocks_ && block_[block] == row && status_.ok(); ++block)
      status_ = target_->begin_block();
    if (row == rows_ || !status_.ok()) break;
    Size end = row;
    const Size most = block < blocks_ ? block_[block] : rows_;
    while (columns_ == 1 && end < most && nulls_[end] == 0) ++end;
    status_ = end > row ? target_->add_rows({value_ + row, end - row})
                        : target_->add(value_ + row * columns_, nulls_[row]);
    row = Max(end, row + 1);
  }
  rows_ = blocks_ = 0;
}

kde::Status RowBatches::hand_on() noexcept {
  kde::Control control = begin_core_work(chosen_threads());
  control.on_progress = nullptr;  // the scan is shown
  return kde::share_items(control, n_,
                          [this](std::int64_t k, const kde::Control&) { batches_[k]->hand_on(); });
}

}  // namespace kde_pg
