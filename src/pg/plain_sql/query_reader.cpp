// PlainReader (query_reader.h): what a query has, whatever the density. Trees are those of the
// planner: constants folded, conditions an implicit AND.
#include "pg/plain_sql/query_reader.h"

#include "pg/base/compat.h"
#include "pg/base/tree_walk.h"
#include "pg/values/values.h"
#include "pg/catalog/canonical_filter.h"
#include "pg/catalog/expression.h"
#include "pg/plain_sql/interval_ends.h"

extern "C" {
#include "access/nbtree.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_statistic.h"
#include "optimizer/clauses.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/typcache.h"
}

#include <cmath>

namespace kde_pg {

namespace {

// Of the table's expressions alone, as those of the catalog: of the first relation.
Node* alone(Index rti, Node* node) {
  Node* copy = static_cast<Node*>(copyObjectImpl(node));
  ChangeVarNodes(copy, static_cast<int>(rti), 1, 0);
  return copy;
}

// Casts that change neither the order of values nor what is equal, and that double precision holds.
Node* without_cast(Node* node) {
  for (;;) {
    if (IsA(node, RelabelType)) {
      const auto* relabel = castNode(RelabelType, node);
      Node* arg = reinterpret_cast<Node*>(relabel->arg);
      // From a domain to its type, or from varchar to text.
      const Oid from = getBaseType(exprType(arg));
      if ((from != relabel->resulttype && (from != VARCHAROID || relabel->resulttype != TEXTOID)) ||
          exprCollation(arg) != relabel->resultcollid)
        return node;
      node = arg;
      continue;
    }
    if (!IsA(node, FuncExpr)) return node;
    const auto* cast = castNode(FuncExpr, node);
    if (cast->funcformat != COERCE_IMPLICIT_CAST || list_length(cast->args) != 1) return node;
    Node* arg = static_cast<Node*>(linitial(cast->args));
    const Oid from = exprType(arg);
    const Oid to = cast->funcresulttype;
    const bool integer = from == INT2OID || from == INT4OID;
    const bool wider = to == INT4OID || to == INT8OID || to == NUMERICOID || to == FLOAT8OID;
    if (!(integer && wider) && !(from == INT8OID && to == NUMERICOID) &&
        !(from == FLOAT4OID && to == FLOAT8OID))
      return node;
    node = arg;
  }
}

// Whether it is a cast that a text does not show: of its argument the text is the same, the value may not be.
bool is_hidden_cast(Node* node) {
  switch (nodeTag(node)) {
    case T_FuncExpr:
      return castNode(FuncExpr, node)->funcformat == COERCE_IMPLICIT_CAST;
    case T_RelabelType:
      return castNode(RelabelType, node)->relabelformat == COERCE_IMPLICIT_CAST;
    case T_CoerceViaIO:
      return castNode(CoerceViaIO, node)->coerceformat == COERCE_IMPLICIT_CAST;
    case T_ArrayCoerceExpr:
      return castNode(ArrayCoerceExpr, node)->coerceformat == COERCE_IMPLICIT_CAST;
    case T_CoerceToDomain:
      return castNode(CoerceToDomain, node)->coercionformat == COERCE_IMPLICIT_CAST;
    default:
      return false;
  }
}

// And those that change no more than digits beyond double precision's.
Node* without_cast_in_order(Node* node) {
  const bool is = IsA(node, FuncExpr) && (castNode(FuncExpr, node)->funcid == F_FLOAT8_NUMERIC ||
                                          castNode(FuncExpr, node)->funcid == F_FLOAT8_INT8);
  return is ? static_cast<Node*>(linitial(castNode(FuncExpr, node)->args)) : node;
}

bool has_parameter(Node* node, void*) {
  if (node == nullptr) return false;
  if (IsA(node, Param)) return true;
  return expression_tree_walker(node, as_walker(has_parameter), nullptr);
}

const char* settings_of(Node* node) {
  return contain_mutable_functions(node) ? ", which depends on the session's settings" : "";
}

bool is_sub_plan(Node* node, void*) {
  if (node == nullptr) return false;
  if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) || IsA(node, SubLink)) return true;
  return expression_tree_walker(node, as_walker(is_sub_plan), nullptr);
}

// What a subquery's column was, where the planner keeps it as one: none can print it.
bool has_placeholder(Node* node, void*) {
  if (node == nullptr) return false;
  if (IsA(node, PlaceHolderVar)) return true;
  return expression_tree_walker(node, as_walker(has_placeholder), nullptr);
}

// To print parameters without their plan crashes PostgreSQL 17.
bool can_be_printed(Node* node) {
  return !has_parameter(node, nullptr) && !is_sub_plan(node, nullptr) &&
         !has_placeholder(node, nullptr);
}

// Whether it may be what a density is of, which knows no parameters (and to print one without its
// plan crashes PostgreSQL 17), and nothing that depends on the session's settings, as its time
// zone.
bool may_be_fitted(Node* node) { return can_be_printed(node) && !contain_mutable_functions(node); }

// The column or expression that a condition like `flag`, `NOT flag` or `flag IS TRUE` is of, and
// what it is then; null of any other condition.
Node* flag_of(Node* node, bool* is) {
  if (IsA(node, BooleanTest)) {
    const auto* test = castNode(BooleanTest, node);
    *is = test->booltesttype == IS_TRUE;
    return *is || test->booltesttype == IS_FALSE ? reinterpret_cast<Node*>(test->arg) : nullptr;
  }
  if (IsA(node, BoolExpr) && castNode(BoolExpr, node)->boolop == NOT_EXPR) {
    *is = false;
    node = static_cast<Node*>(linitial(castNode(BoolExpr, node)->args));
  }
  return IsA(node, Var) ? node : nullptr;
}

// Whether values of the two types are compared as of one.
bool same_values(Oid a, Oid b) {
  const auto is_text = [](Oid type) { return type == TEXTOID || type == VARCHAROID; };
  a = getBaseType(a);
  b = getBaseType(b);
  return a == b || (is_text(a) && is_text(b));
}

// Whose answer is a bigint, as that of count(*).
bool is_sum_of_ones(Oid function, Node* of) {
  if (!IsA(of, Const) || castNode(Const, of)->constisnull) return false;
  const Datum value = castNode(Const, of)->constvalue;
  return (function == F_SUM_INT4 && DatumGetInt32(value) == 1) ||
         (function == F_SUM_INT2 && DatumGetInt16(value) == 1);
}

// The condition and value of a CASE that leaves all other rows out, or gives 0 of them; null: it is
// another.
const CaseWhen* only_case(Node* node) {
  if (!IsA(node, CaseExpr)) return nullptr;
  const auto* of = castNode(CaseExpr, node);
  return list_length(of->args) == 1 ? linitial_node(CaseWhen, of->args) : nullptr;
}

// In CASE x WHEN y the comparison has x open.
Node* put_compared(Node* node, void* compared) {
  if (node == nullptr) return nullptr;
  if (IsA(node, CaseTestExpr))
    return static_cast<Node*>(copyObjectImpl(static_cast<Node*>(compared)));
  return expression_tree_mutator(node, as_mutator(put_compared), compared);
}

bool has_case(Node* node, void*) {
  if (node == nullptr) return false;
  if (IsA(node, CaseExpr) || IsA(node, ArrayCoerceExpr)) return true;
  return expression_tree_walker(node, as_walker(has_case), nullptr);
}

Expr* condition_of(const CaseExpr* of, const CaseWhen* when) {
  if (of->arg == nullptr) return when->expr;
  Node* comparison = reinterpret_cast<Node*>(when->expr);
  if (has_case(comparison, nullptr)) return nullptr;
  return reinterpret_cast<Expr*>(put_compared(comparison, of->arg));
}

// 0 without decimals, of which no sum has more.
bool is_zero(Node* node) {
  if (!IsA(node, Const) || castNode(Const, node)->constisnull) return false;
  const auto* c = castNode(Const, node);
  switch (c->consttype) {
    case INT2OID:
      return DatumGetInt16(c->constvalue) == 0;
    case INT4OID:
      return DatumGetInt32(c->constvalue) == 0;
    case INT8OID:
      return DatumGetInt64(c->constvalue) == 0;
    case FLOAT8OID:
      return DatumGetFloat8(c->constvalue) == 0 && !std::signbit(DatumGetFloat8(c->constvalue));
    case NUMERICOID:
      return strcmp(DatumGetCString(DirectFunctionCall1(numeric_out, c->constvalue)), "0") == 0;
    default:
      return false;
  }
}

bool is_sum(Oid function) {
  return function == F_SUM_INT2 || function == F_SUM_INT4 || function == F_SUM_INT8 ||
         function == F_SUM_FLOAT8 || function == F_SUM_NUMERIC;
}

Expr* both(Expr* a, Expr* b) {
  if (a == nullptr) return b;
  return b == nullptr ? a : makeBoolExpr(AND_EXPR, list_make2(a, b), -1);
}

Expr* has_value(Node* of) {
  auto* out = makeNode(NullTest);
  out->arg = reinterpret_cast<Expr*>(of);
  out->nulltesttype = IS_NOT_NULL;
  out->location = -1;
  return &out->xpr;
}

Expr* is_not(Expr* of, BoolTestType what) {
  auto* out = makeNode(BooleanTest);
  out->arg = of;
  out->booltesttype = what;
  out->location = -1;
  return &out->xpr;
}

}  // namespace

bool varies(Node* node) { return contain_volatile_functions(node) || is_sub_plan(node, nullptr); }

// As a key would have it; null: it can be of none.
const char* PlainReader::text_of(Node* node) const {
  if (!may_be_fitted(node) || is_of_others(node) || is_hidden_cast(node)) return nullptr;
  has_texts_ = true;
  return texts_.of(node, [&] { return canonical_text(relation_, alone(rti_, node)); });
}

Named PlainReader::name_of(Node* node) const {
  node = without_cast(node);
  Named out = {InvalidAttrNumber, nullptr, exprType(node), exprCollation(node)};
  if (IsA(node, Var)) {
    const auto* var = castNode(Var, node);
    const bool own = var->varno == static_cast<int>(rti_) && var->varlevelsup == 0;
    if (own && var->varattno > 0) out.attnum = var->varattno;
  } else {
    out.text = text_of(node);
  }
  return out;
}

bool PlainReader::is_known_value(Node* node) const {
  return !contain_var_clause(node) && !contain_agg_clause(node) && !varies(node);
}

// A comparison with the table's side on the left.
bool PlainReader::read_comparison(Expr* clause, Condition* out) const {
  Node* node = reinterpret_cast<Node*>(clause);
  if (IsA(node, NullTest)) {
    const auto* test = castNode(NullTest, node);
    if (test->nulltesttype != IS_NOT_NULL || test->argisrow) return false;
    Node* arg = reinterpret_cast<Node*>(test->arg);
    if (!contain_var_clause(arg) || varies(arg)) return false;
    *out = {clause, true, name_of(arg), 0, false, true, nullptr, nullptr, InvalidOid};
    return true;
  }
  // A boolean by itself is compared with true.
  bool is = true;
  Node* flag = flag_of(node, &is);
  if (flag != nullptr) {
    if (varies(flag)) return false;
    Node* value = makeBoolConst(is, false);
    *out = {clause,
            true,
            name_of(flag),
            BTEqualStrategyNumber,
            false,
            true,
            reinterpret_cast<Expr*>(value),
            nullptr,
            InvalidOid};
    return true;
  }
  const bool any = IsA(node, ScalarArrayOpExpr) && castNode(ScalarArrayOpExpr, node)->useOr;
  if (!any && !IsA(node, OpExpr)) return false;
  List* args = any ? castNode(ScalarArrayOpExpr, node)->args : castNode(OpExpr, node)->args;
  Oid operator_id = any ? castNode(ScalarArrayOpExpr, node)->opno : castNode(OpExpr, node)->opno;
  const Oid collation =
      any ? castNode(ScalarArrayOpExpr, node)->inputcollid : castNode(OpExpr, node)->inputcollid;
  if (list_length(args) != 2) return false;
  Node* left = static_cast<Node*>(linitial(args));
  Node* right = static_cast<Node*>(lsecond(args));
  if (!any && is_known_value(left)) {
    Node* other = left;
    left = right;
    right = other;
    operator_id = get_commutator(operator_id);
  }
  if (!OidIsValid(operator_id) || !is_known_value(right) || !contain_var_clause(left) ||
      varies(left))
    return false;
  const Oid family = lookup_type_cache(exprType(left), TYPECACHE_BTREE_OPFAMILY)->btree_opf;
  if (!OidIsValid(family)) return false;
  const int strategy = get_op_opfamily_strategy(operator_id, family);
  if (strategy == 0 || (any && strategy != BTEqualStrategyNumber)) return false;
  const Oid given = exprType(right);
  const bool of_category = strategy == BTEqualStrategyNumber && collation == exprCollation(left) &&
                           same_values(exprType(left), any ? get_base_element_type(given) : given);
  *out = {
      clause, true,       name_of(left), strategy, any, of_category, reinterpret_cast<Expr*>(right),
      left,   operator_id};
  return true;
}

bool PlainReader::add_condition(Expr* clause) {
  auto* c = static_cast<Condition*>(palloc0(sizeof(Condition)));
  c->clause = clause;
  if (varies(reinterpret_cast<Node*>(c->clause)))
    return no("a condition has a subquery of each row, or a volatile function");
  if (!read_comparison(clause, c)) c->compares = false;
  conditions_ = lappend(conditions_, c);
  return true;
}

bool PlainReader::read_conditions(RelOptInfo* input) {
  for (const RestrictInfo* info : of_list<const RestrictInfo>(input->baserestrictinfo)) {
    if (info->pseudoconstant) return no("a condition depends on nothing of the table");
    if (info->security_level > 0) return no("policies, or a security-barrier view, apply");
    if (!add_condition(info->clause)) return false;
  }
  return true;
}

// As 1 is, and a column with a constraint.
bool PlainReader::is_never_null(Node* node) const {
  if (IsA(node, Const)) return !castNode(Const, node)->constisnull;
  if (!IsA(node, Var)) return false;
  const auto* var = castNode(Var, node);
  return var->varno == static_cast<int>(rti_) && var->varlevelsup == 0 &&
         has_no_nulls({var->varattno, nullptr, nullptr});
}

// Takes the rows that a CASE leaves out of the argument, as FILTER does: *zeros are those that it
// gives 0 for. A boolean as a number is such a one of 1.
Node* PlainReader::read_case(Node* arg, Asked* asked) const {
  const bool adds = is_sum(asked->function);
  if (const CaseWhen* when = only_case(arg)) {
    const auto* of = castNode(CaseExpr, arg);
    Node* other = reinterpret_cast<Node*>(of->defresult);
    const bool is_null =
        other == nullptr || (IsA(other, Const) && castNode(Const, other)->constisnull);
    Expr* condition = condition_of(of, when);
    if (condition == nullptr || (!is_null && !(adds && is_zero(other)))) return arg;
    if (!is_null) asked->zeros = both(asked->rows, is_not(condition, IS_NOT_TRUE));
    asked->rows = both(asked->rows, condition);
    return reinterpret_cast<Node*>(when->result);
  }
  if (!adds || !IsA(arg, FuncExpr) || castNode(FuncExpr, arg)->funcid != F_INT4_BOOL) return arg;
  auto* condition = static_cast<Expr*>(linitial(castNode(FuncExpr, arg)->args));
  asked->zeros = both(asked->rows, is_not(condition, IS_FALSE));
  asked->rows = both(asked->rows, condition);
  return reinterpret_cast<Node*>(
      makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(1), false, true));
}

// Of the server's own order, in which an ordered-set aggregate's rows are, and DISTINCT's.
bool PlainReader::is_known_aggregate(const Aggref& node) const {
  if (node.agglevelsup != 0 || node.aggsplit != AGGSPLIT_SIMPLE || list_length(node.args) > 1)
    return no("an aggregate is none of those that densities know");
  const bool is_ordered = node.aggkind == AGGKIND_ORDERED_SET;
  const bool differs = node.aggdistinct != NIL;
  if (!is_ordered && !differs && node.aggorder == NIL) return true;
  if (!is_ordered && (!differs || node.aggfnoid != F_COUNT_ANY))
    return no("an aggregate has DISTINCT or ORDER BY");
  const Oid type = exprType(reinterpret_cast<Node*>(linitial_node(TargetEntry, node.args)->expr));
  const TypeCacheEntry* of = lookup_type_cache(type, TYPECACHE_LT_OPR | TYPECACHE_EQ_OPR);
  const auto* clause =
      linitial_node(SortGroupClause, is_ordered ? node.aggorder : node.aggdistinct);
  const bool is_default =
      clause->eqop == of->eq_opr && (!is_ordered || clause->sortop == of->lt_opr);
  if (list_length(node.aggorder) > 1 || list_length(node.aggdistinct) > 1 || !is_default)
    return no("an aggregate has another order than its type has");
  if (!is_ordered) return true;
  switch (node.aggfnoid) {
    case F_PERCENTILE_CONT_FLOAT8_FLOAT8:
    case F_PERCENTILE_CONT__FLOAT8_FLOAT8:
    case F_PERCENTILE_DISC_FLOAT8_ANYELEMENT:
    case F_PERCENTILE_DISC__FLOAT8_ANYELEMENT:
      return is_known_value(static_cast<Node*>(linitial(node.aggdirectargs))) ||
             no("a percentile's fraction is of the groups");
    case F_MODE:
      return true;
    default:
      return no("an aggregate of rows in an order is none that densities know");
  }
}

// whole: the node itself, or the call that asks for an end of it.
bool PlainReader::add_aggregate(Aggref* node, Expr* whole, PlainEnd end) {
  if (!is_known_aggregate(*node)) return false;
  for (Asked* item : of_list<Asked>(aggregates_))
    if (equal(item->node, whole)) return true;
  auto* asked = static_cast<Asked*>(palloc0(sizeof(Asked)));
  asked->node = whole;
  asked->end = end;
  asked->function = node->aggfnoid;
  asked->of_column = node->args != NIL;
  asked->rows = node->aggfilter;
  if (asked->of_column) {
    Node* arg = reinterpret_cast<Node*>(linitial_node(TargetEntry, node->args)->expr);
    if (varies(arg)) return no("an aggregate has a subquery or a volatile function");
    arg = read_case(arg, asked);
    asked->differs = node->aggdistinct != NIL;
    const bool counts = node->aggfnoid == F_COUNT_ANY && !asked->differs;
    if (counts && is_of_others(arg) && !type_is_rowtype(exprType(arg))) {
      asked->rows = both(asked->rows, has_value(arg));
      arg = makeBoolConst(true, false);
    }
    // They are count(*).
    asked->ones = is_sum_of_ones(node->aggfnoid, arg);
    if (asked->ones || (counts && is_never_null(arg))) {
      asked->function = F_COUNT_;
      asked->of_column = false;
    } else if (!contain_var_clause(arg)) {
      return no("an aggregate is of no column");
    } else {
      if (node->aggkind == AGGKIND_ORDERED_SET && node->aggdirectargs != NIL) {
        asked->fraction = static_cast<Expr*>(linitial(node->aggdirectargs));
        arg = without_cast_in_order(arg);
      }
      asked->named = name_of(arg);
      asked->value = reinterpret_cast<Expr*>(arg);
    }
  }
  if (asked->rows != nullptr && varies(reinterpret_cast<Node*>(asked->rows)))
    return no("FILTER or CASE has a subquery of each row, or a volatile function");
  aggregates_ = lappend(aggregates_, asked);
  return true;
}

// The planner has expanded them to lists of what the clause has.
bool PlainReader::read_sets(PlannerInfo* root) {
  for (const List* refs : of_list<const List>(root->parse->groupingSets)) {
    Bitmapset* set = nullptr;
    ListCell* cell;
    foreach (cell, root->parse->groupClause)
      if (list_member_int(refs,
                          static_cast<int>(lfirst_node(SortGroupClause, cell)->tleSortGroupRef)))
        set = bms_add_member(set, foreach_current_index(cell));
    sets_ = lappend(sets_, set);
    sets_refs_ = lappend(sets_refs_, const_cast<List*>(refs));
  }
  // Those above would take the first of two that are alike for both, of which a set has one.
  List* distinct = NIL;
  for (Node* node : of_list<Node>(shown_groups_)) distinct = list_append_unique(distinct, node);
  return sets_ == NIL || list_length(distinct) == list_length(shown_groups_) ||
         no("a grouping set has an expression that is there twice");
}

// A bit for each of its arguments, which is 1 where the set has it not.
bool PlainReader::add_grouping(GroupingFunc* node) {
  for (const Asked* item : of_list<const Asked>(aggregates_))
    if (equal(item->node, node)) return true;
  auto* asked = static_cast<Asked*>(palloc0(sizeof(Asked)));
  asked->node = reinterpret_cast<Expr*>(node);
  asked->function = F_COUNT_;
  for (const List* refs : of_list<const List>(sets_refs_)) {
    int bits = 0;
    ListCell* cell;
    foreach (cell, node->refs) bits = 2 * bits + (list_member_int(refs, lfirst_int(cell)) ? 0 : 1);
    asked->of_sets = lappend_int(asked->of_sets, bits);
  }
  aggregates_ = lappend(aggregates_, asked);
  return sets_refs_ != NIL || no("GROUPING() is of no grouping set");
}

// Of the select list and HAVING: aggregates and what the query is grouped by, and nothing else of
// the table.
bool PlainReader::read_leaves(Node* node) {
  if (node == nullptr) return true;
  if (list_member(shown_groups_, node)) return true;
  if (IsA(node, Aggref))
    return add_aggregate(castNode(Aggref, node), reinterpret_cast<Expr*>(node), PlainEnd::none);
  const PlainEnd end = end_asked(node);
  if (end != PlainEnd::none) {
    Node* of = static_cast<Node*>(linitial(castNode(FuncExpr, node)->args));
    if (IsA(of, Aggref))
      return add_aggregate(castNode(Aggref, of), reinterpret_cast<Expr*>(node), end);
    return no("approx_lower() or approx_upper() is of more than one aggregate");
  }
  // The key of a dimension, by which the query is grouped, tells its other columns.
  if (IsA(node, Var) && is_of_others(node)) {
    // It is in every grouping set.
    ListCell* set;
    foreach (set, sets_)
      lfirst(set) = bms_add_member(static_cast<Bitmapset*>(lfirst(set)), list_length(groups_));
    groups_ = lappend(groups_, node);
    shown_groups_ = lappend(shown_groups_, node);
    return true;
  }
  if (IsA(node, Var) || IsA(node, PlaceHolderVar))
    return no("it is grouped by more than what it shows");
  if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan))
    return no("the select list has a subquery of each row");
  if (IsA(node, GroupingFunc)) return add_grouping(castNode(GroupingFunc, node));
  const auto visit = [](Node* child, void* self) {
    return !static_cast<PlainReader*>(self)->read_leaves(child);
  };
  return !expression_tree_walker(node, as_walker(visit), this);
}

bool PlainReader::read(PlannerInfo* root, RelOptInfo* input, Index table, PathTarget* target,
                       List* having) {
  ::Query* parse = root->parse;
  if (parse->hasTargetSRFs) return no("the select list has a function that returns a set");
  if (parse->rowMarks != NIL) return no("it locks rows");
  if (root->qual_security_level > 0) return no("policies, or a security-barrier view, apply");
  if (!parse->hasAggs && parse->groupClause == NIL && parse->groupingSets == NIL)
    return no("it has no aggregate");
  if (asks_ends_elsewhere(root, target))
    return no("approx_lower() or approx_upper() is not computed with its aggregate");
  const bool joins = input->reloptkind == RELOPT_JOINREL;
  if (!joins && input->reloptkind != RELOPT_BASEREL)
    return no("its rows are not those of one table");
  rti_ = table;
  const RangeTblEntry* rte = planner_rt_fetch(rti_, root);
  if (rte->tablesample != nullptr) return no("it has TABLESAMPLE");
  if (rte->securityQuals != NIL) return no("policies apply");
  if (rte->relkind == RELKIND_PARTITIONED_TABLE ? !rte->inh : !rte->inh && has_subclass(rte->relid))
    return no("it is of ONLY a table that has children");
  if (rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_PARTITIONED_TABLE &&
      rte->relkind != RELKIND_MATVIEW && rte->relkind != RELKIND_FOREIGN_TABLE)
    return no("its rows are not those of a table");
  shown_groups_ = get_sortgrouplist_exprs(parse->groupClause, parse->targetList);
  for (Node* node : of_list<Node>(shown_groups_))
    groups_ = lappend(groups_, as_before_grouping(root, node));
  if (!read_sets(root)) return false;
  relation_ = table_open(rte->relid, NoLock);
  bool good = joins ? read_joins(root, input) : read_conditions(input);
  for (Node* node : of_list<Node>(target->exprs)) good = good && read_leaves(node);
  for (Node* node : of_list<Node>(having)) good = good && read_leaves(node);
  if (!good) {
    close();
    return false;
  }
  note_columns();
  return true;
}

void PlainReader::note_columns() {
  const auto add = [this](void* node, Bitmapset** to) {
    pull_varattnos(static_cast<Node*>(node), rti_, to);
  };
  add(groups_, &columns_);
  add(joined_, &columns_);
  for (const PlainDimension* one : of_list<const PlainDimension>(dimensions_))
    add(one->lookups, &columns_);
  for (const Condition* c : of_list<const Condition>(conditions_)) {
    add(c->clause, &in_conditions_);
    if (!is_always_true(*c)) add(c->clause, &columns_);
  }
  for (Asked* asked : of_list<Asked>(aggregates_))
    for (Expr* of : {asked->value, asked->rows, asked->zeros}) add(of, &asked->columns);
}

// What a density has not, for a reason.
const char* PlainReader::lacks(Node* node) const {
  if (!tells_) return "";
  if (is_of_others(node)) return "does not know what is of other tables as well";
  if (!can_be_printed(node))
    return "does not answer a condition that has parameters, or columns of a subquery";
  return psprintf("lacks %s%s", canonical_text(relation_, alone(rti_, node)), settings_of(node));
}

const char* PlainReader::is_not_by(Node* node) const {
  if (!tells_) return "";
  if (is_of_others(node)) return "is not by what is of other tables as well";
  if (!can_be_printed(node)) return "is not by what has parameters, or columns of a subquery";
  return psprintf("is not by %s%s", canonical_text(relation_, alone(rti_, node)),
                  settings_of(node));
}

// Whether values of the column's type are so far apart that none is between two of them.
bool PlainReader::has_steps(AttrNumber column) const {
  const Form_pg_attribute of = TupleDescAttr(RelationGetDescr(relation_), column - 1);
  kde::ValueType type;
  if (!value_type_of(of->atttypid, &type)) return false;
  return type <= kde::ValueType::int8 || type == kde::ValueType::date ||
         type == kde::ValueType::timestamp || type == kde::ValueType::timestamptz ||
         type == kde::ValueType::time ||
         (type == kde::ValueType::numeric && lattice_step_of(type, of->atttypmod) > 0);
}

bool is_category(const Named& named) {
  kde::ValueType type;
  return value_type_of(named.type, &type) && type == kde::ValueType::category;
}

const char* PlainReader::filter_of(List* clauses) const {
  Node* all = reinterpret_cast<Node*>(make_ands_explicit(clauses));
  if (!may_be_fitted(all)) return nullptr;
  return filters_.of(all, [&] {
    return canonical_text(relation_, canonical_filter(relation_, alone(rti_, all)));
  });
}

KeyColumn PlainReader::column_of(const Named& named) const {
  if (named.attnum == 0) return {InvalidAttrNumber, named.text, nullptr};
  const Form_pg_attribute of = TupleDescAttr(RelationGetDescr(relation_), named.attnum - 1);
  return {named.attnum, pstrdup(NameStr(of->attname)), nullptr};
}

bool PlainReader::has_no_nulls_met(AttrNumber column) const {
  if (column <= 0) return false;
  HeapTuple found =
      SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relation()), Int16GetDatum(column),
                      BoolGetDatum(relation_->rd_rel->relkind == RELKIND_PARTITIONED_TABLE));
  if (!HeapTupleIsValid(found)) return false;
  const bool none = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(found))->stanullfrac == 0;
  ReleaseSysCache(found);
  return none;
}

}  // namespace kde_pg
