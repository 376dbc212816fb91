// See canonical_filter.h.
#include "pg/catalog/canonical_filter.h"
#include "pg/base/tree_walk.h"

extern "C" {
#include "catalog/pg_am.h"
#include "catalog/pg_amop.h"
#include "optimizer/clauses.h"
#include "utils/catcache.h"
#include "utils/ruleutils.h"
}

#include <cstring>

namespace kde_pg {

namespace {

bool is_of_btree(Oid op) {
  CatCList* list = SearchSysCacheList1(AMOPOPID, ObjectIdGetDatum(op));
  bool found = false;
  for (int i = 0; i < list->n_members; ++i) {
    const auto* member = reinterpret_cast<Form_pg_amop>(GETSTRUCT(&list->members[i]->tuple));
    found = found || (member->amopmethod == BTREE_AM_OID && member->amoppurpose == AMOP_SEARCH);
  }
  ReleaseSysCacheList(list);
  return found;
}

// A btree's comparison, or its negation (<>). What compares any two values of a type cannot fail.
bool is_comparison(Oid op) {
  if (is_of_btree(op)) return true;
  const Oid negator = get_negator(op);
  return OidIsValid(negator) && is_of_btree(negator);
}

bool is_leakproof(Oid function) { return OidIsValid(function) && get_func_leakproof(function); }

// Of the node itself, whatever is below it.
bool node_may_fail(Node* node) {
  switch (nodeTag(node)) {
    case T_List:
    case T_Var:
    case T_Const:
    case T_RelabelType:
    case T_CollateExpr:
    case T_NullTest:
    case T_BooleanTest:
    case T_BoolExpr:
    case T_ArrayExpr:
      return false;
    case T_FuncExpr:
      return !is_leakproof(castNode(FuncExpr, node)->funcid);
    case T_OpExpr:
    case T_DistinctExpr: {
      const Oid op = reinterpret_cast<OpExpr*>(node)->opno;
      return !is_comparison(op) && !is_leakproof(get_opcode(op));
    }
    case T_ScalarArrayOpExpr: {
      const Oid op = castNode(ScalarArrayOpExpr, node)->opno;
      return !is_comparison(op) && !is_leakproof(get_opcode(op));
    }
    default:
      return true;
  }
}

// Whether there is a row that an expression may raise an error of, as 10 / x does. Constants are
// folded before any row is read: if that fails, then in every order.
bool may_fail(Node* node, void* context) {
  if (node == nullptr) return false;
  check_stack_depth();
  if (node_may_fail(node)) return contain_var_clause(node) || contain_mutable_functions(node);
  return expression_tree_walker(node, as_walker(may_fail), context);
}

// An arm and its text.
struct Arm {
  Node* node;
  const char* text;
};

int compare_arms(const ListCell* a, const ListCell* b) {
  return strcmp(static_cast<const Arm*>(lfirst(a))->text, static_cast<const Arm*>(lfirst(b))->text);
}

// The arms are canonical already, so those that are of the same kind are flat. Where one may fail
// another may guard it, and they stay in the order written.
Node* order_arms(Relation relation, BoolExpr* expression) {
  List* arms = NIL;
  const auto add = [&](Node* node) {
    auto* arm = static_cast<Arm*>(palloc(sizeof(Arm)));
    *arm = {node, canonical_text(relation, node)};
    arms = lappend(arms, arm);
  };
  const bool any_order = !may_fail(reinterpret_cast<Node*>(expression), nullptr);
  for (Node* node : of_list<Node>(expression->args)) {
    if (IsA(node, BoolExpr) && castNode(BoolExpr, node)->boolop == expression->boolop) {
      for (Node* element : of_list<Node>(castNode(BoolExpr, node)->args)) add(element);
    } else {
      add(node);
    }
  }
  if (any_order) list_sort(arms, compare_arms);
  List* kept = NIL;
  const char* last = nullptr;
  for (const Arm* arm : of_list<const Arm>(arms)) {
    if (!any_order || last == nullptr || strcmp(last, arm->text) != 0)
      kept = lappend(kept, arm->node);
    last = arm->text;
  }
  if (list_length(kept) == 1) return static_cast<Node*>(linitial(kept));
  expression->args = kept;
  return reinterpret_cast<Node*>(expression);
}

bool is_to_commute(Relation relation, const OpExpr* op) {
  if (op->opresulttype != BOOLOID || list_length(op->args) != 2) return false;
  const Oid commutator = get_commutator(op->opno);
  // One that was only announced has no function.
  if (!OidIsValid(commutator) || !OidIsValid(get_opcode(commutator))) return false;
  Node* left = static_cast<Node*>(linitial(op->args));
  Node* right = static_cast<Node*>(lsecond(op->args));
  if (!contain_var_clause(right)) return false;
  return !contain_var_clause(left) ||
         strcmp(canonical_text(relation, left), canonical_text(relation, right)) > 0;
}

Node* canonical(Node* node, void* context);

Node* canonical_parts(Node* node, void* context) {
  return expression_tree_mutator(node, as_mutator(canonical), context);
}

Node* canonical(Node* node, void* context) {
  if (node == nullptr) return nullptr;
  check_stack_depth();
  auto* relation = static_cast<Relation>(context);
  Node* copy = canonical_parts(node, context);
  if (IsA(copy, BoolExpr) && castNode(BoolExpr, copy)->boolop != NOT_EXPR)
    return order_arms(relation, castNode(BoolExpr, copy));
  if (IsA(copy, OpExpr) && is_to_commute(relation, castNode(OpExpr, copy))) {
    CommuteOpExpr(castNode(OpExpr, copy));
    set_opfuncid(castNode(OpExpr, copy));
  }
  return copy;
}

}  // namespace

const char* canonical_text(Relation relation, Node* node) {
  List* context =
      deparse_context_for(RelationGetRelationName(relation), RelationGetRelid(relation));
  return deparse_expression(node, context, false, false);
}

Node* canonical_filter(Relation relation, Node* filter) { return canonical(filter, relation); }

}  // namespace kde_pg
