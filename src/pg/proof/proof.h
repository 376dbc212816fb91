// What has changed in a table since its rows were read: nothing, rows of so many blocks, or nobody
// knows. The one judgement of it; the server's counters (catalog/counters.h) are hints beside it.
//
// The proof is the visibility map's, as an index-only scan rests on it. A heap change clears its
// block's all-visible bit in the critical section in which it changes the block, before its
// transaction ends. Setting the bit again is WAL-logged and stamps the map's page with the record's
// LSN, under the page's exclusive lock. So it is in recovery, too. The bits are set
//   - in 15 to 18 by visibilitymap_set(): of VACUUM (vacuumlazy.c), COPY FREEZE
//     (heap_multi_insert()) and their redo (heap_xlog_visible());
//   - from 19 on by visibilitymap_set_vmbits(), with the record of heap_page_prune_and_freeze().
// They are cleared by heap_insert(), heap_multi_insert(), heap_delete(), heap_update() and their
// redo. Locks of rows clear all-frozen bits alone. Clearing stamps the map's page, too, in 17.12,
// 18.6 and whatever has visibilitymap_clear_locked(): one changed row leaves the page's other
// blocks to be proven by their own LSNs, below.
//
// Rows were read under a snapshot S. L is an insert position noted before S was taken, or while it
// was held. While S is held no horizon passes it, so a block that was changed by a transaction that
// S does not see stays not all-visible: its bit can be set again only when S is gone, above L. (A
// change that was rolled back changes nothing that anybody sees.) Hence
//
//   same file, bit set, map page's LSN <= L: what snapshots see of the block is what S saw of it,
//   for every snapshot that sees the fit and is taken before the map is looked at.
//
// The number of blocks is taken after S: rows that S sees lie in those. Blocks that VACUUM cut off
// since have lost their bits, and are new ones where they came again.
//
// Else a block's own LSN <= L proves the same where every change that S does not see has an LSN
// above L. It is not so of a transaction that ran beside S: it may have changed the block below L,
// and VACUUM sets a bit without touching the block's LSN. (With data checksums, the default from 18
// on, or wal_log_hints it stamps the block, too: then such a block is not proven.) It is so
//   - of blocks whose bits are set, if all were (all_set), as was seen after L was noted and while
//     S was held: what a VACUUM, or a change of another block, stamped since;
//   - of all blocks, if L was noted before S was taken, and S sees as ended whatever had written
//     the table when L was noted (all_ended): also what no VACUUM has seen yet. So it is if S sees
//     as ended whatever had a transaction number then, but for this transaction, which had not
//     written the table. And so it is if between L and S nobody held a lock that writing takes, as
//     such locks are kept until S would see their holder as ended.
//
// What the bits do not tell is noted beside them: the file, the leaves, and of each what the
// columns that were read are in it (number, type, collation; how a virtual one is computed). A new
// file proves nothing. It may hold the same rows (VACUUM FULL, CLUSTER), or others (ALTER TYPE ...
// USING, beside which no statistics need count a row). The columns' rows in pg_attribute tell them
// apart: ALTER TYPE writes those, too. (So does much that changes no value, in the same file.)
//
// Not so: files that their own transaction writes (COPY FREEZE sets bits before it ends, and
// wal_level = minimal logs nothing); unlogged tables; system catalogs, whose rows are changed in
// place; where old_snapshot_threshold lets horizons pass snapshots.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "access/attnum.h"
#include "access/xlogdefs.h"
#include "nodes/bitmapset.h"
#include "storage/block.h"
#include "utils/snapshot.h"
}

namespace kde_pg {

// Why nothing is proven.
enum class Unproven {
  no,
  not_noted,
  in_recovery,
  aging,
  new_file,
  other_kind,
  catalog_table,
  foreign,
  shards,
  being_changed,
  elsewhere,  // queries see other rows than the table's
  by_value,   // they came as a value, whose age nobody knows
  by_query,   // or by a query
  other_system,
  other_leaves,
  other_file,
  other_columns,
  kinds  // how many there are
};

struct ProofLeaf {
  Oid relation;
  Oid file;  // pg_class.relfilenode
  BlockNumber blocks;
  uint32 rows_a_block;  // at most
  uint64 columns;       // a hash of what the columns are in it
  uint64 writers;       // a hash of who wrote their rows in pg_attribute; 0: fits none
};

// What is noted when rows are read. It is stored as it is up to `leaf`, then the palloc'ed arrays.
struct Proof {
  uint64 system = 0;      // of pg_control: another after pg_upgrade and a restore
  TimestampTz as_of = 0;  // not after S was taken; 0: nobody knows
  XLogRecPtr lsn = 0;     // L
  // Of the lists below, also where nothing is known, as far as they were looked at.
  int32 leaves = 0, columns = 0;
  Unproven why = Unproven::no;  // not known
  bool known = false;
  bool was_stored = false;       // else nothing was, as in a row that came by a dump
  bool all_ended = false;        // blocks' own LSNs prove, too
  bool all_set = false;          // else where their bits are set
  ProofLeaf* leaf = nullptr;     // in the order of their numbers
  AttrNumber* column = nullptr;  // of the relation, those that were read, ascending
};

// The arrays of a proof in one piece, which it holds by its start: `room` of lists_size(), aligned
// for ProofLeaf.
Size lists_size(const Proof& proof);
Proof copy_proof(const Proof& proof, void* room);

// Null: it is none of its leaves.
const ProofLeaf* find_leaf(const Proof& proof, Oid relation);

// A set of leaves as a number: the sum of these, modulo 2^64.
uint64 hash_of_leaf(Oid relation);

enum class Changed { nothing, at_most, unknown };

struct Judgement {
  Changed changed = Changed::unknown;
  // at_most: of any rows that one may ask about (a range, a group), there are so many more or fewer
  // than then at most. In a block that is not proven so many may have gone and as many have come:
  // of a sum twice as many summands may be others.
  double rows = 0;
  double new_share = 0;            // at_most: blocks that came since, of all; a hint for refreshes
  double unproven_share = 0;       // at_most: blocks of then that are not proven, of those
  double unproven = 0, added = 0;  // at_most: blocks of then that are not proven, and that came
  uint64 leaves = 0;               // that there are, as a set, unless unknown
  const char* why = nullptr;       // unknown; static storage
};

// Before the snapshot is taken under which rows are read: the time and the position until then, and
// after them the next transaction's number.
struct ProofBegun {
  TimestampTz at;
  XLogRecPtr lsn;
  TransactionId next;
  List* unwritten;  // members of the relation that nobody held a lock on, for writing, after `lsn`
};
ProofBegun begin_proof(Oid relation);

// Of a relation and its descendants, while `snapshot` is held (registered or active), under which
// all of their rows are read. begun: null if the snapshot is older than this command.
// Unknown, with as_of all the same: other than permanent heap tables, a file that this transaction
// made, old_snapshot_threshold >= 0, a server in recovery. It proves nothing before
// note_definition().
Proof note_proof(Oid relation, Snapshot snapshot, const ProofBegun* begun);

// Completes a proof by what its leaves are, while they are locked: what columns of `relation` are in
// them. columns: attribute numbers.
void note_definition(Oid relation, const Bitmapset* columns, Proof* proof);

// What is known of rows that were read in other ways; since: not after that, 0: nobody knows.
Proof unproven(Unproven why, TimestampTz since);
// The same, with the leaves of a proof.
Proof unproven(Unproven why, Proof proof);

// To be called after the statement's snapshot was taken, which is the active one. Waits for nobody.
// Costs nothing where no transaction has ended since the last time, and none runs.
// Reads up to 4,096 headers. Beside them those of one page of the map (32,672), for up to a
// twentieth of a session's time. What it read of a page is remembered until that is stamped again.
Judgement judge(Oid relation, const Proof& proof);

// Blocks [first, end) of a leaf.
struct Stretch {
  Oid leaf;
  BlockNumber first, end;
  bool changed = false;
  bool gone =
      false;  // it changed, as its leaf is none any more, or another file: nothing is left of it
  List* runs = NIL;  // Stretch*, of blocks that are not proven
};

// Adds a block to a list of runs, Stretch*: to the last one if it follows that.
void add_block(List** runs, Oid leaf, BlockNumber block);

// Where a judgement says that rows changed, under the same snapshot: which of those stretches, in the
// order of their leaves and blocks, have a block that is not proven, and what came behind them.
// stretch: the last of a leaf, whose end is not known (InvalidBlockNumber), gets it, and is changed
// where it has a block; then it has no runs. What another has behind the proof's blocks are runs. *came: leaves that were none then, or other files, each
// a Stretch* of all its blocks; *leaves: those that there are, as a set. Leaves with such stretches stay locked until the transaction ends.
// False: others changed, too, or nobody knows. Beside a judgement's it reads the headers of blocks
// whose bits are clear, if they are no more than 32,672.
bool find_changed(Oid relation, const Proof& proof, Stretch* stretch, int n, List** came,
                  uint64* leaves);

// Whether a leaf has another file and other definitions of the columns that were read: their values
// may be others, whatever was counted. Also where nothing else is known.
bool is_written_anew(Oid relation, const Proof& proof);

// Whether a renewed proof would hold for less, if nothing changed: map pages were stamped since, or
// the server was upgraded. Reads the map alone.
bool may_be_renewed(Oid relation, const Proof& proof);
// If nothing changed, also after pg_upgrade, which keeps files, their numbers and LSNs: *renewed is
// a proof under a snapshot of now, in the current memory context.
bool renew_proof(Oid relation, const Proof& proof, Proof* renewed);

// Blocks of permanent heap tables whose bits are clear, of all: no proof holds for them.
struct ClearBits {
  double clear, blocks;
};
ClearBits clear_bits(Oid relation);

// Whether this transaction may have written the relation or one of its descendants: it has a
// number, and holds the lock that writing takes. Whatever track_counts is.
bool has_own_changes(Oid relation);

// As kde_aqp.fitted holds it: varlena bytes; null where nothing is known, not even as_of nor why.
bytea* proof_to_bytes(const Proof& proof);
// In the current memory context. Unknown if they are no such bytes.
Proof proof_from_bytes(const bytea* bytes);

// "nothing changed", "at most 582 rows changed", "unknown: ..."; palloc'ed.
const char* judgement_text(const Judgement& judgement);

}  // namespace kde_pg
