// See advise_demand.h. Densities that are tried, each by every column that the query compares,
// groups by or adds up (and, where it compares none, by columns without NULLs):
//
//   - the column by itself, with all else that is aggregated as measures;
//   - the same with groups: what else the query is grouped by, or dimensions are joined by, or where that is
//     nothing what else it has conditions on;
//   - where none of them would do, with all other columns of what it is grouped by, has conditions
//     and FILTERs on as groups, which the server evaluates it all on (part_reader.cpp);
//   - then with the conditions that are left as a filter;
//   - then one of all columns that it compares and adds up.
#include "pg/advise/advise_demand.h"

#include "pg/base/compat.h"
#include "pg/base/options.h"
#include "pg/base/pinned.h"
#include "pg/base/tree_walk.h"
#include "pg/values/values.h"
#include "pg/advise/advise_cost.h"
#include "pg/advise/advise_ends.h"
#include "pg/advise/advise_text.h"
#include "pg/plain_sql/buckets.h"
#include "pg/plain_sql/client_statement.h"
#include "pg/plain_sql/query_reader.h"

extern "C" {
#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_statistic_ext.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "common/hashfn.h"
#include "parser/parsetree.h"
#include "utils/selfuncs.h"
}

#include <algorithm>

namespace kde_pg {

namespace {

// The statement whose planner is at work.
struct Planning : PlanningWatch {
  Advice* advice;
  AdvisedStatement* statement;
  const PlannerGlobal* glob;  // of the first run of the server's planner; null: none yet
  bool joins;
};

// Values that count(DISTINCT) is advised for, which a density has one by one; a guess.
constexpr double kMostCounted = 1000;

// What is the same of all queries of a table.
struct AdvisedTable {
  Oid relation;
  List* entries;  // CatalogEntry*
  double rows, pages;
  bool analysed;
};

void add_size(Oid relation, AdvisedTable* out) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
  if (!HeapTupleIsValid(tuple)) return;
  const auto* form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
  if (form->reltuples >= 0) {
    out->rows += form->reltuples;
    out->pages += form->relpages;
  } else if (form->relkind != RELKIND_PARTITIONED_TABLE) {
    out->analysed = false;
  }
  ReleaseSysCache(tuple);
}

AdvisedTable* table_of(Advice* advice, Oid relation, const RelOptInfo* input) {
  for (AdvisedTable* table : of_list<AdvisedTable>(advice->tables)) {
    if (table->relation == relation) return table;
  }
  MemoryContext caller = MemoryContextSwitchTo(advice->memory);
  auto* table = static_cast<AdvisedTable*>(palloc0(sizeof(AdvisedTable)));
  table->relation = relation;
  table->analysed = true;
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  table->entries = catalog_list(relation, latest);
  UnregisterSnapshot(latest);
  List* tables = find_all_inheritors(relation, NoLock, nullptr);
  for (const Oid oid : oids(tables)) add_size(oid, table);
  if (!table->analysed || list_length(tables) == 1) {
    table->rows = std::max(table->rows, input->tuples);
    table->pages = std::max(table->pages, static_cast<double>(input->pages));
  }
  table->rows = std::max(table->rows, 1.0);
  advice->tables = lappend(advice->tables, table);
  MemoryContextSwitchTo(caller);
  return table;
}

bool is_same(const Named& a, const Named& b) {
  if (a.attnum != 0 || b.attnum != 0) return a.attnum == b.attnum;
  return a.text != nullptr && b.text != nullptr && strcmp(a.text, b.text) == 0;
}

bool is_named(const Named& named) { return named.attnum != 0 || named.text != nullptr; }

// A set of what a key has, in order.
struct Names {
  int count = 0;
  Named name[2 * kde::kMaxColumns];
  Node* node[2 * kde::kMaxColumns];  // of the query, for estimates
  bool complete = true;

  bool has(const Named& named) const {
    for (int i = 0; i < count; ++i)
      if (is_same(name[i], named)) return true;
    return false;
  }
  void add(const Named& named, Node* of, int most) {
    if (!is_named(named)) {
      complete = false;
    } else if (!has(named)) {
      if (count == most) {
        complete = false;
        return;
      }
      name[count] = named;
      node[count++] = of;
    }
  }
};

bool is_time(Oid type) {
  kde::ValueType value;
  return value_type_of(type, &value) &&
         (value == kde::ValueType::date || value == kde::ValueType::timestamp ||
          value == kde::ValueType::timestamptz);
}

// The one column that an expression is of; 0: none, or several.
AttrNumber only_column(Node* node) {
  AttrNumber out = 0;
  List* vars = pull_var_clause(node, PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS);
  for (Var* item : of_list<Var>(vars)) {
    const AttrNumber attnum = item->varattno;
    if (attnum <= 0 || (out != 0 && attnum != out)) return 0;
    out = attnum;
  }
  return out;
}

bool has_parameters(Node* node, void*) {
  if (node == nullptr) return false;
  if (IsA(node, Param)) return true;
  return expression_tree_walker(node, as_walker(has_parameters), nullptr);
}

// What a column of two groups at most has.
double distinct_values(PlannerInfo* root, Node* node, double rows) {
  VariableStatData data;
  examine_variable(root, node, 0, &data);
  bool is_default;
  double out = get_variable_numdistinct(&data, &is_default);
  ReleaseVariableStats(data);
  // An expression has no more than its column has.
  const AttrNumber attnum = IsA(node, Var) ? 0 : only_column(node);
  if (is_default && attnum != 0) {
    List* vars = pull_var_clause(node, PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS);
    out = std::min(out, distinct_values(root, static_cast<Node*>(linitial(vars)), rows));
  }
  return std::clamp(out, 1.0, rows);
}

class Options {
 public:
  Options(Planning* now, PlannerInfo* root, RelOptInfo* input, const PlainReader* reader,
          AdvisedDemand* demand)
      : advice_(now->advice),
        root_(root),
        input_(input),
        reader_(*reader),
        demand_(demand),
        table_(table_of(now->advice, reader->relation(), input)) {}

  void find() {
    demand_->pages = table_->pages;
    if (try_fitted()) return;
    collect();
    try_all(false);
    if (demand_->options == NIL) try_by_columns();
    if (demand_->options == NIL) try_all(true);
    if (demand_->options == NIL) try_joint();
    if (demand_->options == NIL) demand_->why = why();
  }

 private:
  bool try_fitted() {
    List* allowed = NIL;
    for (CatalogEntry* entry : of_list<CatalogEntry>(table_->entries)) {
      const bool is_allowed = entry->settings.plain_sql;
      if (is_allowed && has_every_row(*entry)) allowed = lappend(allowed, entry);
      const PlainQuery* query = reader_.question(*entry);
      if (query == nullptr || puts_variances_together(*query)) continue;
      if (!has_every_row(*entry))
        by_sample_ |= is_allowed;
      else if (is_allowed)
        demand_->answered = true;
      else
        add(density(entry->key, true), nullptr, {}, 0, false);
    }
    demand_->answered |= reader_.questions(allowed) != NIL;
    return demand_->answered;
  }

  // Variances are of one range of one group: those of several are not put together when the query
  // runs (answer_query.cpp).
  bool puts_variances_together(const PlainQuery& query) const {
    bool has_variance = false;
    for (const PlainAggregate* entry : of_list<const PlainAggregate>(query.aggregates)) {
      const PlainAnswer answer = entry->answer;
      has_variance |= answer == PlainAnswer::variance || answer == PlainAnswer::stddev;
    }
    if (!has_variance) return false;
    for (const PlainBound* bound : of_list<const PlainBound>(query.bounds)) {
      if (bound->any && bound->type != kde::ValueType::category) return true;
    }
    if (query.by_groups) return false;
    for (int i = 0; i < query.key.groups; ++i)
      if (!is_one_value(query.key.column[query.key.first_group() + i])) return true;
    return false;
  }

  bool is_one_value(const KeyColumn& column) const {
    for (const Condition* c : of_list<const Condition>(reader_.conditions())) {
      if (c->compares && !c->any && c->strategy == BTEqualStrategyNumber && is_named(c->named) &&
          same_column(reader_.column_of(c->named), column))
        return true;
    }
    return false;
  }

  // Of a sample it is not known what it answers.
  bool has_every_row(const CatalogEntry& entry) const {
    constexpr int64 kEveryRow = -1;
    return entry.key.columns > 1 || entry.request.sample_rows == kEveryRow ||
           table_->pages <= option_sample_blocks;
  }

  // What the query has, by which densities are tried.
  void collect() {
    for (Asked* a : of_list<Asked>(reader_.aggregates())) {
      add_vars(reinterpret_cast<Node*>(a->rows));
      if (!a->of_column) continue;
      Node* of = reinterpret_cast<Node*>(a->value);
      has_constants_ = has_constants_ || has_parameters(of, nullptr);
      counts_many_ |= a->differs && distinct_values(root_, of, table_->rows) > kMostCounted;
      const char* name = get_func_name(a->function);
      has_extremes_ = has_extremes_ ||
                      (name != nullptr && (strcmp(name, "min") == 0 || strcmp(name, "max") == 0));
      asks_alone_ = asks_alone_ || name == nullptr || strncmp(name, "var", 3) == 0 ||
                    strncmp(name, "stddev", 6) == 0 || strncmp(name, "percentile", 10) == 0;
      aggregated_.add(a->named, of, kde::kMaxColumns);
    }
    for (Node* node : of_list<Node>(reader_.groups())) add_grouping(node);
    for (const PlainDimension* dimension : of_list<const PlainDimension>(reader_.dimensions()))
      for (Node* lookup : of_list<Node>(dimension->lookups)) add_grouping(lookup);
    add_vars(reinterpret_cast<Node*>(reader_.joined()));
    for (const Condition* c : of_list<const Condition>(reader_.conditions())) {
      if (c->compares && is_named(c->named)) add_range(c->named, side_of(*c));
      if (c->compares && c->side != nullptr) add_column_of(c->side);
      if (!c->compares) add_categories(reinterpret_cast<Node*>(c->clause));
      add_vars(reinterpret_cast<Node*>(c->clause));
    }
    for (int i = 0; i < aggregated_.count; ++i) add_range(aggregated_.name[i], aggregated_.node[i]);
    bool any = false;
    for (int i = 0; i < ranges_.count; ++i) any = any || !is_category(ranges_.name[i]);
    if (!any || reader_.conditions() == NIL) add_columns_without_nulls();
  }

  // Columns of dimensions come with what these are joined by.
  void add_grouping(Node* node) {
    has_constants_ = has_constants_ || has_parameters(node, nullptr);
    add_vars(node);
    if (!bms_is_subset(pull_varnos(root_, node), bms_make_singleton(rti()))) return;
    groupings_ = lappend(groupings_, node);
    add_column_of(node);
    const Named named = reader_.name_of(node);
    if (is_named(named) && is_category(named)) add_range(named, node);
  }

  int rti() const { return static_cast<int>(input_->relid); }

  void add_categories(Node* clause) {
    List* vars = pull_var_clause(clause, PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS);
    for (Node* node : of_list<Node>(vars)) {
      const Named named = reader_.name_of(node);
      if (is_category(named)) add_range(named, node);
    }
  }

  void add_vars(Node* node) {
    List* vars = pull_var_clause(node, PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS);
    for (Var* var : of_list<Var>(vars))
      if (var->varno == rti()) columns_ = list_append_unique(columns_, var);
  }

  void add_range(const Named& named, Node* node) {
    kde::ValueType type;
    if (value_type_of(named.type, &type)) ranges_.add(named, node, 2 * kde::kMaxColumns);
  }

  // The column that a bucket is of.
  void add_column_of(Node* node) {
    const AttrNumber attnum = only_column(node);
    if (attnum != 0 && reader_.has_steps(attnum) && is_bucket(node, attnum)) add_attribute(attnum);
  }

  void add_attribute(AttrNumber attnum) {
    const Form_pg_attribute of = TupleDescAttr(RelationGetDescr(reader_.table()), attnum - 1);
    add_range({attnum, nullptr, of->atttypid, of->attcollation},
              reinterpret_cast<Node*>(
                  makeVar(rti(), attnum, of->atttypid, of->atttypmod, of->attcollation, 0)));
  }

  // By constraint, or where no column is, as in a table that was loaded from a file, by statistics.
  void add_columns_without_nulls() {
    const TupleDesc desc = RelationGetDescr(reader_.table());
    bool any = false;
    for (const bool by_statistics : {false, true}) {
      for (int i = 0; i < desc->natts && (!by_statistics || !any); ++i) {
        const Form_pg_attribute of = TupleDescAttr(desc, i);
        kde::ValueType type;
        if (of->attisdropped || !value_type_of(of->atttypid, &type) ||
            type == kde::ValueType::category ||
            !(by_statistics ? reader_.has_no_nulls_met(of->attnum) : is_not_null(desc, i)))
          continue;
        add_attribute(of->attnum);
        any = true;
      }
    }
  }

  static Node* side_of(const Condition& c) {
    if (c.side != nullptr) return c.side;
    List* vars = pull_var_clause(reinterpret_cast<Node*>(c.clause),
                                 PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS);
    return static_cast<Node*>(linitial(vars));
  }

  // Of the column x: whether the query has a range of it.
  bool is_of(const Condition& c, const Named& x) const {
    if (c.compares && is_same(c.named, x)) return true;
    return x.attnum != 0 && c.compares && c.side != nullptr && is_bucket(c.side, x.attnum);
  }

  void try_all(bool filters) {
    for (int i = 0; i < ranges_.count; ++i) {
      const Named& x = ranges_.name[i];
      Names none;
      Names by;
      bool buckets = false;
      for (Node* node : of_list<Node>(groupings_)) {
        const Named named = reader_.name_of(node);
        if (is_same(named, x) ||
            (x.attnum != 0 && reader_.has_steps(x.attnum) && is_bucket(node, x.attnum)))
          buckets = true;
        else
          by.add(named, node, kde::kMaxGroupBy);
      }
      if (!by.complete) continue;
      if (by.count == 0) try_one(i, none, buckets, filters);
      if (by.count == 0 && !filters) by = conditions_but(x);
      if (by.count > 0 && by.complete && !is_category(x)) try_one(i, by, buckets, filters);
    }
  }

  // Each column that has values in order as the range, all others as groups.
  void try_by_columns() {
    for (Node* node : of_list<Node>(columns_)) {
      const Named named = reader_.name_of(node);
      if (named.attnum > 0 && !is_category(named)) add_range(named, node);
    }
    for (int i = 0; i < ranges_.count; ++i) {
      Names by;
      for (Node* node : of_list<Node>(columns_))
        if (!is_same(reader_.name_of(node), ranges_.name[i]))
          by.add(reader_.name_of(node), node, kde::kMaxGroupBy);
      if (by.complete && !is_category(ranges_.name[i]))
        try_one(i, by, is_grouped_by(ranges_.name[i]), false);
    }
  }

  bool is_grouped_by(const Named& x) const {
    List* vars = pull_var_clause(reinterpret_cast<Node*>(groupings_),
                                 PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS);
    for (const Var* var : of_list<const Var>(vars))
      if (x.attnum == 0 || var->varattno == x.attnum) return true;
    return false;
  }

  // What conditions are on, but those on x.
  Names conditions_but(const Named& x) const {
    Names out;
    for (const Condition* c : of_list<const Condition>(reader_.conditions())) {
      if (is_of(*c, x)) continue;
      if (c->compares && c->named.attnum == 0 && c->named.text != nullptr) {
        out.add(c->named, side_of(*c), kde::kMaxGroupBy);
        continue;
      }
      List* vars = pull_var_clause(reinterpret_cast<Node*>(c->clause),
                                   PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS);
      for (Node* node : of_list<Node>(vars)) {
        out.add(reader_.name_of(node), node, kde::kMaxGroupBy);
      }
    }
    return out;
  }

  // The rest of the conditions as a filter; null: they are none.
  const char* filter_but(const Named& x, const Names& by) const {
    List* rest = NIL;
    for (const Condition* c : of_list<const Condition>(reader_.conditions())) {
      if (is_of(*c, x) || (c->compares && by.has(c->named))) continue;
      // Ranges move on, and there would be a density for each.
      if (c->compares &&
          (is_time(c->named.type) || (c->strategy != 0 && c->strategy != BTEqualStrategyNumber)))
        return nullptr;
      rest = lappend(rest, c->clause);
    }
    return rest == NIL ? nullptr : reader_.filter_of(rest);
  }

  void try_one(int range, const Names& by, bool buckets, bool filters) {
    const Named& x = ranges_.name[range];
    DensityKey key;
    key.relation = reader_.relation();
    key.columns = 1;
    key.column[0] = reader_.column_of(x);
    for (int i = 0; i < aggregated_.count; ++i) {
      if (is_same(aggregated_.name[i], x)) continue;
      kde::ValueType type;
      if (key.measures == kde::kMaxMeasures) {
        too_wide_ = true;
        return;
      }
      if (!value_type_of(aggregated_.name[i].type, &type) || !is_added_up(type)) return;
      key.column[key.columns + key.measures++] = reader_.column_of(aggregated_.name[i]);
    }
    for (int i = 0; i < by.count; ++i)
      key.column[key.first_group() + key.groups++] = reader_.column_of(by.name[i]);
    if (filters) {
      const char* filter = filter_but(x, by);
      if (filter == nullptr) return;
      key.filter = filter;
    }
    if (!would_answer(key)) return;
    AdvisedDensity* of = density(key, false);
    of->distinct = distinct_values(root_, ranges_.node[range], table_->rows);
    of->of_words = is_category(x);
    if (is_instant(x)) of->hours = hours_of(root_, ranges_.node[range]);
    of->groups = groups_by(by, of->by_distinct);
    if (counts_many_ || !fits_whole(*of, key.measures)) {
      too_many_ = true;
      by_several_ = by_several_ || by.count > 1;
      return;
    }
    AdvisedRange asked = {1, buckets, aggregated_.count > 0, has_extremes_, ends_of(x)};
    bool is_tenth = false;
    asked.share = share_of(x, &is_tenth);
    add(of, &key, asked, advised_error(*of, key.measures, asked), is_tenth);
  }

  static bool is_instant(const Named& x) {
    const Oid type = getBaseType(x.type);
    return type == TIMESTAMPOID || type == TIMESTAMPTZOID;
  }

  // Each column is tried with other groups again.
  AskedEnds ends_of(const Named& x) {
    if (x.attnum == 0 || !is_instant(x)) return {};
    if (x.attnum != ends_column_) ends_ = find_ends_of(x);
    ends_column_ = x.attnum;
    return ends_;
  }

  AskedEnds find_ends_of(const Named& x) const {
    EndsOfColumn ends(root_, x.attnum, getBaseType(x.type));
    for (Node* node : of_list<Node>(groupings_)) ends.add(node, true);
    for (const Condition* c : of_list<const Condition>(reader_.conditions()))
      ends.add(reinterpret_cast<Node*>(c->clause), false);
    for (const Asked* a : of_list<const Asked>(reader_.aggregates()))
      ends.add(reinterpret_cast<Node*>(a->rows), false);
    return ends.asked();
  }

  // Columns that depend on each other have fewer values together, as extended statistics know.
  double groups_by(const Names& by, double* distinct) const {
    double out = 1;
    List* nodes = NIL;
    for (int i = 0; i < by.count; ++i) {
      distinct[i] = distinct_values(root_, by.node[i], table_->rows);
      out *= distinct[i];
      nodes = lappend(nodes, by.node[i]);
    }
    bool known = false;
    for (const StatisticExtInfo* item : of_list<const StatisticExtInfo>(input_->statlist))
      known = known || item->kind == STATS_EXT_NDISTINCT;
    if (known && by.count > 1) {
      // Of all rows, whatever the conditions leave.
      const Cardinality left = input_->rows;
      input_->rows = input_->tuples;
      out = std::min(out, estimate_num_groups(root_, nodes, table_->rows, nullptr, nullptr));
      input_->rows = left;
    }
    return std::min(out, table_->rows);
  }

  // Of the rows, those that the conditions on the column leave.
  double share_of(const Named& x, bool* is_tenth) const {
    constexpr double kTenth = 0.1;
    List* clauses = NIL;
    for (const Condition* c : of_list<const Condition>(reader_.conditions())) {
      if (!is_of(*c, x) || c->strategy == 0) continue;
      Node* clause = reinterpret_cast<Node*>(c->clause);
      if (has_parameters(clause, nullptr)) *is_tenth = true;
      clauses = lappend(clauses, clause);
    }
    if (clauses == NIL) return 1;
    if (*is_tenth) return kTenth;
    return std::max(clauselist_selectivity(root_, clauses, 0, JOIN_INNER, nullptr), 1e-9);
  }

  void try_joint() {
    DensityKey key;
    key.relation = reader_.relation();
    if (reader_.groups() != NIL || reader_.dimensions() != NIL) return;
    Names all;
    double share = 1;
    bool is_tenth = false;
    for (const Condition* c : of_list<const Condition>(reader_.conditions())) {
      if (!c->compares) return;
      if (!all.has(c->named)) {
        bool unknown = false;
        share *= share_of(c->named, &unknown);
        is_tenth = is_tenth || unknown;
      }
      all.add(c->named, nullptr, kde::kMaxColumns);
    }
    constexpr double kTenth = 0.1;
    if (is_tenth) share = kTenth;
    for (int i = 0; i < aggregated_.count; ++i)
      all.add(aggregated_.name[i], nullptr, kde::kMaxColumns);
    if (!all.complete || all.count < 2) return;
    for (int i = 0; i < all.count; ++i) key.column[key.columns++] = reader_.column_of(all.name[i]);
    if (!would_answer(key)) return;
    AdvisedDensity* of = density(key, false);
    of->groups = 1;
    const AdvisedRange asked = {share, false, false, false, {}};
    add(of, &key, asked, advised_error(*of, 0, asked), is_tenth);
  }

  bool would_answer(const DensityKey& key) {
    bool is_known = !has_stand_in(key.filter);
    for (int i = 0; i < key.all(); ++i)
      is_known = is_known && (key.column[i].attnum != 0 || !has_stand_in(key.column[i].text));
    if (!is_known) {
      has_constants_ = true;
      return false;
    }
    CatalogEntry entry = {};
    entry.key = key;
    if (const PlainQuery* query = reader_.question(entry)) {
      if (!puts_variances_together(*query)) return true;
      has_variances_ = true;
      return false;
    }
    constexpr char kUnknown[] = "knows no ";
    const char* obstacle = reader_.why();
    if (obstacle == nullptr) return false;
    if (strncmp(obstacle, kUnknown, strlen(kUnknown)) == 0) unknown_ = obstacle;
    if (strstr(obstacle, "is NULL") != nullptr) has_nulls_ = true;
    return false;
  }

  AdvisedDensity* density(const DensityKey& key, bool fitted) {
    AdvisedDensity* out = advised_density(advice_, key, fitted);
    out->rows = table_->rows;
    out->pages = table_->pages;
    out->guessed = !table_->analysed;
    if (fitted) return out;
    for (const CatalogEntry* entry : of_list<const CatalogEntry>(table_->entries)) {
      if (same_key(entry->key, key)) keep(out, entry->key);
      out->own_is_fitted = out->own_is_fitted || same_key(entry->key, ungrouped(key));
    }
    return out;
  }

  // A fit in the place of one that there is has its measures.
  void keep(AdvisedDensity* density, const DensityKey& key) {
    MemoryContext caller = MemoryContextSwitchTo(advice_->memory);
    for (int i = 0; i < key.measures; ++i)
      density->kept = bms_add_member(
          density->kept, advised_measure(advice_, density, key.column[key.columns + i]));
    MemoryContextSwitchTo(caller);
  }

  // key: with the measures that it needs; null: those that it has.
  // Groups that the query does not ask for are added up, but of variances; by more of them a percentile's
  // cell is longer. One that has none of them
  // is answered by the column's own density.
  void add(AdvisedDensity* density, const DensityKey* key, const AdvisedRange& asked, double error,
           bool is_tenth) {
    if (error > option_approximate_error) {
      inaccurate_ = true;
      return;
    }
    MemoryContext caller = MemoryContextSwitchTo(advice_->memory);
    auto* option = static_cast<AdvisedOption*>(palloc0(sizeof(AdvisedOption)));
    const bool by_more = density->key.groups > 0 && !density->fitted && !asks_alone_;
    *option = {density, nullptr, error, is_tenth && error > 0, by_more, asked};
    for (int i = 0; key != nullptr && i < key->measures; ++i)
      option->measures = bms_add_member(
          option->measures, advised_measure(advice_, density, key->column[key->columns + i]));
    demand_->options = lappend(demand_->options, option);
    MemoryContextSwitchTo(caller);
  }

  const char* why() const {
    if (by_sample_)
      return "a density of a sample answers it, where it is as accurate as "
             "kde_aqp.approximate_error "
             "asks for";
    if (unknown_ != nullptr)
      return MemoryContextStrdup(advice_->memory, psprintf("a density %s", unknown_));
    if (too_many_)
      return by_several_
                 ? "there are more groups than a density has, unless columns depend on each "
                   "other, which CREATE STATISTICS (ndistinct) tells"
                 : "there are more groups than a density has";
    if (inaccurate_)
      return "a density would not be as accurate as kde_aqp.approximate_error asks for";
    if (too_wide_) return "it adds up more columns than a density has measures";
    if (has_nulls_)
      return "a density has no rows where its column is NULL: add WHERE ... IS NOT NULL, or NOT "
             "NULL to the column";
    if (has_variances_) return "variances of several groups or ranges are not put together";
    if (has_constants_) return "a constant in an expression is not known";
    return "its conditions, groups and aggregates are of more than one density has";
  }

  Advice* advice_;
  PlannerInfo* root_;
  RelOptInfo* input_;
  const PlainReader& reader_;
  AdvisedDemand* demand_;
  AdvisedTable* table_;
  Names aggregated_, ranges_;
  AttrNumber ends_column_ = 0;  // whose ends those are
  AskedEnds ends_;
  List* groupings_ = NIL;
  List* columns_ = NIL;  // Var*, of what is grouped by, conditions and FILTERs
  const char* unknown_ = nullptr;
  bool has_extremes_ = false, asks_alone_ = false, counts_many_ = false;
  bool inaccurate_ = false, too_many_ = false, by_several_ = false, too_wide_ = false,
       has_constants_ = false, has_nulls_ = false, has_variances_ = false, by_sample_ = false;
};

// Of the relation, all that its part of the query has.
Bitmapset* columns_of(const PlainReader& reader, const RelOptInfo* input, PathTarget* target) {
  Bitmapset* out = nullptr;
  for (const PathTarget* of : {target, input->reltarget})
    pull_varattnos(reinterpret_cast<Node*>(of->exprs), input->relid, &out);
  for (RestrictInfo* item : of_list<RestrictInfo>(input->baserestrictinfo))
    pull_varattnos(reinterpret_cast<Node*>(item->clause), input->relid, &out);
  pull_varattnos(reinterpret_cast<Node*>(reader.groups()), input->relid, &out);
  return out;
}

// Of those that are joined, whose rows are counted; null: none is a table.
RelOptInfo* largest_table(PlannerInfo* root, const RelOptInfo* input) {
  RelOptInfo* out = nullptr;
  for (int i = -1; (i = bms_next_member(input->relids, i)) >= 0;) {
    RelOptInfo* rel = bms_is_member(i, root->all_baserels) ? find_base_rel(root, i) : nullptr;
    if (rel != nullptr && rel->rtekind == RTE_RELATION &&
        (out == nullptr || rel->tuples > out->tuples))
      out = rel;
  }
  return out;
}

// Of a table's rows those where a column is NULL, as statistics tell.
double null_rows(PlannerInfo* root, Node* column, double rows) {
  VariableStatData data;
  examine_variable(root, column, 0, &data);
  double out = 0;
  if (HeapTupleIsValid(data.statsTuple))
    out = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(data.statsTuple))->stanullfrac * rows;
  ReleaseVariableStats(data);
  return out;
}

// Whether it has a row of each of its keys, as statistics tell, and unique indexes. Rows without a key are
// joined with nothing, or count as one key more.
bool has_one_row_each(PlannerInfo* root, const PlainDimension& of) {
  constexpr double kAsGoodAsAll = 0.9;
  if (of.join == PlainJoin::semi || of.join == PlainJoin::anti) return true;
  const double rows = std::max(of.rel->tuples, 1.0);
  double values = 1, without = 0;
  for (const DimensionKey* key : of_list<const DimensionKey>(of.keys)) {
    auto* column = static_cast<Node*>(list_nth(of.columns(), key->column));
    const double nulls = null_rows(root, column, rows);
    const bool is_key = key->has_nulls && nulls >= 0.5;
    values *= distinct_values(root, column, rows) + (is_key ? 1 : 0);
    if (!key->has_nulls) without = std::max(without, nulls);
  }
  return values >= kAsGoodAsAll * (rows - without);
}

AdvisedDemand* add_demand(Planning* now, Oid relation) {
  MemoryContext caller = MemoryContextSwitchTo(now->advice->memory);
  auto* out = static_cast<AdvisedDemand*>(palloc0(sizeof(AdvisedDemand)));
  out->relation = relation;
  now->statement->demands = lappend(now->statement->demands, out);
  MemoryContextSwitchTo(caller);
  return out;
}

void find_options(Planning* now, PlannerInfo* root, RelOptInfo* table, const RelOptInfo* output,
                  const PlainReader& reader, AdvisedDemand* demand) {
  Bitmapset* columns = columns_of(reader, table, output->reltarget);
  Options options(now, root, table, &reader, demand);
  options.find();
  MemoryContext caller = MemoryContextSwitchTo(now->advice->memory);
  demand->columns = bms_copy(columns);
  for (const PlainDimension* one : of_list<const PlainDimension>(reader.dimensions()))
    demand->dimensions = lappend_oid(demand->dimensions, one->relation);
  MemoryContextSwitchTo(caller);
}

// Dimensions, or it is told that it joins.
void note_join(Planning* now, PlannerInfo* root, RelOptInfo* input, RelOptInfo* output) {
  now->joins = true;
  RelOptInfo* table = largest_table(root, input);
  if (table == nullptr || IS_DUMMY_REL(input)) return;
  PlainReader reader(false);
  if (!reader.read(root, input, table->relid, output->reltarget,
                   reinterpret_cast<List*>(root->parse->havingQual)))
    return;
  bool good = reader.relation() >= FirstNormalObjectId;
  for (const PlainDimension* one : of_list<const PlainDimension>(reader.dimensions()))
    good = good && has_one_row_each(root, *one);
  if (good) find_options(now, root, table, output, reader, add_demand(now, reader.relation()));
  reader.close();
}

void note_table(Planning* now, PlannerInfo* root, RelOptInfo* input, RelOptInfo* output) {
  const RangeTblEntry* rte = planner_rt_fetch(bms_singleton_member(input->relids), root);
  AdvisedDemand* demand = add_demand(now, rte->relid);
  if (rte->relid < FirstNormalObjectId) {
    demand->why = "it is of a table of the server's own";
    return;
  }
  // From 16 on a policy that lets nothing through is seen as early: the reader tells of it.
  if (IS_DUMMY_REL(input) && root->qual_security_level == 0) {
    demand->why = "no row meets its conditions";
    return;
  }
  PlainReader reader(false);
  if (reader.read(root, input, input->relid, output->reltarget,
                  reinterpret_cast<List*>(root->parse->havingQual))) {
    find_options(now, root, input, output, reader, demand);
    reader.close();
  } else {
    demand->why = MemoryContextStrdup(now->advice->memory, reader.why());
  }
}

void note(Planning* now, PlannerInfo* root, RelOptInfo* input, RelOptInfo* output) {
  PinnedSettings settings;
  settings.begin();
  if (bms_num_members(input->relids) > 1)
    note_join(now, root, input, output);
  else if (input->rtekind == RTE_RELATION && !bms_is_empty(input->relids))
    note_table(now, root, input, output);
  settings.end();
}

void note_grouping_of(PlanningWatch* watch, PlannerInfo* root, RelOptInfo* input,
                      RelOptInfo* output) {
  auto* now = static_cast<Planning*>(watch);
  // Planners of distributed tables have the server's plan what they have made of the query, too.
  if (now->glob == nullptr) now->glob = root->glob;
  if (now->glob == root->glob && !IS_OTHER_REL(input)) note(now, root, input, output);
}

}  // namespace

AdvisedDensity* advised_density(Advice* advice, const DensityKey& key, bool fitted) {
  DensityKey bare = key;
  bare.measures = 0;
  for (int i = 0; i < key.groups; ++i)
    bare.column[key.columns + i] = key.column[key.first_group() + i];
  const char* identity = psprintf("%u %d %s", key.relation, fitted ? 1 : 0, key_identity(bare));
  const uint32 hash = string_hash(identity, strlen(identity) + 1);
  for (AdvisedDensity* density : of_list<AdvisedDensity>(advice->densities)) {
    if (density->hash == hash && strcmp(density->identity, identity) == 0) return density;
  }
  MemoryContext caller = MemoryContextSwitchTo(advice->memory);
  auto* density = static_cast<AdvisedDensity*>(palloc0(sizeof(AdvisedDensity)));
  density->identity = pstrdup(identity);
  density->hash = hash;
  const char* kin =
      psprintf("%u %d %s %s", key.relation, key.columns, bare.column[0].text, bare.filter);
  density->kin = string_hash(kin, strlen(kin) + 1);
  density->fitted = fitted;
  density->groups = 1;
  density->readable = true;
  density->key = bare;
  for (int i = 0; i < bare.all(); ++i)
    density->key.column[i] = {bare.column[i].attnum, pstrdup(bare.column[i].text), nullptr};
  density->key.filter = pstrdup(bare.filter);
  density->key.condition = nullptr;
  density->key.references = 0;
  advice->densities = lappend(advice->densities, density);
  MemoryContextSwitchTo(caller);
  if (!fitted && bare.groups > 0) {
    density->own = advised_density(advice, ungrouped(bare), false);
  }
  return density;
}

int advised_measure(Advice* advice, AdvisedDensity* density, const KeyColumn& measure) {
  ListCell* cell;
  foreach (cell, density->measures)
    if (same_column(*static_cast<const KeyColumn*>(lfirst(cell)), measure))
      return foreach_current_index(cell);
  MemoryContext caller = MemoryContextSwitchTo(advice->memory);
  auto* copy = static_cast<KeyColumn*>(palloc(sizeof(KeyColumn)));
  *copy = {measure.attnum, pstrdup(measure.text), nullptr};
  density->measures = lappend(density->measures, copy);
  MemoryContextSwitchTo(caller);
  return list_length(density->measures) - 1;
}

void demands_of(Advice* advice, AdvisedStatement* statement, ::Query* query, bool* joins) {
  Planning now = {{planning_depth() + 1, note_grouping_of}, advice, statement, nullptr, false};
  query->queryId = 0;  // no statement of anybody's, for those who keep statistics of them
  PlanningWatch* const outer = watch_planning(&now);
  PG_TRY();
  { (void)plan_in_passing(query, statement->text); }
  PG_FINALLY();
  { (void)watch_planning(outer); }
  PG_END_TRY();
  *joins = now.joins;
  if (now.glob == nullptr) statement->why = "another extension plans it";
}

}  // namespace kde_pg
