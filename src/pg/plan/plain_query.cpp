// See plain_query.h. Trees are those of the planner: constants folded, conditions an implicit AND.
#include "pg/plan/plain_query.h"

#include "pg/base/pinned.h"
#include "pg/base/tree_walk.h"
#include "pg/base/values.h"
#include "pg/catalog/canonical_filter.h"
#include "pg/catalog/catalog.h"
#include "pg/plan/buckets.h"
#include "pg/plan/consent.h"

extern "C" {
#include "access/nbtree.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

// An expression of the table, as keys have it: a column by its number, any other by its text.
struct Named {
  AttrNumber attnum;
  const char* text;  // null of a column
  Oid type;

  bool is(const KeyColumn& c) const {
    if (attnum != 0) return c.attnum == attnum;
    return text != nullptr && c.attnum == 0 && strcmp(text, c.text) == 0;
  }
};

// A condition with what it compares, where it compares.
struct Condition {
  Expr* clause;
  bool compares;
  Named named;
  int strategy;
  Expr* value;
};

struct Asked {
  Oid function;
  Aggref* node;
  bool of_column;
  Named named;
};

// What the query has, whatever the density.
class Query {
 public:
  bool read(PlannerInfo* root, RelOptInfo* input, PathTarget* target, List* having);
  Oid relation() const { return RelationGetRelid(relation_); }
  // Null where the density cannot answer.
  PlainQuery* question(const CatalogEntry& entry) const;
  void close() { table_close(relation_, NoLock); }

 private:
  bool read_conditions(RelOptInfo* input);
  bool read_leaves(Node* node);
  bool add_aggregate(Aggref* node);
  Named name_of(Node* node) const;
  bool is_known_value(Node* node) const;
  bool read_comparison(Expr* clause, Condition* out) const;
  bool place_groups(const DensityKey& key, PlainQuery* out) const;
  bool is_of_groups(const DensityKey& key, Node* node, PlainQuery* out) const;
  bool place_conditions(const CatalogEntry& entry, PlainQuery* out) const;
  bool place_aggregates(const DensityKey& key, PlainQuery* out) const;
  bool is_same_filter(const DensityKey& key, List* clauses) const;
  bool has_no_nulls(const KeyColumn& column) const;
  bool has_steps(AttrNumber column) const;
  int scale_of(Oid function, const DensityKey& key, int column) const;

  Index rti_ = 0;
  Relation relation_ = nullptr;
  List* groups_ = NIL;      // Expr*
  List* aggregates_ = NIL;  // Asked*
  List* conditions_ = NIL;  // Condition*
};

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
      // From a domain to its type.
      if (getBaseType(exprType(arg)) != relabel->resulttype ||
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

bool has_parameter(Node* node, void*) {
  if (node == nullptr) return false;
  if (IsA(node, Param)) return true;
  return expression_tree_walker(node, as_walker(has_parameter), nullptr);
}

// Whether it may be what a density is of, which knows no parameters (and to print one without its
// plan crashes PostgreSQL 17), and nothing that depends on the session's settings, as its time
// zone.
bool may_be_fitted(Node* node) {
  return !has_parameter(node, nullptr) && !contain_mutable_functions(node);
}

Named Query::name_of(Node* node) const {
  node = without_cast(node);
  const Oid type = exprType(node);
  if (IsA(node, Var)) {
    const auto* var = castNode(Var, node);
    const bool own = var->varno == static_cast<int>(rti_) && var->varlevelsup == 0;
    const AttrNumber none = InvalidAttrNumber;
    return {own && var->varattno > 0 ? var->varattno : none, nullptr, type};
  }
  if (!may_be_fitted(node)) return {InvalidAttrNumber, nullptr, type};
  return {InvalidAttrNumber, canonical_text(relation_, alone(rti_, node)), type};
}

bool is_sub_plan(Node* node, void*) {
  if (node == nullptr) return false;
  if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) || IsA(node, SubLink)) return true;
  return expression_tree_walker(node, as_walker(is_sub_plan), nullptr);
}

bool varies(Node* node) { return contain_volatile_functions(node) || is_sub_plan(node, nullptr); }

bool Query::is_known_value(Node* node) const {
  return !contain_var_clause(node) && !contain_agg_clause(node) && !varies(node);
}

// A comparison with the table's side on the left.
bool Query::read_comparison(Expr* clause, Condition* out) const {
  Node* node = reinterpret_cast<Node*>(clause);
  if (IsA(node, NullTest)) {
    const auto* test = castNode(NullTest, node);
    if (test->nulltesttype != IS_NOT_NULL || test->argisrow) return false;
    Node* arg = reinterpret_cast<Node*>(test->arg);
    if (!contain_var_clause(arg) || varies(arg)) return false;
    *out = {clause, true, name_of(arg), 0, nullptr};
    return true;
  }
  if (!IsA(node, OpExpr) || list_length(castNode(OpExpr, node)->args) != 2) return false;
  const auto* op = castNode(OpExpr, node);
  Node* left = static_cast<Node*>(linitial(op->args));
  Node* right = static_cast<Node*>(lsecond(op->args));
  Oid operator_id = op->opno;
  if (is_known_value(left)) {
    Node* other = left;
    left = right;
    right = other;
    operator_id = get_commutator(operator_id);
  }
  if (!OidIsValid(operator_id) || !is_known_value(right) || !contain_var_clause(left) ||
      varies(left))
    return false;
  const Oid opclass = GetDefaultOpClass(exprType(left), BTREE_AM_OID);
  if (!OidIsValid(opclass)) return false;
  const int strategy = get_op_opfamily_strategy(operator_id, get_opclass_family(opclass));
  if (strategy == 0) return false;
  *out = {clause, true, name_of(left), strategy, reinterpret_cast<Expr*>(right)};
  return true;
}

bool Query::read_conditions(RelOptInfo* input) {
  ListCell* cell;
  foreach (cell, input->baserestrictinfo) {
    const auto* info = lfirst_node(RestrictInfo, cell);
    if (info->pseudoconstant || info->security_level > 0) return false;
    auto* c = static_cast<Condition*>(palloc0(sizeof(Condition)));
    c->clause = info->clause;
    if (varies(reinterpret_cast<Node*>(c->clause))) return false;
    if (!read_comparison(info->clause, c)) c->compares = false;
    conditions_ = lappend(conditions_, c);
  }
  return true;
}

bool Query::add_aggregate(Aggref* node) {
  if (node->aggdistinct != NIL || node->aggorder != NIL || node->aggfilter != nullptr ||
      node->aggdirectargs != NIL || node->agglevelsup != 0 || node->aggkind != AGGKIND_NORMAL ||
      node->aggsplit != AGGSPLIT_SIMPLE || list_length(node->args) > 1)
    return false;
  ListCell* cell;
  foreach (cell, aggregates_)
    if (equal(static_cast<Asked*>(lfirst(cell))->node, node)) return true;
  auto* asked = static_cast<Asked*>(palloc0(sizeof(Asked)));
  asked->function = node->aggfnoid;
  asked->node = node;
  asked->of_column = node->args != NIL;
  if (asked->of_column) {
    Node* arg = reinterpret_cast<Node*>(linitial_node(TargetEntry, node->args)->expr);
    if (varies(arg)) return false;
    // count(1) is count(*).
    if (node->aggfnoid == F_COUNT_ANY && IsA(arg, Const) && !castNode(Const, arg)->constisnull) {
      asked->function = F_COUNT_;
      asked->of_column = false;
    } else if (!contain_var_clause(arg)) {
      return false;
    } else {
      asked->named = name_of(arg);
    }
  }
  aggregates_ = lappend(aggregates_, asked);
  return true;
}

// Of the select list and HAVING: aggregates and what the query is grouped by, and nothing else of
// the table.
bool Query::read_leaves(Node* node) {
  if (node == nullptr) return true;
  if (list_member(groups_, node)) return true;
  if (IsA(node, Aggref)) return add_aggregate(castNode(Aggref, node));
  if (IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, SubPlan) ||
      IsA(node, AlternativeSubPlan) || IsA(node, GroupingFunc) || IsA(node, WindowFunc))
    return false;
  const auto visit = [](Node* child, void* self) {
    return !static_cast<Query*>(self)->read_leaves(child);
  };
  return !expression_tree_walker(node, as_walker(visit), this);
}

bool Query::read(PlannerInfo* root, RelOptInfo* input, PathTarget* target, List* having) {
  ::Query* parse = root->parse;
  if (parse->groupingSets != NIL || parse->hasTargetSRFs || parse->rowMarks != NIL ||
      root->qual_security_level > 0 || (!parse->hasAggs && parse->groupClause == NIL) ||
      input->reloptkind != RELOPT_BASEREL || input->rtekind != RTE_RELATION ||
      bms_membership(input->relids) != BMS_SINGLETON)
    return false;
  rti_ = static_cast<Index>(bms_singleton_member(input->relids));
  const RangeTblEntry* rte = planner_rt_fetch(rti_, root);
  if (rte->tablesample != nullptr || rte->securityQuals != NIL) return false;
  if (rte->relkind == RELKIND_PARTITIONED_TABLE ? !rte->inh : !rte->inh && has_subclass(rte->relid))
    return false;
  if (rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_PARTITIONED_TABLE &&
      rte->relkind != RELKIND_MATVIEW && rte->relkind != RELKIND_FOREIGN_TABLE)
    return false;
  relation_ = table_open(rte->relid, NoLock);
  groups_ = get_sortgrouplist_exprs(parse->groupClause, parse->targetList);
  bool good = read_conditions(input);
  ListCell* cell;
  foreach (cell, target->exprs) good = good && read_leaves(static_cast<Node*>(lfirst(cell)));
  foreach (cell, having) good = good && read_leaves(static_cast<Node*>(lfirst(cell)));
  if (!good) close();
  return good;
}

int place_in(const DensityKey& key, const Named& named) {
  for (int i = 0; i < key.columns + key.measures; ++i)
    if (named.is(key.column[i])) return i;
  return -1;
}

int group_in(const DensityKey& key, const Named& named) {
  for (int i = 0; i < key.groups; ++i)
    if (named.is(key.column[key.first_group() + i])) return i;
  return -1;
}

// Whether a group's key, which is stored as text, reads back as the value it was, whatever happens
// to other objects: those of the server's own scalar types do, and labels of enums are looked at.
bool reads_back(Oid type) {
  switch (type) {
    case REGCLASSOID:
    case REGCOLLATIONOID:
    case REGCONFIGOID:
    case REGDICTIONARYOID:
    case REGNAMESPACEOID:
    case REGOPEROID:
    case REGOPERATOROID:
    case REGPROCOID:
    case REGPROCEDUREOID:
    case REGROLEOID:
    case REGTYPEOID:
      return false;
    default:
      return type_is_enum(type) ||
             (type < FirstNormalObjectId && get_typtype(type) == TYPTYPE_BASE &&
              !OidIsValid(get_element_type(type)));
  }
}

// Whether values of the column's type are so far apart that none is between two of them.
bool Query::has_steps(AttrNumber column) const {
  kde::ValueType type;
  if (!value_type_of(TupleDescAttr(RelationGetDescr(relation_), column - 1)->atttypid, &type))
    return false;
  return type <= kde::ValueType::int8 || type == kde::ValueType::date ||
         type == kde::ValueType::timestamp || type == kde::ValueType::timestamptz ||
         type == kde::ValueType::time;
}

bool Query::place_groups(const DensityKey& key, PlainQuery* out) const {
  const AttrNumber column = key.columns == 1 ? key.column[0].attnum : InvalidAttrNumber;
  int found = 0;
  ListCell* cell;
  foreach (cell, groups_) {
    Node* node = static_cast<Node*>(lfirst(cell));
    if (!contain_var_clause(node)) return false;
    const int i = group_in(key, name_of(node));
    if (i >= 0 && out->group[i] == nullptr && reads_back(exprType(node))) {
      out->group[i] = node;
      ++found;
    } else if (i < 0 && out->bucket == nullptr && column > 0 && has_steps(column) &&
               is_bucket(node, column)) {
      out->bucket = node;
    } else {
      return false;
    }
  }
  out->by_groups = found > 0;
  return found == 0 || found == key.groups;
}

// Whether values that are the same group are the same in every respect, so that any condition holds
// for all of a group's rows or for none.
bool is_equal_image(Oid type, Oid collation) {
  const Oid opclass = GetDefaultOpClass(type, BTREE_AM_OID);
  if (!OidIsValid(opclass)) return false;
  const Oid input = get_opclass_input_type(opclass);
  const Oid proc = get_opfamily_proc(get_opclass_family(opclass), input, input, BTEQUALIMAGE_PROC);
  return OidIsValid(proc) &&
         DatumGetBool(OidFunctionCall1Coll(proc, collation, ObjectIdGetDatum(input)));
}

// Whether all that the node has of the table is what the density's groups are by.
bool Query::is_of_groups(const DensityKey& key, Node* node, PlainQuery* out) const {
  if (node == nullptr) return true;
  if (key.groups == 0) return false;
  if (contain_var_clause(node)) {
    const bool leaf = !IsA(node, List) && !IsA(node, OpExpr) && !IsA(node, BoolExpr) &&
                      !IsA(node, ScalarArrayOpExpr) && !IsA(node, NullTest);
    if (leaf) {
      Named named = {0, nullptr, InvalidOid};
      Node* inner = node;
      if (IsA(node, Var)) {
        named.attnum = castNode(Var, node)->varattno;
      } else if (may_be_fitted(node)) {
        named.text = canonical_text(relation_, alone(rti_, node));
      }
      const int i = group_in(key, named);
      if (i >= 0) {
        if (!is_equal_image(exprType(inner), exprCollation(inner)) || !reads_back(exprType(inner)))
          return false;
        if (out->group[i] == nullptr) out->group[i] = inner;
        return equal(out->group[i], inner);
      }
    }
    if (IsA(node, Var)) return false;
  }
  struct Visit {
    const Query* query;
    const DensityKey* key;
    PlainQuery* out;
  } state = {this, &key, out};
  const auto visit = [](Node* child, void* at) {
    const auto* v = static_cast<Visit*>(at);
    return !v->query->is_of_groups(*v->key, child, v->out);
  };
  return !expression_tree_walker(node, as_walker(visit), &state);
}

bool Query::is_same_filter(const DensityKey& key, List* clauses) const {
  if (clauses == NIL) return !key.has_filter();
  if (!key.has_filter()) return false;
  Node* all = reinterpret_cast<Node*>(make_ands_explicit(clauses));
  if (!may_be_fitted(all)) return false;
  Node* filter = canonical_filter(relation_, alone(rti_, all));
  return strcmp(canonical_text(relation_, filter), key.filter) == 0;
}

bool Query::place_conditions(const CatalogEntry& entry, PlainQuery* out) const {
  const DensityKey& key = entry.key;
  List* rest = NIL;
  ListCell* cell;
  foreach (cell, conditions_) {
    const auto* c = static_cast<const Condition*>(lfirst(cell));
    const int column = c->compares ? place_in(key, c->named) : -1;
    if (column >= 0 && column < key.columns) {
      kde::ValueType type;
      if (!value_type_of(c->named.type, &type) || type == kde::ValueType::category) return false;
      auto* bound = static_cast<PlainBound*>(palloc0(sizeof(PlainBound)));
      *bound = {column, type, c->strategy, c->value};
      out->bounds = lappend(out->bounds, bound);
    } else if (is_of_groups(key, reinterpret_cast<Node*>(c->clause), out)) {
      out->group_conditions = lappend(out->group_conditions, c->clause);
    } else {
      rest = lappend(rest, c->clause);
    }
  }
  return is_same_filter(key, rest);
}

// Decimals of the result of an aggregate of type numeric: those of the column's type.
int Query::scale_of(Oid function, const DensityKey& key, int column) const {
  if (function == F_SUM_INT8) return 0;
  const AttrNumber attnum = key.column[column].attnum;
  if (attnum <= 0) return -1;
  const int32 typmod = TupleDescAttr(RelationGetDescr(relation_), attnum - 1)->atttypmod;
  return typmod < static_cast<int32>(VARHDRSZ)
             ? -1
             : ((static_cast<int>(typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
}

// Children of a table may have dropped the constraint, and of a foreign one nobody enforces it.
bool Query::has_no_nulls(const KeyColumn& column) const {
  const char kind = relation_->rd_rel->relkind;
  if (kind == RELKIND_FOREIGN_TABLE || (kind == RELKIND_RELATION && has_subclass(relation())))
    return false;
  return column.attnum > 0 &&
         TupleDescAttr(RelationGetDescr(relation_), column.attnum - 1)->attnotnull;
}

bool Query::place_aggregates(const DensityKey& key, PlainQuery* out) const {
  bool bounded[kde::kMaxColumns] = {};
  ListCell* cell;
  foreach (cell, out->bounds) bounded[static_cast<PlainBound*>(lfirst(cell))->column] = true;
  foreach (cell, aggregates_) {
    const auto* asked = static_cast<const Asked*>(lfirst(cell));
    auto* a = static_cast<PlainAggregate*>(palloc0(sizeof(PlainAggregate)));
    *a = {asked->node, PlainAnswer::rows, -1, kde::ValueType::float8, -1};
    switch (asked->function) {
      case F_COUNT_:
        break;
      case F_COUNT_ANY:
        a->answer = PlainAnswer::values;
        break;
      case F_SUM_INT2:
      case F_SUM_INT4:
      case F_SUM_INT8:
      case F_SUM_FLOAT8:
      case F_SUM_NUMERIC:
        a->answer = PlainAnswer::sum;
        break;
      case F_AVG_INT2:
      case F_AVG_INT4:
      case F_AVG_INT8:
      case F_AVG_FLOAT4:
      case F_AVG_FLOAT8:
      case F_AVG_NUMERIC:
        a->answer = PlainAnswer::avg;
        break;
      default:
        return false;
    }
    if (a->answer != PlainAnswer::rows) {
      a->column = place_in(key, asked->named);
      if (a->column < 0 || !value_type_of(asked->named.type, &a->type)) return false;
      a->scale = scale_of(asked->function, key, a->column);
    }
    // A density has no row in which one of its columns is NULL.
    for (int i = 0; i < key.columns; ++i)
      if (!bounded[i] && a->column != i && !has_no_nulls(key.column[i])) return false;
    out->aggregates = lappend(out->aggregates, a);
  }
  return true;
}

PlainQuery* Query::question(const CatalogEntry& entry) const {
  const DensityKey& key = entry.key;
  if (!entry.settings.plain_sql || TIMESTAMP_IS_NOBEGIN(entry.fitted_at)) return nullptr;
  auto* out = static_cast<PlainQuery*>(palloc(sizeof(PlainQuery)));
  *out = PlainQuery();
  out->key = key;
  if (!place_groups(key, out) || !place_conditions(entry, out) || !place_aggregates(key, out))
    return nullptr;
  // The column's own density is beside that of its groups.
  if (key.groups > 0 && !out->by_groups && out->group_conditions == NIL) return nullptr;
  // A row without a value is one of its group, and of the bucket of NULL.
  if (groups_ != NIL && out->bounds == NIL && !has_no_nulls(key.column[0])) return nullptr;
  return out;
}

// As of now, whatever the statement sees: what it sees is looked at when it runs. In parallel mode
// there is no such snapshot, nor does a worker plan much.
List* densities_of(Oid relation) {
  if (IsInParallelMode() || !catalog_is_installed()) return NIL;
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  List* entries = catalog_list(relation, latest);
  UnregisterSnapshot(latest);
  return entries;
}

bool is_allowed(List* entries) {
  ListCell* cell;
  foreach (cell, entries)
    if (static_cast<const CatalogEntry*>(lfirst(cell))->settings.plain_sql) return true;
  return false;
}

}  // namespace

PlainQuery* plain_query_of(PlannerInfo* root, RelOptInfo* input, PathTarget* target, List* having) {
  if (input->rtekind != RTE_RELATION || bms_membership(input->relids) != BMS_SINGLETON)
    return nullptr;
  const RangeTblEntry* rte = planner_rt_fetch(bms_singleton_member(input->relids), root);
  if (has_no_consent(rte->relid)) return nullptr;
  const uint64 before = consent_invalidations();
  List* entries = densities_of(rte->relid);
  if (!is_allowed(entries)) {
    if (!IsInParallelMode()) note_no_consent(rte->relid, before);
    return nullptr;
  }
  PinnedSettings settings;
  settings.begin();
  Query query;
  PlainQuery* best = nullptr;
  if (query.read(root, input, target, having)) {
    ListCell* cell;
    foreach (cell, entries) {
      PlainQuery* q = query.question(*static_cast<const CatalogEntry*>(lfirst(cell)));
      if (q != nullptr && (best == nullptr || q->key.columns < best->key.columns)) best = q;
    }
    query.close();
  }
  settings.end();
  return best;
}

}  // namespace kde_pg
