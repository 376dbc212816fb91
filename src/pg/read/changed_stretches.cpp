// See changed_stretches.h.
#include "pg/read/changed_stretches.h"

#include "pg/read/block_hash.h"

#include <type_traits>

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
  Finding(Oid relation, const Proof& proof, const StretchReader& kept, ChangedStretches* out)
      : relation_(relation), proof_(proof), kept_(kept), out_(*out) {}

  bool run(double most, Moved moved) {
    list_all();
    List* came = NIL;
    if (!find_changed(relation_, proof_, out_.stretch, out_.n, &came, &out_.leaves)) return false;
    make_room(list_length(came));
    for (const Stretch* leaf : of_list<const Stretch>(came)) add(*leaf, -1);
    if (const double blocks = blocks_in_runs(); blocks > most) {
      out_.unread = blocks;
      return false;
    }
    root_ = table_open(relation_, NoLock);
    forget_unchanged();
    if (moved == Moved::unchanged) forget_moved();
    close_leaf();
    table_close(root_, NoLock);
    return true;
  }

 private:
  void make_room(int more) {
    const auto room = static_cast<Size>(out_.n + more) + 1;
    const auto grow = [room](auto** array) {
      const Size size = sizeof(**array) * room;
      *array = static_cast<std::remove_reference_t<decltype(*array)>>(
          *array == nullptr ? palloc(size) : repalloc(*array, size));
    };
    grow(&out_.stretch);
    grow(&out_.number);
  }

  void add(const Stretch& stretch, int number) {
    out_.number[out_.n] = number;
    out_.stretch[out_.n++] = stretch;
  }

  // Behind those of each leaf what came there.
  void list_all() {
    make_room(kept_.size() + proof_.leaves);
    out_.are_all = true;
    for (int i = 0, k = 0; i < proof_.leaves; ++i) {
      const ProofLeaf& leaf = proof_.leaf[i];
      BlockNumber end = 0;
      const auto is_own = [&] {
        return k < kept_.size() && kept_.stretch(k).leaf == leaf.relation;
      };
      if (!is_own()) end = leaf.blocks;
      if (end > 0) out_.are_all = false;
      for (; is_own(); ++k) {
        if (kept_.stretch(k).first != end) out_.are_all = false;
        add(kept_.stretch(k), k);
        end = kept_.stretch(k).end;
      }
      add({leaf.relation, end, InvalidBlockNumber}, -1);
    }
  }

  // Blocks that are read in any case.
  double blocks_in_runs() const {
    double blocks = 0;
    for (int i = 0; i < out_.n; ++i) {
      if (out_.is_new(i)) blocks += blocks_of(out_.stretch[i]);
      for (const Stretch* run : of_list<const Stretch>(out_.stretch[i].runs))
        blocks += blocks_of(*run);
    }
    return blocks;
  }

  // Leaves no block that holds what it held.
  void forget_unchanged() {
    for (int i = 0; i < out_.n; ++i)
      if (out_.is_changed(i) && !out_.stretch[i].gone) compare_blocks(i);
  }

  // Leaves nothing where rows only moved among those and the blocks that came.
  void forget_moved() {
    double went = 0, came = 0;
    for (int i = 0; i < out_.n; ++i) {
      if (out_.stretch[i].gone) return;
      if (out_.is_new(i)) came += blocks_of(out_.stretch[i]);
      for (const Stretch* run : of_list<const Stretch>(out_.stretch[i].runs))
        went += blocks_of(*run);
    }
    if (went == 0 || came > kMostMoved * went) return;
    for (int i = 0; i < out_.n; ++i)
      if (out_.is_new(i)) difference_ += hash_of(out_.stretch[i]);
    if (difference_ != 0) return;
    for (int i = 0; i < out_.n; ++i) out_.stretch[i].changed = false;
  }

  // Block by block; the stretch has not changed where none has.
  void compare_blocks(int i) {
    Stretch& stretch = out_.stretch[i];
    const uint64* before = kept_.hash(out_.number[i]);
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
    hasher_.begin(root_, leaf_, proof_.column, proof_.columns, kept_.seed());
  }
  void close_leaf() {
    if (leaf_ != nullptr) table_close(leaf_, NoLock);
    leaf_ = nullptr;
  }

  Oid relation_;
  const Proof& proof_;
  const StretchReader& kept_;
  ChangedStretches& out_;
  Relation root_ = nullptr, leaf_ = nullptr;
  RowHasher hasher_;
  uint64 difference_ = 0;  // of blocks that are not what they were
};

}  // namespace

bool find_changed(Oid relation, const Proof& proof, const StretchReader& kept, double most,
                  Moved moved, ChangedStretches* out) {
  return Finding(relation, proof, kept, out).run(most, moved);
}

}  // namespace kde_pg
