// Access to kde_aqp.part by its primary key. The layout here is that of the install script.
#include "pg/catalog/parts.h"

#include "pg/base/fault.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/extension_lock.h"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

enum Column { kDensityId = 1, kNode, kPart, kDensity, kCounters, kProof, kColumns = kProof };

KeptPart* read_part(HeapTuple tuple, TupleDesc desc) {
  auto* part = static_cast<KeptPart*>(palloc0(sizeof(KeptPart)));
  part->row = heap_copytuple(tuple);
  bool is_null;
  const auto get = [&](int column) { return heap_getattr(part->row, column, desc, &is_null); };
  part->node = DatumGetInt32(get(kNode));
  part->part = DatumGetInt64(get(kPart));
  const Datum density = get(kDensity);
  if (!is_null) part->density = reinterpret_cast<struct varlena*>(DatumGetPointer(density));
  const Datum counters = get(kCounters);
  if (!is_null) part->counters = counters_from_array(DatumGetArrayTypePCopy(counters));
  const Datum proof = get(kProof);
  part->proof = proof_from_bytes(is_null ? nullptr : DatumGetByteaPP(proof));
  return part;
}

// Calls visit(tuple) for the rows of a density.
template <typename Visit>
void for_parts(Relation parts, int64 density_id, Snapshot snapshot, Visit visit) {
  ScanKeyData key;
  ScanKeyInit(&key, kDensityId, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(density_id));
  SysScanDesc scan = systable_beginscan(parts, key_index_of(parts), true, snapshot, 1, &key);
  HeapTuple tuple;
  while (HeapTupleIsValid(tuple = systable_getnext(scan))) visit(tuple);
  systable_endscan(scan);
}

int compare_parts(const ListCell* a, const ListCell* b) {
  const auto* x = static_cast<const KeptPart*>(lfirst(a));
  const auto* y = static_cast<const KeptPart*>(lfirst(b));
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  return x->part < y->part ? -1 : x->part > y->part ? 1 : 0;
}

}  // namespace

Relation open_parts(LOCKMODE lock) {
  Relation parts = open_own_table(parts_oid_or_invalid, lock);
  if (RelationGetNumberOfAttributes(parts) != kColumns) raise_other_version();
  return parts;
}

List* parts_of(int64 density_id) {
  Relation parts = open_parts(AccessShareLock);
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  List* out = NIL;
  for_parts(parts, density_id, latest, [&](HeapTuple tuple) {
    out = lappend(out, read_part(tuple, RelationGetDescr(parts)));
  });
  UnregisterSnapshot(latest);
  table_close(parts, NoLock);
  list_sort(out, compare_parts);
  return out;
}

void part_store(int64 density_id, KeptPart* part) {
  Relation parts = open_parts(RowExclusiveLock);
  Datum values[kColumns] = {Int64GetDatum(density_id),
                            Int32GetDatum(part->node),
                            Int64GetDatum(part->part),
                            PointerGetDatum(part->density),
                            0,
                            0};
  bool nulls[kColumns] = {};
  nulls[kDensity - 1] = part->density == nullptr;
  ArrayType* counters = part->counters.known ? counters_to_array(part->counters) : nullptr;
  nulls[kCounters - 1] = counters == nullptr;
  values[kCounters - 1] = PointerGetDatum(counters);
  bytea* proof = proof_to_bytes(part->proof);
  nulls[kProof - 1] = proof == nullptr;
  values[kProof - 1] = PointerGetDatum(proof);
  HeapTuple row = heap_form_tuple(RelationGetDescr(parts), values, nulls);
  if (part->row != nullptr) {
    CatalogTupleUpdate(parts, &part->row->t_self, row);
  } else {
    CatalogTupleInsert(parts, row);
  }
  part->row = row;
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
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  bool any = false;
  for_parts(parts, density_id, latest, [&](HeapTuple tuple) {
    CatalogTupleDelete(parts, &tuple->t_self);
    any = true;
  });
  UnregisterSnapshot(latest);
  table_close(parts, NoLock);
  if (!any) return;
  CommandCounterIncrement();
  KDE_FAULT("part.removed");
}

}  // namespace kde_pg
