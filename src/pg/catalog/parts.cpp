// Access to kde_aqp.part by its primary key. The layout here is that of the install script.
#include "pg/catalog/parts.h"

#include "pg/base/fault.h"
#include "pg/catalog/extension_lock.h"
#include "pg/catalog/own_row.h"

extern "C" {
#include "catalog/indexing.h"
}

namespace kde_pg {

namespace {

enum Column { kDensityId = 1, kNode, kPart, kDensity, kCounters, kProof, kColumns = kProof };

template <typename Row>
void columns_of(Row& row, KeptPart* part) {
  row(kNode, &part->node);
  row(kPart, &part->part);
  row(kDensity, &part->density);
  row(kCounters, &part->counters);
  row(kProof, &part->proof);
}

int compare_parts(const ListCell* a, const ListCell* b) {
  const auto* x = static_cast<const KeptPart*>(lfirst(a));
  const auto* y = static_cast<const KeptPart*>(lfirst(b));
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  return x->part < y->part ? -1 : x->part > y->part ? 1 : 0;
}

}  // namespace

Relation open_parts(LOCKMODE lock) { return open_own_table(OwnTable::part, kColumns, lock); }

List* parts_of(int64 density_id) {
  Relation parts = open_parts(AccessShareLock);
  List* out = NIL;
  const FirstColumn key = is_density(density_id);
  for_rows(parts, &key, nullptr, [&](HeapTuple tuple) {
    auto* part = static_cast<KeptPart*>(palloc0(sizeof(KeptPart)));
    part->row = heap_copytuple(tuple);
    RowReader row(part->row, RelationGetDescr(parts));
    columns_of(row, part);
    out = lappend(out, part);
    return true;
  });
  table_close(parts, NoLock);
  list_sort(out, compare_parts);
  return out;
}

void part_store(int64 density_id, KeptPart* part) {
  Relation parts = open_parts(RowExclusiveLock);
  RowWriter<kColumns> row;
  row(kDensityId, &density_id);
  columns_of(row, part);
  HeapTuple written = row.make(RelationGetDescr(parts));
  if (part->row != nullptr) {
    CatalogTupleUpdate(parts, &part->row->t_self, written);
  } else {
    CatalogTupleInsert(parts, written);
  }
  part->row = written;
  table_close(parts, NoLock);
  KDE_FAULT("part.stored");
}

void part_remove(const KeptPart& part) {
  Relation parts = open_parts(RowExclusiveLock);
  CatalogTupleDelete(parts, &part.row->t_self);
  table_close(parts, NoLock);
}

void parts_remove(int64 density_id) {
  Relation parts = open_parts(RowExclusiveLock);
  bool any = false;
  const FirstColumn key = is_density(density_id);
  for_rows(parts, &key, nullptr, [&](HeapTuple tuple) {
    CatalogTupleDelete(parts, &tuple->t_self);
    return any = true;
  });
  table_close(parts, NoLock);
  if (!any) return;
  CommandCounterIncrement();
  KDE_FAULT("part.removed");
}

}  // namespace kde_pg
