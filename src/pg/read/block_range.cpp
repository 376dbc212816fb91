// Scans of ranges of blocks, as TID range scans, and the search for the last block of a heap table
// with a row.
#include "pg/read/block_range.h"

extern "C" {
#include "access/relscan.h"
#include "executor/tuptable.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"
}

namespace kde_pg {

TableScanDesc begin_block_scan(Relation rel, Snapshot snapshot) {
  PredicateLockRelation(rel, snapshot);
  return rel->rd_tableam->scan_begin(rel, snapshot, 0, nullptr, nullptr,
                                     SO_TYPE_TIDRANGESCAN | SO_ALLOW_PAGEMODE | SO_ALLOW_STRAT);
}

void set_block_range(TableScanDesc scan, BlockNumber begin, BlockNumber end) {
  ItemPointerData low, high;
  ItemPointerSet(&low, begin, FirstOffsetNumber);
  ItemPointerSet(&high, end - 1, MaxOffsetNumber);
  table_rescan_tidrange(scan, &low, &high);
}

BlockNumber end_of_rows(Relation rel, Snapshot snapshot) {
  const BlockNumber blocks = RelationGetNumberOfBlocks(rel);
  if (blocks == 0) return 0;
  BlockNumber end = blocks > kMostEmptyBlocks ? blocks - kMostEmptyBlocks : 0;
  TupleTableSlot* slot = table_slot_create(rel, nullptr);
  TableScanDesc scan = begin_block_scan(rel, snapshot);
  set_block_range(scan, end, blocks);
  if (table_scan_getnextslot_tidrange(scan, BackwardScanDirection, slot))
    end = ItemPointerGetBlockNumber(&slot->tts_tid) + 1;
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
  return end;
}

}  // namespace kde_pg
