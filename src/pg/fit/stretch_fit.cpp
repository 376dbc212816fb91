// See stretch_fit.h.
#include "pg/fit/stretch_fit.h"

#include "pg/catalog/stretches.h"
#include "pg/fit/column_fit.h"
#include "pg/read/block_hash.h"

namespace kde_pg {

namespace {

// Tables that are covered whole, which is a second scan of them (512 MB), and of so many leaves, as
// each takes some milliseconds; of others the last sixteenth of the newest leaves.
constexpr double kMostCovered = 65536;
constexpr int kMostLeavesCovered = 256;
constexpr BlockNumber kShare = 16;
constexpr int kMostLeaves = 16;
// What is covered before the last blocks is in some so many stretches, of so many blocks at least.
constexpr double kStretches = 64;
constexpr BlockNumber kLeastBlocks = 64;
constexpr BlockNumber kGrowth = 4;

KeptStretch* new_stretch(const ProofLeaf& leaf, BlockNumber first, BlockNumber end) {
  auto* out = static_cast<KeptStretch*>(palloc0(sizeof(KeptStretch)));
  *out = {leaf.relation, first, end, nullptr, 0, nullptr};
  return out;
}

// A leaf's last blocks, so many, in their order.
List* last_blocks(const ProofLeaf& leaf, BlockNumber most) {
  List* out = NIL;
  BlockNumber end = leaf.blocks;
  for (BlockNumber length = 1; end > leaf.blocks - most; length *= kGrowth) {
    const BlockNumber first = leaf.blocks - Min(length, most);
    out = lcons(new_stretch(leaf, first, end), out);
    end = first;
  }
  return out;
}

}  // namespace

bool may_have_stretches(const DensityRequest& request) {
  return request.key.columns == 1 && !request.asked.exact && request.asked.sample_rows <= 0 &&
         request.asked.max_error == 0 &&
         (is_category(request.key, 0) ||
          read_column_method(request.asked.method) == kde::Method::automatic);
}

List* stretches_of(const Proof& proof) {
  double blocks = 0;
  for (int i = 0; i < proof.leaves; ++i) blocks += proof.leaf[i].blocks;
  const bool all = blocks <= kMostCovered && proof.leaves <= kMostLeavesCovered;
  const auto each = static_cast<BlockNumber>(Max(kLeastBlocks, blocks / kStretches));
  List* out = NIL;
  const uint64 seed = new_hash_seed();
  for (int i = all ? 0 : Max(proof.leaves - kMostLeaves, 0); i < proof.leaves; ++i) {
    const ProofLeaf& leaf = proof.leaf[i];
    const BlockNumber last = Min(leaf.blocks, Max(leaf.blocks / kShare, kLeastBlocks));
    for (BlockNumber first = 0; all && first < leaf.blocks - last; first += each)
      out = lappend(out, new_stretch(leaf, first, Min(first + each, leaf.blocks - last)));
    out = list_concat(out, last_blocks(leaf, last));
  }
  for (KeptStretch* stretch : of_list<KeptStretch>(out)) stretch->seed = seed;
  return out;
}

}  // namespace kde_pg
