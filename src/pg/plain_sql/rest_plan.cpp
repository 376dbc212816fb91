// The path of the exact part of an answer; see rest.h.
#include "pg/plain_sql/rest_node.h"

extern "C" {
#include "catalog/pg_aggregate.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parse_agg.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/spccache.h"
#include "utils/syscache.h"
}

namespace kde_pg {

namespace {

// Groups of rows that came lately; a guess.
constexpr double kRows = 1000;

Plan* plan_scan(PlannerInfo*, RelOptInfo* rel, CustomPath* path, List* tlist, List* clauses,
                List*) {
  auto* scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = tlist;
  scan->scan.plan.qual = extract_actual_clauses(clauses, false);
  scan->scan.scanrelid = rel->relid;
  scan->flags = path->flags;
  scan->methods = &rest_scan_methods;
  return &scan->scan.plan;
}

const CustomPathMethods path_methods = {kRestName, plan_scan, nullptr};

// Of a join: the plan that is to be lies in custom_private of the path.
Plan* plan_join(PlannerInfo*, RelOptInfo*, CustomPath* path, List* tlist, List*, List*) {
  auto* scan = static_cast<CustomScan*>(copyObjectImpl(linitial(path->custom_private)));
  scan->scan.plan.targetlist = tlist;
  scan->flags = path->flags;
  scan->methods = &rest_scan_methods;
  return &scan->scan.plan;
}

const CustomPathMethods join_methods = {kRestName, plan_join, nullptr};

// Numbers of Aggrefs are those of their plan's alone.
class RestTarget {
 public:
  RestTarget(const PathTarget* asked) : asked_(asked) {}

  PathTarget* target = create_empty_pathtarget();

  // shown: as the query has it there.
  void add_group(Node* node, const Node* shown) {
    Index reference = 0;
    int i = 0;
    for (Node* expression : of_list<Node>(asked_->exprs)) {
      if (equal(expression, shown)) reference = get_pathtarget_sortgroupref(asked_, i);
      ++i;
    }
    add_column_to_pathtarget(target, reinterpret_cast<Expr*>(node), reference);
  }
  // rows: null, all.
  void add_rows_of(const Expr* rows) {
    Aggref* count = new_aggregate(F_COUNT_, INT8OID);
    count->aggstar = true;
    count->aggfilter = copy_of(rows);
  }
  void add_values(const PlainAggregate& of) {
    Aggref* count = new_aggregate(F_COUNT_ANY, INT8OID);
    set_argument(count, of, type_of(of), of.value);
  }
  void add_extreme(const PlainAggregate& of, const Aggref& whole) {
    Aggref* extreme = new_aggregate(whole.aggfnoid, whole.aggtype);
    extreme->aggcollid = whole.aggcollid;
    extreme->inputcollid = whole.inputcollid;
    const Oid type = linitial_oid(whole.aggargtypes);
    // Where an index has the column's ends, the server's planner puts a parameter in the place of each
    // such aggregate of the same expression, in whichever plan it stands. So it is another one.
    auto* same = makeRelabelType(
        of.value, type, -1, exprCollation(reinterpret_cast<Node*>(of.value)), COERCE_IMPLICIT_CAST);
    set_argument(extreme, of, type, &same->xpr);
  }
  // False: of a type without arrays.
  bool add_list(const PlainAggregate& of) {
    const Oid type = type_of(of), list = get_array_type(type);
    if (!OidIsValid(list) || type_is_array(type)) return false;
    Aggref* all = new_aggregate(F_ARRAY_AGG_ANYNONARRAY, list);
    set_argument(all, of, type, of.value);
    auto* value = makeNode(NullTest);
    value->arg = copy_of(of.value);
    value->nulltesttype = IS_NOT_NULL;
    value->location = -1;
    all->aggfilter = all->aggfilter == nullptr
                         ? &value->xpr
                         : makeBoolExpr(AND_EXPR, list_make2(all->aggfilter, value), -1);
    return true;
  }
  // False: of a type whose sums are not known here.
  bool add_sum(const PlainAggregate& of) {
    Expr* value = of.value;
    Oid function, type, result;
    switch (type = getBaseType(type_of(of))) {
      case INT2OID:
        function = F_SUM_INT2, result = INT8OID;
        break;
      case INT4OID:
        function = F_SUM_INT4, result = INT8OID;
        break;
      case INT8OID:
        function = F_SUM_INT8, result = NUMERICOID;
        break;
      case NUMERICOID:
        function = F_SUM_NUMERIC, result = NUMERICOID;
        break;
      case FLOAT4OID:  // whose own sum has six digits
        value = reinterpret_cast<Expr*>(makeFuncExpr(F_FLOAT8_FLOAT4, FLOAT8OID, list_make1(value),
                                                     InvalidOid, InvalidOid, COERCE_IMPLICIT_CAST));
        type = FLOAT8OID;
        [[fallthrough]];
      case FLOAT8OID:
        function = F_SUM_FLOAT8, result = FLOAT8OID;
        break;
      default:
        return false;
    }
    set_argument(new_aggregate(function, result), of, type, value);
    return true;
  }

 private:
  static Oid type_of(const PlainAggregate& of) {
    return exprType(reinterpret_cast<const Node*>(of.value));
  }
  static Expr* copy_of(const Expr* node) { return static_cast<Expr*>(copyObjectImpl(node)); }
  static void set_argument(Aggref* to, const PlainAggregate& of, Oid type, const Expr* value) {
    to->aggargtypes = list_make1_oid(type);
    to->args = list_make1(makeTargetEntry(copy_of(value), 1, nullptr, false));
    to->aggfilter = copy_of(of.rows);
  }

  Aggref* new_aggregate(Oid function, Oid type) {
    auto* out = makeNode(Aggref);
    out->aggfnoid = function;
    out->aggtype = type;
    HeapTuple row = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(row)) elog(ERROR, "cache lookup failed for aggregate %u", function);
    out->aggtranstype = reinterpret_cast<Form_pg_aggregate>(GETSTRUCT(row))->aggtranstype;
    ReleaseSysCache(row);
    out->aggkind = AGGKIND_NORMAL;
    out->aggsplit = AGGSPLIT_SIMPLE;
    out->aggno = out->aggtransno = aggregates_++;
    out->location = -1;
    add_column_to_pathtarget(target, reinterpret_cast<Expr*>(out), 0);
    return out;
  }

  const PathTarget* asked_;
  int aggregates_ = 0;
};

// The aggregate itself where an end of its interval is asked for.
const Aggref* aggregate_of(const PlainAggregate& of) {
  auto* node = reinterpret_cast<Node*>(of.node);
  if (of.end != PlainEnd::none) node = static_cast<Node*>(linitial(castNode(FuncExpr, node)->args));
  return IsA(node, Aggref) ? castNode(Aggref, node) : nullptr;
}

bool add_aggregate(const PlainAggregate& of, RestTarget* to) {
  if (of.answer == PlainAnswer::grouping) return true;
  const Aggref* aggregate = aggregate_of(of);
  if (aggregate == nullptr || of.answer == PlainAnswer::variance ||
      of.answer == PlainAnswer::stddev)
    return false;
  if (of.zeros != nullptr) to->add_rows_of(of.zeros);
  if (of.answer == PlainAnswer::rows || of.answer == PlainAnswer::ones) {
    if (of.rows != nullptr) to->add_rows_of(of.rows);
    return true;
  }
  to->add_values(of);
  if (of.has_list()) return to->add_list(of);
  if (of.is_extreme()) {
    to->add_extreme(of, *aggregate);
    return true;
  }
  return of.answer == PlainAnswer::values || to->add_sum(of);
}

// What a scan of the table by this node has: its own columns, and nothing to compute by a plan.
bool may_scan(RelOptInfo* input) {
  Bitmapset* columns = nullptr;
  List* clauses = extract_actual_clauses(input->baserestrictinfo, false);
  pull_varattnos(reinterpret_cast<Node*>(clauses), input->relid, &columns);
  pull_varattnos(reinterpret_cast<Node*>(input->reltarget->exprs), input->relid, &columns);
  const int least = bms_next_member(columns, -1);
  return (least < 0 || least > -FirstLowInvalidHeapAttributeNumber) &&
         !contain_subplans(reinterpret_cast<Node*>(clauses)) &&
         !contain_subplans(reinterpret_cast<Node*>(input->reltarget->exprs));
}

// A dimension's column as those above the join have it.
Var* joined_column(const PlainDimension& of, const Var* column) {
  auto* out = static_cast<Var*>(copyObjectImpl(column));
#if PG_VERSION_NUM >= 160000
  if (of.null_by != 0) out->varnullingrels = bms_make_singleton(of.null_by);
#else
  (void)of;
#endif
  return out;
}

// The table's columns that the query uses, then its dimensions', as rows of one. Null: there is more in
// it than that.
CustomScan* scan_of_join(RelOptInfo* input, const PlainQuery& query) {
  List* lookups = NIL;
  for (const PlainDimension* of : of_list<const PlainDimension>(query.dimensions))
    lookups = lappend(lookups, of->lookups);
  List* used =
      list_make4(query.own_conditions, lookups, query.joined_conditions, input->reltarget->exprs);
  if (contain_subplans(reinterpret_cast<Node*>(used))) return nullptr;
  List* columns = NIL;
  const auto add = [&columns](Var* var) {
    const auto number = static_cast<AttrNumber>(list_length(columns) + 1);
    columns = lappend(columns, makeTargetEntry(&var->xpr, number, nullptr, false));
  };
  List* own = NIL;
  for (Node* node : of_list<Node>(pull_var_clause(
           reinterpret_cast<Node*>(used), PVC_RECURSE_AGGREGATES | PVC_INCLUDE_PLACEHOLDERS))) {
    if (!IsA(node, Var)) return nullptr;
    auto* var = castNode(Var, node);
    if (var->varno != static_cast<int>(query.table)) continue;
    if (var->varattno <= 0) return nullptr;
    own = list_append_unique(own, var);
  }
  for (Var* var : of_list<Var>(own)) add(var);
  for (const PlainDimension* of : of_list<const PlainDimension>(query.dimensions))
    for (const Var* var : of_list<const Var>(of->columns())) add(joined_column(*of, var));
  // One that may raise an error is asked last: of no row then of which the server's plan does not ask
  // it. Of two of them that is not known.
  List* conditions = NIL;
  List* raising = NIL;
  for (Node* condition : of_list<Node>(query.joined_conditions)) {
    List** to = contain_leaked_vars(condition) ? &raising : &conditions;
    *to = lappend(*to, condition);
  }
  if (list_length(raising) > 1) return nullptr;
  auto* scan = makeNode(CustomScan);
  scan->scan.plan.qual = list_concat(conditions, raising);
  scan->custom_scan_tlist = columns;
  scan->custom_exprs = list_make2(query.own_conditions, lookups);
  scan->custom_private =
      list_make2(list_make1_oid(query.key.relation), list_make1_int(list_length(own)));
  return scan;
}

// Of a block that is read in its turn, with what each row of it is asked.
Cost cost_of_block(PlannerInfo* root, const RelOptInfo* table) {
  double random, sequential;
  get_tablespace_page_costs(table->reltablespace, &random, &sequential);
  // A tree's root has none of its own.
  const double blocks = table->pages > 0 ? table->pages : root->total_table_pages;
  const Cost of_row = cpu_tuple_cost + table->baserestrictcost.per_tuple;
  return sequential + of_row * (blocks > 0 ? table->tuples / blocks : 0);
}

}  // namespace

Path* rest_path(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, const PlainQuery& query) {
  const bool joins = query.dimensions != NIL;
  if (query.null_of >= 0 || (!joins && !may_scan(input))) return nullptr;
  CustomScan* join = joins ? scan_of_join(input, query) : nullptr;
  if (joins && join == nullptr) return nullptr;
  List* groups = processed_groups(root);
  // Where the planner has left all groups out there is a row of no rows, too.
  if (!grouping_is_hashable(groups) || (groups == NIL) != (root->parse->groupClause == NIL))
    return nullptr;
  RestTarget columns(output->reltarget);
  for (int i = 0; i < query.groups(); ++i)
    if ((query.by_groups >> i & 1) != 0) columns.add_group(query.group[i], query.shown_group[i]);
  ListCell *other, *shown;
  forboth(other, query.others, shown, query.shown_others)
      columns.add_group(static_cast<Node*>(lfirst(other)), static_cast<Node*>(lfirst(shown)));
  columns.add_rows_of(nullptr);
  for (const PlainAggregate* a : of_list<const PlainAggregate>(query.aggregates))
    if (!add_aggregate(*a, &columns)) return nullptr;

  auto* scan = makeNode(CustomPath);
  scan->path.pathtype = T_CustomScan;
  scan->path.parent = input;
  scan->path.pathtarget = input->reltarget;
  scan->path.rows = kRows;
  scan->path.total_cost = cost_of_block(root, find_base_rel(root, static_cast<int>(query.table)));
  scan->flags = CUSTOMPATH_SUPPORT_PROJECTION;
  scan->methods = joins ? &join_methods : &path_methods;
  if (joins) scan->custom_private = list_make1(join);
  AggClauseCosts costs = {};
  return reinterpret_cast<Path*>(create_agg_path(root, output, &scan->path, columns.target,
                                                 groups != NIL ? AGG_HASHED : AGG_PLAIN,
                                                 AGGSPLIT_SIMPLE, groups, NIL, &costs, kRows));
}

}  // namespace kde_pg
