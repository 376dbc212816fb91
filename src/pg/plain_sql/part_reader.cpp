// Expressions of groups and of parts of the range (query.h): which the server evaluates once for each
// of them, in the place of each row.
//
// What a density's groups are by are values that are known. The range column is not, but many a
// function of it is constant from one place to the next, where it is cut: a bucket (buckets.h) where
// it ends; a part of a time, as the hour of the day, where the bucket of its unit does; a comparison
// beside what it compares with. What is made of such functions, and of groups, changes nowhere else.
#include "pg/base/tree_walk.h"
#include "pg/plain_sql/buckets.h"
#include "pg/plain_sql/plan_fields.h"
#include "pg/plain_sql/query_reader.h"
#include "pg/values/values.h"

extern "C" {
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

namespace kde_pg {

namespace {

// A column of the plan's in the place of the table's.
struct Replaced {
  AttrNumber from;
  AttrNumber to;
};

Node* replace_column(Node* node, void* state) {
  if (node == nullptr) return nullptr;
  const auto* of = static_cast<const Replaced*>(state);
  if (IsA(node, Var) && castNode(Var, node)->varattno == of->from) {
    const auto* var = castNode(Var, node);
    return reinterpret_cast<Node*>(
        makeVar(INDEX_VAR, of->to, var->vartype, var->vartypmod, var->varcollid, 0));
  }
  return expression_tree_mutator(node, as_mutator(replace_column), state);
}

// As of two relations: of the column, and of all else.
Node* set_apart(Node* node, void* state) {
  if (node == nullptr) return nullptr;
  if (!IsA(node, Var)) return expression_tree_mutator(node, as_mutator(set_apart), state);
  auto* var = static_cast<Var*>(copyObjectImpl(node));
  var->varno = var->varattno == *static_cast<const AttrNumber*>(state) ? 1 : 2;
  return reinterpret_cast<Node*>(var);
}

// The comparison whose opposite it is, one with any of an array where it is with none; null: it is
// of no such operator.
Expr* opposite_of(Node* node) {
  auto* out = static_cast<Node*>(copyObjectImpl(node));
  Oid* operator_id =
      IsA(out, OpExpr) ? &castNode(OpExpr, out)->opno : &castNode(ScalarArrayOpExpr, out)->opno;
  *operator_id = get_negator(*operator_id);
  if (IsA(out, ScalarArrayOpExpr))
    castNode(ScalarArrayOpExpr, out)->useOr = !castNode(ScalarArrayOpExpr, out)->useOr;
  return OidIsValid(*operator_id) ? reinterpret_cast<Expr*>(out) : nullptr;
}

// Whether the range's type orders its elements as they are by themselves.
bool is_of_default_order(Node* range) {
  const TypeCacheEntry* type =
      lookup_type_cache(getBaseType(exprType(range)), TYPECACHE_RANGE_INFO);
  return type->rngelemtype != nullptr &&
         type->rng_cmp_proc_finfo.fn_oid ==
             lookup_type_cache(type->rngelemtype->type_id, TYPECACHE_CMP_PROC)->cmp_proc;
}

// By an expression, not by columns alone.
bool has_expression_group(const DensityKey& key) {
  for (int i = 0; i < key.groups; ++i)
    if (key.column[key.first_group() + i].attnum == 0) return true;
  return key.groups == 0 && key.column[0].attnum == 0;
}

void add_cut(PlainCut kind, Expr* of, PlainQuery* out) {
  ListCell *cell, *kind_cell;
  forboth(cell, out->cuts, kind_cell, out->cut_kinds) {
    if (lfirst_int(kind_cell) == static_cast<int>(kind) && equal(lfirst(cell), of)) return;
  }
  out->cuts = lappend(out->cuts, of);
  out->cut_kinds = lappend_int(out->cut_kinds, static_cast<int>(kind));
}

}  // namespace

// What groups are by, as a column of the plan's. Null: the node is none, or not so that all rows of a
// group are alike.
Node* PlainReader::open_group(const DensityKey& key, Node* node, PlainQuery* out) const {
  const bool by_expression = has_expression_group(key);
  if (IsA(node, BoolExpr) || (!by_expression && !IsA(node, Var))) return nullptr;
  Named named = {0, nullptr, exprType(node), exprCollation(node)};
  if (IsA(node, Var))
    named.attnum = castNode(Var, node)->varattno;
  else
    named.text = text_of(node);
  const int i = group_of(key, named, out);
  const int32 typmod = named.attnum != 0 ? exprTypmod(node) : -1;
  if (i < 0 || !is_equal_image(named.type, typmod, named.collation) || !reads_back(named.type))
    return nullptr;
  if (out->group[i] == nullptr) out->group[i] = node;
  if (!equal(out->group[i], node)) return nullptr;
  return reinterpret_cast<Node*>(makeVar(INDEX_VAR, static_cast<AttrNumber>(i + 1), named.type,
                                         exprTypmod(node), named.collation, 0));
}

// A comparison with what is known when the query runs, also <> and NOT IN, or with a range.
bool PlainReader::cut_beside_values(const DensityKey& key, Node* node, PlainQuery* out) const {
  if (!IsA(node, OpExpr) && !IsA(node, ScalarArrayOpExpr)) return false;
  Condition c;
  Expr* opposite;
  const bool compares =
      read_comparison(reinterpret_cast<Expr*>(node), &c) ||
      ((opposite = opposite_of(node)) != nullptr && read_comparison(opposite, &c));
  kde::ValueType type;
  if (compares && c.named.is(key.column[0]) && value_type_of(c.named.type, &type)) {
    add_cut(c.any ? PlainCut::list : PlainCut::value, c.value, out);
    return true;
  }
  if (!IsA(node, OpExpr)) return false;
  const auto* op = castNode(OpExpr, node);
  const Oid function = get_opcode(op->opno);
  if (function != F_ELEM_CONTAINED_BY_RANGE && function != F_RANGE_CONTAINS_ELEM) return false;
  auto* left = static_cast<Node*>(linitial(op->args));
  auto* right = static_cast<Node*>(lsecond(op->args));
  Node* element = function == F_RANGE_CONTAINS_ELEM ? right : left;
  Node* range = function == F_RANGE_CONTAINS_ELEM ? left : right;
  if (!IsA(element, Var) || castNode(Var, element)->varattno != key.column[0].attnum ||
      !is_known_value(range) || !is_of_default_order(range))
    return false;
  add_cut(PlainCut::range, reinterpret_cast<Expr*>(range), out);
  return true;
}

// Whether the node changes at few places of the column, which it has alone of the table.
bool PlainReader::cut(const DensityKey& key, Node* node, PlainQuery* out) const {
  const AttrNumber column = key.columns == 1 ? key.column[0].attnum : InvalidAttrNumber;
  if (column <= 0 || out->of_words) return false;
  const Form_pg_attribute of = TupleDescAttr(RelationGetDescr(relation_), column - 1);
  kde::ValueType type;
  if (!value_type_of(of->atttypid, &type) || type == kde::ValueType::category ||
      type == kde::ValueType::interval)
    return false;
  if (cut_beside_values(key, node, out)) return true;
  // There is no row without a value.
  if (IsA(node, NullTest)) {
    const auto* arg = reinterpret_cast<Node*>(castNode(NullTest, node)->arg);
    return IsA(arg, Var) && castNode(Var, arg)->varattno == column;
  }
  if (!has_steps(column)) return false;
  Node* bucket = bucket_of_part(node);
  if (bucket == nullptr) bucket = node;
  if (!is_bucket(bucket, column)) return false;
  // Each value by itself, of which times have too many.
  if (IsA(bucket, Var) && !list_member_ptr(groups_, node) && type > kde::ValueType::int8 &&
      type != kde::ValueType::date)
    return false;
  add_cut(PlainCut::bucket, open_bucket(bucket, column), out);
  return true;
}

Node* PlainReader::opened(const DensityKey& key, Node* node, PlainQuery* out) const {
  // Walkers do not know a CaseWhen by itself.
  const bool is_expression = node != nullptr && !IsA(node, List) && !IsA(node, CaseWhen);
  if (node == nullptr || (is_expression && !contain_var_clause(node)))
    return static_cast<Node*>(copyObjectImpl(node));
  const bool is_own = is_expression && !is_of_others(node);
  if (Node* group = is_own ? open_group(key, node, out) : nullptr) return group;
  if (is_own && cut(key, node, out)) {
    const Form_pg_attribute of =
        TupleDescAttr(RelationGetDescr(relation_), key.column[0].attnum - 1);
    out->cuts_column = true;
    out->column = makeVar(static_cast<int>(rti_), of->attnum, of->atttypid, of->atttypmod,
                          of->attcollation, 0);
    Replaced column = {key.column[0].attnum, static_cast<AttrNumber>(column_place(key) + 1)};
    return replace_column(node, &column);
  }
  struct Opening {
    const PlainReader* reader;
    const DensityKey* key;
    PlainQuery* out;
    bool good = true;
  } opening = {this, &key, out};
  if (IsA(node, Var)) return is_own ? nullptr : dimension_column(key, castNode(Var, node), *out);
  if (IsA(node, PlaceHolderVar)) return nullptr;
  const auto open_child = [](Node* child, void* state) -> Node* {
    auto* o = static_cast<Opening*>(state);
    if (child == nullptr || !o->good) return child;
    Node* open = o->reader->opened(*o->key, child, o->out);
    o->good = open != nullptr;
    return open;
  };
  Node* copy = expression_tree_mutator(node, as_mutator(open_child), &opening);
  return opening.good ? copy : nullptr;
}

// The expression with columns of the plan's; null: it is of something else of the table.
Expr* PlainReader::open(const DensityKey& key, Node* node, PlainQuery* out) const {
  if (varies(node)) return nullptr;
  const int cuts = list_length(out->cuts);
  const bool cuts_column = out->cuts_column;
  Node* open = opened(key, node, out);
  if (open == nullptr) {
    out->cuts = list_truncate(out->cuts, cuts);
    out->cut_kinds = list_truncate(out->cut_kinds, cuts);
    out->cuts_column = cuts_column;
    return nullptr;
  }
  fix_opfuncids(open);
  return reinterpret_cast<Expr*>(open);
}

// That a boolean group is false may stand there as the opposite comparison: NOT a > 5 as a <= 5.
Expr* PlainReader::open_condition(const DensityKey& key, Node* clause, PlainQuery* out) const {
  if (Expr* same = open(key, clause, out)) return same;
  if (!IsA(clause, OpExpr) || !has_expression_group(key)) return nullptr;
  auto* opposite = castNode(OpExpr, static_cast<Node*>(copyObjectImpl(clause)));
  opposite->opno = get_negator(opposite->opno);
  if (!OidIsValid(opposite->opno)) return nullptr;
  opposite->opfuncid = get_opcode(opposite->opno);
  Expr* group = open(key, reinterpret_cast<Node*>(opposite), out);
  return group != nullptr ? makeBoolExpr(NOT_EXPR, list_make1(group), -1) : nullptr;
}

// Whether an open condition leaves out rows where the column is NULL, as strict functions tell: to
// evaluate it there may raise an error that no row does.
bool PlainReader::is_null_where_column_is(const DensityKey& key, const Expr* open) const {
  auto column = static_cast<AttrNumber>(column_place(key) + 1);
  auto* node = const_cast<Node*>(reinterpret_cast<const Node*>(open));
  return bms_is_member(1, find_nonnullable_rels(set_apart(node, &column)));
}

bool is_of_column(const Expr* open, int column) { return bms_is_member(column, columns_of(open)); }

}  // namespace kde_pg
