// How far a fit has read the leaves of a table whose rows are only appended, so that what comes
// later can be told from what was read: of every leaf its blocks up to the last that holds a row
// (block_range.h), and of the last of them the number of line pointers. A row beyond them was
// inserted later: while rows are neither updated nor deleted, line pointers are given out in
// ascending order and none is given out again.
//
// Not only the last block matters: sessions that insert at the same time fill a block each, and a
// row may go to the last of the blocks by which a file was extended before the others are filled.
// Rows that come into still earlier blocks (where free space is left that fits them) are not seen;
// the statistics' count of rows inserted tells (append.h).
#pragma once

#include "pg/catalog/counters.h"

extern "C" {
#include "storage/block.h"
#include "storage/itemptr.h"
#include "storage/off.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
}

namespace kde_pg {

// Blocks at a leaf's end of which the line pointers are kept: two extensions of a file.
inline constexpr int kWindowBlocks = 128;

struct LeafMark {
  Oid relation;
  Oid file;  // pg_class.relfilenode
  BlockNumber blocks;
  int window;                          // min(blocks, kWindowBlocks)
  OffsetNumber offset[kWindowBlocks];  // line pointers of block `blocks` - `window` + i
};

struct HighWater {
  int leaves = 0;
  LeafMark* leaf = nullptr;  // in the order in which a scan reads them; palloc'ed
};

// Whether a row lies beyond the mark.
inline bool is_beyond(const LeafMark& mark, const ItemPointerData* tid) {
  const BlockNumber block = ItemPointerGetBlockNumberNoCheck(tid);
  if (block >= mark.blocks) return true;
  const BlockNumber first = mark.blocks - static_cast<BlockNumber>(mark.window);
  return block >= first && ItemPointerGetOffsetNumberNoCheck(tid) > mark.offset[block - first];
}

// Line pointers of a block now. rel: as below.
OffsetNumber count_line_pointers(Relation rel, BlockNumber block);

// The mark of a leaf as of a snapshot of now. rel: a heap table, locked by the caller.
void read_mark(Relation rel, Snapshot snapshot, LeafMark* mark);

// The mark of a relation, or null.
const LeafMark* find_mark(const HighWater& marks, Oid relation);

}  // namespace kde_pg
