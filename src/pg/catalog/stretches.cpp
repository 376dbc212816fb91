// Access to kde_aqp.fitted_stretches by the index of its key, fitted_stretches_key. The layout is that of the install script.
#include "pg/catalog/stretches.h"

#include "pg/catalog/extension_lock.h"
#include "pg/catalog/own_row.h"

extern "C" {
#include "access/xact.h"
#include "catalog/indexing.h"
}

namespace kde_pg {

namespace {

enum Column {
  kDensityId = 1,
  kLeaf,
  kFirstBlock,
  kEndBlock,
  kDensity,
  kHashes,
  kColumns = kHashes
};

[[noreturn]] void raise_corrupted() {
  ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                  errmsg("what is kept of stretches of a density's blocks is damaged"),
                  errhint("Fit it again with kde_fit.")));
  pg_unreachable();
}

Size bytes_of_hashes(const Stretch& s) { return sizeof(uint64) * (s.end - s.first); }

// Where a row's blocks are; false: it is damaged.
bool read_place(HeapTuple row, TupleDesc desc, Stretch* out) {
  RowReader read(row, desc);
  int64 first = -1, end = -1;
  if (!read(kLeaf, &out->leaf) || !read(kFirstBlock, &first) || !read(kEndBlock, &end) ||
      first < 0 || first >= end || end > InvalidBlockNumber)
    return false;
  out->first = static_cast<BlockNumber>(first);
  out->end = static_cast<BlockNumber>(end);
  return true;
}

}  // namespace

Relation open_stretches(LOCKMODE lock) {
  return open_own_table(OwnTable::fitted_stretches, kColumns, lock);
}

StretchReader::StretchReader(Relation table, int64 id, uint64 seed, Snapshot snapshot)
    : table_(table), id_(id), seed_(seed), snapshot_(snapshot) {
  int room = 0;
  const FirstColumn key = is_density(id);
  for_rows(table, &key, snapshot, [&](HeapTuple row) {
    add(row, &room);
    return true;
  });
}

void StretchReader::add(HeapTuple row, int* room) {
  CHECK_FOR_INTERRUPTS();
  if (size_ == *room) {
    *room = Max(2 * *room, 64);
    const Size size = sizeof(Entry) * static_cast<Size>(*room);
    entry_ = static_cast<Entry*>(entry_ == nullptr ? palloc(size) : repalloc(entry_, size));
  }
  Stretch place = {};
  if (!read_place(row, RelationGetDescr(table_), &place)) raise_corrupted();
  const Entry* before = size_ > 0 ? &entry_[size_ - 1] : nullptr;
  if (before != nullptr && before->leaf == place.leaf && before->end > place.first)
    raise_corrupted();
  entry_[size_++] = {place.leaf, place.first, place.end, row->t_self};
}

HeapTuple StretchReader::row(int i) const {
  HeapTuple out = row_at(table_, entry_[i].tid, kDensityId, id_, snapshot_);
  if (out == nullptr) raise_corrupted();
  return out;
}

namespace {

struct varlena* density_in(HeapTuple row, TupleDesc desc) {
  struct varlena* stored = nullptr;
  if (!RowReader(row, desc)(kDensity, &stored)) return nullptr;
  return PG_DETOAST_DATUM_COPY(PointerGetDatum(stored));
}

const uint64* hashes_in(HeapTuple row, TupleDesc desc, const Stretch& of) {
  struct varlena* stored = nullptr;
  if (!RowReader(row, desc)(kHashes, &stored)) raise_corrupted();
  const struct varlena* bytes = PG_DETOAST_DATUM_PACKED(PointerGetDatum(stored));
  if (VARSIZE_ANY_EXHDR(bytes) != bytes_of_hashes(of)) raise_corrupted();
  auto* out = static_cast<uint64*>(palloc(bytes_of_hashes(of)));
  memcpy(out, VARDATA_ANY(bytes), bytes_of_hashes(of));
  return out;
}

}  // namespace

struct varlena* StretchReader::density(int i) const {
  return density_in(row(i), RelationGetDescr(table_));
}

const uint64* StretchReader::hash(int i) const {
  return hashes_in(row(i), RelationGetDescr(table_), stretch(i));
}

void StretchReader::fetch(KeptStretch* stretch) const {
  HeapTuple found = row(stretch->number);
  stretch->density = density_in(found, RelationGetDescr(table_));
  stretch->hash = hashes_in(found, RelationGetDescr(table_), this->stretch(stretch->number));
}

namespace {

HeapTuple row_to_store(int64 id, KeptStretch* stretch, TupleDesc desc) {
  int64 first = stretch->first, end = stretch->end;
  const Size size = bytes_of_hashes({stretch->leaf, stretch->first, stretch->end});
  auto* hashes = static_cast<struct varlena*>(palloc(VARHDRSZ + size));
  SET_VARSIZE(hashes, VARHDRSZ + size);
  memcpy(VARDATA(hashes), stretch->hash, size);
  RowWriter<kColumns> row;
  row(kDensityId, &id);
  row(kLeaf, &stretch->leaf);
  row(kFirstBlock, &first);
  row(kEndBlock, &end);
  row(kDensity, &stretch->density);
  row(kHashes, &hashes);
  return row.make(desc);
}

}  // namespace

void stretches_store(int64 id, List* stretches) {
  Relation table = open_stretches(RowExclusiveLock);
  const FirstColumn key = is_density(id);
  int at = 0;
  const int n = list_length(stretches);
  const auto next_stored = [&]() -> const KeptStretch* {
    while (at < n && static_cast<const KeptStretch*>(list_nth(stretches, at))->number < 0) ++at;
    return at < n ? static_cast<const KeptStretch*>(list_nth(stretches, at)) : nullptr;
  };
  for_rows(table, &key, nullptr, [&](HeapTuple row) {
    CHECK_FOR_INTERRUPTS();
    const KeptStretch* kept = next_stored();
    Stretch place = {};
    const bool is_kept = kept != nullptr && read_place(row, RelationGetDescr(table), &place) &&
                         place.leaf == kept->leaf && place.first == kept->first &&
                         place.end == kept->end;
    if (is_kept)
      ++at;
    else
      delete_row(table, row);
    return true;
  });
  if (next_stored() != nullptr) raise_concurrent_update();
  MemoryContext each =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp stretch", ALLOCSET_DEFAULT_SIZES);
  CatalogIndexState indexes = CatalogOpenIndexes(table);
  for (KeptStretch* stretch : of_list<KeptStretch>(stretches)) {
    if (stretch->number >= 0) continue;
    MemoryContext caller = MemoryContextSwitchTo(each);
    CatalogTupleInsertWithInfo(table, row_to_store(id, stretch, RelationGetDescr(table)), indexes);
    MemoryContextSwitchTo(caller);
    MemoryContextReset(each);
    CHECK_FOR_INTERRUPTS();
  }
  CatalogCloseIndexes(indexes);
  MemoryContextDelete(each);
  table_close(table, NoLock);
  CommandCounterIncrement();
}

}  // namespace kde_pg
