// Notes what proves that a table is unchanged, and judges by it: its leaves, their columns, and what
// the visibility map tells of their blocks.
#include "pg/proof/proof.h"

#include "pg/proof/members.h"
#include "pg/proof/visibility.h"

#include <algorithm>

extern "C" {
#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "common/hashfn.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
}

namespace kde_pg {

const ProofLeaf* find_leaf(const Proof& proof, Oid relation) {
  const ProofLeaf* end = proof.leaf + proof.leaves;
  const ProofLeaf* at =
      std::lower_bound(static_cast<const ProofLeaf*>(proof.leaf), end, relation,
                       [](const ProofLeaf& leaf, Oid wanted) { return leaf.relation < wanted; });
  return at < end && at->relation == relation ? at : nullptr;
}

uint64 hash_of_leaf(Oid relation) { return hash_bytes_uint32_extended(relation, 1); }

namespace {

const char* unproven_text(Unproven why) {
  static constexpr const char* kTexts[] = {
      nullptr,
      "it was not noted at the fit",
      "the server was in recovery at the fit",
      "old_snapshot_threshold is set",
      "the transaction of the fit had made or emptied the table",
      "it is no permanent heap table",
      "rows of system catalogs are changed in place",
      "rows of foreign tables are another server's",
      "its rows lie in shards",
      "its definition is being changed",
      "queries see other rows than the table's own",
      "it was stored as a value",
      "it was stored by a query",
      "the server was upgraded or restored since",
      "tables were attached, detached, made or dropped since",
      "the table was written anew since",
      "columns were changed since"};
  static_assert(lengthof(kTexts) == static_cast<int>(Unproven::kinds));
  return kTexts[static_cast<int>(why)];
}

// --------------------------------------------------------------------------------------- leaves

// Null if it is gone, or *why it cannot be looked at now. To be closed by close_member().
Relation open_member(Oid member, Unproven* why) {
  if (!ConditionalLockRelationOid(member, AccessShareLock)) {
    *why = Unproven::being_changed;
    return nullptr;
  }
  Relation rel = try_relation_open(member, NoLock);
  if (rel == nullptr) UnlockRelationOid(member, AccessShareLock);
  return rel;
}

void close_member(Relation rel) { relation_close(rel, AccessShareLock); }

// Null, or why the map proves nothing of a leaf.
Unproven why_not_proven(Relation rel) {
  if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE) return Unproven::foreign;
  if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT ||
      rel->rd_rel->relam != HEAP_TABLE_AM_OID)
    return Unproven::other_kind;
  if (IsSystemRelation(rel)) return Unproven::catalog_table;
  if (file_is_new(rel)) return Unproven::new_file;
  return Unproven::no;
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
Unproven for_leaves(Oid relation, Visit visit) {
  Unproven why = Unproven::no;
  List* members = members_of(relation);
  for (const Oid oid : oids(members)) {
    CHECK_FOR_INTERRUPTS();
    Relation rel = open_member(oid, &why);
    if (rel != nullptr && rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE) why = visit(rel);
    if (rel != nullptr) close_member(rel);
    if (why != Unproven::no) break;
  }
  list_free(members);
  return why;
}

// The same beside those of a proof. Calls same(rel, then) for each that is one of these, in the same
// file; gone(then) for others of it, came(rel) for others of the tree. *leaves: those, as a set.
template <typename Same, typename Gone, typename Came>
Unproven match_leaves(Oid relation, const Proof& proof, uint64* leaves, Same same, Gone gone,
                      Came came) {
  int seen = 0;
  *leaves = 0;
  const Unproven why = for_leaves(relation, [&](Relation rel) -> Unproven {
    if (const Unproven not_proven = why_not_proven(rel); not_proven != Unproven::no)
      return not_proven;
    *leaves += hash_of_leaf(RelationGetRelid(rel));
    while (seen < proof.leaves && proof.leaf[seen].relation < RelationGetRelid(rel))
      gone(proof.leaf[seen++], Unproven::other_leaves);
    if (seen == proof.leaves || proof.leaf[seen].relation != RelationGetRelid(rel))
      return came(rel, Unproven::other_leaves);
    const ProofLeaf& then = proof.leaf[seen++];
    if (then.file == file_of(rel)) return same(rel, then);
    gone(then, Unproven::other_file);
    return came(rel, Unproven::other_file);
  });
  while (why == Unproven::no && seen < proof.leaves)
    gone(proof.leaf[seen++], Unproven::other_leaves);
  return why;
}

// ------------------------------------------------------------------------------------ judgements

// Blocks that came.
void add_blocks(Relation rel, BlockNumber first, BlockNumber end, Headers* headers, Sum* sum) {
  const BlockNumber added = end - first;
  const double most = static_cast<double>(added) * rows_a_block(RelationGetDescr(rel));
  sum->added += added;
  if (added > 0 && added <= headers->left) {
    headers->left -= added;
    sum->rows += Min(count_line_pointers(rel, first, end), most);
  } else {
    sum->rows += most;
  }
}

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
  double unproven = count_unproven(rel, same, {proof.lsn, proof.all_set, proof.all_ended},
                                   in_vain ? &none : headers, sum);
  unproven += then.blocks - same;
  sum->rows += unproven * Max(then.rows_a_block, each_now);
  sum->unproven += unproven;
  sum->blocks += then.blocks;
  add_blocks(rel, same, now, headers, sum);
}

Judgement unknown(Unproven why) {
  Judgement out;
  out.why = unproven_text(why);
  return out;
}

// headers: that it may read. *sum: of what it looked at.
Judgement look(Oid relation, const Proof& proof, Headers headers, Sum* sum) {
  if (snapshots_may_age()) return unknown(Unproven::aging);
  if (is_of_shards(relation)) return unknown(Unproven::shards);
  Unproven why = Unproven::no;
  Relation root = open_member(relation, &why);
  if (root == nullptr) return unknown(why != Unproven::no ? why : Unproven::other_leaves);
  double gone = 0;
  Unproven other = Unproven::no;  // why leaves are not those of then
  Judgement out;
  why = match_leaves(
      relation, proof, &out.leaves,
      [&](Relation rel, const ProofLeaf& then) -> Unproven {
        if (then.columns != hash_columns(RelationGetDescr(root), proof, RelationGetDescr(rel)))
          return Unproven::other_columns;
        judge_leaf(rel, then, proof, &headers, sum);
        return Unproven::no;
      },
      [&](const ProofLeaf& then, Unproven what) {
        other = what;
        gone += then.blocks;
        sum->rows += static_cast<double>(then.blocks) * then.rows_a_block;
        sum->unproven += then.blocks;
        sum->blocks += then.blocks;
      },
      [&](Relation rel, Unproven what) -> Unproven {
        other = what;
        add_blocks(rel, 0, RelationGetNumberOfBlocks(rel), &headers, sum);
        return Unproven::no;
      });
  close_member(root);
  sum->put_off = headers.put_off;
  if (why != Unproven::no) return unknown(why);
  // Of a table that is another for the most part a bound says nothing.
  if (2 * (gone + (other == Unproven::no ? 0 : sum->added)) > sum->blocks) return unknown(other);
  if (sum->rows == 0) {
    out.changed = Changed::nothing;
    return out;
  }
  out.changed = Changed::at_most;
  out.rows = sum->rows;
  out.unproven = sum->unproven;
  out.added = sum->added;
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
  for (const Oid oid : oids(members)) {
    if (is_unwritten(oid)) begun.unwritten = lappend_oid(begun.unwritten, oid);
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
  proof.why = why;
  return proof;
}

Proof unproven(Unproven why, TimestampTz since) {
  Proof out;
  out.as_of = since;
  return unproven(why, out);
}

namespace {

// Whether the bits of all blocks are set. A leaf that was detached meanwhile is not seen, and may come back.
bool are_all_set(Oid relation, const Proof& proof) {
  BlockNumber clear = 0;
  int seen = 0;
  (void)for_leaves(relation, [&](Relation rel) {
    const ProofLeaf* leaf = find_leaf(proof, RelationGetRelid(rel));
    if (leaf == nullptr) return Unproven::no;
    ++seen;
    clear += count_clear(rel, leaf->blocks);
    return Unproven::no;
  });
  return clear == 0 && seen == proof.leaves;
}

}  // namespace

Proof note_proof(Oid relation, Snapshot snapshot, const ProofBegun* begun) {
  Proof out;
  out.as_of = begun != nullptr ? begun->at : GetCurrentTransactionStartTimestamp();
  if (RecoveryInProgress()) out.why = Unproven::in_recovery;
  if (snapshots_may_age()) out.why = Unproven::aging;
  if (is_of_shards(relation)) out.why = Unproven::shards;
  if (out.why != Unproven::no) return out;
  out.system = GetSystemIdentifier();
  out.lsn = begun != nullptr ? begun->lsn : GetXLogInsertRecPtr();
  int room = 0;
  Unproven not_proven = Unproven::no;
  const Unproven not_seen = for_leaves(relation, [&](Relation rel) -> Unproven {
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
    if (const Unproven why = why_not_proven(rel); why != Unproven::no) {
      if (not_proven == Unproven::no) not_proven = why;
      return Unproven::no;
    }
    leaf.blocks = RelationGetNumberOfBlocks(rel);
    leaf.rows_a_block = rows_a_block(RelationGetDescr(rel));
    return Unproven::no;
  });
  if (not_seen != Unproven::no) out.leaves = 0;
  out.why = not_seen != Unproven::no ? not_seen : not_proven;
  out.known = out.why == Unproven::no;
  if (!out.known) return out;
  out.all_ended = begun != nullptr && !has_own_changes(relation) &&
                  (sees_all_before(snapshot, begun->next) || are_among(out, begun->unwritten));
  // The less, and a look at every leaf's map.
  if (!out.all_ended) out.all_set = are_all_set(relation, out);
  return out;
}

void note_definition(Oid relation, const Bitmapset* columns, Proof* proof) {
  if (proof->leaves == 0) return;
  proof->column = static_cast<AttrNumber*>(
      palloc(sizeof(AttrNumber) * static_cast<Size>(Max(bms_num_members(columns), 1))));
  proof->columns = 0;
  for (int i = -1; (i = bms_next_member(columns, i)) >= 0;)
    proof->column[proof->columns++] = static_cast<AttrNumber>(i);
  Unproven why = Unproven::no;
  Relation root = open_member(relation, &why);
  for (int k = 0; root != nullptr && k < proof->leaves; ++k) {
    ProofLeaf& leaf = proof->leaf[k];
    Relation rel = open_member(leaf.relation, &why);
    if (rel == nullptr || leaf.file != file_of(rel)) {
      why = Unproven::being_changed;
    } else {
      leaf.columns = hash_columns(RelationGetDescr(root), *proof, RelationGetDescr(rel));
      leaf.writers = hash_writers(RelationGetDescr(root), *proof, rel);
    }
    if (rel != nullptr) close_member(rel);
    if (why != Unproven::no) break;
  }
  if (root != nullptr) close_member(root);
  if (root != nullptr && why == Unproven::no) return;
  *proof = unproven(Unproven::being_changed, *proof);
  proof->leaves = 0;
}

namespace {

// Why there is nothing to look at.
Unproven why_unknown(const Proof& proof) {
  if (!proof.known) return proof.why != Unproven::no ? proof.why : Unproven::not_noted;
  if (proof.columns == 0) return Unproven::not_noted;
  return proof.system != GetSystemIdentifier() ? Unproven::other_system : Unproven::no;
}

}  // namespace

Judgement judge(Oid relation, const Proof& proof) {
  if (const Unproven why = why_unknown(proof); why != Unproven::no) return unknown(why);
  const bool quiet = ActiveSnapshotSet() && is_quiet(GetActiveSnapshot());
  Judged* place = place_of(relation, proof);
  if (quiet && place->relation == relation && place->end == GetActiveSnapshot()->xmax &&
      place->lsn == proof.lsn && place->as_of == proof.as_of)
    return place->judgement;
  Sum sum;
  const Judgement out = look(relation, proof, kHeadersOfAnswer, &sum);
  if (quiet && out.changed != Changed::unknown && !sum.put_off)
    *place = {relation, GetActiveSnapshot()->xmax, proof.lsn, proof.as_of, out};
  return out;
}

void add_block(List** runs, Oid leaf, BlockNumber block) {
  auto* last = *runs == NIL ? nullptr : static_cast<Stretch*>(llast(*runs));
  if (last != nullptr && last->end == block)
    ++last->end;
  else
    *runs = lappend(*runs, new (palloc(sizeof(Stretch))) Stretch{leaf, block, block + 1, true});
}

namespace {

// Which of a leaf's stretches have a block that is not proven.
class ChangedOfLeaf {
 public:
  ChangedOfLeaf(Relation rel, const ProofLeaf& then, Stretch* begin, Stretch* end)
      : rel_(rel), now_(RelationGetNumberOfBlocks(rel)), then_(then), begin_(begin), end_(end) {
    // Those that VACUUM cut off are no more what they were.
    for (Stretch* s = begin_; s < end_; ++s) {
      const bool is_open = s->end == InvalidBlockNumber;
      if (is_open) s->end = Max(s->first, now_);
      s->changed = s->end > s->first && s->end > Min(now_, then_.blocks);
      if (!is_open) last_kept_ = s->end;
    }
  }

  Unproven look(const Noted& noted, Headers* headers, Sum* sum) {
    // Those of a page of the map: where no VACUUM comes, the exact plan reads as many blocks sooner.
    constexpr double kMostClear = 32672;
    const BlockNumber same = Min(then_.blocks, now_);
    // A judgement may be older than the last VACUUM.
    (void)count_unproven(rel_, same, noted, headers, sum);
    Stretch* at = begin_;
    const auto note = [&](BlockNumber block) {
      if (at == end_ || block < at->first) at = begin_;
      while (at < end_ && at->end <= block) ++at;
      if (at == end_ || block < at->first) return false;
      add_block(&at->runs, then_.relation, block);
      return at->changed = true;
    };
    if (!for_unproven(rel_, same, noted, sum->clear <= kMostClear, note))
      return Unproven::being_changed;
    // Nothing proves what a stretch has beyond the blocks of the proof.
    for (BlockNumber block = then_.blocks; block < Min(last_kept_, now_); ++block)
      if (!note(block)) return Unproven::being_changed;
    // Stretches of a leaf have no gaps between them.
    const BlockNumber end = Max(then_.blocks, now_);
    return same == end || (holds(same) && holds(end - 1)) ? Unproven::no : Unproven::being_changed;
  }

  bool any() const {
    return std::any_of(begin_, end_, [](const Stretch& s) { return s.changed; });
  }

 private:
  bool holds(BlockNumber block) const {
    return std::any_of(begin_, end_,
                       [&](const Stretch& s) { return s.first <= block && block < s.end; });
  }

  Relation rel_;
  BlockNumber now_;
  const ProofLeaf& then_;
  Stretch *begin_, *end_;
  BlockNumber last_kept_ = 0;  // where those end whose ends were known
};

// A leaf's stretches; false: they are not all of it.
bool note_gone(const ProofLeaf& then, Stretch* begin, Stretch* end) {
  BlockNumber at = 0;
  for (Stretch* s = begin; s < end; ++s) {
    if (s->first != at) return false;
    if (s->end == InvalidBlockNumber) s->end = s->first;
    s->changed = s->gone = s->end > s->first;
    at = s->end;
  }
  return at == then.blocks;
}

}  // namespace

bool find_changed(Oid relation, const Proof& proof, Stretch* stretch, int n, List** came,
                  uint64* leaves) {
  if (why_unknown(proof) != Unproven::no || snapshots_may_age()) return false;
  Unproven why = Unproven::no;
  Relation root = open_member(relation, &why);
  if (root == nullptr) return false;
  const Noted noted = {proof.lsn, proof.all_set, proof.all_ended};
  Headers headers = kHeadersOfRest;
  Sum sum;
  bool all_known = true;
  Stretch *at = stretch, *const end = stretch + n;
  const auto those_of = [&](const ProofLeaf& leaf) {
    while (at < end && at->leaf < leaf.relation) ++at;
    Stretch* const begin = at;
    while (at < end && at->leaf == leaf.relation) ++at;
    return begin;
  };
  // Its lock is kept: what is read of it is read later.
  const auto keep_locked = [](Oid leaf) {
    return ConditionalLockRelationOid(leaf, AccessShareLock) ? Unproven::no
                                                             : Unproven::being_changed;
  };
  why = match_leaves(
      relation, proof, leaves,
      [&](Relation rel, const ProofLeaf& then) -> Unproven {
        // A leaf may have come back with others of the same names.
        if (then.columns != hash_columns(RelationGetDescr(root), proof, RelationGetDescr(rel)))
          return Unproven::other_columns;
        Stretch* const begin = those_of(then);
        ChangedOfLeaf changed(rel, then, begin, at);
        if (const Unproven other = changed.look(noted, &headers, &sum); other != Unproven::no)
          return other;
        return changed.any() ? keep_locked(then.relation) : Unproven::no;
      },
      [&](const ProofLeaf& then, Unproven) {
        Stretch* const begin = those_of(then);
        all_known = note_gone(then, begin, at) && all_known;
      },
      [&](Relation rel, Unproven) -> Unproven {
        const Oid leaf = RelationGetRelid(rel);
        const BlockNumber blocks = RelationGetNumberOfBlocks(rel);
        if (blocks > 0)
          *came = lappend(*came, new (palloc(sizeof(Stretch))) Stretch{leaf, 0, blocks, true});
        return keep_locked(leaf);
      });
  close_member(root);
  return why == Unproven::no && all_known;
}

bool may_be_renewed(Oid relation, const Proof& proof) {
  if (!proof.known || RecoveryInProgress()) return false;
  if (proof.system != GetSystemIdentifier()) return true;
  Sum sum;
  (void)look(relation, proof, kNoHeaders, &sum);
  return sum.stamped > 0 && (proof.all_ended || (proof.all_set && sum.clear == 0));
}

bool renew_proof(Oid relation, const Proof& proof, Proof* renewed) {
  if (!proof.known || RecoveryInProgress() || IsolationUsesXactSnapshot()) return false;
  const ProofBegun begun = begin_proof(relation);
  PushActiveSnapshot(GetLatestSnapshot());
  Sum sum;
  bool same = look(relation, proof, kAllHeaders, &sum).changed == Changed::nothing;
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
  Unproven why = Unproven::no;
  Relation root = open_member(relation, &why);
  if (root == nullptr) return false;
  bool found = false;
  int at = 0;  // both are in the order of their numbers
  (void)for_leaves(relation, [&](Relation rel) -> Unproven {
    while (at < proof.leaves && proof.leaf[at].relation < RelationGetRelid(rel)) ++at;
    if (at == proof.leaves) return Unproven::other_file;
    const ProofLeaf& then = proof.leaf[at];
    found = then.relation == RelationGetRelid(rel) && then.file != file_of(rel) &&
            (then.writers == 0 || then.writers != hash_writers(RelationGetDescr(root), proof, rel));
    return found ? Unproven::other_file : Unproven::no;
  });
  close_member(root);
  return found;
}

ClearBits clear_bits(Oid relation) {
  ClearBits out = {};
  (void)for_leaves(relation, [&](Relation rel) -> Unproven {
    if (why_not_proven(rel) != Unproven::no) return Unproven::no;
    const BlockNumber blocks = RelationGetNumberOfBlocks(rel);
    out.blocks += blocks;
    out.clear += count_clear(rel, blocks);
    return Unproven::no;
  });
  return out;
}

bool has_own_changes(Oid relation) {
  if (!TransactionIdIsValid(GetTopTransactionIdIfAny())) return false;
  List* members = members_of(relation);
  bool found = false;
  for (const Oid oid : oids(members)) {
    LOCKTAG tag;
    SET_LOCKTAG_RELATION(tag, MyDatabaseId, oid);
    found = found || holds_lock(&tag, RowExclusiveLock) || holds_lock(&tag, AccessExclusiveLock);
  }
  list_free(members);
  return found;
}

// ------------------------------------------------------------------------------------------ bytes

namespace {

// Before it a version.
constexpr Size kHead = offsetof(Proof, leaf);
constexpr uint64 kBytesVersion = 3;
static_assert(kHead == 40 && sizeof(ProofLeaf) == 32, "no padding is stored");

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
  if (!proof.known && proof.as_of == 0 && proof.why == Unproven::no) return nullptr;
  const Size size = VARHDRSZ + sizeof kBytesVersion + kHead + lists_size(proof);
  auto* out = static_cast<bytea*>(palloc(size));
  SET_VARSIZE(out, size);
  char* at = VARDATA(out);
  memcpy(at, &kBytesVersion, sizeof kBytesVersion);
  memcpy(at + sizeof kBytesVersion, &proof, kHead);
  (void)copy_proof(proof, at + sizeof kBytesVersion + kHead);
  return out;
}

Proof proof_from_bytes(const bytea* bytes) {
  Proof out;
  const char* at = VARDATA_ANY(bytes);
  const Size size = VARSIZE_ANY_EXHDR(bytes), head = sizeof kBytesVersion + kHead;
  if (size < head || memcmp(at, &kBytesVersion, sizeof kBytesVersion) != 0) return out;
  memcpy(static_cast<void*>(&out), at + sizeof kBytesVersion, kHead);
  if (out.leaves < 0 || out.columns < 0 || out.why < Unproven::no || out.why >= Unproven::kinds ||
      size != head + lists_size(out))
    return Proof();
  out.was_stored = true;
  auto* room = static_cast<char*>(palloc(Max(size - head, Size{1})));
  memcpy(room, at + head, size - head);
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
