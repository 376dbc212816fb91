// The run of the exact part of an answer, and the node that scans stretches of blocks; see rest.h.
// The node's rows are those of the table that the query names, whatever leaf they lie in.
#include "pg/base/options.h"
#include "pg/plain_sql/dimension_rows.h"
#include "pg/plain_sql/plan_fields.h"
#include "pg/plain_sql/rest_node.h"
#include "pg/read/block_range.h"
#include "pg/values/values.h"

#include <algorithm>
#include <cmath>
#include <limits>

extern "C" {
#include "access/table.h"
#include "access/tableam.h"
#include "access/tupconvert.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
}

namespace kde_pg {

namespace {

// Half a megabyte: read whatever the exact plan costs.
constexpr double kFewBlocks = 64;

struct RestScan {
  CustomScanState css;
  AttrNumber attributes;  // as far as rows have to be taken apart
  List* stretches;
  int next;
  // Of a join: the table, and a row of it by itself.
  Relation table;
  TupleTableSlot* row;
  int columns;            // of the table, in the node's rows
  ExprState* conditions;  // of the table alone
  List* lookups;          // ExprState*, a list of each dimension
  const DimensionRows* dimensions;
  // Of the stretch that is read; null: none.
  Relation leaf;
  TableScanDesc scan;
  TupleTableSlot* slot;
  TupleConversionMap* map;  // null: as the table's own
};

extern const CustomExecMethods exec_methods;

Node* create_state(CustomScan*) {
  auto* s = static_cast<RestScan*>(palloc0(sizeof(RestScan)));
  s->css.ss.ps.type = T_CustomScanState;
  s->css.methods = &exec_methods;
  return reinterpret_cast<Node*>(s);
}

// The column of the table's that one of the node's rows is.
AttrNumber column_of(const CustomScan* scan, int i) {
  auto* of = list_nth_node(TargetEntry, scan->custom_scan_tlist, i);
  return castNode(Var, of->expr)->varattno;
}

// The plan has locked the table.
void begin_join(RestScan* s, const CustomScan* scan) {
  s->table = table_open(linitial_oid(static_cast<List*>(linitial(scan->custom_private))), NoLock);
  s->row = MakeSingleTupleTableSlot(RelationGetDescr(s->table), &TTSOpsVirtual);
  s->columns = linitial_int(static_cast<List*>(lsecond(scan->custom_private)));
  for (int i = 0; i < s->columns; ++i) s->attributes = Max(s->attributes, column_of(scan, i));
  s->conditions = ExecInitQual(static_cast<List*>(linitial(scan->custom_exprs)), &s->css.ss.ps);
  for (List* of : of_list<List>(static_cast<List*>(lsecond(scan->custom_exprs))))
    s->lookups = lappend(s->lookups, ExecInitExprList(of, &s->css.ss.ps));
}

void begin(CustomScanState* css, EState*, int) {
  const auto* scan = castNode(CustomScan, css->ss.ps.plan);
  auto* s = reinterpret_cast<RestScan*>(css);
  if (scan->scan.scanrelid == 0) {
    begin_join(s, scan);
    return;
  }
  Bitmapset* columns = nullptr;
  for (List* of : {scan->scan.plan.targetlist, scan->scan.plan.qual})
    pull_varattnos(reinterpret_cast<Node*>(of), scan->scan.scanrelid, &columns);
  int last = -1;
  for (int i = -1; (i = bms_next_member(columns, i)) >= 0;) last = i;
  s->attributes = static_cast<AttrNumber>(Max(last + FirstLowInvalidHeapAttributeNumber, 0));
}

bool is_join(const RestScan* s) { return s->table != nullptr; }
Relation table_of(const RestScan* s) {
  return is_join(s) ? s->table : s->css.ss.ss_currentRelation;
}

void close_leaf(RestScan* s) {
  if (s->leaf == nullptr) return;
  table_endscan(s->scan);
  ExecDropSingleTupleTableSlot(s->slot);
  if (s->map != nullptr) free_conversion_map(s->map);
  // The lock is the transaction's.
  table_close(s->leaf, NoLock);
  s->leaf = nullptr;
}

// False: there is none.
bool next_stretch(RestScan* s) {
  while (s->next < list_length(s->stretches)) {
    const auto& stretch = *static_cast<const Stretch*>(list_nth(s->stretches, s->next++));
    if (s->leaf != nullptr && RelationGetRelid(s->leaf) != stretch.leaf) close_leaf(s);
    if (s->leaf == nullptr) {
      Relation root = table_of(s);
      s->leaf = table_open(stretch.leaf, NoLock);
      s->slot = table_slot_create(s->leaf, nullptr);
      s->scan = begin_block_scan(s->leaf, s->css.ss.ps.state->es_snapshot);
      s->map = stretch.leaf == RelationGetRelid(root)
                   ? nullptr
                   : convert_tuples_by_name(RelationGetDescr(s->leaf), RelationGetDescr(root));
    }
    const BlockNumber end = Min(stretch.end, RelationGetNumberOfBlocks(s->leaf));
    if (stretch.first >= end) continue;
    set_block_range(s->scan, stretch.first, end);
    return true;
  }
  close_leaf(s);
  return false;
}

// Of the table's own form, as a virtual row, whose values lie where the leaf's row does.
TupleTableSlot* as_own(const RestScan* s) {
  TupleTableSlot* out = is_join(s) ? s->row : s->css.ss.ss_ScanTupleSlot;
  if (s->map != nullptr) return execute_attr_map_slot(s->map->attrMap, s->slot, out);
  slot_getsomeattrs(s->slot, s->attributes);
  ExecClearTuple(out);
  const int all = out->tts_tupleDescriptor->natts;
  for (int i = 0; i < all; ++i) {
    const bool is_read = i < s->attributes;
    out->tts_values[i] = is_read ? s->slot->tts_values[i] : 0;
    out->tts_isnull[i] = !is_read || s->slot->tts_isnull[i];
  }
  return ExecStoreVirtualTuple(out);
}

// With its dimensions' rows. Null: it joins with none, or is not asked for.
TupleTableSlot* joined(RestScan* s, TupleTableSlot* own) {
  const auto* scan = castNode(CustomScan, s->css.ss.ps.plan);
  ExprContext* context = s->css.ss.ps.ps_ExprContext;
  TupleTableSlot* out = s->css.ss.ss_ScanTupleSlot;
  slot_getallattrs(own);
  ResetExprContext(context);
  ExecClearTuple(out);
  for (int i = 0; i < s->columns; ++i) {
    const int from = column_of(scan, i) - 1;
    out->tts_values[i] = own->tts_values[from];
    out->tts_isnull[i] = own->tts_isnull[from];
  }
  ExecStoreVirtualTuple(out);
  context->ecxt_scantuple = out;
  const bool is =
      ExecQual(s->conditions, context) && s->dimensions->join(out, s->columns, s->lookups, context);
  return is ? out : nullptr;
}

TupleTableSlot* next_row(ScanState* state) {
  auto* s = reinterpret_cast<RestScan*>(state);
  while (s->leaf != nullptr || next_stretch(s)) {
    CHECK_FOR_INTERRUPTS();
    if (table_scan_getnextslot_tidrange(s->scan, ForwardScanDirection, s->slot)) {
      TupleTableSlot* row = as_own(s);
      if (is_join(s)) row = joined(s, row);
      if (row != nullptr) return row;
      continue;
    }
    if (!next_stretch(s)) break;
  }
  return nullptr;
}

bool recheck(ScanState*, TupleTableSlot*) { return true; }

TupleTableSlot* execute(CustomScanState* css) { return ExecScan(&css->ss, next_row, recheck); }

void end_scan(CustomScanState* css) {
  auto* s = reinterpret_cast<RestScan*>(css);
  close_leaf(s);
  if (!is_join(s)) return;
  ExecDropSingleTupleTableSlot(s->row);
  table_close(s->table, NoLock);
}

void rescan(CustomScanState* css) {
  auto* s = reinterpret_cast<RestScan*>(css);
  close_leaf(s);
  s->next = 0;
  ExecScanReScan(&css->ss);
}

const CustomExecMethods exec_methods = {kRestName, begin,   execute, end_scan, rescan,
                                        nullptr,   nullptr, nullptr, nullptr,  nullptr,
                                        nullptr,   nullptr, nullptr};

// Null where a condition that no row meets stands in its place.
RestScan* scan_beneath(PlanState* state) {
  for (; state != nullptr; state = outerPlanState(state))
    if (IsA(state, CustomScanState) &&
        reinterpret_cast<CustomScanState*>(state)->methods == &exec_methods)
      return reinterpret_cast<RestScan*>(state);
  return nullptr;
}

int decimals_of(Datum numeric) {
  return DatumGetInt32(DirectFunctionCall1(numeric_min_scale, numeric));
}

}  // namespace

const CustomScanMethods rest_scan_methods = {kRestName, create_state};

void PlainRest::begin(Plan* plan, const Plan* exact, PlanState* parent) {
  plan_ = plan;
  parent_ = parent;
  const Plan* scan = plan;
  while (scan != nullptr && !IsA(scan, CustomScan)) scan = outerPlan(scan);
  worth_ = exact != nullptr && scan != nullptr && scan->total_cost > 0
               ? std::max(exact->total_cost / scan->total_cost, kFewBlocks)
               : std::numeric_limits<double>::infinity();
}

double PlainRest::most_blocks() const {
  return std::min(worth_, static_cast<double>(option_approximate_scan_blocks));
}

bool PlainRest::is_dear() const { return worth_ < option_approximate_scan_blocks; }

void PlainRest::read(const PlainPlan& asked, const DimensionRows* dimensions, List* stretches,
                     kde::FunctionRef<void(const RestRow&)> visit) {
  if (state_ == nullptr) {
    EState* estate = parent_->state;
    MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);
    state_ = ExecInitNode(plan_, estate, 0);
    MemoryContextSwitchTo(caller);
  } else {
    // Else a hashed aggregation would keep its groups, of the stretches that were read before.
    PlanState* input = outerPlanState(state_);
    input->chgParam = bms_add_member(input->chgParam, 0);
    if (state_->chgParam == nullptr) ExecReScan(state_);
  }
  if (RestScan* scan = scan_beneath(state_)) {
    scan->stretches = stretches;
    scan->dimensions = dimensions;
    scan->next = 0;
  }
  auto* total =
      static_cast<RestTotal*>(palloc(sizeof(RestTotal) * static_cast<Size>(asked.aggregates + 1)));
  const int keys = __builtin_popcount(static_cast<unsigned>(asked.by_groups)) + asked.others;
  for (;;) {
    TupleTableSlot* slot = ExecProcNode(state_);
    if (TupIsNull(slot)) break;
    slot_getallattrs(slot);
    int at = keys;
    const double rows = static_cast<double>(DatumGetInt64(slot->tts_values[at++]));
    for (int k = 0; k < asked.aggregates; ++k) {
      const PlainAnswer answer = asked.aggregate[k].answer;
      const auto next = [&] { return static_cast<double>(DatumGetInt64(slot->tts_values[at++])); };
      total[k] = {rows};
      if (answer == PlainAnswer::grouping) continue;
      if (asked.aggregate[k].open_zeros != nullptr) total[k].zeros = next();
      if (answer == PlainAnswer::rows || answer == PlainAnswer::ones) {
        if (asked.aggregate[k].open_rows != nullptr) total[k].values = next();
        continue;
      }
      total[k].values = next();
      if (answer == PlainAnswer::values) continue;
      const Datum sum = slot->tts_values[at];
      const bool is_null = slot->tts_isnull[at];
      const Oid type = TupleDescAttr(slot->tts_tupleDescriptor, at)->atttypid;
      ++at;
      if (is_null) continue;
      if (asked.aggregate[k].is_extreme()) {
        total[k].extreme = sum;
        continue;
      }
      if (asked.aggregate[k].has_list()) {
        total[k].list = DatumGetArrayTypeP(sum);
        continue;
      }
      total[k].sum = type == FLOAT8OID ? DatumGetFloat8(sum)
                     : type == INT8OID ? static_cast<double>(DatumGetInt64(sum))
                                       : value_to_double(kde::ValueType::numeric, sum);
      if (type == NUMERICOID && std::isfinite(total[k].sum)) total[k].decimals = decimals_of(sum);
    }
    visit({slot->tts_values, slot->tts_isnull, rows, total});
  }
}

void PlainRest::note_parameters() {
  if (state_ == nullptr) return;
  if (parent_->chgParam != nullptr) UpdateChangedParamSet(state_, parent_->chgParam);
}

void PlainRest::end() {
  if (state_ != nullptr) ExecEndNode(state_);
  state_ = nullptr;
}

void register_rest() { RegisterCustomScanMethods(&rest_scan_methods); }

}  // namespace kde_pg
