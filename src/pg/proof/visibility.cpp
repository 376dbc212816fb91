// Reads visibility maps, a page at a time under its lock, and blocks' headers.
#include "pg/proof/visibility.h"

extern "C" {
#include "access/visibilitymap.h"
#include "common/hashfn.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
}

namespace kde_pg {

namespace {

constexpr Size kMapBytes = BLCKSZ - MAXALIGN(SizeOfPageHeaderData);
constexpr BlockNumber kBlocksPerByte = 4;
constexpr BlockNumber kBlocksPerPage = static_cast<BlockNumber>(kMapBytes) * kBlocksPerByte;
static_assert(VISIBILITYMAP_ALL_VISIBLE == 1 && VISIBILITYMAP_VALID_BITS == 3);

bool is_set(const uint8* bits, BlockNumber block) {
  return ((bits[block / kBlocksPerByte] >> (2 * (block % kBlocksPerByte))) & 1) != 0;
}

constexpr uint64 kVisible = UINT64CONST(0x5555555555555555);
constexpr BlockNumber kBlocksPerWord = 32;

// How many of the first `blocks` bits are clear. Bits are of as many words as there are, so that
// whole ones are looked at first.
BlockNumber count_clear(const uint8* bits, BlockNumber blocks) {
  constexpr BlockNumber kWordsAtOnce = 64;
  const auto* word = reinterpret_cast<const uint64*>(bits);
  const BlockNumber words = blocks / kBlocksPerWord;
  BlockNumber clear = 0, w = 0;
  for (; w + kWordsAtOnce <= words; w += kWordsAtOnce) {
    uint64 all = ~UINT64CONST(0);
    for (BlockNumber i = 0; i < kWordsAtOnce; ++i) all &= word[w + i];
    if ((all & kVisible) == kVisible) continue;
    for (BlockNumber i = 0; i < kWordsAtOnce; ++i)
      clear += static_cast<BlockNumber>(__builtin_popcountll(~word[w + i] & kVisible));
  }
  for (; w < words; ++w)
    clear += static_cast<BlockNumber>(__builtin_popcountll(~word[w] & kVisible));
  for (BlockNumber block = words * kBlocksPerWord; block < blocks; ++block)
    clear += is_set(bits, block) ? 0 : 1;
  return clear;
}

// How many of them are set, but not in `others`.
BlockNumber count_set_without(const uint8* bits, const uint8* others, BlockNumber blocks) {
  const auto* word = reinterpret_cast<const uint64*>(bits);
  const auto* other = reinterpret_cast<const uint64*>(others);
  const BlockNumber words = blocks / kBlocksPerWord;
  BlockNumber out = 0;
  for (BlockNumber w = 0; w < words; ++w)
    out += static_cast<BlockNumber>(__builtin_popcountll(word[w] & ~other[w] & kVisible));
  for (BlockNumber block = words * kBlocksPerWord; block < blocks; ++block)
    out += is_set(bits, block) && !is_set(others, block) ? 1 : 0;
  return out;
}

// Calls visit(block) for each of them that is set, or clear, until it returns false. Words without
// one are passed over at once.
template <typename Visit>
void for_bits(const uint8* bits, BlockNumber blocks, bool set, Visit visit) {
  const auto* word = reinterpret_cast<const uint64*>(bits);
  for (BlockNumber first = 0; first < blocks; first += kBlocksPerWord) {
    const uint64 here = word[first / kBlocksPerWord];
    if (((set ? here : ~here) & kVisible) == 0) continue;
    const BlockNumber end = Min(blocks, first + kBlocksPerWord);
    for (BlockNumber block = first; block < end; ++block)
      if (is_set(bits, block) == set && !visit(block)) return;
  }
}

// Calls visit(first, count, bits, lsn) for the page of the map that has `count` blocks from `first`
// on, under the page's lock: it must not call the server. bits: null if there is no such page.
// *buffer: where the page is kept pinned.
template <typename Visit>
void look_at_map_page(Relation rel, BlockNumber first, BlockNumber count, Buffer* buffer,
                      Visit visit) {
  (void)visibilitymap_get_status(rel, first, buffer);
  if (!BufferIsValid(*buffer)) {
    visit(first, count, nullptr, InvalidXLogRecPtr);
    return;
  }
  LockBuffer(*buffer, BUFFER_LOCK_SHARE);
  Page page = BufferGetPage(*buffer);
  visit(first, count, reinterpret_cast<const uint8*>(PageGetContents(page)), PageGetLSN(page));
  LockBuffer(*buffer, BUFFER_LOCK_UNLOCK);
}

// Calls visit(first, count, &buffer) for each page of the map of the first `blocks` blocks, until
// it returns false.
template <typename Visit>
void for_map_pages(BlockNumber blocks, Visit visit) {
  Buffer buffer = InvalidBuffer;
  for (BlockNumber first = 0; first < blocks; first += kBlocksPerPage) {
    CHECK_FOR_INTERRUPTS();
    if (!visit(first, Min(blocks - first, kBlocksPerPage), &buffer)) break;
    if (blocks - first <= kBlocksPerPage) break;  // `first` would overflow
  }
  if (BufferIsValid(buffer)) ReleaseBuffer(buffer);
}

XLogRecPtr lsn_of_block(Relation rel, BlockNumber block) {
  Buffer buffer = ReadBuffer(rel, block);
  // The lock keeps writers out, the function hint bits.
  LockBuffer(buffer, BUFFER_LOCK_SHARE);
  const XLogRecPtr lsn = BufferGetLSNAtomic(buffer);
  UnlockReleaseBuffer(buffer);
  return lsn;
}

// When this session read all of a map page's blocks last: where each change stamps the page, it spends
// no more than a share of its time on them.
struct PagesRead {
  TimestampTz begun, ended;
};
PagesRead last_pages = {0, 0};

TimestampTz next_page_at(const Headers& headers) {
  return last_pages.ended + headers.share * (last_pages.ended - last_pages.begun);
}

// What the headers of a map page's blocks told. While the page's stamp is the same no bit was set
// since, so blocks whose bits are set, and whose own LSNs were <= lsn, still did not change. Own
// LSNs above it stay so: such blocks need not be looked at again.
struct Remembered {
  Oid relation, file;
  BlockNumber first;
  XLogRecPtr lsn;
  XLogRecPtr stamp;  // of what set bits prove; 0: nothing
  bool all;          // of them: then `proven` says nothing
  bool any_changed;  // else `changed` says nothing
  // Blocks, as bits of the map; kMapBytes, or null.
  uint8* proven;
  uint8* changed;
};
// Of one table 128 GB; 8 MB where each page has a block that is not proven.
constexpr BlockNumber kRemembered = 512;
Remembered remembered[kRemembered];

// Pages of one map lie side by side.
Remembered* place_of_page(Relation rel, BlockNumber first, XLogRecPtr lsn) {
  const uint32 hash = murmurhash32(RelationGetRelid(rel)) ^ murmurhash32(static_cast<uint32>(lsn));
  return &remembered[(hash + first / kBlocksPerPage) % kRemembered];
}

// Null if it is not of that page.
const Remembered* recall(Relation rel, BlockNumber first, XLogRecPtr lsn) {
  const Remembered* it = place_of_page(rel, first, lsn);
  const bool is_it = it->relation == RelationGetRelid(rel) && it->file == file_of(rel) &&
                     it->first == first && it->lsn == lsn;
  return is_it ? it : nullptr;
}

void keep_bits(uint8** place, const uint8* bits) {
  if (*place == nullptr)
    *place = static_cast<uint8*>(MemoryContextAlloc(TopMemoryContext, kMapBytes));
  memcpy(*place, bits, kMapBytes);
}

// Of that page, in the place of another.
Remembered* remember(Relation rel, BlockNumber first, XLogRecPtr lsn) {
  if (recall(rel, first, lsn) == nullptr) {
    Remembered* place = place_of_page(rel, first, lsn);
    *place = {RelationGetRelid(rel), file_of(rel),  first, lsn, InvalidXLogRecPtr, false, false,
              place->proven,         place->changed};
  }
  return place_of_page(rel, first, lsn);
}

// A page of the map, as it was at one moment.
struct MapPage {
  BlockNumber first, count, clear;
  XLogRecPtr stamp;
  bool is_stamped;                        // since the proof
  bool is_known;                          // what headers prove of set bits
  BlockNumber unproven;                   // of set bits, without a look at headers
  BlockNumber unlooked;                   // clear bits whose blocks' own LSNs may be <= the proof's
  alignas(uint64) uint8 bits[kMapBytes];  // where headers may prove more
  alignas(uint64) uint8 changed[kMapBytes];  // the same: what need not be looked at
};

bool may_prove_set(const MapPage& page, const Noted& proof) {
  return page.unproven > 0 && !page.is_known && (proof.all_set || proof.all_ended);
}

bool may_prove_clear(const MapPage& page, const Noted& proof) {
  return page.unlooked > 0 && proof.all_ended;
}

// Looks at a page under its lock. with_headers: its bits are taken where headers may prove more.
void take_map_page(Relation rel, const Noted& proof, bool with_headers, Buffer* buffer,
                   MapPage* page) {
  static const uint8 no_bits[kMapBytes] = {};
  const auto take = [&](BlockNumber first, BlockNumber count, const uint8* bits, XLogRecPtr stamp) {
    page->clear = page->unlooked = bits == nullptr ? count : count_clear(bits, count);
    page->stamp = stamp;
    page->is_stamped = stamp > proof.lsn;
    page->is_known = false;
    page->unproven = page->is_stamped ? count - page->clear : 0;
    if (!(proof.all_set || proof.all_ended) || (page->unproven == 0 && page->clear == 0)) return;
    if (bits == nullptr) bits = no_bits;
    const Remembered* known = recall(rel, first, proof.lsn);
    const uint8* changed = known != nullptr && known->any_changed ? known->changed : no_bits;
    if (known != nullptr && known->any_changed)
      page->unlooked -= count_set_without(changed, bits, count);
    if (page->unproven > 0 && known != nullptr && known->stamp == stamp) {
      page->is_known = true;
      page->unproven = known->all ? 0 : count_set_without(bits, known->proven, count);
    }
    if (!with_headers || !(may_prove_set(*page, proof) || may_prove_clear(*page, proof))) return;
    memcpy(page->bits, bits, kMapBytes);
    memcpy(page->changed, changed, kMapBytes);
  };
  look_at_map_page(rel, page->first, page->count, buffer, take);
}

// Blocks of one page of the map that are not proven, though their own LSNs may prove them: a block
// that changes after the page was taken has an own LSN above. Writes to the page's bits.
BlockNumber count_unproven_of_page(Relation rel, MapPage* page, const Noted& proof,
                                   Headers* headers) {
  bool read_set = may_prove_set(*page, proof);
  TimestampTz page_begun = 0;
  if (read_set && page->unproven <= headers->left) {
    headers->left -= page->unproven;
  } else if (read_set && headers->pages > 0 && GetCurrentTimestamp() >= next_page_at(*headers)) {
    --headers->pages;
    page_begun = GetCurrentTimestamp();
  } else if (read_set) {
    read_set = false;
    headers->put_off = true;
  }
  const bool read_clear = may_prove_clear(*page, proof) && page->unlooked <= headers->left;
  if (read_clear) headers->left -= page->unlooked;

  BlockNumber unproven = read_set ? 0 : page->unproven;
  if (!read_clear) unproven += page->clear;
  bool new_changed = false;
  const auto is_proven = [&](BlockNumber block) {
    CHECK_FOR_INTERRUPTS();
    uint8& changed = page->changed[block / kBlocksPerByte];
    const auto bit = static_cast<uint8>(1u << (2 * (block % kBlocksPerByte)));
    if ((changed & bit) == 0 && lsn_of_block(rel, page->first + block) <= proof.lsn) return true;
    new_changed = new_changed || (changed & bit) == 0;
    changed |= bit;
    ++unproven;
    return false;
  };
  if (read_clear)
    for_bits(page->bits, page->count, false,
             [&](BlockNumber block) { return is_proven(block) || !headers->all_or_nothing; });
  bool all = true;
  if (read_set && !(headers->all_or_nothing && unproven > 0))
    for_bits(page->bits, page->count, true, [&](BlockNumber block) {
      if (is_proven(block)) return true;
      all = false;
      uint8& byte = page->bits[block / kBlocksPerByte];
      byte &= static_cast<uint8>(~(1u << (2 * (block % kBlocksPerByte))));
      return !headers->all_or_nothing;
    });
  if (headers->all_or_nothing && unproven > 0) return unproven;
  if (new_changed || read_set) {
    Remembered* place = remember(rel, page->first, proof.lsn);
    if (new_changed) {
      keep_bits(&place->changed, page->changed);
      place->any_changed = true;
    }
    if (read_set) {
      if (!all) keep_bits(&place->proven, page->bits);
      place->all = all;
      place->stamp = page->stamp;
    }
  }
  if (page_begun != 0) last_pages = {page_begun, GetCurrentTimestamp()};
  return unproven;
}

}  // namespace

BlockNumber count_clear(Relation rel, BlockNumber blocks) {
  BlockNumber clear = 0;
  for_map_pages(blocks, [&](BlockNumber first, BlockNumber of, Buffer* buffer) {
    look_at_map_page(rel, first, of, buffer,
                     [&](BlockNumber, BlockNumber count, const uint8* bits, XLogRecPtr) {
                       clear += bits == nullptr ? count : count_clear(bits, count);
                     });
    return true;
  });
  return clear;
}

// Each page of the map is looked at once.
double count_unproven(Relation rel, BlockNumber blocks, const Noted& proof, Headers* headers,
                      Sum* sum) {
  static MapPage page;  // of several kilobytes; nothing below comes back here
  double unproven = 0;
  for_map_pages(blocks, [&](BlockNumber first, BlockNumber count, Buffer* buffer) {
    page.first = first;
    page.count = count;
    const bool with_headers = headers->left > 0 || headers->pages > 0;
    take_map_page(rel, proof, with_headers, buffer, &page);
    sum->clear += page.clear;
    if (page.is_stamped) sum->stamped += page.count - page.clear;
    if (with_headers && (may_prove_set(page, proof) || may_prove_clear(page, proof))) {
      unproven += count_unproven_of_page(rel, &page, proof, headers);
      return !headers->all_or_nothing || unproven == 0;
    }
    unproven += static_cast<double>(page.clear) + page.unproven;
    return true;
  });
  return unproven;
}

bool for_unproven(Relation rel, BlockNumber blocks, const Noted& proof, bool read_clear,
                  kde::FunctionRef<bool(BlockNumber)> visit) {
  static const uint8 no_bits[kMapBytes] = {};
  static MapPage page;
  bool all = true;
  for_map_pages(blocks, [&](BlockNumber first, BlockNumber of, Buffer* buffer) {
    const auto take = [&](BlockNumber, BlockNumber, const uint8* bits, XLogRecPtr stamp) {
      memcpy(page.bits, bits != nullptr ? bits : no_bits, kMapBytes);
      page.stamp = stamp;
    };
    look_at_map_page(rel, first, of, buffer, take);
    const Remembered* known = recall(rel, first, proof.lsn);
    const bool is_known = known != nullptr && known->stamp == page.stamp;
    const uint8* changed = known != nullptr && known->any_changed ? known->changed : no_bits;
    const bool by_map = page.stamp <= proof.lsn || (is_known && known->all);
    const auto is_proven = [&](BlockNumber block) {
      if (is_set(page.bits, block)) return is_known && is_set(known->proven, block);
      return read_clear && proof.all_ended && !is_set(changed, block) &&
             lsn_of_block(rel, first + block) <= proof.lsn;
    };
    const auto look = [&](BlockNumber block) {
      CHECK_FOR_INTERRUPTS();
      return all = is_proven(block) || visit(first + block);
    };
    for_bits(page.bits, of, false, look);
    if (all && !by_map) for_bits(page.bits, of, true, look);
    return all;
  });
  return all;
}

// Line pointers of blocks: no snapshot sees more rows in them.
double count_line_pointers(Relation rel, BlockNumber first, BlockNumber end) {
  double pointers = 0;
  for (BlockNumber block = first; block < end; ++block) {
    CHECK_FOR_INTERRUPTS();
    Buffer buffer = ReadBuffer(rel, block);
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    Page page = BufferGetPage(buffer);
    if (!PageIsNew(page)) pointers += PageGetMaxOffsetNumber(page);
    UnlockReleaseBuffer(buffer);
  }
  return pointers;
}

}  // namespace kde_pg
