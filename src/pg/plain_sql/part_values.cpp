// See part_values.h.
#include "pg/plain_sql/part_values.h"

#include "pg/plain_sql/dimension_rows.h"

extern "C" {
#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
}

#include <algorithm>

namespace kde_pg {

namespace {

OpenExpression begin_one(const Expr* expression, const PlainPlan& plan, PlanState* parent) {
  auto* node = const_cast<Node*>(reinterpret_cast<const Node*>(expression));
  const Bitmapset* columns = columns_of(node);
  OpenExpression out = {
      ExecInitExpr(reinterpret_cast<Expr*>(node), parent), false, false, false, 0, false};
  get_typlenbyval(exprType(node), &out.length, &out.by_value);
  out.of_groups = bms_overlap(columns, plan.of_groups);
  out.of_column = bms_overlap(columns, plan.of_parts);
  for (int i = plan.groups; i < plan.column(); ++i) out.of_dimensions |= bms_is_member(i, columns);
  return out;
}

}  // namespace

OpenExpressions begin_open_expressions(const PlainPlan& plan, PlanState* parent) {
  OpenExpressions out;
  out.conditions = list_length(plan.conditions);
  out.others = plan.others;
  const auto room = static_cast<Size>(out.conditions + out.others + 3 * plan.aggregates + 1);
  auto* expression = static_cast<OpenExpression*>(palloc(sizeof(OpenExpression) * room));
  auto* rows = static_cast<int*>(palloc(sizeof(int) * static_cast<Size>(plan.aggregates + 1)));
  auto* zeros = static_cast<int*>(palloc(sizeof(int) * static_cast<Size>(plan.aggregates + 1)));
  for (List* all : {plan.conditions, plan.open_others})
    for (const Expr* one : of_list<const Expr>(all))
      expression[out.all++] = begin_one(one, plan, parent);
  auto* values = static_cast<int*>(palloc(sizeof(int) * static_cast<Size>(plan.aggregates + 1)));
  const int first = out.all;
  const Expr** begun = static_cast<const Expr**>(palloc(sizeof(Expr*) * room));
  // Of several aggregates the same one is one.
  const auto number_of = [&](const Expr* one) {
    if (one == nullptr) return -1;
    for (int i = first; i < out.all; ++i)
      if (equal(begun[i], one)) return i;
    begun[out.all] = one;
    expression[out.all] = begin_one(one, plan, parent);
    return out.all++;
  };
  for (int k = 0; k < plan.aggregates; ++k) {
    rows[k] = number_of(plan.aggregate[k].open_rows);
    zeros[k] = number_of(plan.aggregate[k].open_zeros);
    values[k] = number_of(plan.aggregate[k].open_value);
  }
  out.expression = expression;
  out.rows = rows;
  out.zeros = zeros;
  out.values = values;
  return out;
}

void PartValues::begin_parts(int parts) {
  if (!any()) return;
  const Size n = static_cast<Size>(open_.all);
  group_ = static_cast<Known*>(palloc0(sizeof(Known) * n));
  both_ = static_cast<Known*>(palloc0(sizeof(Known) * n));
  part_ = static_cast<Part**>(palloc0(sizeof(Part*) * static_cast<Size>(parts + 1)));
  for (int i = 0; i < open_.all; ++i)
    varies_by_both_ |= open_.expression[i].of_column && open_.expression[i].of_groups;
  for (int i = 0; i < state_.plan.dimensions; ++i) {
    const DimensionPlan& of = state_.plan.dimension[i];
    joins_parts_ |= of.of_column;
    joins_by_both_ |= of.of_column && of.of_groups;
  }
}

NullableDatum PartValues::evaluate(int i) const {
  ExprContext* context = state_.asked.context;
  context->ecxt_scantuple = state_.asked.slot;
  NullableDatum out = {0, true};
  out.value = ExecEvalExprSwitchContext(open_.expression[i].state, context, &out.isnull);
  if (!out.isnull)
    out.value = datumCopy(out.value, open_.expression[i].by_value, open_.expression[i].length);
  return out;
}

const NullableDatum& PartValues::value(int i) {
  const OpenExpression& e = open_.expression[i];
  Known* known = e.of_column ? (e.of_groups ? both_ : part_[now_]->known) : group_;
  if (!known[i].known) {
    known[i].value = evaluate(i);
    known[i].known = true;
  }
  return known[i].value;
}

// Conditions of groups alone, or those of parts, too.
bool PartValues::holds(bool of_dimensions, bool of_column) {
  for (int i = 0; i < open_.conditions; ++i) {
    const OpenExpression& e = open_.expression[i];
    if (e.of_column != of_column || e.of_dimensions != of_dimensions || is_true(i)) continue;
    if (of_column && !e.of_groups) part_[now_]->is_left_out = true;
    return false;
  }
  return true;
}

bool PartValues::begin_group(const PlainRow* key) {
  if (!any()) return true;
  const auto n = static_cast<Size>(open_.all);
  if (group_ == nullptr) begin_parts(0);
  for (Size i = 0; i < n; ++i) group_[i].known = false;
  TupleTableSlot* slot = state_.asked.slot;
  ExecClearTuple(slot);
  const int natts = slot->tts_tupleDescriptor->natts;
  std::fill_n(slot->tts_isnull, natts, true);
  if (key != nullptr) {
    std::copy_n(key->values, state_.plan.groups, slot->tts_values);
    std::copy_n(key->nulls, state_.plan.groups, slot->tts_isnull);
  }
  ExecStoreVirtualTuple(slot);
  ResetExprContext(state_.asked.context);
  // What is looked up may raise an error of a group that a condition leaves out.
  return holds(false, false) &&
         state_.asked.dimensions->join(slot, state_.plan.groups, state_.asked.context, false) &&
         holds(true, false);
}

// As of a group.
bool PartValues::is_of_part() {
  if (!holds(false, true)) return false;
  if (joins_parts_ && !state_.asked.dimensions->join(state_.asked.slot, state_.plan.groups,
                                                     state_.asked.context, true)) {
    part_[now_]->is_left_out = !joins_by_both_;
    return false;
  }
  return holds(true, true);
}

bool PartValues::begin_part(int part, Datum value_there, PlainRow* row) {
  if (!any()) return true;
  const auto n = static_cast<Size>(open_.all);
  now_ = part;
  for (Size i = 0; i < n; ++i) both_[i].known = false;
  if (part_[part] == nullptr) {
    part_[part] = static_cast<Part*>(palloc0(sizeof(Part)));
    part_[part]->known = static_cast<Known*>(palloc0(sizeof(Known) * n));
    ++parts_met_;
  }
  if (state_.plan.cuts_column) {
    TupleTableSlot* slot = state_.asked.slot;
    slot->tts_values[state_.plan.column()] = value_there;
    slot->tts_isnull[state_.plan.column()] = false;
  }
  ResetExprContext(state_.asked.context);
  if (!is_of_part()) return false;
  const int first = state_.plan.keys() - open_.others;
  for (int k = 0; k < open_.others; ++k) {
    const NullableDatum& v = value(open_.conditions + k);
    row->values[first + k] = v.value;
    row->nulls[first + k] = v.isnull;
  }
  return true;
}

PartNotes PartValues::note_of(int aggregate) {
  const int rows = open_.rows[aggregate], zeros = open_.zeros[aggregate];
  PartNotes out = {rows < 0 || is_true(rows), false, {0, true}};
  out.has_zeros = !out.has_rows && zeros >= 0 && is_true(zeros);
  if (out.has_rows && open_.values[aggregate] >= 0) out.value = value(open_.values[aggregate]);
  return out;
}

const PartNotes* PartValues::note() {
  const int n = state_.plan.aggregates;
  if (notes_ == nullptr)
    notes_ = static_cast<PartNotes*>(palloc(sizeof(PartNotes) * static_cast<Size>(n + 1)));
  for (int k = 0; k < n; ++k) notes_[k] = note_of(k);
  return notes_;
}

namespace {

bool is_same(const OpenExpression& of, const NullableDatum& a, const NullableDatum& b) {
  return a.isnull == b.isnull &&
         (a.isnull || datumIsEqual(a.value, b.value, of.by_value, of.length));
}

}  // namespace

bool PartValues::are_alike(int a, int b) const {
  const Part *left = part_[a], *right = part_[b];
  if (!may_be_alike() || left == nullptr || right == nullptr) return false;
  if (left->is_left_out || right->is_left_out) return left->is_left_out && right->is_left_out;
  for (int i = 0; i < open_.all; ++i) {
    const Known &of_left = left->known[i], &of_right = right->known[i];
    if (open_.expression[i].of_column &&
        (!of_left.known || !of_right.known ||
         !is_same(open_.expression[i], of_left.value, of_right.value)))
      return false;
  }
  return true;
}

bool PartValues::is_as_before() {
  for (int k = 0; k < state_.plan.aggregates; ++k) {
    const PartNotes now = note_of(k);
    const PartNotes& before = notes_[k];
    if (now.has_rows != before.has_rows || now.has_zeros != before.has_zeros ||
        now.value.isnull != before.value.isnull)
      return false;
    if (!now.value.isnull && !is_same(open_.expression[open_.values[k]], now.value, before.value))
      return false;
  }
  return true;
}

}  // namespace kde_pg
