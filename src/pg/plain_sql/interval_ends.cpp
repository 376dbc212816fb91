// See interval_ends.h. The functions return their argument: what a density knows better takes the
// whole call's place in the plan (plan_fields.h).
#include "pg/plain_sql/interval_ends.h"

#include "pg/base/tree_walk.h"

extern "C" {
#include "access/transam.h"
}

KDE_EXPORT(kde_approx_lower);
Datum kde_approx_lower(PG_FUNCTION_ARGS) { PG_RETURN_DATUM(PG_GETARG_DATUM(0)); }
KDE_EXPORT(kde_approx_upper);
Datum kde_approx_upper(PG_FUNCTION_ARGS) { PG_RETURN_DATUM(PG_GETARG_DATUM(0)); }

namespace kde_pg {

PlainEnd end_asked(Node* node) {
  if (!IsA(node, FuncExpr) || list_length(castNode(FuncExpr, node)->args) != 1 ||
      castNode(FuncExpr, node)->funcid < FirstNormalObjectId)
    return PlainEnd::none;
  FmgrInfo function;
  fmgr_info(castNode(FuncExpr, node)->funcid, &function);
  return function.fn_addr == kde_approx_lower   ? PlainEnd::lower
         : function.fn_addr == kde_approx_upper ? PlainEnd::upper
                                                : PlainEnd::none;
}

namespace {

bool is_above(Node* node, void* target) {
  if (node == nullptr || list_member(static_cast<const PathTarget*>(target)->exprs, node))
    return false;
  return end_asked(node) != PlainEnd::none ||
         expression_tree_walker(node, as_walker(is_above), target);
}

bool is_grouped(Node* node, void*) {
  if (node == nullptr) return false;
  if (!IsA(node, Query)) return expression_tree_walker(node, as_walker(is_grouped), nullptr);
  auto* query = castNode(Query, node);
  return query->hasAggs || query->groupClause != NIL ||
         query_tree_walker(query, as_walker(is_grouped), nullptr, 0);
}

// Whether its rows may be those of a grouping.
bool reads_groups(const Query* query) {
  for (const RangeTblEntry* rte : of_list<const RangeTblEntry>(query->rtable)) {
    if (rte->rtekind == RTE_CTE || (rte->rtekind == RTE_SUBQUERY &&
                                    is_grouped(reinterpret_cast<Node*>(rte->subquery), nullptr)))
      return true;
  }
  return false;
}

bool asks_end_of_rows(Node* node, void* query) {
  if (node == nullptr) return false;
  if (IsA(node, Query))
    return query_tree_walker(castNode(Query, node), as_walker(asks_end_of_rows), node, 0);
  if (end_asked(node) != PlainEnd::none)
    return !IsA(linitial(castNode(FuncExpr, node)->args), Aggref) ||
           reads_groups(static_cast<const Query*>(query));
  return expression_tree_walker(node, as_walker(asks_end_of_rows), query);
}

}  // namespace

bool asks_ends_elsewhere(const PlannerInfo* root, const PathTarget* target) {
  for (TargetEntry* item : of_list<TargetEntry>(root->processed_tlist))
    if (is_above(reinterpret_cast<Node*>(item->expr), const_cast<PathTarget*>(target))) return true;
  for (const PlannerInfo* up = root->parent_root; up != nullptr; up = up->parent_root)
    if (asks_end_of_rows(reinterpret_cast<Node*>(up->parse), nullptr)) return true;
  return false;
}

}  // namespace kde_pg
