// See changed_stretches.h.
#include "pg/plain_sql/changed_stretches.h"

#include "pg/base/options.h"
#include "pg/catalog/extension_lock.h"
#include "pg/catalog/stretches.h"
#include "pg/read/block_hash.h"

extern "C" {
#include "access/table.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

// What came is looked at where it is not much more than what went.
constexpr double kMostMoved = 4;

class Finding {
 public:
  Finding(const CachedDensity& cached, Oid relation, const StretchReader& kept,
          ChangedStretches* out)
      : cached_(cached), relation_(relation), kept_(kept), out_(*out) {
    const auto room = static_cast<Size>(kept.size() + cached.proof.leaves);
    out_.stretch = static_cast<Stretch*>(palloc(sizeof(Stretch) * room));
    out_.density = static_cast<struct varlena**>(palloc0(sizeof(struct varlena*) * room));
    number_ = static_cast<int*>(palloc(sizeof(int) * room));
    for (int i = 0, k = 0; i < cached.proof.leaves; ++i) {
      const ProofLeaf& leaf = cached.proof.leaf[i];
      BlockNumber end = leaf.blocks;
      for (; k < kept.size() && kept.stretch(k).leaf == leaf.relation; ++k) {
        add(kept.stretch(k), k);
        end = kept.stretch(k).end;
      }
      add({leaf.relation, end, InvalidBlockNumber}, -1);
    }
  }

  bool run() {
    if (!find_changed(relation_, cached_.proof, out_.stretch, out_.n)) return false;
    if (blocks_in_runs() > option_approximate_scan_blocks) return false;
    forget_unchanged();
    for (int i = 0; i < out_.n; ++i)
      if (out_.stretch[i].changed && number_[i] >= 0) out_.density[i] = kept_.density(number_[i]);
    return true;
  }

 private:
  void add(const Stretch& stretch, int number) {
    number_[out_.n] = number;
    out_.stretch[out_.n++] = stretch;
  }

  // Of what came the whole is one.
  bool is_new(int i) const { return out_.stretch[i].changed && number_[i] < 0; }

  // Blocks that are read in any case.
  double blocks_in_runs() const {
    double blocks = 0;
    for (int i = 0; i < out_.n; ++i) {
      if (is_new(i)) blocks += blocks_of(out_.stretch[i]);
      for (const Stretch* run : of_list<const Stretch>(out_.stretch[i].runs))
        blocks += blocks_of(*run);
    }
    return blocks;
  }

  // Leaves what changed: no block that holds what it held, and nothing where rows only moved among
  // the others and those that came.
  void forget_unchanged() {
    root_ = table_open(relation_, NoLock);
    for (int i = 0; i < out_.n; ++i)
      if (out_.stretch[i].changed && number_[i] >= 0) compare_blocks(i);
    double went = 0, came = 0;
    for (int i = 0; i < out_.n; ++i) {
      if (is_new(i)) came += blocks_of(out_.stretch[i]);
      for (const Stretch* run : of_list<const Stretch>(out_.stretch[i].runs))
        went += blocks_of(*run);
    }
    if (went > 0 && came <= kMostMoved * went) {
      for (int i = 0; i < out_.n; ++i)
        if (is_new(i)) difference_ += hash_of(out_.stretch[i]);
      if (difference_ == 0)
        for (int i = 0; i < out_.n; ++i) out_.stretch[i].changed = false;
    }
    close_leaf();
    table_close(root_, NoLock);
  }

  // Block by block; the stretch has not changed where none has.
  void compare_blocks(int i) {
    Stretch& stretch = out_.stretch[i];
    const uint64* before = kept_.hash(number_[i]);
    List* changed = NIL;
    for (const Stretch* run : of_list<const Stretch>(stretch.runs)) {
      for (BlockNumber block = run->first; block < run->end; ++block) {
        const uint64 then = before[block - stretch.first];
        const uint64 now = hash_of({stretch.leaf, block, block + 1});
        if (now == then) continue;
        difference_ += now - then;
        add_block(&changed, stretch.leaf, block);
      }
    }
    stretch.runs = changed;
    stretch.changed = changed != NIL;
    // Blocks that VACUUM cut off are in no run.
    open_leaf(stretch.leaf);
    for (BlockNumber block = Max(stretch.first, RelationGetNumberOfBlocks(leaf_));
         block < stretch.end; ++block) {
      difference_ -= before[block - stretch.first];
      stretch.changed |= before[block - stretch.first] != 0;
    }
  }

  uint64 hash_of(const Stretch& stretch) {
    open_leaf(stretch.leaf);
    return hash_blocks(hasher_, leaf_, GetActiveSnapshot(), stretch.first, stretch.end);
  }

  // Leaves were locked when they were found to have changed.
  void open_leaf(Oid leaf) {
    if (leaf_ != nullptr && RelationGetRelid(leaf_) == leaf) return;
    close_leaf();
    leaf_ = table_open(leaf, NoLock);
    hasher_.begin(root_, leaf_, cached_.proof.column, cached_.proof.columns, kept_.seed());
  }
  void close_leaf() {
    if (leaf_ != nullptr) table_close(leaf_, NoLock);
    leaf_ = nullptr;
  }

  const CachedDensity& cached_;
  Oid relation_;
  const StretchReader& kept_;
  ChangedStretches& out_;
  int* number_;  // of each among those kept; -1: what came
  Relation root_ = nullptr, leaf_ = nullptr;
  RowHasher hasher_;
  uint64 difference_ = 0;  // of blocks that are not what they were
};

}  // namespace

bool find_changed_stretches(const CachedDensity& cached, Oid relation, int64 id,
                            ChangedStretches* out) {
  bool found = false;
  const auto read = [&](const StretchReader& kept) {
    found = Finding(cached, relation, kept, out).run();
  };
  const Oid extension = hold_extension_at_once();
  if (!OidIsValid(extension)) return false;
  read_stretches(cached.version, id, GetActiveSnapshot(), read);
  release_extension(extension);
  return found;
}

}  // namespace kde_pg
