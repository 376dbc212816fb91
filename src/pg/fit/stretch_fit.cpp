// See stretch_fit.h.
#include "pg/fit/stretch_fit.h"

#include "pg/catalog/stretches.h"
#include "pg/fit/column_fit.h"
#include "pg/read/block_hash.h"

namespace kde_pg {

namespace {

// Tables that are covered whole, which is a second scan of them (512 MB), and of so many leaves, as
// each takes a fraction of a millisecond; of others the last sixteenth of the newest leaves.
constexpr double kMostCovered = 65536;
constexpr int kMostLeavesCovered = 2048;
constexpr BlockNumber kShare = 16;
// The newest, whose ends rows come to.
constexpr int kMostLeaves = 16;
// What is covered before the last blocks is in some so many stretches, of so many blocks at least.
constexpr double kStretches = 64;
constexpr BlockNumber kLeastBlocks = 64;
constexpr BlockNumber kGrowth = 4;

KeptStretch* new_stretch(Oid leaf, BlockNumber first, BlockNumber end) {
  auto* out = static_cast<KeptStretch*>(palloc0(sizeof(KeptStretch)));
  *out = {leaf, first, end, nullptr, 0, nullptr, false, -1};
  return out;
}

}  // namespace

bool may_have_stretches(const DensityRequest& request) {
  return request.key.columns == 1 && !request.asked.exact && request.asked.sample_rows <= 0 &&
         request.asked.max_error == 0 &&
         (is_category(request.key, 0) ||
          read_column_method(request.asked.method) == kde::Method::automatic);
}

double blocks_of(const Proof& proof) {
  double blocks = 0;
  for (int i = 0; i < proof.leaves; ++i) blocks += proof.leaf[i].blocks;
  return blocks;
}

BlockNumber longest_stretch(double blocks) {
  return static_cast<BlockNumber>(Max(kLeastBlocks, blocks / kStretches));
}

void add_stretches(List** out, Oid leaf, BlockNumber first, BlockNumber end, BlockNumber longest) {
  List* before = NIL;
  for (BlockNumber begin = end, length = 1; begin > first; length = (kGrowth - 1) * (end - begin)) {
    const BlockNumber last = begin;
    begin = last - Min(Min(length, longest), last - first);
    before = lcons(new_stretch(leaf, begin, last), before);
  }
  *out = list_concat(*out, before);
}

bool are_better_one(const KeptStretch& a, const KeptStretch& b, BlockNumber end,
                    BlockNumber longest) {
  const BlockNumber both = b.end - a.first;
  return a.leaf == b.leaf && a.end == b.first && both <= longest &&
         kGrowth * both <= (kGrowth - 1) * (end - a.first);
}

BlockNumber largest_leaf(const Proof& proof) {
  BlockNumber blocks = 0;
  for (int i = 0; i < proof.leaves; ++i) blocks = Max(blocks, proof.leaf[i].blocks);
  return blocks;
}

bool is_large(const KeptStretch& stretch) {
  constexpr Size kLargest = BLCKSZ / 8;
  return stretch.density != nullptr &&
         VARSIZE_ANY(stretch.density) > kLargest * (stretch.end - stretch.first);
}

List* stretches_of(const Proof& proof, BlockNumber longest) {
  const double blocks = blocks_of(proof);
  const bool all = blocks <= kMostCovered && proof.leaves <= kMostLeavesCovered;
  List* out = NIL;
  const uint64 seed = new_hash_seed();
  const int newest = Max(proof.leaves - kMostLeaves, 0);
  for (int i = all ? 0 : newest; i < proof.leaves; ++i) {
    const ProofLeaf& leaf = proof.leaf[i];
    const BlockNumber first =
        all ? 0 : leaf.blocks - Min(leaf.blocks, Max(leaf.blocks / kShare, kLeastBlocks));
    if (i >= newest || leaf.blocks > longest) {
      add_stretches(&out, leaf.relation, first, leaf.blocks, longest);
    } else if (leaf.blocks > 0) {
      out = lappend(out, new_stretch(leaf.relation, first, leaf.blocks));
      static_cast<KeptStretch*>(llast(out))->is_old = true;
    }
  }
  for (KeptStretch* stretch : of_list<KeptStretch>(out)) stretch->seed = seed;
  return out;
}

}  // namespace kde_pg
