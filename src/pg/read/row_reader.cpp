// From a table's row to a density's numbers: columns by their number, expressions and the filter
// by the executor.
#include "pg/read/row_reader.h"

#include "pg/progress/progress.h"
#include "pg/read/categories.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/partition.h"
#include "catalog/pg_attribute.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

namespace kde_pg {

namespace {

bool is_virtual(Relation rel, AttrNumber attnum) {
  return TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attgenerated ==
         ATTRIBUTE_GENERATED_VIRTUAL;
}

// An expression over `relation`, planned over `leaf`.
Expr* planned(Node* node, Relation relation, Relation leaf) {
  List* mapped = list_make1(copyObjectImpl(node));
  if (RelationGetRelid(relation) != RelationGetRelid(leaf))
    mapped = map_partition_varattnos(mapped, 1, leaf, relation);
  return expression_planner(static_cast<Expr*>(linitial(mapped)));
}

}  // namespace

AttrNumber leaf_attnum(Relation relation, AttrNumber attnum, Relation leaf) {
  if (RelationGetRelid(relation) == RelationGetRelid(leaf)) return attnum;
  const char* name = get_attname(RelationGetRelid(relation), attnum, false);
  const AttrNumber found = get_attnum(RelationGetRelid(leaf), name);
  if (found == InvalidAttrNumber)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                    errmsg("column \"%s\" of relation \"%s\" does not exist", name,
                           RelationGetRelationName(leaf))));
  return found;
}

void RowReader::begin(const DensityKey& key, const kde::ValueType* value_types, const char* doing,
                      RowSink* sink) {
  key_ = &key;
  value_types_ = value_types;
  doing_ = doing;
  sink_ = sink;
  for (int k = 0; k < key.columns; ++k) categories_[k] = sink->categories(k);
  context_ = CreateStandaloneExprContext();
  rows_since_breath_ = 0;
  rows_met_ = 0;
}

void RowReader::end() { FreeExprContext(context_, true); }

void RowReader::begin_leaf(Relation relation, Relation leaf) {
  computes_ = key_->condition != nullptr;
  last_attnum_ = 0;
  for (int k = 0; k < key_->columns; ++k) {
    const KeyColumn& column = key_->column[k];
    attnum_[k] = 0;
    expression_[k] = nullptr;
    if (column.attnum != 0) {
      attnum_[k] = leaf_attnum(relation, column.attnum, leaf);
      last_attnum_ = Max(last_attnum_, attnum_[k]);
    } else {
      expression_[k] = ExecInitExpr(planned(column.expression, relation, leaf), nullptr);
      computes_ = true;
    }
  }
  filter_ = nullptr;
  if (key_->condition != nullptr)
    filter_ = ExecInitQual(make_ands_implicit(planned(key_->condition, relation, leaf)), nullptr);
}

bool RowReader::needs_query(Relation relation, const DensityKey& key, Relation leaf) {
  for (int k = 0; k < key.columns; ++k) {
    const AttrNumber attnum = key.column[k].attnum;
    if (attnum != 0 && is_virtual(leaf, leaf_attnum(relation, attnum, leaf))) return true;
  }
  for (int i = 0; i < key.references; ++i) {
    if (is_virtual(leaf, leaf_attnum(relation, key.reference[i], leaf))) return true;
  }
  return false;
}

void RowReader::take_breath() {
  CHECK_FOR_INTERRUPTS();
  ResetExprContext(context_);
  rows_since_breath_ = 0;
}

inline void RowReader::put(int column, Datum value, bool is_null, double* values,
                           uint16* nulls) const {
  if (is_null) {
    values[column] = 0;
    *nulls |= static_cast<uint16>(1 << column);
  } else if (categories_[column] != nullptr) {
    values[column] = categories_[column]->take(value);
  } else {
    values[column] = value_to_double(value_types_[column], value);
  }
}

inline void RowReader::hand_on(const double* values, uint16 nulls) {
  const kde::Status status = sink_->add(values, nulls);
  if (unlikely(!status.ok())) sink_->raise(status, doing_);
}

void RowReader::take(TupleTableSlot* slot) {
  if (computes_) {
    take_computed(slot);
  } else {
    double values[kde::kMaxColumns];
    uint16 nulls = 0;
    MemoryContext previous = MemoryContextSwitchTo(context_->ecxt_per_tuple_memory);
    slot_getsomeattrs(slot, last_attnum_);  // at once, not attribute by attribute
    for (int k = 0; k < key_->columns; ++k) {
      bool is_null;
      const Datum value = slot_getattr(slot, attnum_[k], &is_null);
      put(k, value, is_null, values, &nulls);
    }
    MemoryContextSwitchTo(previous);
    hand_on(values, nulls);
  }
  if (++rows_since_breath_ >= kRowsPerBreath) take_breath();
}

// The filter first: expressions may rely on it. What they leave behind may be large, so it goes
// with the row.
void RowReader::take_computed(TupleTableSlot* slot) {
  ++rows_met_;
  context_->ecxt_scantuple = slot;
  if (filter_ == nullptr || ExecQual(filter_, context_)) {
    double values[kde::kMaxColumns];
    uint16 nulls = 0;
    MemoryContext previous = MemoryContextSwitchTo(context_->ecxt_per_tuple_memory);
    for (int k = 0; k < key_->columns; ++k) {
      bool is_null;
      const Datum value = expression_[k] != nullptr
                              ? ExecEvalExpr(expression_[k], context_, &is_null)
                              : slot_getattr(slot, attnum_[k], &is_null);
      put(k, value, is_null, values, &nulls);
    }
    MemoryContextSwitchTo(previous);
    hand_on(values, nulls);
  }
  ResetExprContext(context_);
}

void RowReader::take(HeapTuple tuple, TupleDesc desc, int before) {
  double values[kde::kMaxColumns];
  uint16 nulls = 0;
  MemoryContext previous = MemoryContextSwitchTo(context_->ecxt_per_tuple_memory);
  for (int k = 0; k < key_->columns; ++k) {
    bool is_null;
    const Datum value = heap_getattr(tuple, before + k + 1, desc, &is_null);
    put(k, value, is_null, values, &nulls);
  }
  MemoryContextSwitchTo(previous);
  hand_on(values, nulls);
  if (++rows_since_breath_ >= kRowsPerBreath) take_breath();
}

void RowReaders::begin_leaf(Relation relation, Relation leaf) {
  attributes_ = InvalidAttrNumber;
  for (int k = 0; k < n_; ++k) {
    reader_[k].begin_leaf(relation, leaf);
    attributes_ = Max(attributes_, reader_[k].attributes());
  }
}

void RowReaders::take(TupleTableSlot* slot) {
  if (attributes_ > 0) slot_getsomeattrs(slot, attributes_);  // once for all of them
  for (int k = 0; k < n_; ++k) reader_[k].take(slot);
}

void RowReaders::take(HeapTuple tuple, TupleDesc desc) {
  int before = 0;
  for (int k = 0; k < n_; ++k) {
    reader_[k].take(tuple, desc, before);
    before += reader_[k].columns();
  }
}

void RowReaders::take_all(Portal portal, double keep, kde::Random* random, int64* rows) {
  constexpr long kRowsPerFetch = 10000;
  for (uint64 fetched = kRowsPerFetch; fetched == kRowsPerFetch;) {
    SPI_cursor_fetch(portal, true, kRowsPerFetch);
    fetched = SPI_processed;
    SPITupleTable* table = SPI_tuptable;
    for (uint64 i = 0; i < fetched; ++i)
      if (draws(keep, random)) take(table->vals[i], table->tupdesc);
    SPI_freetuptable(table);
    if (rows != nullptr && *rows >= 0) progress_done(*rows += static_cast<int64>(fetched));
    take_breath();
  }
}

}  // namespace kde_pg
