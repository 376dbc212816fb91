// See stretch_fit.h.
#include "pg/fit/stretch_fit.h"

#include "pg/catalog/stretches.h"
#include "pg/fit/column_fit.h"
#include "pg/fit/road.h"
#include "pg/type/density_datum.h"

#include <algorithm>

extern "C" {
#include "access/table.h"
}

namespace kde_pg {

namespace {

// Of a leaf a sixteenth is covered, and of a small one all: what its stretches cost beside the fit
// of the whole.
constexpr BlockNumber kShare = 16;
constexpr BlockNumber kSmall = 64;
constexpr BlockNumber kGrowth = 4;
// Leaves that have stretches: the newest. Each stretch is some tenths of a millisecond.
constexpr int kMostLeaves = 16;

// Appends the leaf's, as blocks alone, in their order.
List* append_stretches(List* out, const ProofLeaf& leaf) {
  const BlockNumber most = Min(leaf.blocks, Max(leaf.blocks / kShare, kSmall));
  BlockNumber end = leaf.blocks;
  List* back = NIL;
  for (BlockNumber length = 1; end > leaf.blocks - most; length *= kGrowth) {
    auto* stretch = static_cast<KeptStretch*>(palloc0(sizeof(KeptStretch)));
    const BlockNumber first = leaf.blocks - Min(length, most);
    *stretch = {leaf.relation, first, end, nullptr};
    back = lcons(stretch, back);
    end = first;
  }
  return list_concat(out, back);
}

struct varlena* copy_of(const kde::DensityBytes& density) {
  return reinterpret_cast<struct varlena*>(DatumGetPointer(density_to_datum(density)));
}

// Their bytes; null where they take more than a value may.
bytea* bytes_of(List* stretches, struct varlena** density) {
  ListCell* cell;
  foreach (cell, stretches)
    static_cast<KeptStretch*>(lfirst(cell))->density = density[foreach_current_index(cell)];
  return stretches_to_bytes(stretches);
}

}  // namespace

bool may_have_stretches(const DensityRequest& request) {
  return request.key.columns == 1 && !request.asked.exact && request.asked.sample_rows <= 0 &&
         request.asked.max_error == 0 &&
         (is_category(request.key, 0) ||
          read_column_method(request.asked.method) == kde::Method::automatic);
}

bytea* fit_stretches(const DensityRequest& request, const ScanResult& scan, bytea** of_column) {
  if (of_column != nullptr) *of_column = nullptr;
  if (scan.snapshot == nullptr) return nullptr;
  Relation relation = table_open(request.key.relation, NoLock);
  List* stretches = NIL;
  for (int i = Max(scan.proof.leaves - kMostLeaves, 0); i < scan.proof.leaves; ++i)
    stretches = append_stretches(stretches, scan.proof.leaf[i]);
  const Size room = sizeof(struct varlena*) * static_cast<Size>(list_length(stretches) + 1);
  auto** own = static_cast<struct varlena**>(palloc0(room));
  auto** column = static_cast<struct varlena**>(palloc0(room));
  ListCell* cell;
  foreach (cell, stretches) {
    const auto* stretch = static_cast<const KeptStretch*>(lfirst(cell));
    ScanOptions options = scan_options(request);
    options.every_row = true;
    options.leaf = stretch->leaf;
    options.snapshot = scan.snapshot;
    options.first_block = stretch->first;
    options.end_block = stretch->end;
    Road road;
    road.begin(request);
    road.read(relation, options, false);
    if (road.nothing_to_fit() == nullptr) {
      road.fit();
      own[foreach_current_index(cell)] = copy_of(road.estimate().density());
      if (of_column != nullptr)
        column[foreach_current_index(cell)] = copy_of(road.estimate().of_column()->density());
    }
    road.end();
  }
  table_close(relation, NoLock);
  if (of_column != nullptr) *of_column = bytes_of(stretches, column);
  return bytes_of(stretches, own);
}

}  // namespace kde_pg
