// Look-ups by an index of the table, through its access method: the scan's own snapshot sees the
// rows, and no query is planned.
#include "pg/read/look_up.h"

#include "pg/base/compat.h"

extern "C" {
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/transam.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"
}

namespace kde_pg {

namespace {

Oid operator_of(Relation index, StrategyNumber strategy) {
  const Oid type = index->rd_opcintype[0];
  return get_opfamily_member(index->rd_opfamily[0], type, type, static_cast<int16>(strategy));
}

bool finds_every_row(Relation index, AttrNumber attnum, Oid equality, Oid collation) {
  if (index->rd_rel->relam != BTREE_AM_OID || !index->rd_index->indisvalid ||
      index->rd_index->indkey.values[0] != attnum ||
      !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, nullptr))
    return false;
  // Rows that older snapshots see may have no entry in it.
  if (index->rd_index->indcheckxmin &&
      !TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), TransactionXmin))
    return false;
  return index->rd_indcollation[0] == collation &&
         operator_of(index, BTEqualStrategyNumber) == equality;
}

void set_key(Relation index, StrategyNumber strategy, Datum value, ScanKey key) {
  ScanKeyEntryInitialize(key, 0, 1, strategy, InvalidOid, index->rd_indcollation[0],
                         get_opcode(operator_of(index, strategy)), value);
}

// SK_SEARCHNULL or SK_SEARCHNOTNULL.
void set_null_key(int search, ScanKey key) {
  ScanKeyEntryInitialize(key, SK_ISNULL | search, 1, InvalidStrategy, InvalidOid, InvalidOid,
                         InvalidOid, 0);
}

}  // namespace

bool LookUp::begin(Relation table, Snapshot snapshot, AttrNumber attnum, Categories* values) {
  values_ = values;
  return open(table, snapshot, attnum, values->equality(), values->collation(), 1);
}

bool LookUp::begin(Relation table, Snapshot snapshot, AttrNumber attnum) {
  const Form_pg_attribute of = TupleDescAttr(RelationGetDescr(table), attnum - 1);
  const TypeCacheEntry* type = lookup_type_cache(of->atttypid, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);
  if (!open(table, snapshot, attnum, type->eq_opr, of->attcollation, 2)) return false;
  // Values that are the same may be in another order there.
  if (operator_of(index_, BTLessStrategyNumber) == type->lt_opr) return true;
  end();
  return false;
}

bool LookUp::open(Relation table, Snapshot snapshot, AttrNumber attnum, Oid equality, Oid collation,
                  int keys) {
  attnum_ = attnum;
  index_ = nullptr;
  List* indexes = RelationGetIndexList(table);
  ListCell* cell;
  foreach (cell, indexes) {
    index_ = index_open(lfirst_oid(cell), AccessShareLock);
    if (finds_every_row(index_, attnum, equality, collation)) break;
    index_close(index_, AccessShareLock);
    index_ = nullptr;
  }
  list_free(indexes);
  if (index_ == nullptr) return false;
  scan_ = begin_index_scan(table, index_, snapshot, keys);
  slot_ = table_slot_create(table, nullptr);
  each_ = AllocSetContextCreate(CurrentMemoryContext, "kde_aqp look-up", ALLOCSET_SMALL_SIZES);
  return true;
}

void LookUp::end() {
  MemoryContextDelete(each_);
  ExecDropSingleTupleTableSlot(slot_);
  index_endscan(scan_);
  index_close(index_, NoLock);  // with the table's
}

bool LookUp::next(bool* seen) {
  CHECK_FOR_INTERRUPTS();
  if (index_getnext_tid(scan_, ForwardScanDirection) == nullptr) return false;
  *seen = index_fetch_heap(scan_, slot_);
  return true;
}

bool LookUp::number_values(Size most) {
  const bool descends = (index_->rd_indoption[0] & INDOPTION_DESC) != 0;
  const StrategyNumber beyond = descends ? BTLessStrategyNumber : BTGreaterStrategyNumber;
  ScanKeyData key;
  set_null_key(SK_SEARCHNOTNULL, &key);
  index_rescan(scan_, &key, 1, nullptr, 0);
  bool seen;
  for (Size visited = 0; next(&seen);) {
    if (++visited > most) return false;
    if (!seen) continue;
    bool is_null;
    MemoryContext previous = MemoryContextSwitchTo(each_);
    const uint32 number = values_->number(slot_getattr(slot_, attnum_, &is_null));
    MemoryContextSwitchTo(previous);
    MemoryContextReset(each_);
    set_key(index_, beyond, values_->value(number), &key);
    index_rescan(scan_, &key, 1, nullptr, 0);
  }
  return true;
}

bool LookUp::has_none_between(Datum beyond, Datum before, Size most) {
  ScanKeyData key[2];
  set_key(index_, BTGreaterStrategyNumber, beyond, &key[0]);
  set_key(index_, BTLessStrategyNumber, before, &key[1]);
  index_rescan(scan_, key, 2, nullptr, 0);
  bool seen;
  for (Size visited = 0; next(&seen);)
    if (seen || ++visited > most) return false;
  return true;
}

bool LookUp::read(uint32 number, Size most, RowReader* reader) {
  ScanKeyData key;
  if (number == 0) {
    set_null_key(SK_SEARCHNULL, &key);
  } else {
    set_key(index_, BTEqualStrategyNumber, values_->value(number), &key);
  }
  index_rescan(scan_, &key, 1, nullptr, 0);
  bool seen;
  for (Size visited = 0; next(&seen);) {
    if (++visited > most) return false;
    if (seen) reader->take(slot_);
  }
  return true;
}

}  // namespace kde_pg
