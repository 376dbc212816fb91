// See block_hash.h.
#include "pg/read/block_hash.h"

#include "pg/read/block_range.h"
#include "pg/read/row_reader.h"

extern "C" {
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

namespace kde_pg {

void RowHasher::begin(Relation relation, Relation leaf, const AttrNumber* column, int n,
                      uint64 seed) {
  n_ = n;
  seed_ = seed;
  last_ = 0;
  attnum_ = static_cast<AttrNumber*>(palloc(sizeof(AttrNumber) * static_cast<Size>(n + 1)));
  for (int i = 0; i < n; ++i) {
    attnum_[i] = leaf_attnum(relation, column[i], leaf);
    last_ = Max(last_, attnum_[i]);
  }
}

uint64 RowHasher::hash_of(TupleTableSlot* slot) const {
  slot_getsomeattrs(slot, last_);
  uint64 hash = seed_;
  for (int i = 0; i < n_; ++i) {
    const int at = attnum_[i] - 1;
    const Datum value = slot->tts_values[at];
    if (slot->tts_isnull[at]) {
      hash = hash_combine64(hash, static_cast<uint64>(i) + 1);
      continue;
    }
    const Form_pg_attribute of = TupleDescAttr(slot->tts_tupleDescriptor, at);
    const auto of_bytes = [&](const void* bytes, Size size) {
      hash = hash_bytes_extended(static_cast<const unsigned char*>(bytes), static_cast<int>(size),
                                 hash);
    };
    if (of->attbyval) {
      of_bytes(&value, sizeof value);
    } else if (of->attlen > 0) {
      of_bytes(DatumGetPointer(value), static_cast<Size>(of->attlen));
    } else if (of->attlen == -1) {
      struct varlena* whole = PG_DETOAST_DATUM_PACKED(value);
      of_bytes(VARDATA_ANY(whole), VARSIZE_ANY_EXHDR(whole));
      if (reinterpret_cast<Pointer>(whole) != DatumGetPointer(value)) pfree(whole);
    } else {
      of_bytes(DatumGetCString(value), strlen(DatumGetCString(value)) + 1);
    }
  }
  return hash;
}

const AttrNumber* columns_of(const Bitmapset* set, int* n) {
  auto* out = static_cast<AttrNumber*>(
      palloc(sizeof(AttrNumber) * static_cast<Size>(bms_num_members(set) + 1)));
  *n = 0;
  for (int i = -1; (i = bms_next_member(set, i)) >= 0;) out[(*n)++] = static_cast<AttrNumber>(i);
  return out;
}

uint64 new_hash_seed() {
  uint64 seed;
  if (!pg_strong_random(&seed, sizeof seed))
    ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate a random number")));
  return seed;
}

uint64 hash_blocks(const RowHasher& hasher, Relation rel, Snapshot snapshot, BlockNumber first,
                   BlockNumber end) {
  end = Min(end, RelationGetNumberOfBlocks(rel));
  uint64 sum = 0;
  if (first >= end) return sum;
  TupleTableSlot* slot = table_slot_create(rel, nullptr);
  TableScanDesc scan = begin_block_scan(rel, snapshot);
  set_block_range(scan, first, end);
  while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot)) {
    CHECK_FOR_INTERRUPTS();
    sum += hasher.hash_of(slot);
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
  return sum;
}

}  // namespace kde_pg
