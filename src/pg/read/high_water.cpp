// The readings of high_water.h.
#include "pg/read/high_water.h"

#include "pg/read/block_range.h"

extern "C" {
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/rel.h"
}

namespace kde_pg {

OffsetNumber count_line_pointers(Relation rel, BlockNumber block) {
  const Buffer buffer = ReadBuffer(rel, block);
  LockBuffer(buffer, BUFFER_LOCK_SHARE);
  const Page page = BufferGetPage(buffer);
  const OffsetNumber count = PageIsNew(page) ? InvalidOffsetNumber : PageGetMaxOffsetNumber(page);
  UnlockReleaseBuffer(buffer);
  return count;
}

// Rows that come between the two readings lie beyond the blocks counted, or are counted with their
// block.
void read_mark(Relation rel, Snapshot snapshot, LeafMark* mark) {
  mark->relation = RelationGetRelid(rel);
  mark->file = rel->rd_rel->relfilenode;
  mark->blocks = end_of_rows(rel, snapshot);
  mark->window = static_cast<int>(Min(mark->blocks, static_cast<BlockNumber>(kWindowBlocks)));
  for (int i = 0; i < mark->window; ++i) {
    CHECK_FOR_INTERRUPTS();
    mark->offset[i] =
        count_line_pointers(rel, mark->blocks - static_cast<BlockNumber>(mark->window - i));
  }
}

const LeafMark* find_mark(const HighWater& marks, Oid relation) {
  for (int i = 0; i < marks.leaves; ++i) {
    if (marks.leaf[i].relation == relation) return &marks.leaf[i];
  }
  return nullptr;
}

}  // namespace kde_pg
