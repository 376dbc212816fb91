// See query.h. Trees are those of the planner: constants folded, conditions an implicit AND.
#include "pg/plain_sql/query.h"

#include "pg/base/compat.h"
#include "pg/base/pinned.h"
#include "pg/base/tree_walk.h"
#include "pg/values/values.h"
#include "pg/catalog/canonical_filter.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/privileges.h"
#include "pg/plain_sql/buckets.h"
#include "pg/plain_sql/known_densities.h"
#include "pg/plain_sql/query_answer.h"
#include "pg/plain_sql/interval_ends.h"
#include "pg/plain_sql/query_reader.h"

extern "C" {
#include "access/nbtree.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_statistic.h"
#include "optimizer/clauses.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/typcache.h"
}

#include <utility>

namespace kde_pg {

namespace {

// PlainReader::nearness() of a density that has all conditions.
constexpr int kAllConditions = 100;

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

bool has_list(const PlainQuery& query) {
  for (const PlainBound* item : of_list<const PlainBound>(query.bounds))
    if (item->any) return true;
  return false;
}

bool has_bound(const PlainQuery& query, int column) {
  for (const PlainBound* entry : of_list<const PlainBound>(query.bounds))
    if (entry->column == column) return true;
  return false;
}

// By name what densities know of every type of numbers, or of all that they hold.
bool named_answer_of(const char* name, PlainAggregate* out) {
  struct Known {
    const char* name;
    PlainAnswer answer;
    bool population;
  };
  static const Known kKnown[] = {{"variance", PlainAnswer::variance, false},
                                 {"var_samp", PlainAnswer::variance, false},
                                 {"var_pop", PlainAnswer::variance, true},
                                 {"stddev", PlainAnswer::stddev, false},
                                 {"stddev_samp", PlainAnswer::stddev, false},
                                 {"stddev_pop", PlainAnswer::stddev, true},
                                 {"min", PlainAnswer::min, false},
                                 {"max", PlainAnswer::max, false}};
  for (const Known& known : kKnown) {
    if (strcmp(name, known.name) != 0) continue;
    out->answer = known.answer;
    out->population = known.population;
    return true;
  }
  return false;
}

// What an aggregate's function asks, but count(*); false: what no density knows.
bool answer_of(Oid function, PlainAggregate* out) {
  switch (function) {
    case F_COUNT_ANY:
      out->answer = PlainAnswer::values;
      return true;
    case F_PERCENTILE_CONT_FLOAT8_FLOAT8:
    case F_PERCENTILE_CONT__FLOAT8_FLOAT8:
      out->answer = PlainAnswer::continuous;
      return true;
    case F_PERCENTILE_DISC_FLOAT8_ANYELEMENT:
    case F_PERCENTILE_DISC__FLOAT8_ANYELEMENT:
      out->answer = PlainAnswer::discrete;
      return true;
    case F_MODE:
      out->answer = PlainAnswer::mode;
      return true;
    case F_SUM_INT2:
    case F_SUM_INT4:
    case F_SUM_INT8:
    case F_SUM_FLOAT8:
    case F_SUM_NUMERIC:
      out->answer = PlainAnswer::sum;
      return true;
    case F_AVG_INT2:
    case F_AVG_INT4:
    case F_AVG_INT8:
    case F_AVG_FLOAT4:
    case F_AVG_FLOAT8:
    case F_AVG_NUMERIC:
      out->answer = PlainAnswer::avg;
      return true;
    default:
      return function < FirstNormalObjectId && named_answer_of(get_func_name(function), out);
  }
}

// Fewer columns, no rows that may be where they are NULL, and fewer groups to add up.
bool is_better(const PlainQuery& a, const PlainQuery& b) {
  if (a.key.columns != b.key.columns) return a.key.columns < b.key.columns;
  if ((a.with_nulls != 0) != (b.with_nulls != 0)) return b.with_nulls != 0;
  return a.key.groups < b.key.groups;
}

}  // namespace

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

bool is_equal_image(Oid type, int32 typmod, Oid collation) {
  // But for blanks at the end, of which values of no length of their own may have any number; with one
  // all are padded to it.
  if (type == BPCHAROID && typmod < static_cast<int32>(VARHDRSZ)) return false;
  if (type == BPCHAROID) type = TEXTOID;
  const TypeCacheEntry* of = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
  if (!OidIsValid(of->btree_opf)) return false;
  const Oid input = of->btree_opintype;
  const Oid proc = get_opfamily_proc(of->btree_opf, input, input, BTEQUALIMAGE_PROC);
  return OidIsValid(proc) &&
         DatumGetBool(OidFunctionCall1Coll(proc, collation, ObjectIdGetDatum(input)));
}

// Where a density has what its groups are by, or is of a category's values; -1: nowhere.
int PlainReader::group_of(const DensityKey& key, const Named& named, PlainQuery* out) const {
  if (key.groups > 0) return group_in(key, named);
  if (key.columns != 1 || !named.is(key.column[0]) || !is_category(named)) return -1;
  out->of_words = true;
  return 0;
}

bool PlainReader::place_groups(const DensityKey& key, PlainQuery* out) const {
  out->sets = sets_;
  ListCell *group, *as_shown;
  forboth(group, groups_, as_shown, shown_groups_) {
    auto* node = static_cast<Node*>(lfirst(group));
    auto* shown = static_cast<Node*>(lfirst(as_shown));
    if (!contain_var_clause(node)) return no("cannot be grouped by a constant");
    const int i = group_of(key, name_of(node), out);
    const bool is_group = i >= 0 && (out->by_groups >> i & 1) == 0 && reads_back(exprType(node));
    if (is_group && (out->group[i] == nullptr || equal(out->group[i], node))) {
      out->group[i] = node;
      out->shown_group[i] = shown;
      out->by_groups |= 1 << i;
      out->places = lappend_int(out->places, i);
    } else if (Expr* other = open(key, node, out)) {
      out->places = lappend_int(out->places, kde::kMaxGroupBy + list_length(out->others));
      out->others = lappend(out->others, node);
      out->shown_others = lappend(out->shown_others, shown);
      out->open_others = lappend(out->open_others, other);
    } else {
      return no(is_not_by(node));
    }
  }
  return true;
}

bool PlainReader::is_same_filter(const DensityKey& key, List* clauses) const {
  if (clauses == NIL || !key.has_filter()) return clauses == NIL && !key.has_filter();
  const char* filter = filter_of(clauses);
  has_texts_ = true;
  return filter != nullptr && strcmp(filter, key.filter) == 0;
}

bool PlainReader::place_conditions(const DensityKey& key, PlainQuery* out) const {
  List* rest = NIL;
  List* not_always = NIL;
  for (const Condition* c : of_list<const Condition>(conditions_)) {
    if (is_bound(key, *c, out) || is_passage(key, *c, out) || is_null_test(key, *c, out)) continue;
    Expr* clause = open_condition(key, reinterpret_cast<Node*>(c->clause), out);
    // One of the column may be a part of the filter.
    if (clause != nullptr && !(key.has_filter() && is_of_column(clause, out->column_place())))
      out->conditions = lappend(out->conditions, clause);
    else {
      rest = lappend(rest, c->clause);
      if (!is_always_true(*c)) not_always = lappend(not_always, c->clause);
    }
  }
  for (Node* clause : of_list<Node>(joined_)) {
    Expr* condition = open(key, clause, out);
    if (condition == nullptr) return no(lacks(clause));
    out->conditions = lappend(out->conditions, condition);
  }
  if (is_same_filter(key, rest)) return true;
  if (list_length(not_always) < list_length(rest) && is_same_filter(key, not_always)) return true;
  const bool is_filter = rest == NIL || key.has_filter();
  // By how many conditions it lacks.
  nearness_ = is_filter ? 1 : kAllConditions - Min(list_length(rest), kAllConditions - 2);
  if (is_filter) return no(tells_ ? psprintf("is of the rows where %s", out->key.filter) : "");
  return no(lacks(static_cast<Node*>(linitial(rest))));
}

// Whether a condition is one on the density's columns; it is then among the bounds.
bool PlainReader::is_bound(const DensityKey& key, const Condition& c, PlainQuery* out) const {
  const int column = c.compares ? place_in(key, c.named) : -1;
  kde::ValueType type;
  if (column < 0 || column >= key.columns || !value_type_of(c.named.type, &type)) return false;
  auto* bound = static_cast<PlainBound*>(palloc0(sizeof(PlainBound)));
  *bound = {column, type, c.strategy, c.any, c.value, c.named.type, c.named.collation};
  if (type == kde::ValueType::category) {
    // One list of values; of others each value is looked at.
    if (!c.of_category || has_bound(*out, column)) return false;
    if (key.columns == 1) out->of_words = true;
    // Of the column's own type, whatever the query casts it to.
    if (c.named.attnum != 0) {
      const Form_pg_attribute of = TupleDescAttr(RelationGetDescr(relation_), c.named.attnum - 1);
      bound->column_type = of->atttypid;
      bound->collation = of->attcollation;
    }
  } else if (c.any && (key.columns > 1 || has_list(*out))) {
    return false;
  }
  out->bounds = lappend(out->bounds, bound);
  return true;
}

// Whether a condition compares a bucket of the density's column; it is then among the passages. An
// equality is two.
bool PlainReader::is_passage(const DensityKey& key, const Condition& c, PlainQuery* out) const {
  const AttrNumber column = key.columns == 1 ? key.column[0].attnum : InvalidAttrNumber;
  if (!c.compares || c.side == nullptr || c.any || key.has_filter() || column <= 0 ||
      !has_steps(column) || !is_bucket(c.side, column))
    return false;
  const Oid family = lookup_type_cache(exprType(c.side), TYPECACHE_BTREE_OPFAMILY)->btree_opf;
  Node* side = c.side;
  Oid left, right;
  op_input_types(c.operator_id, &left, &right);
  // As the operator does, in the session's time zone.
  if (right == TIMESTAMPTZOID && (left == TIMESTAMPOID || left == DATEOID)) {
    side = reinterpret_cast<Node*>(
        makeFuncExpr(left == DATEOID ? F_TIMESTAMPTZ_DATE : F_TIMESTAMPTZ_TIMESTAMP, right,
                     list_make1(side), InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));
    left = right;
  }
  const bool equality = c.strategy == BTEqualStrategyNumber;
  for (const int strategy : {equality ? BTGreaterEqualStrategyNumber : c.strategy,
                             equality ? BTLessEqualStrategyNumber : 0}) {
    if (strategy == 0) continue;
    const Oid opno = get_opfamily_member(family, left, right, static_cast<int16>(strategy));
    if (!OidIsValid(opno) || opno >= FirstNormalObjectId) return false;
    Expr* comparison = make_opclause(opno, BOOLOID, false, open_bucket(side, column), c.value,
                                     InvalidOid, exprCollation(side));
    out->passages = lappend(out->passages, comparison);
  }
  return true;
}

// IS NULL and IS NOT NULL of a measure, IS NULL of the density's only column: what is known of
// those rows is how many they are, and all of the column itself.
bool PlainReader::is_null_test(const DensityKey& key, const Condition& c, PlainQuery* out) const {
  if (!IsA(c.clause, NullTest) || key.columns > 1 || out->of_words || is_always_true(c))
    return false;
  const auto* test = castNode(NullTest, reinterpret_cast<Node*>(c.clause));
  Node* arg = reinterpret_cast<Node*>(test->arg);
  if (test->argisrow || !contain_var_clause(arg)) return false;
  const int column = place_in(key, name_of(arg));
  const bool is_null = test->nulltesttype == IS_NULL;
  if (column < 0 || (out->null_of >= 0 && (out->null_of != column || out->is_null != is_null)))
    return false;
  out->null_of = column;
  out->is_null = is_null;
  return true;
}

bool PlainReader::is_always_true(const Condition& c) const {
  if (!IsA(c.clause, NullTest)) return false;
  const auto* test = castNode(NullTest, reinterpret_cast<Node*>(c.clause));
  return test->nulltesttype == IS_NOT_NULL && !test->argisrow &&
         is_never_null(reinterpret_cast<Node*>(test->arg));
}

// Decimals of the result of an aggregate of type numeric: those of the column's type.
int PlainReader::scale_of(Oid function, const DensityKey& key, int column) const {
  if (function == F_SUM_INT8) return 0;
  const AttrNumber attnum = key.column[column].attnum;
  if (attnum <= 0) return -1;
  const int32 typmod = TupleDescAttr(RelationGetDescr(relation_), attnum - 1)->atttypmod;
  return typmod < static_cast<int32>(VARHDRSZ)
             ? -1
             : ((static_cast<int>(typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
}

namespace {

// Whether the snapshot sees what the tuple was made by.
bool is_seen(HeapTuple tuple, Snapshot snapshot) {
  const TransactionId xmin = HeapTupleHeaderGetXmin(tuple->t_data);
  return !TransactionIdIsNormal(xmin) || TransactionIdIsCurrentTransactionId(xmin) ||
         !XidInMVCCSnapshot(xmin, snapshot);
}

// Whether a column that is NOT NULL was so for the snapshot: an older one may see NULLs in it.
bool was_not_null(Oid relation, AttrNumber attnum, Snapshot snapshot) {
  HeapTuple column = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(attnum));
  if (!HeapTupleIsValid(column)) return false;
  bool out = is_seen(column, snapshot);
  ReleaseSysCache(column);
#if PG_VERSION_NUM >= 180000
  // It may have been validated later.
  HeapTuple constraint = findNotNullConstraintAttnum(relation, attnum);
  if (HeapTupleIsValid(constraint)) {
    out = out && is_seen(constraint, snapshot);
    heap_freetuple(constraint);
  }
#endif
  return out;
}

}  // namespace

// Children of a table may have dropped the constraint, and of a foreign one nobody enforces it.
bool PlainReader::has_no_nulls(const KeyColumn& column) const {
  const char kind = relation_->rd_rel->relkind;
  if (kind == RELKIND_FOREIGN_TABLE || (kind == RELKIND_RELATION && has_subclass(relation())))
    return false;
  return column.attnum > 0 && is_not_null(RelationGetDescr(relation_), column.attnum - 1) &&
         ActiveSnapshotSet() && was_not_null(relation(), column.attnum, GetActiveSnapshot());
}

// Whether rows without a value of the only column are left out.
bool PlainReader::is_bounded(const DensityKey& key, const PlainQuery& query) const {
  bool is = query.passages != NIL;
  for (const Expr* condition : of_list<const Expr>(query.conditions))
    is = is || is_null_where_column_is(key, condition);
  ListCell *cell, *lookups;
  forboth(cell, query.dimensions, lookups, query.lookups) {
    const auto* of = static_cast<const PlainDimension*>(lfirst(cell));
    ListCell *by, *lookup;
    forboth(by, of->keys, lookup, static_cast<List*>(lfirst(lookups))) is =
        is || ((of->join == PlainJoin::inner || of->join == PlainJoin::semi) &&
               !static_cast<const DimensionKey*>(lfirst(by))->has_nulls &&
               is_null_where_column_is(key, static_cast<const Expr*>(lfirst(lookup))));
  }
  return is;
}

bool PlainReader::place_aggregates(const DensityKey& key, const Bitmapset* some,
                                   PlainQuery* out) const {
  bool bounded[kde::kMaxColumns] = {};
  ListCell* cell;
  for (PlainBound* item : of_list<PlainBound>(out->bounds)) bounded[item->column] = true;
  if (is_bounded(key, *out) || out->null_of == 0) bounded[0] = true;
  foreach (cell, aggregates_) {
    const auto* asked = static_cast<const Asked*>(lfirst(cell));
    const int index = foreach_current_index(cell);
    if (some != nullptr && !bms_is_member(index, some)) continue;
    auto* a = static_cast<PlainAggregate*>(palloc0(sizeof(PlainAggregate)));
    *a = {asked->node,
          index,
          asked->ones ? PlainAnswer::ones : PlainAnswer::rows,
          asked->end,
          false,
          -1,
          kde::ValueType::float8,
          -1,
          asked->rows,
          asked->zeros,
          nullptr,
          nullptr,
          asked->value,
          nullptr,
          asked->fraction,
          asked->of_sets};
    if (asked->of_sets != NIL) a->answer = PlainAnswer::grouping;
    if (asked->function != F_COUNT_ && !answer_of(asked->function, a))
      return no(psprintf("knows no %s()", get_func_name(asked->function)));
    if (asked->differs) a->answer = PlainAnswer::differing;
    if (a->is_of_differing()) {
      auto* value = reinterpret_cast<Node*>(asked->value);
      a->open_value = open(key, value, out);
      if (a->open_value == nullptr) return no(lacks(value));
    } else if (asked->function != F_COUNT_) {
      a->column = place_in(key, asked->named);
      if (a->column < 0 || !value_type_of(asked->named.type, &a->type)) {
        return no(lacks(reinterpret_cast<Node*>(asked->value)));
      }
      if ((a->is_extreme() || a->is_percentile()) &&
          (key.columns > 1 || (a->column > 0 && a->is_percentile()) ||
           a->type == kde::ValueType::category || a->type == kde::ValueType::interval ||
           a->type == kde::ValueType::float4))
        return no(psprintf("knows no %s() but of its own values", get_func_name(asked->function)));
      a->scale = scale_of(asked->function, key, a->column);
    }
    for (const auto& [of, to] :
         {std::pair(a->rows, &a->open_rows), std::pair(a->zeros, &a->open_zeros)})
      if (of != nullptr && (*to = open(key, reinterpret_cast<Node*>(of), out)) == nullptr)
        return no(lacks(reinterpret_cast<Node*>(of)));
    if (out->null_of >= 0 && a->column != (asked->function != F_COUNT_ ? out->null_of : -1))
      return no(psprintf("knows of the rows where %s is %sNULL how many they are, and itself",
                         out->key.column[out->null_of].text, out->is_null ? "" : "not "));
    // A density has no row in which one of its columns is NULL; a sum of it may have 0 for one.
    for (int i = 0; i < key.columns; ++i) {
      const bool is_of_nulls = a->column != i || a->zeros != nullptr;
      if (!bounded[i] && is_of_nulls && !has_no_nulls(key.column[i])) out->with_nulls |= 1 << i;
    }
    out->aggregates = lappend(out->aggregates, a);
  }
  return true;
}

// Whether the density's columns and filter may be all that the query has, told by their numbers: of
// many densities most are of others.
bool PlainReader::may_answer(const CatalogEntry& entry, const Bitmapset* some) const {
  const KnownDensity* known = entry.known;
  if (known == nullptr) return true;
  if (!bms_is_subset(columns_, known->columns) ||
      !bms_is_subset(known->of_filter, in_conditions_) ||
      (entry.key.has_filter() && conditions_ == NIL))
    return false;
  ListCell* cell;
  foreach (cell, aggregates_) {
    if ((some == nullptr || bms_is_member(foreach_current_index(cell), some)) &&
        !bms_is_subset(static_cast<const Asked*>(lfirst(cell))->columns, known->columns))
      return false;
  }
  return true;
}

// Keys are as they were written, what the planner has of the query is folded: 200 of a numeric is
// (200)::numeric there and '200'::numeric here. To fold a key takes its analysis, so only where
// its own texts do not do.
PlainQuery* PlainReader::question(const CatalogEntry& entry, const Bitmapset* some) const {
  if (!tells_ && !may_answer(entry, some)) return nullptr;
  PlainQuery* out = question_by(entry, entry.key, some);
  if (out != nullptr || !has_texts_ || !entry.key.has_texts()) return out;
  const DensityKey* key = folded_key(relation_, entry);
  return key != nullptr ? question_by(entry, *key, some) : nullptr;
}

// key: the entry's own, or as the planner has it.
PlainQuery* PlainReader::question_by(const CatalogEntry& entry, const DensityKey& key,
                                     const Bitmapset* some) const {
  why_ = nullptr;
  nearness_ = 0;
  auto* out = static_cast<PlainQuery*>(palloc(sizeof(PlainQuery)));
  *out = PlainQuery();
  out->key = entry.key;
  out->table = rti_;
  if (key.columns == 1 && key.groups == 0 && key.column[0].attnum != 0) {
    const KeyColumn& c = key.column[0];
    const Form_pg_attribute of = TupleDescAttr(RelationGetDescr(relation_), c.attnum - 1);
    const Named column = {c.attnum, nullptr, of->atttypid, of->attcollation};
    out->of_words = is_category(column);
  }
  if (!place_dimensions(key, out) || !place_groups(key, out) || !place_conditions(key, out))
    return nullptr;
  nearness_ = kAllConditions;
  if (!place_aggregates(key, some, out)) return nullptr;
  nearness_ = kAllConditions + 1;
  // A category's measures have one least and greatest value, not one for each of its values.
  const bool is_of_words =
      out->of_words && (out->by_groups != 0 || out->others != NIL || out->conditions != NIL);
  const bool is_of_part =
      out->bounds != NIL || out->passages != NIL || out->cuts_column || is_of_words;
  for (const PlainAggregate* a : of_list<const PlainAggregate>(out->aggregates))
    if (is_of_part && a->is_extreme() && a->column > 0) {
      (void)no("knows min() and max() of a measure over all its rows alone");
      return nullptr;
    }
  // Rows without a value are in no range and no bucket, and those of a group may be all it has:
  // then it is none of the density's.
  if (out->null_of == 0 &&
      (out->bounds != NIL || out->passages != NIL || out->cuts_column || key.groups > 0)) {
    (void)no("counts rows where its column is NULL only all together");
    return nullptr;
  }
  // A row without a value is one of its group, and of the bucket of NULL.
  if (groups_ != NIL && out->bounds == NIL && !is_bounded(key, *out) && out->null_of != 0 &&
      !has_no_nulls(key.column[0]))
    out->with_nulls |= 1;
  return may_answer_nulls(entry, *out) ? out : nullptr;
}

// What a category's density answers by its values is known when it runs. Of one that is not fitted
// yet (advise_demand.h), all rows of one column are read: it is as the statistics have it.
bool PlainReader::may_answer_nulls(const CatalogEntry& entry, const PlainQuery& query) const {
  if (query.with_nulls == 0 || query.of_words) return true;
  const bool is_certain =
      entry.id != 0 ? !may_have_nulls(entry.key, query.with_nulls)
                    : entry.key.columns == 1 && has_no_nulls_met(entry.key.column[0].attnum);
  if (is_certain) return true;
  int i = 0;
  while ((query.with_nulls >> i & 1) == 0) ++i;
  const KeyColumn& column = entry.key.column[i];
  return no(tells_
                ? psprintf("has no row where %s is NULL: add WHERE %s IS NOT NULL%s", column.text,
                           column.text, column.attnum > 0 ? ", or NOT NULL to the column" : "")
                : "has no row where its column is NULL");
}

// Each aggregate by the best of those that have it. Conditions on groups refer to columns of the
// plan, which are one density's.
List* PlainReader::questions(List* entries) const {
  if (groups_ != NIL || sets_ != NIL || list_length(aggregates_) < 2) return NIL;
  auto** some = static_cast<Bitmapset**>(
      palloc0(sizeof(Bitmapset*) * static_cast<Size>(list_length(entries) + 1)));
  for (int i = 0; i < list_length(aggregates_); ++i) {
    const PlainQuery* best = nullptr;
    int whose = -1;
    ListCell* cell;
    foreach (cell, entries) {
      const auto* entry = static_cast<const CatalogEntry*>(lfirst(cell));
      const PlainQuery* q = question(*entry, bms_make_singleton(i));
      if (q == nullptr || q->is_by_group() || q->cuts_column ||
          (best != nullptr && !is_better(*q, *best)))
        continue;
      best = q;
      whose = foreach_current_index(cell);
    }
    if (best == nullptr) return NIL;
    some[whose] = bms_add_member(some[whose], i);
  }
  List* out = NIL;
  ListCell* cell;
  foreach (cell, entries) {
    const Bitmapset* own = some[foreach_current_index(cell)];
    if (own != nullptr)
      out = lappend(out, question(*static_cast<const CatalogEntry*>(lfirst(cell)), own));
  }
  return out;
}

namespace {

// What one who explains or asks a query is told.
class Reasons {
 public:
  explicit Reasons(List** list) : list_(list) {}
  explicit operator bool() const { return list_ != nullptr; }
  bool are_none() const { return list_ != nullptr && found_ == NIL; }

  void of_query(Oid relation, const char* why) {
    put(relation, nullptr, 0, false, why != nullptr ? why : "is none that densities answer");
  }
  void by_others(Oid relation) {
    put(relation, nullptr, kMostNear, true,
        "answers, by columns that the current user may not read");
  }
  void of_part(const PlainQuery& question) {
    put(question.key.relation, &question.key, kMostNear, true, "answers a part of the aggregates");
  }
  void of(const CatalogEntry& entry, const PlainQuery* question, const PlainReader& reader) {
    if (list_ == nullptr) return;
    const char* obstacle = reader.why() != nullptr ? reader.why() : "is of something else";
    if (question != nullptr)
      obstacle = entry.settings.plain_sql
                     ? "answers"
                     : "answers functions alone: its owner has not allowed plain SQL";
    put(entry.key.relation, &entry.key, question != nullptr ? kMostNear : reader.nearness(),
        question != nullptr, obstacle);
  }

  // Under the caller's search path, which names depend on.
  void finish() {
    if (list_ == nullptr) return;
    list_sort(found_, nearest_first);
    for (One* one : of_list<One>(found_)) {
      if (one->reason.key != nullptr) one->reason.density = density_name(*one->reason.key);
      *list_ = lappend(*list_, &one->reason);
    }
  }

 private:
  static constexpr int kMostNear = kAllConditions + 2;

  struct One {
    PlainReason reason;
    int nearness, place;
  };

  void put(Oid relation, const DensityKey* key, int nearness, bool answers, const char* why) {
    if (list_ == nullptr) return;
    auto* one = static_cast<One*>(palloc0(sizeof(One)));
    one->reason = {
        relation, nullptr, key != nullptr && key->has_filter() ? pstrdup(key->filter) : nullptr,
        answers,  why,     key};
    one->nearness = nearness;
    one->place = list_length(found_);
    found_ = lappend(found_, one);
  }

  static int nearest_first(const ListCell* a, const ListCell* b) {
    const auto* left = static_cast<const One*>(lfirst(a));
    const auto* right = static_cast<const One*>(lfirst(b));
    return left->nearness != right->nearness ? right->nearness - left->nearness
                                             : left->place - right->place;
  }

  List** list_;
  List* found_ = NIL;  // One*
};

// Of a table whose densities may answer, which are `entries`.
List* queries_of_table(PlannerInfo* root, RelOptInfo* input, Index table, List* entries,
                       PathTarget* target, List* having, bool any, List** list) {
  Reasons reasons(list);
  const RangeTblEntry* rte = planner_rt_fetch(table, root);
  PinnedSettings settings;
  settings.begin();
  PlainReader query(static_cast<bool>(reasons));
  PlainQuery* best = nullptr;
  List* out = NIL;
  bool by_others = false;  // whose columns the current user may not read
  if (query.read(root, input, table, target, having)) {
    for (CatalogEntry* entry : of_list<CatalogEntry>(entries)) {
      PlainQuery* q = query.question(*entry);
      if (reasons && is_readable(entry->key))
        reasons.of(*entry, q, query);
      else
        by_others |= q != nullptr && entry->settings.plain_sql;
      if (q != nullptr && (best == nullptr || is_better(*q, *best))) best = q;
    }
    // EXPLAIN says as much. Else what is told is the same whether or not there are others.
    if (by_others) reasons.by_others(rte->relid);
    if (reasons.are_none())
      reasons.of_query(
          rte->relid,
          is_readable(rte->relid)
              ? "its table has no density"
              : "its table has no density of columns that the current user may read, nor another "
                "that answers plain SQL");
    out = best != nullptr ? list_make1(best) : query.questions(entries);
    for (const PlainQuery* part : of_list<const PlainQuery>(out)) {
      if (best == nullptr && is_readable(part->key)) reasons.of_part(*part);
    }
    query.close();
  } else {
    reasons.of_query(rte->relid, query.why());
  }
  settings.end();
  reasons.finish();
  return out;
}

}  // namespace

List* plain_queries_of(PlannerInfo* root, RelOptInfo* input, PathTarget* target, List* having,
                       bool any, List** list) {
  const bool joins = input->reloptkind == RELOPT_JOINREL;
  List* out = NIL;
  double rows = -1;
  bool is_asked = false;
  // Of several tables with densities the largest is no dimension.
  for (int i = -1; (i = bms_next_member(input->relids, i)) >= 0;) {
    if (joins && !bms_is_member(i, root->all_baserels)) continue;
    const RangeTblEntry* rte = planner_rt_fetch(i, root);
    if (rte->rtekind != RTE_RELATION) continue;
    List* entries = known_densities(rte->relid, any);
    // Of one table all is told.
    if (entries == NIL && (joins || !any)) continue;
    is_asked = true;
    List* found =
        queries_of_table(root, input, static_cast<Index>(i), entries, target, having, any, list);
    const double own = find_base_rel(root, i)->tuples;
    if (found == NIL || own <= rows) continue;
    out = found;
    rows = own;
  }
  if (!is_asked && list != nullptr) {
    Reasons reasons(list);
    reasons.of_query(InvalidOid, "its rows are not those of one table");
    reasons.finish();
  }
  return out;
}

}  // namespace kde_pg
