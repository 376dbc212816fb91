// Walks of trees; nodeFuncs.h's walkers, whose parameter is declared without arguments before PostgreSQL 16.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "access/transam.h"
#include "nodes/execnodes.h"
}

namespace kde_pg {

using TreeWalker = bool (*)(Node*, void*);
using TreeMutator = Node* (*)(Node*, void*);
using StateWalker = bool (*)(PlanState*, void*);

#if PG_VERSION_NUM >= 160000
inline TreeWalker as_walker(TreeWalker walker) { return walker; }
inline TreeMutator as_mutator(TreeMutator mutator) { return mutator; }
inline StateWalker as_walker(StateWalker walker) { return walker; }
#else
// By way of a type that any function may be cast to.
inline auto as_walker(TreeWalker walker) {
  return reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker));
}
inline auto as_mutator(TreeMutator mutator) {
  return reinterpret_cast<Node* (*)()>(reinterpret_cast<void (*)()>(mutator));
}
inline auto as_walker(StateWalker walker) {
  return reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker));
}
#endif

// Whether there is a subquery, as it was written or as the planner has it.
inline bool has_subquery(Node* node, void* context = nullptr) {
  if (node == nullptr) return false;
  if (IsA(node, SubLink) || IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
      (IsA(node, Param) && castNode(Param, node)->paramkind == PARAM_EXEC))
    return true;
  return expression_tree_walker(node, as_walker(has_subquery), context);
}

// Whether a function that is not the server's own is called.
inline bool calls_added(Node* node, void* context = nullptr) {
  if (node == nullptr) return false;
  const auto is_added = [](Oid function, void*) { return function >= FirstNormalObjectId; };
  return check_functions_in_node(node, is_added, context) ||
         expression_tree_walker(node, as_walker(calls_added), context);
}

}  // namespace kde_pg
