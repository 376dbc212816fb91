// See dimension_rows.h. What is looked up and a dimension's column may be of two types of a hash
// family, which have hashes of their own that agree.
#include "pg/plain_sql/dimension_rows.h"

extern "C" {
#include "executor/executor.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
}

namespace kde_pg {

namespace {

FmgrInfo* function(Oid id) {
  auto* out = static_cast<FmgrInfo*>(palloc(sizeof(FmgrInfo)));
  fmgr_info(id, out);
  return out;
}

// Whether nothing is the same as one of them, as it is NULL.
bool is_alone(const DimensionPlan& plan, const HashedValue* of, const bool* nulls) {
  for (int k = 0; k < plan.keys; ++k)
    if (nulls[of[k].place] && !plan.key[k].has_nulls) return true;
  return false;
}

}  // namespace

void DimensionRows::begin(const PlainPlan& plan, List* children, PlanState* parent) {
  n_ = plan.dimensions;
  plan_ = plan.dimension;
  children_ = children;
  table_ = static_cast<Table*>(palloc0(sizeof(Table) * static_cast<Size>(n_ + 1)));
  for (int i = 0; i < n_; ++i) {
    const DimensionPlan& of = plan_[i];
    lookups_ = lappend(lookups_, ExecInitExprList(of.lookups, parent));
    const Size room = sizeof(HashedValue) * static_cast<Size>(of.keys + 1);
    auto* own = static_cast<HashedValue*>(palloc(room));
    auto* looked_up = static_cast<HashedValue*>(palloc(room));
    for (int k = 0; k < of.keys; ++k) {
      const DimensionKey& key = of.key[k];
      Oid left_hash, right_hash, left_equal, right_equal;
      if (!get_op_hash_functions(key.equal, &left_hash, &right_hash) ||
          !get_compatible_hash_operators(key.equal, &left_equal, &right_equal))
        elog(ERROR, "operator %u has no hashes", key.equal);
      own[k] = {key.column, function(right_hash), function(get_opcode(right_equal)), key.collation};
      looked_up[k] = {k, function(left_hash), function(get_opcode(key.equal)), key.collation};
    }
    table_[i] = {{},
                 own,
                 looked_up,
                 static_cast<Datum*>(palloc0(sizeof(Datum) * static_cast<Size>(of.keys + 1))),
                 static_cast<bool*>(palloc0(static_cast<Size>(of.keys + 1)))};
  }
}

bool DimensionRows::read_one(int i, const char** why) {
  const DimensionPlan& of = plan_[i];
  Table& table = table_[i];
  table.rows = {};
  auto* child = static_cast<PlanState*>(list_nth(children_, i));
  const bool is_once = of.join == PlainJoin::inner || of.join == PlainJoin::left;
  const Size most = get_hash_memory_limit();
  Size bytes = 0;
  for (;;) {
    CHECK_FOR_INTERRUPTS();
    // Scans begin with their first row, and outlive what is read.
    MemoryContext caller = MemoryContextSwitchTo(child->state->es_query_cxt);
    TupleTableSlot* slot = ExecProcNode(child);
    MemoryContextSwitchTo(caller);
    if (TupIsNull(slot)) return true;
    slot_getallattrs(slot);
    if (is_alone(of, table.own, slot->tts_isnull)) continue;
    const uint32 hash = hash_of(table.own, of.keys, slot->tts_values, slot->tts_isnull);
    const auto same = [&](const Row& row) {
      return is_same(table.own, of.keys, row.values, row.nulls, slot->tts_values, slot->tts_isnull);
    };
    if (table.rows.find(hash, same) != nullptr) {
      if (!is_once) continue;
      *why = psprintf("%s has several rows of a key", of.name);
      return false;
    }
    if (table.rows.size() >= kMostDimensionRows) {
      *why = psprintf("%s has more than %d rows", of.name, kMostDimensionRows);
      return false;
    }
    auto* row = static_cast<Row*>(palloc(sizeof(Row)));
    *row = {static_cast<Datum*>(palloc0(sizeof(Datum) * static_cast<Size>(of.columns + 1))),
            static_cast<bool*>(palloc0(static_cast<Size>(of.columns + 1))), hash};
    for (int c = 0; c < of.columns; ++c) {
      const Form_pg_attribute column = TupleDescAttr(slot->tts_tupleDescriptor, c);
      row->nulls[c] = slot->tts_isnull[c];
      if (row->nulls[c]) continue;
      row->values[c] = datumCopy(slot->tts_values[c], column->attbyval, column->attlen);
      if (!column->attbyval) bytes += datumGetSize(row->values[c], false, column->attlen);
    }
    bytes += sizeof(Row) + (sizeof(Datum) + sizeof(bool)) * static_cast<Size>(of.columns);
    table.rows.add(row);
    if (bytes > most) {
      *why = psprintf("%s takes more than work_mem", of.name);
      return false;
    }
  }
}

bool DimensionRows::read(const char** why) {
  for (int i = 0; i < n_; ++i)
    if (!read_one(i, why)) return false;
  return true;
}

// By what is looked up. Null: there is none.
const DimensionRows::Row* DimensionRows::find(int i) const {
  const DimensionPlan& of = plan_[i];
  const Table& table = table_[i];
  if (is_alone(of, table.looked_up, table.nulls)) return nullptr;
  const auto same = [&](const Row& row) {
    for (int k = 0; k < of.keys; ++k) {
      const HashedValue& with = table.looked_up[k];
      const int own = of.key[k].column;
      if (table.nulls[k] != row.nulls[own]) return false;
      if (!table.nulls[k] && !DatumGetBool(FunctionCall2Coll(with.equal, with.collation,
                                                             table.values[k], row.values[own])))
        return false;
    }
    return true;
  };
  return table.rows.find(hash_of(table.looked_up, of.keys, table.values, table.nulls), same);
}

bool DimensionRows::join_one(int i, TupleTableSlot* slot, int first, List* lookup,
                             ExprContext* context) const {
  const DimensionPlan& of = plan_[i];
  int k = 0;
  for (ExprState* key : of_list<ExprState>(lookup)) {
    table_[i].values[k] = ExecEvalExprSwitchContext(key, context, &table_[i].nulls[k]);
    ++k;
  }
  const Row* row = find(i);
  if (row != nullptr ? of.join == PlainJoin::anti
                     : of.join == PlainJoin::inner || of.join == PlainJoin::semi)
    return false;
  for (int c = 0; c < of.columns; ++c) {
    slot->tts_isnull[first + c] = row == nullptr || row->nulls[c];
    slot->tts_values[first + c] = slot->tts_isnull[first + c] ? 0 : row->values[c];
  }
  return true;
}

bool DimensionRows::join(TupleTableSlot* slot, int first, ExprContext* context,
                         bool of_column) const {
  context->ecxt_scantuple = slot;
  for (int i = 0; i < n_; first += plan_[i].columns, ++i)
    if (plan_[i].of_column == of_column &&
        !join_one(i, slot, first, static_cast<List*>(list_nth(lookups_, i)), context))
      return false;
  return true;
}

bool DimensionRows::join(TupleTableSlot* slot, int first, List* lookups,
                         ExprContext* context) const {
  context->ecxt_scantuple = slot;
  for (int i = 0; i < n_; first += plan_[i].columns, ++i)
    if (!join_one(i, slot, first, static_cast<List*>(list_nth(lookups, i)), context)) return false;
  return true;
}

void DimensionRows::rescan(Bitmapset* changed) {
  for (PlanState* child : of_list<PlanState>(children_)) {
    if (changed != nullptr) UpdateChangedParamSet(child, changed);
    // A plan whose parameters changed is rescanned when it is asked for its first row.
    if (child->chgParam == nullptr) ExecReScan(child);
  }
}

}  // namespace kde_pg
