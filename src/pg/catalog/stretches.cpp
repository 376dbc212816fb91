// See stretches.h.
#include "pg/catalog/stretches.h"

extern "C" {
#include "access/detoast.h"
}

namespace kde_pg {

struct StretchReader::Entry {
  Oid leaf;
  BlockNumber first, end;
  uint32 size;  // of the density with its length word; 0: none
  uint64 at;    // behind the length word of the whole

  Size hashes() const { return sizeof(uint64) * (end - first); }
};

namespace {

struct Head {
  uint32 version;
  int32 size;
  uint64 seed;
};
constexpr uint32 kVersion = 1;
// No fit makes as many.
constexpr int32 kMostStretches = 4096;

[[noreturn]] void raise_corrupted() {
  ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                  errmsg("what is kept of stretches of a density's blocks is damaged"),
                  errhint("Fit it again with kde_fit.")));
  pg_unreachable();
}

// Bytes [at, at + size), palloc'ed.
char* slice_of(struct varlena* stored, Size at, Size size) {
  struct varlena* out =
      detoast_attr_slice(stored, static_cast<int32>(at), static_cast<int32>(size));
  if (VARSIZE_ANY_EXHDR(out) != size) raise_corrupted();
  return VARDATA_ANY(out);
}

}  // namespace

bytea* stretches_to_bytes(List* stretches) {
  using Entry = StretchReader::Entry;
  const int n = list_length(stretches);
  if (n == 0 || n > kMostStretches) return nullptr;
  auto* entry = static_cast<Entry*>(palloc0(sizeof(Entry) * static_cast<Size>(n)));
  Size at = sizeof(Head) + sizeof(Entry) * static_cast<Size>(n);
  for (int i = 0; i < n; ++i) {
    const auto* of = static_cast<const KeptStretch*>(list_nth(stretches, i));
    const Size size = of->density != nullptr ? VARSIZE(of->density) : 0;
    entry[i] = {of->leaf, of->first, of->end, static_cast<uint32>(size), at};
    at += size + entry[i].hashes();
  }
  if (!AllocSizeIsValid(VARHDRSZ + at)) return nullptr;
  auto* out = static_cast<bytea*>(palloc(VARHDRSZ + at));
  SET_VARSIZE(out, VARHDRSZ + at);
  const Head head = {kVersion, n, static_cast<const KeptStretch*>(linitial(stretches))->seed};
  memcpy(VARDATA(out), &head, sizeof head);
  memcpy(VARDATA(out) + sizeof head, entry, sizeof(Entry) * static_cast<Size>(n));
  for (int i = 0; i < n; ++i) {
    const auto* of = static_cast<const KeptStretch*>(list_nth(stretches, i));
    char* to = VARDATA(out) + entry[i].at;
    if (of->density != nullptr) memcpy(to, of->density, entry[i].size);
    memcpy(to + entry[i].size, of->hash, entry[i].hashes());
  }
  return out;
}

StretchReader::StretchReader(struct varlena* stored) : stored_(stored) {
  if (stored == nullptr) return;
  Head head;
  memcpy(&head, slice_of(stored, 0, sizeof head), sizeof head);
  if (head.version != kVersion || head.size < 0 || head.size > kMostStretches) return;
  size_ = head.size;
  seed_ = head.seed;
  const Size bytes = sizeof(Entry) * static_cast<Size>(size_);
  auto* entry = static_cast<Entry*>(palloc(bytes));
  memcpy(entry, slice_of(stored, sizeof head, bytes), bytes);
  entry_ = entry;
}

Stretch StretchReader::stretch(int i) const {
  return {entry_[i].leaf, entry_[i].first, entry_[i].end, false};
}

struct varlena* StretchReader::density(int i) const {
  const Entry& e = entry_[i];
  if (e.size == 0) return nullptr;
  if (e.size < VARHDRSZ || e.at > MaxAllocSize || e.size > MaxAllocSize) raise_corrupted();
  auto* out = static_cast<struct varlena*>(palloc(e.size));
  memcpy(out, slice_of(stored_, e.at, e.size), e.size);
  if (VARATT_IS_COMPRESSED(out) || VARSIZE_ANY(out) != e.size) raise_corrupted();
  return out;
}

const uint64* StretchReader::hash(int i) const {
  const Entry& e = entry_[i];
  if (e.at > MaxAllocSize || e.size > MaxAllocSize || e.end < e.first) raise_corrupted();
  auto* out = static_cast<uint64*>(palloc(e.hashes() + 1));
  memcpy(out, slice_of(stored_, e.at + e.size, e.hashes()), e.hashes());
  return out;
}

}  // namespace kde_pg
