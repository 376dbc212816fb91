// Reads visibility maps, a page at a time under its lock, and blocks' headers.
#include "pg/proof/proof.h"

#include "pg/proof/members.h"

#include <algorithm>

extern "C" {
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
}

namespace kde_pg {

namespace {

// ------------------------------------------------------------------------------------- reasons

constexpr const char* kInRecovery = "the server was in recovery at the fit";
constexpr const char* kAging = "old_snapshot_threshold is set";
constexpr const char* kNewFile = "the transaction of the fit had made or emptied the table";
constexpr const char* kOtherKind = "it is no permanent heap table";
constexpr const char* kCatalogTable = "rows of system catalogs are changed in place";
constexpr const char* kForeign = "rows of foreign tables are another server's";
constexpr const char* kShards = "its rows lie in shards";
constexpr const char* kBeingChanged = "its definition is being changed";
constexpr const char* kElsewhere = "queries see other rows than the table's own";
constexpr const char* kByValue = "it was stored as a value";
constexpr const char* kByQuery = "it was stored by a query";
constexpr const char* kByParts = "what is known of its parts is not known of all";
constexpr const char* kNotNoted = "it was not noted at the fit";
constexpr const char* kOtherSystem = "the server was upgraded or restored since";
constexpr const char* kOtherLeaves = "tables were attached, detached, made or dropped since";
constexpr const char* kOtherFile = "the table was written anew since";
constexpr const char* kOtherColumns = "columns were changed since";

// Those that a proof is stored with.
constexpr const char* kStoredReasons[] = {
    kInRecovery,   kAging,     kNewFile, kOtherKind, kCatalogTable, kForeign, kShards,
    kBeingChanged, kElsewhere, kByValue, kByQuery,   kByParts,      kNotNoted};

// --------------------------------------------------------------------------------------- leaves

// Null if it is gone, or *why it cannot be looked at now. To be closed by close_member().
Relation open_member(Oid member, const char** why) {
  if (!ConditionalLockRelationOid(member, AccessShareLock)) {
    *why = kBeingChanged;
    return nullptr;
  }
  Relation rel = try_relation_open(member, NoLock);
  if (rel == nullptr) UnlockRelationOid(member, AccessShareLock);
  return rel;
}

void close_member(Relation rel) { relation_close(rel, AccessShareLock); }

// Null, or why the map proves nothing of a leaf.
const char* why_not_proven(Relation rel) {
  if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE) return kForeign;
  if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT ||
      rel->rd_rel->relam != HEAP_TABLE_AM_OID)
    return kOtherKind;
  if (IsSystemRelation(rel)) return kCatalogTable;
  if (file_is_new(rel)) return kNewFile;
  return nullptr;
}

// A row's bytes in a block are at least its header's, those of its fixed columns that are never
// null, and its line pointer's. Columns that older rows do not have yet, or that are computed, do
// not count.
uint32 rows_a_block(TupleDesc desc) {
  Size data = 0;
  for (int i = 0; i < desc->natts; ++i) {
    const Form_pg_attribute column = TupleDescAttr(desc, i);
    if (!column->attisdropped && column->attlen > 0 && !column->atthasmissing &&
        column->attgenerated != ATTRIBUTE_GENERATED_VIRTUAL && is_not_null(desc, i))
      data += static_cast<Size>(column->attlen);
  }
  const Size row =
      MAXALIGN(MAXALIGN(SizeofHeapTupleHeader) + data) + static_cast<Size>(sizeof(ItemIdData));
  const Size rows = (BLCKSZ - SizeOfPageHeaderData) / row;
  return static_cast<uint32>(std::clamp(rows, Size{1}, static_cast<Size>(MaxHeapTuplesPerPage)));
}

uint64 hash_more(uint64 hash, const void* bytes, Size size) {
  return hash_bytes_extended(static_cast<const unsigned char*>(bytes), static_cast<int>(size),
                             hash);
}

// How a virtual generated column is computed.
uint64 hash_expression(uint64 hash, TupleDesc desc, int column) {
  for (int k = 0; desc->constr != nullptr && k < desc->constr->num_defval; ++k) {
    const AttrDefault& value = desc->constr->defval[k];
    if (value.adnum == column + 1) return hash_more(hash, value.adbin, strlen(value.adbin));
  }
  return hash;
}

// The number in `leaf` of a column by its name, -1 if it has none. Most often it is the same.
int column_in(TupleDesc leaf, const Form_pg_attribute column) {
  const auto is = [&](int i) {
    const Form_pg_attribute other = TupleDescAttr(leaf, i);
    return !other->attisdropped && strcmp(NameStr(other->attname), NameStr(column->attname)) == 0;
  };
  const int same = column->attnum - 1;
  if (same < leaf->natts && is(same)) return same;
  for (int i = 0; i < leaf->natts; ++i)
    if (is(i)) return i;
  return -1;
}

// What the columns of a relation that a proof is of are in one of its leaves.
uint64 hash_columns(TupleDesc relation, const Proof& proof, TupleDesc leaf) {
  uint64 hash = static_cast<uint64>(proof.columns);
  for (int k = 0; k < proof.columns; ++k) {
    const int i = proof.column[k] - 1;
    struct {
      int32 of, at;
      uint32 type;
      int32 typmod;
      uint32 collation;
    } what = {i, -1, 0, 0, 0};
    if (i < relation->natts) {
      const Form_pg_attribute column = TupleDescAttr(relation, i);
      what.at = relation == leaf ? i : column_in(leaf, column);
      if (column->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
        hash = hash_expression(hash, relation, i);
    }
    if (what.at >= 0) {
      const Form_pg_attribute other = TupleDescAttr(leaf, what.at);
      what.type = other->atttypid;
      what.typmod = other->atttypmod;
      what.collation = other->attcollation;
    }
    hash = hash_more(hash, &what, sizeof what);
  }
  return hash;
}

// By which transactions their rows in pg_attribute were written. ALTER TYPE writes them, VACUUM
// FULL, CLUSTER and ANALYZE do not, and freezing keeps the number. 0: by this one, which may go on
// to write them.
uint64 hash_writers(TupleDesc relation, const Proof& proof, Relation leaf) {
  uint64 hash = 1;
  for (int k = 0; k < proof.columns; ++k) {
    const int i = proof.column[k] - 1;
    if (i >= relation->natts) continue;
    const int at = column_in(RelationGetDescr(leaf), TupleDescAttr(relation, i));
    HeapTuple row = at < 0 ? nullptr
                           : SearchSysCache2(ATTNUM, ObjectIdGetDatum(RelationGetRelid(leaf)),
                                             Int16GetDatum(static_cast<int16>(at + 1)));
    if (!HeapTupleIsValid(row)) continue;
    const TransactionId writer = HeapTupleHeaderGetRawXmin(row->t_data);
    ReleaseSysCache(row);
    if (TransactionIdIsCurrentTransactionId(writer)) return 0;
    hash = hash_more(hash, &writer, sizeof writer);
  }
  return hash != 0 ? hash : 1;
}

// Calls visit(Relation leaf) for each member that may have rows, until it returns why not to go on.
// Returns that, or why a member cannot be looked at. Those that are gone are left out.
template <typename Visit>
const char* for_leaves(Oid relation, Visit visit) {
  const char* why = nullptr;
  List* members = members_of(relation);
  ListCell* cell;
  foreach (cell, members) {
    CHECK_FOR_INTERRUPTS();
    Relation rel = open_member(lfirst_oid(cell), &why);
    if (rel != nullptr && rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE) why = visit(rel);
    if (rel != nullptr) close_member(rel);
    if (why != nullptr) break;
  }
  list_free(members);
  return why;
}

// ----------------------------------------------------------------------------------------- maps

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

// The same for each page of the map of the first `blocks` blocks.
template <typename Visit>
void for_map_pages(Relation rel, BlockNumber blocks, Visit visit) {
  Buffer buffer = InvalidBuffer;
  for (BlockNumber first = 0; first < blocks; first += kBlocksPerPage) {
    CHECK_FOR_INTERRUPTS();
    look_at_map_page(rel, first, Min(blocks - first, kBlocksPerPage), &buffer, visit);
    if (blocks - first <= kBlocksPerPage) break;  // `first` would overflow
  }
  if (BufferIsValid(buffer)) ReleaseBuffer(buffer);
}

BlockNumber count_clear(Relation rel, BlockNumber blocks) {
  BlockNumber clear = 0;
  for_map_pages(rel, blocks, [&](BlockNumber, BlockNumber count, const uint8* bits, XLogRecPtr) {
    clear += bits == nullptr ? count : count_clear(bits, count);
  });
  return clear;
}

XLogRecPtr lsn_of_block(Relation rel, BlockNumber block) {
  Buffer buffer = ReadBuffer(rel, block);
  // The lock keeps writers out, the function hint bits.
  LockBuffer(buffer, BUFFER_LOCK_SHARE);
  const XLogRecPtr lsn = BufferGetLSNAtomic(buffer);
  UnlockReleaseBuffer(buffer);
  return lsn;
}

// Headers that a judgement reads.
struct Headers {
  int64 left;
  int pages;             // of the map, of whose blocks it may read all: they are remembered
  bool all_or_nothing;   // none where they cannot prove that nothing changed
  bool put_off = false;  // out: others are left for the next time
};
constexpr Headers kHeadersOfAnswer = {4096, 1, false};
constexpr Headers kAllHeaders = {PG_INT64_MAX, 0, true};
constexpr Headers kNoHeaders = {0, 0, true};

// When this session may read all of a map page's blocks again: where each change stamps the page,
// it spends no more than a small share of its time on them.
TimestampTz next_page_at = 0;
constexpr TimestampTz kShareOfTime = 20;

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

bool may_prove_set(const MapPage& page, const Proof& proof) {
  return page.unproven > 0 && !page.is_known && (proof.all_set || proof.all_ended);
}

bool may_prove_clear(const MapPage& page, const Proof& proof) {
  return page.unlooked > 0 && proof.all_ended;
}

// Looks at a page under its lock. with_headers: its bits are taken where headers may prove more.
void take_map_page(Relation rel, const Proof& proof, bool with_headers, Buffer* buffer,
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
BlockNumber count_unproven_of_page(Relation rel, MapPage* page, const Proof& proof,
                                   Headers* headers) {
  bool read_set = may_prove_set(*page, proof);
  TimestampTz page_begun = 0;
  if (read_set && page->unproven <= headers->left) {
    headers->left -= page->unproven;
  } else if (read_set && headers->pages > 0 && GetCurrentTimestamp() >= next_page_at) {
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
  if (page_begun != 0) {
    const TimestampTz now = GetCurrentTimestamp();
    next_page_at = now + kShareOfTime * (now - page_begun);
  }
  return unproven;
}

struct Sum {
  double rows = 0, unproven = 0, blocks = 0, added = 0;
  double stamped = 0, clear = 0;  // before headers are read
  bool put_off = false;           // headers, to the next look
};

// Each page of the map is looked at once.
double count_unproven(Relation rel, BlockNumber blocks, const Proof& proof, Headers* headers,
                      Sum* sum) {
  static MapPage page;  // of several kilobytes; nothing below comes back here
  double unproven = 0;
  Buffer buffer = InvalidBuffer;
  for (BlockNumber first = 0; first < blocks; first += kBlocksPerPage) {
    CHECK_FOR_INTERRUPTS();
    page.first = first;
    page.count = Min(blocks - first, kBlocksPerPage);
    const bool with_headers = headers->left > 0 || headers->pages > 0;
    take_map_page(rel, proof, with_headers, &buffer, &page);
    sum->clear += page.clear;
    if (page.is_stamped) sum->stamped += page.count - page.clear;
    if (with_headers && (may_prove_set(page, proof) || may_prove_clear(page, proof))) {
      unproven += count_unproven_of_page(rel, &page, proof, headers);
      if (headers->all_or_nothing && unproven > 0) break;
    } else {
      unproven += static_cast<double>(page.clear) + page.unproven;
    }
    if (blocks - first <= kBlocksPerPage) break;  // `first` would overflow
  }
  if (BufferIsValid(buffer)) ReleaseBuffer(buffer);
  return unproven;
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

// ------------------------------------------------------------------------------------ judgements

// Of a leaf whose file is the same: adds to *sum. *headers: those that may yet be read.
void judge_leaf(Relation rel, const ProofLeaf& then, const Proof& proof, Headers* headers,
                Sum* sum) {
  const BlockNumber now = RelationGetNumberOfBlocks(rel);
  const BlockNumber same = Min(then.blocks, now);
  const uint32 each_now = rows_a_block(RelationGetDescr(rel));
  // Where headers are to prove all or nothing none is read in vain.
  Headers none = kNoHeaders;
  const bool in_vain = headers->all_or_nothing && headers->left > 0 &&
                       (sum->rows > 0 || (!proof.all_ended && count_clear(rel, same) > 0));
  double unproven = count_unproven(rel, same, proof, in_vain ? &none : headers, sum);
  unproven += then.blocks - same;
  sum->rows += unproven * Max(then.rows_a_block, each_now);
  sum->unproven += unproven;
  sum->blocks += then.blocks;
  const BlockNumber added = now - same;
  sum->added += added;
  if (added > 0 && added <= headers->left) {
    headers->left -= added;
    sum->rows += Min(count_line_pointers(rel, same, now), static_cast<double>(added) * each_now);
  } else {
    sum->rows += static_cast<double>(added) * each_now;
  }
}

Judgement unknown(const char* why) {
  Judgement out;
  out.why = why;
  return out;
}

// headers: that it may read. *sum: of what it looked at.
Judgement look(Oid relation, const Proof& proof, Headers headers, Oid columns_of, Sum* sum) {
  if (snapshots_may_age()) return unknown(kAging);
  if (is_of_shards(relation)) return unknown(kShards);
  const char* why = nullptr;
  Relation root = open_member(OidIsValid(columns_of) ? columns_of : relation, &why);
  if (root == nullptr) return unknown(why != nullptr ? why : kOtherLeaves);
  int seen = 0;
  why = for_leaves(relation, [&](Relation rel) -> const char* {
    if (const char* not_proven = why_not_proven(rel)) return not_proven;
    if (seen == proof.leaves || proof.leaf[seen].relation != RelationGetRelid(rel))
      return kOtherLeaves;
    const ProofLeaf& then = proof.leaf[seen++];
    if (then.file != file_of(rel)) return kOtherFile;
    if (then.columns != hash_columns(RelationGetDescr(root), proof, RelationGetDescr(rel)))
      return kOtherColumns;
    judge_leaf(rel, then, proof, &headers, sum);
    return nullptr;
  });
  close_member(root);
  sum->put_off = headers.put_off;
  if (why != nullptr) return unknown(why);
  if (seen != proof.leaves) return unknown(kOtherLeaves);
  Judgement out;
  if (sum->rows == 0) {
    out.changed = Changed::nothing;
    return out;
  }
  out.changed = Changed::at_most;
  out.rows = sum->rows;
  out.new_share = sum->added / Max(sum->blocks + sum->added, 1.0);
  out.unproven_share = sum->unproven / Max(sum->blocks, 1.0);
  return out;
}

// What was judged under snapshots with no transaction in progress: others with the same end see
// what those saw. A transaction with a number of its own is judged anew, as it may have changed
// what tables there are.
struct Judged {
  Oid relation;
  TransactionId end;  // invalid: none
  XLogRecPtr lsn;
  TimestampTz as_of;
  Judgement judgement;
};
constexpr int kJudged = 256;
Judged judged[kJudged];

bool is_quiet(Snapshot snapshot) {
  return snapshot->snapshot_type == SNAPSHOT_MVCC && snapshot->xcnt == 0 &&
         snapshot->subxcnt == 0 && !snapshot->suboverflowed &&
         !TransactionIdIsValid(GetTopTransactionIdIfAny());
}

Judged* place_of(Oid relation, const Proof& proof) {
  return &judged[(murmurhash32(relation) ^ murmurhash32(static_cast<uint32>(proof.lsn))) % kJudged];
}

}  // namespace

namespace {

// Whether no other session holds a lock that writing takes. VACUUM's counts as one.
bool is_unwritten(Oid member) {
  LOCKTAG tag;
  SET_LOCKTAG_RELATION(tag, MyDatabaseId, member);
  int holders;
  pfree(GetLockConflicts(&tag, ShareLock, &holders));
  return holders == 0;
}

// Whether all leaves are among those, both in the order of their numbers.
bool are_among(const Proof& proof, const List* members) {
  int at = 0;
  for (int i = 0; i < proof.leaves; ++i) {
    while (at < list_length(members) && list_nth_oid(members, at) < proof.leaf[i].relation) ++at;
    if (at == list_length(members) || list_nth_oid(members, at) != proof.leaf[i].relation)
      return false;
  }
  return true;
}

}  // namespace

ProofBegun begin_proof(Oid relation) {
  ProofBegun begun = {};
  begun.at = GetCurrentTimestamp();
  if (RecoveryInProgress()) return begun;
  begun.lsn = GetXLogInsertRecPtr();
  begun.next = ReadNextTransactionId();
  List* members = members_of(relation);
  ListCell* cell;
  foreach (cell, members) {
    if (is_unwritten(lfirst_oid(cell)))
      begun.unwritten = lappend_oid(begun.unwritten, lfirst_oid(cell));
  }
  list_free(members);
  return begun;
}

namespace {

// Whether whatever had a number before `next` is ended, as the snapshot sees it, or is this
// transaction's.
bool sees_all_before(Snapshot snapshot, TransactionId next) {
  constexpr int kMostOwn = 64;
  if (snapshot->snapshot_type != SNAPSHOT_MVCC || snapshot->xcnt > 0 || snapshot->subxcnt > 0 ||
      snapshot->suboverflowed)
    return false;
  TransactionId xid = snapshot->xmax;
  for (int i = 0; TransactionIdPrecedes(xid, next); ++i) {
    if (i == kMostOwn || !TransactionIdIsCurrentTransactionId(xid)) return false;
    TransactionIdAdvance(xid);
  }
  return true;
}

}  // namespace

Proof unproven(Unproven why, Proof proof) {
  proof.known = false;
  switch (why) {
    case Unproven::elsewhere:
      proof.why = kElsewhere;
      break;
    case Unproven::by_value:
      proof.why = kByValue;
      break;
    case Unproven::by_query:
      proof.why = kByQuery;
      break;
    case Unproven::by_parts:
      proof.why = kByParts;
      break;
    case Unproven::being_changed:
      proof.why = kBeingChanged;
      break;
  }
  return proof;
}

Proof unproven(Unproven why, TimestampTz since) {
  Proof out;
  out.as_of = since;
  return unproven(why, out);
}

Proof note_proof(Oid relation, Snapshot snapshot, const ProofBegun* begun) {
  Proof out;
  out.as_of = begun != nullptr ? begun->at : GetCurrentTransactionStartTimestamp();
  if (RecoveryInProgress()) out.why = kInRecovery;
  if (snapshots_may_age()) out.why = kAging;
  if (is_of_shards(relation)) out.why = kShards;
  if (out.why != nullptr) return out;
  out.system = GetSystemIdentifier();
  out.lsn = begun != nullptr ? begun->lsn : GetXLogInsertRecPtr();
  int room = 0;
  BlockNumber clear = 0;
  const char* not_proven = nullptr;
  const char* not_seen = for_leaves(relation, [&](Relation rel) -> const char* {
    if (out.leaves == room) {
      room = Max(2 * room, 4);
      const Size size = sizeof(ProofLeaf) * static_cast<Size>(room);
      out.leaf =
          static_cast<ProofLeaf*>(out.leaf == nullptr ? palloc0(size) : repalloc(out.leaf, size));
    }
    ProofLeaf& leaf = out.leaf[out.leaves++];
    leaf = {};
    leaf.relation = RelationGetRelid(rel);
    leaf.file = file_of(rel);
    if (const char* why = why_not_proven(rel)) {
      if (not_proven == nullptr) not_proven = why;
      return nullptr;
    }
    leaf.blocks = RelationGetNumberOfBlocks(rel);
    leaf.rows_a_block = rows_a_block(RelationGetDescr(rel));
    clear += count_clear(rel, leaf.blocks);
    return nullptr;
  });
  if (not_seen != nullptr) out.leaves = 0;
  out.why = not_seen != nullptr ? not_seen : not_proven;
  out.known = out.why == nullptr;
  if (!out.known) return out;
  out.all_set = clear == 0;
  out.all_ended = begun != nullptr && !has_own_changes(relation) &&
                  (sees_all_before(snapshot, begun->next) || are_among(out, begun->unwritten));
  return out;
}

void note_definition(Oid relation, const Bitmapset* columns, Proof* proof) {
  if (proof->leaves == 0) return;
  proof->column = static_cast<AttrNumber*>(
      palloc(sizeof(AttrNumber) * static_cast<Size>(Max(bms_num_members(columns), 1))));
  proof->columns = 0;
  for (int i = -1; (i = bms_next_member(columns, i)) >= 0;)
    proof->column[proof->columns++] = static_cast<AttrNumber>(i);
  const char* why = nullptr;
  Relation root = open_member(relation, &why);
  for (int k = 0; root != nullptr && k < proof->leaves; ++k) {
    ProofLeaf& leaf = proof->leaf[k];
    Relation rel = open_member(leaf.relation, &why);
    if (rel == nullptr || leaf.file != file_of(rel)) {
      why = kBeingChanged;
    } else {
      leaf.columns = hash_columns(RelationGetDescr(root), *proof, RelationGetDescr(rel));
      leaf.writers = hash_writers(RelationGetDescr(root), *proof, rel);
    }
    if (rel != nullptr) close_member(rel);
    if (why != nullptr) break;
  }
  if (root != nullptr) close_member(root);
  if (root != nullptr && why == nullptr) return;
  *proof = unproven(Unproven::being_changed, *proof);
  proof->leaves = 0;
}

Proof note_proof(Oid relation) {
  const ProofBegun begun = begin_proof(relation);
  const bool old = IsolationUsesXactSnapshot();
  PushActiveSnapshot(old ? GetTransactionSnapshot() : GetLatestSnapshot());
  const Proof out = note_proof(relation, GetActiveSnapshot(), old ? nullptr : &begun);
  PopActiveSnapshot();
  return out;
}

namespace {

// Null, or why there is nothing to look at.
const char* why_unknown(const Proof& proof) {
  if (!proof.known) return proof.why != nullptr ? proof.why : kNotNoted;
  if (proof.columns == 0) return kNotNoted;
  return proof.system != GetSystemIdentifier() ? kOtherSystem : nullptr;
}

}  // namespace

Judgement judge(Oid relation, const Proof& proof) {
  if (const char* why = why_unknown(proof)) return unknown(why);
  const bool quiet = ActiveSnapshotSet() && is_quiet(GetActiveSnapshot());
  Judged* place = place_of(relation, proof);
  if (quiet && place->relation == relation && place->end == GetActiveSnapshot()->xmax &&
      place->lsn == proof.lsn && place->as_of == proof.as_of)
    return place->judgement;
  Sum sum;
  const Judgement out = look(relation, proof, kHeadersOfAnswer, InvalidOid, &sum);
  if (quiet && out.changed != Changed::unknown && !sum.put_off)
    *place = {relation, GetActiveSnapshot()->xmax, proof.lsn, proof.as_of, out};
  return out;
}

bool is_unchanged(Oid relation, const Proof& proof, Oid columns_of) {
  if (why_unknown(proof) != nullptr) return false;
  Sum sum;
  return look(relation, proof, kAllHeaders, columns_of, &sum).changed == Changed::nothing;
}

bool may_be_renewed(Oid relation, const Proof& proof) {
  if (!proof.known || RecoveryInProgress()) return false;
  if (proof.system != GetSystemIdentifier()) return true;
  Sum sum;
  (void)look(relation, proof, kNoHeaders, InvalidOid, &sum);
  return sum.stamped > 0 && (proof.all_ended || (proof.all_set && sum.clear == 0));
}

bool renew_proof(Oid relation, const Proof& proof, Proof* renewed) {
  if (!proof.known || RecoveryInProgress() || IsolationUsesXactSnapshot()) return false;
  const ProofBegun begun = begin_proof(relation);
  PushActiveSnapshot(GetLatestSnapshot());
  Sum sum;
  bool same = look(relation, proof, kAllHeaders, InvalidOid, &sum).changed == Changed::nothing;
  if (same) {
    *renewed = note_proof(relation, GetActiveSnapshot(), &begun);
    Bitmapset* columns = nullptr;
    for (int i = 0; i < proof.columns; ++i) columns = bms_add_member(columns, proof.column[i]);
    note_definition(relation, columns, renewed);
    same = renewed->known && renewed->leaves == proof.leaves;
    for (int i = 0; same && i < proof.leaves; ++i)
      same = renewed->leaf[i].relation == proof.leaf[i].relation &&
             renewed->leaf[i].file == proof.leaf[i].file &&
             renewed->leaf[i].columns == proof.leaf[i].columns;
  }
  PopActiveSnapshot();
  return same;
}

bool is_written_anew(Oid relation, const Proof& proof) {
  if (proof.columns == 0 || proof.system != GetSystemIdentifier()) return false;
  const char* why = nullptr;
  Relation root = open_member(relation, &why);
  if (root == nullptr) return false;
  bool found = false;
  int at = 0;  // both are in the order of their numbers
  (void)for_leaves(relation, [&](Relation rel) -> const char* {
    while (at < proof.leaves && proof.leaf[at].relation < RelationGetRelid(rel)) ++at;
    if (at == proof.leaves) return kOtherFile;
    const ProofLeaf& then = proof.leaf[at];
    found = then.relation == RelationGetRelid(rel) && then.file != file_of(rel) &&
            (then.writers == 0 || then.writers != hash_writers(RelationGetDescr(root), proof, rel));
    return found ? kOtherFile : nullptr;
  });
  close_member(root);
  return found;
}

ClearBits clear_bits(Oid relation) {
  ClearBits out = {};
  (void)for_leaves(relation, [&](Relation rel) -> const char* {
    if (why_not_proven(rel) != nullptr) return nullptr;
    const BlockNumber blocks = RelationGetNumberOfBlocks(rel);
    out.blocks += blocks;
    out.clear += count_clear(rel, blocks);
    return nullptr;
  });
  return out;
}

bool has_own_changes(Oid relation) {
  if (!TransactionIdIsValid(GetTopTransactionIdIfAny())) return false;
  List* members = members_of(relation);
  bool found = false;
  ListCell* cell;
  foreach (cell, members) {
    LOCKTAG tag;
    SET_LOCKTAG_RELATION(tag, MyDatabaseId, lfirst_oid(cell));
    found = found || holds_lock(&tag, RowExclusiveLock) || holds_lock(&tag, AccessExclusiveLock);
  }
  list_free(members);
  return found;
}

// ------------------------------------------------------------------------------------------ bytes

namespace {

constexpr uint32 kBytesVersion = 2;

struct Stored {
  uint32 version;
  int32 known, all_set, all_ended, columns, leaves;
  int32 why;  // of kStoredReasons, counted from 1; 0: none
  int32 unused;
  uint64 system;
  int64 as_of;
  uint64 lsn;
};
static_assert(sizeof(Stored) == 56 && sizeof(ProofLeaf) == 32, "no padding is stored");

Size leaves_size(const Proof& proof) { return sizeof(ProofLeaf) * static_cast<Size>(proof.leaves); }

// The same with its lists there.
Proof with_lists(Proof proof, void* room) {
  proof.leaf = static_cast<ProofLeaf*>(room);
  proof.column = reinterpret_cast<AttrNumber*>(static_cast<char*>(room) + leaves_size(proof));
  return proof;
}

}  // namespace

Size lists_size(const Proof& proof) {
  return leaves_size(proof) + sizeof(AttrNumber) * static_cast<Size>(proof.columns);
}

Proof copy_proof(const Proof& proof, void* room) {
  const Size leaves = leaves_size(proof), all = lists_size(proof);
  if (leaves > 0) memcpy(room, proof.leaf, leaves);
  if (all > leaves) memcpy(static_cast<char*>(room) + leaves, proof.column, all - leaves);
  return with_lists(proof, room);
}

bytea* proof_to_bytes(const Proof& proof) {
  if (!proof.known && proof.as_of == 0 && proof.why == nullptr) return nullptr;
  Stored stored = {};
  stored.version = kBytesVersion;
  stored.known = proof.known ? 1 : 0;
  stored.all_set = proof.all_set ? 1 : 0;
  stored.all_ended = proof.all_ended ? 1 : 0;
  stored.columns = proof.columns;
  stored.leaves = proof.leaves;
  for (int i = 0; i < static_cast<int>(lengthof(kStoredReasons)); ++i)
    if (proof.why != nullptr && strcmp(proof.why, kStoredReasons[i]) == 0) stored.why = i + 1;
  stored.system = proof.system;
  stored.as_of = proof.as_of;
  stored.lsn = proof.lsn;
  const Size size = VARHDRSZ + sizeof stored + lists_size(proof);
  auto* out = static_cast<bytea*>(palloc(size));
  SET_VARSIZE(out, size);
  memcpy(VARDATA(out), &stored, sizeof stored);
  (void)copy_proof(proof, VARDATA(out) + sizeof stored);
  return out;
}

Proof proof_from_bytes(const bytea* bytes) {
  Proof out;
  out.why = kNotNoted;
  Stored stored;
  if (bytes == nullptr || VARSIZE_ANY_EXHDR(bytes) < sizeof stored) return out;
  const char* data = VARDATA_ANY(bytes);
  memcpy(&stored, data, sizeof stored);
  const Size lists = VARSIZE_ANY_EXHDR(bytes) - sizeof stored;
  if (stored.version != kBytesVersion || stored.leaves < 0 || stored.columns < 0) return out;
  out.leaves = stored.leaves;
  out.columns = stored.columns;
  if (lists != lists_size(out)) {
    out.leaves = out.columns = 0;
    return out;
  }
  out.was_stored = true;
  out.as_of = stored.as_of;
  if (stored.why > 0 && stored.why <= static_cast<int>(lengthof(kStoredReasons)))
    out.why = kStoredReasons[stored.why - 1];
  out.known = stored.known != 0;
  if (out.known) out.why = nullptr;
  out.all_set = stored.all_set != 0;
  out.all_ended = stored.all_ended != 0;
  out.system = stored.system;
  out.lsn = stored.lsn;
  auto* room = static_cast<char*>(palloc(Max(lists, Size{1})));
  memcpy(room, data + sizeof stored, lists);
  return with_lists(out, room);
}

const char* judgement_text(const Judgement& judgement) {
  switch (judgement.changed) {
    case Changed::nothing:
      return pstrdup("nothing changed");
    case Changed::at_most:
      return psprintf("at most %.0f rows changed", judgement.rows);
    case Changed::unknown:
      break;
  }
  return psprintf("unknown: %s", judgement.why);
}

}  // namespace kde_pg
