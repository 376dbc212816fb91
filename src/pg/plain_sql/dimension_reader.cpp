// Tables, or subqueries with rows of their own, that a query's is joined with, its dimensions: each
// has at most one row for a group, which is looked up by equality with what the groups are by, or with
// columns of dimensions before it. So they are more columns of each group, and nothing else of the
// query changes. What is looked up by a function of the range column, as days are, has one row for
// each part of the range.
//
// What joins them is the query's own tree, before conditions were distributed. Those of a dimension
// alone that its scan has are left to it; others are conditions of groups, or of parts of the range:
// also those that may raise an error (those not leakproof), as the exact plan may never ask them of a
// row that joins with none.
// That there is one row is looked at when they are read (dimension_rows.h).
#include "pg/base/tree_walk.h"
#include "pg/plain_sql/dimension_rows.h"
#include "pg/plain_sql/query_reader.h"

extern "C" {
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
}

namespace kde_pg {

namespace {

// No table's.
constexpr int kNotKnown = 0;

struct Tables {
  Bitmapset* found = nullptr;
};

bool collect_tables(Node* node, void* state) {
  if (node == nullptr) return false;
  auto* tables = static_cast<Tables*>(state);
  if (IsA(node, Var)) {
    const auto* var = castNode(Var, node);
    tables->found =
        bms_add_member(tables->found, var->varlevelsup == 0 ? static_cast<int>(var->varno) : 0);
    return false;
  }
  if (IsA(node, PlaceHolderVar)) tables->found = bms_add_member(tables->found, kNotKnown);
  return expression_tree_walker(node, as_walker(collect_tables), state);
}

// Without the joins by which they are NULL.
Bitmapset* tables_of(Node* node) {
  Tables out;
  (void)collect_tables(node, &out);
  return out.found;
}

Node* without_relabel(Node* node) {
  while (IsA(node, RelabelType)) node = reinterpret_cast<Node*>(castNode(RelabelType, node)->arg);
  return node;
}

// What a query's FROM joins: tables by inner joins, with their conditions and WHERE's, and tables of
// which rows of the others have one or none.
class JoinTree {
 public:
  struct Outer {
    int table;
    PlainJoin join;
    int by;
    List* conditions;
  };

  explicit JoinTree(const Bitmapset* tables) : planned_(tables) {}

  List* inner = NIL;       // of integers
  List* outer = NIL;       // Outer*
  List* conditions = NIL;  // Expr*

  // False: of other joins.
  bool add(Node* node) {
    check_stack_depth();
    if (IsA(node, RangeTblRef)) {
      inner = lappend_int(inner, castNode(RangeTblRef, node)->rtindex);
      return true;
    }
    if (IsA(node, FromExpr)) {
      const auto* from = castNode(FromExpr, node);
      conditions = list_concat(conditions, reinterpret_cast<List*>(from->quals));
      for (Node* item : of_list<Node>(from->fromlist))
        if (!add(item)) return false;
      return true;
    }
    return IsA(node, JoinExpr) && add_join(*castNode(JoinExpr, node));
  }

  // Whether they are all of the tables that are planned.
  bool is_whole() const {
    Bitmapset* all = nullptr;
    for (const int table : ints(inner)) all = bms_add_member(all, table);
    for (const Outer* one : of_list<const Outer>(outer)) all = bms_add_member(all, one->table);
    return bms_equal(all, planned_);
  }

 private:
  bool add_join(const JoinExpr& of) {
    PlainJoin join;
    switch (of.jointype) {
      case JOIN_INNER:
        conditions = list_concat(conditions, reinterpret_cast<List*>(of.quals));
        return add(of.larg) && add(of.rarg);
      case JOIN_LEFT:
        join = PlainJoin::left;
        break;
      case JOIN_SEMI:
        join = PlainJoin::semi;
        break;
      case JOIN_ANTI:
        join = PlainJoin::anti;
        break;
      default:
        return false;
    }
    if (!add(of.larg)) return false;
    List* own = list_copy(reinterpret_cast<List*>(of.quals));
    Node* right = of.rarg;
    while (IsA(right, FromExpr) && list_length(castNode(FromExpr, right)->fromlist) == 1) {
      own = list_concat(own, reinterpret_cast<List*>(castNode(FromExpr, right)->quals));
      right = static_cast<Node*>(linitial(castNode(FromExpr, right)->fromlist));
    }
    if (!IsA(right, RangeTblRef)) return false;
    const int table = castNode(RangeTblRef, right)->rtindex;
    // The planner leaves out what changes nothing.
    if (!bms_is_member(table, planned_)) return join == PlainJoin::left;
    auto* one = static_cast<Outer*>(palloc(sizeof(Outer)));
    *one = {table, join, of.rtindex, own};
    outer = lappend(outer, one);
    return true;
  }

  const Bitmapset* planned_;
};

// The table with these conditions alone, and the columns of all of them; null: it has children.
RelOptInfo* with_conditions(PlannerInfo* root, const RelOptInfo* rel, List* conditions) {
  const RangeTblEntry* rte = planner_rt_fetch(rel->relid, root);
  if (rte->inh || (rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW))
    return nullptr;
  auto* out = static_cast<RelOptInfo*>(palloc(sizeof(RelOptInfo)));
  *out = *rel;
  out->reltarget = copy_pathtarget(rel->reltarget);
  out->baserestrictinfo = conditions;
  for (const RestrictInfo* info : of_list<const RestrictInfo>(rel->baserestrictinfo))
    add_new_columns_to_pathtarget(
        out->reltarget,
        pull_var_clause(reinterpret_cast<Node*>(info->clause), PVC_INCLUDE_PLACEHOLDERS));
  out->cheapest_total_path = create_seqscan_path(root, out, nullptr, 0);
  return out;
}

// What a plan of a subquery beside that of the exact plan would share with it, or lock: other plans'
// rows, as those of a subquery within an expression.
bool is_shared(Node* node, void* context) {
  if (node == nullptr) return false;
  if (!IsA(node, Query)) return expression_tree_walker(node, as_walker(is_shared), context);
  auto* query = castNode(Query, node);
  if (query->hasSubLinks || query->cteList != NIL || query->rowMarks != NIL) return true;
  for (const RangeTblEntry* item : of_list<const RangeTblEntry>(query->rtable))
    if (item->rtekind == RTE_CTE || item->lateral) return true;
  return query_tree_walker(query, as_walker(is_shared), context, 0);
}

bool may_be_read_beside(const RangeTblEntry* rte) {
  if (rte->rtekind != RTE_SUBQUERY) return rte->rtekind == RTE_RELATION;
  auto* query = reinterpret_cast<Node*>(rte->subquery);
  return !rte->lateral && !is_shared(query, nullptr) && !contain_volatile_functions(query);
}

// A least or greatest value that an index finds has a parameter, which a second plan would set, too.
bool has_extremes(const PlannerInfo* root) {
  if (root == nullptr) return false;
  for (const RelOptInfo* rel : of_list<const RelOptInfo>(root->upper_rels[UPPERREL_GROUP_AGG]))
    for (const Path* path : of_list<const Path>(rel->pathlist))
      if (IsA(path, MinMaxAggPath)) return true;
  for (int i = 1; i < root->simple_rel_array_size; ++i)
    if (root->simple_rel_array[i] != nullptr && has_extremes(root->simple_rel_array[i]->subroot))
      return true;
  return false;
}

// Null: its rows cannot be read by themselves.
PlainDimension* dimension_of(PlannerInfo* root, int table) {
  RelOptInfo* rel = find_base_rel(root, table);
  const RangeTblEntry* rte = planner_rt_fetch(table, root);
  const Path* path = rel->cheapest_total_path;
  if (!may_be_read_beside(rte) || rte->tablesample != nullptr || rte->securityQuals != NIL ||
      path == nullptr || path->param_info != nullptr || rel->lateral_relids != nullptr ||
      has_extremes(rel->subroot) || rel->rows > kMostDimensionRows)
    return nullptr;
  List* safe = NIL;
  for (RestrictInfo* info : of_list<RestrictInfo>(rel->baserestrictinfo)) {
    auto* clause = reinterpret_cast<Node*>(info->clause);
    if (info->security_level > 0 || varies(clause)) return nullptr;
    if (!contain_leaked_vars(clause)) safe = lappend(safe, info);
  }
  if (list_length(safe) < list_length(rel->baserestrictinfo)) {
    rel = with_conditions(root, rel, safe);
    if (rel == nullptr) return nullptr;
  }
  for (const Node* column : of_list<const Node>(rel->reltarget->exprs))
    if (!IsA(column, Var) || reinterpret_cast<const Var*>(column)->varattno <= 0) return nullptr;
  auto* out = static_cast<PlainDimension*>(palloc0(sizeof(PlainDimension)));
  out->rel = rel;
  out->name = rte->eref->aliasname;
  out->relation = rte->relid;
  out->join = PlainJoin::inner;
  return out;
}

int column_in(const PlainDimension& of, const Var* var) {
  if (var->varno != static_cast<int>(of.rel->relid) || var->varlevelsup != 0) return -1;
  ListCell* cell;
  foreach (cell, of.columns())
    if (lfirst_node(Var, cell)->varattno == var->varattno) return foreach_current_index(cell);
  return -1;
}

// A condition on a subquery alone is one of its scan, or within it.
bool is_in_scan(const RelOptInfo* rel, Node* clause) {
  int one;
  if (rel->rtekind == RTE_SUBQUERY && bms_get_singleton_member(tables_of(clause), &one))
    return one == static_cast<int>(rel->relid);
  for (const RestrictInfo* info : of_list<const RestrictInfo>(rel->baserestrictinfo))
    if (equal(info->clause, clause)) return true;
  return false;
}

// Of several tables, too, they may be: those are not.
bool are_in_scan(const RelOptInfo* rel, const List* clauses) {
  for (Node* clause : of_list<Node>(clauses)) {
    int one;
    if (bms_get_singleton_member(tables_of(clause), &one) && !is_in_scan(rel, clause)) return false;
  }
  return true;
}

// An equality of a column of a dimension with what is known before it, by hashes; also one by which NULLs
// are the same, IS NOT DISTINCT FROM.
bool read_lookup(const PlainDimension& of, const Bitmapset* known, Node* clause, DimensionKey* key,
                 Expr** lookup) {
  const bool is_not = is_notclause(clause);
  if (is_not) clause = reinterpret_cast<Node*>(get_notclausearg(clause));
  const bool is_equality = is_not ? IsA(clause, DistinctExpr) : IsA(clause, OpExpr);
  const auto* op = reinterpret_cast<const OpExpr*>(clause);
  if (!is_equality || list_length(op->args) != 2) return false;
  for (const int side : {1, 0}) {
    Node* column = without_relabel(static_cast<Node*>(list_nth(op->args, side)));
    auto* other = static_cast<Node*>(list_nth(op->args, 1 - side));
    const int place = IsA(column, Var) ? column_in(of, castNode(Var, column)) : -1;
    const Bitmapset* tables = tables_of(other);
    if (place < 0 || bms_is_empty(tables) || !bms_is_subset(tables, known) || varies(other))
      continue;
    const Oid equal = side == 1 ? op->opno : get_commutator(op->opno);
    Oid left, right;
    if (!OidIsValid(equal) || !op_hashjoinable(equal, exprType(other)) ||
        !get_op_hash_functions(equal, &left, &right) ||
        !get_compatible_hash_operators(equal, &left, &right))
      continue;
    *key = {place, equal, op->inputcollid, is_not};
    *lookup = reinterpret_cast<Expr*>(other);
    return true;
  }
  return false;
}

}  // namespace

// Of another table than that of the densities.
bool PlainReader::is_of_others(Node* node) const {
  return dimensions_ != NIL &&
         !bms_is_subset(tables_of(node), bms_make_singleton(static_cast<int>(rti_)));
}

// Takes them out of the clauses. False: there are none.
bool PlainReader::find_lookups(PlainDimension* dimension, const Bitmapset* known,
                               List** clauses) const {
  List* others = NIL;
  for (Node* clause : of_list<Node>(*clauses)) {
    auto* key = static_cast<DimensionKey*>(palloc(sizeof(DimensionKey)));
    Expr* lookup;
    if (!read_lookup(*dimension, known, clause, key, &lookup)) {
      others = lappend(others, clause);
      continue;
    }
    dimension->keys = lappend(dimension->keys, key);
    dimension->lookups = lappend(dimension->lookups, lookup);
  }
  *clauses = others;
  return dimension->keys != NIL;
}

const PlainDimension* PlainReader::dimension_by(int table) const {
  for (const PlainDimension* one : of_list<const PlainDimension>(dimensions_))
    if (one->rel->relid == static_cast<Index>(table)) return one;
  return nullptr;
}

bool PlainReader::read_joins(PlannerInfo* root, RelOptInfo* input) {
  const char* const other = "its rows are those of a join that is none with dimensions";
  const auto own = static_cast<int>(rti_);
  JoinTree tree(bms_intersect(input->relids, root->all_baserels));
  if (!tree.add(reinterpret_cast<Node*>(root->parse->jointree)) || !tree.is_whole() ||
      !list_member_int(tree.inner, own))
    return no(other);
  List* waiting = NIL;
  List* of_inner = list_copy(tree.conditions);
  for (const int table : ints(tree.inner))
    if (table != own) waiting = lappend(waiting, dimension_of(root, table));
  for (const JoinTree::Outer* outer : of_list<const JoinTree::Outer>(tree.outer)) {
    PlainDimension* dimension = dimension_of(root, outer->table);
    waiting = lappend(waiting, dimension);
    if (dimension == nullptr) continue;
    dimension->join = outer->join;
    dimension->null_by = outer->by;
    dimension->conditions = outer->conditions;
    // Of one row for each the same, and its conditions may be asked when that is known.
    if (outer->join != PlainJoin::semi || are_in_scan(dimension->rel, outer->conditions)) continue;
    dimension->join = PlainJoin::inner;
    dimension->null_by = 0;
    dimension->conditions = NIL;
    of_inner = list_concat(of_inner, outer->conditions);
  }
  if (list_member_ptr(waiting, nullptr)) return no(other);
  List* clauses = NIL;
  for (Expr* clause : of_list<Expr>(of_inner)) {
    const Bitmapset* tables = tables_of(reinterpret_cast<Node*>(clause));
    int one;
    if (bms_is_empty(tables)) return no("a condition depends on nothing of the table");
    if (!bms_get_singleton_member(tables, &one) || one != own)
      clauses = lappend(clauses, clause);
    else if (!add_condition(clause))
      return false;
  }
  Bitmapset* known = bms_make_singleton(own);
  while (waiting != NIL) {
    PlainDimension* next = nullptr;
    for (PlainDimension* one : of_list<PlainDimension>(waiting)) {
      const bool is_inner = one->join == PlainJoin::inner;
      if (!find_lookups(one, known, is_inner ? &clauses : &one->conditions)) continue;
      next = one;
      break;
    }
    if (next == nullptr) return no(other);
    // Of what an outer join asks more than that a dimension's scan cannot tell.
    for (Node* clause : of_list<Node>(next->conditions))
      if (!is_in_scan(next->rel, clause)) return no(other);
    waiting = list_delete_ptr(waiting, next);
    known = bms_add_member(known, static_cast<int>(next->rel->relid));
    dimensions_ = lappend(dimensions_, next);
    dimension_columns_ += list_length(next->columns());
  }
  for (Node* clause : of_list<Node>(clauses)) {
    int one;
    const PlainDimension* of =
        bms_get_singleton_member(tables_of(clause), &one) ? dimension_by(one) : nullptr;
    if (of == nullptr || of->join != PlainJoin::inner || !is_in_scan(of->rel, clause))
      joined_ = lappend(joined_, clause);
  }
  return true;
}

// A column of a dimension as one of the plan's; null: it is none that its plan has.
Node* PlainReader::dimension_column(const DensityKey& key, const Var* var,
                                    const PlainQuery& query) const {
  int at = first_dimension_column(key, query);
  for (const PlainDimension* one : of_list<const PlainDimension>(dimensions_)) {
    const int place = column_in(*one, var);
    if (place >= 0)
      return reinterpret_cast<Node*>(makeVar(INDEX_VAR, static_cast<AttrNumber>(at + place + 1),
                                             var->vartype, var->vartypmod, var->varcollid, 0));
    at += list_length(one->columns());
  }
  return nullptr;
}

// What dimensions are looked up by is known of each group, or of each part of the range.
bool PlainReader::place_dimensions(const DensityKey& key, PlainQuery* out) const {
  out->dimensions = dimensions_;
  out->dimension_columns = dimension_columns_;
  for (const PlainDimension* one : of_list<const PlainDimension>(dimensions_)) {
    List* all = NIL;
    for (Node* lookup : of_list<Node>(one->lookups)) {
      Expr* known = open(key, lookup, out);
      if (known == nullptr) return no(is_not_by(lookup));
      all = lappend(all, known);
    }
    out->lookups = lappend(out->lookups, all);
  }
  if (dimensions_ == NIL) return true;
  for (const Condition* c : of_list<const Condition>(conditions_))
    out->own_conditions = lappend(out->own_conditions, c->clause);
  out->joined_conditions = joined_;
  return true;
}

}  // namespace kde_pg
