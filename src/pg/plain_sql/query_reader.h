// What a grouped query of one table has: what it is grouped by, its aggregates and its conditions,
// each by what of the table they are of; and whether a density answers it, as query.h says.
#pragma once

#include "pg/catalog/catalog.h"
#include "pg/plain_sql/query.h"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace kde_pg {

// An expression of the table, as keys have it: a column by its number, any other by its text.
struct Named {
  AttrNumber attnum;
  const char* text;  // null of a column
  Oid type, collation;

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
  bool any;
  // Whether what compares is what tells values of a category apart.
  bool of_category;
  Expr* value;
  // Of an operator, the table's side of it on its left.
  Node* side;
  Oid operator_id;
};

struct Asked {
  Expr* node;
  PlainEnd end;
  Oid function;
  bool of_column;
  bool ones;  // sum(1)
  Named named;
  Expr *rows, *zeros, *value, *fraction;  // as PlainAggregate has them
  bool differs;                           // of count(DISTINCT)
  List* of_sets;                          // of GROUPING()
  Bitmapset* columns;                     // as PlainReader::columns_
};

// Texts of nodes, each printed once: one density after another asks for the same. Owns nothing.
class NodeTexts {
 public:
  template <typename Print>
  const char* of(Node* node, Print print) {
    for (const Known* known : of_list<const Known>(all_))
      if (equal(known->node, node)) return known->text;
    auto* known = static_cast<Known*>(palloc(sizeof(Known)));
    *known = {node, print()};
    all_ = lappend(all_, known);
    return known->text;
  }

 private:
  struct Known {
    Node* node;
    const char* text;
  };
  List* all_ = NIL;
};

// What the query has, whatever the density. Trees are those of the planner. Owns nothing.
class PlainReader {
 public:
  explicit PlainReader(bool tells) : tells_(tells) {}

  // table: whose densities may answer, of the range table.
  bool read(PlannerInfo* root, RelOptInfo* input, Index table, PathTarget* target, List* having);
  Oid relation() const { return RelationGetRelid(relation_); }
  // Null where a density of such a key cannot answer. some: aggregates, by their index; null: all.
  PlainQuery* question(const CatalogEntry& entry, const Bitmapset* some = nullptr) const;
  // By several densities together, PlainQuery*.
  List* questions(List* entries) const;
  void close() { table_close(relation_, NoLock); }
  // What the last of them found; null: nothing. And how much of the question the density had.
  const char* why() const { return why_; }
  int nearness() const { return nearness_; }

  // Of what densities of the table might be (advise_demand.h).
  Relation table() const { return relation_; }
  List* groups() const { return groups_; }          // Expr*
  List* aggregates() const { return aggregates_; }  // Asked*
  List* conditions() const { return conditions_; }  // Condition*
  List* dimensions() const { return dimensions_; }  // PlainDimension*
  List* joined() const { return joined_; }          // Expr*, conditions of dimensions, too
  Named name_of(Node* node) const;
  bool has_steps(AttrNumber column) const;
  // Whether ANALYZE has seen the column, and no NULL in it.
  bool has_no_nulls_met(AttrNumber column) const;
  // As a key has it; the text is palloc'ed.
  KeyColumn column_of(const Named& named) const;
  // The text of conditions as a density's filter; null: they cannot be one.
  const char* filter_of(List* clauses) const;

 private:
  // The first reason is kept.
  bool no(const char* why) const {
    if (why_ == nullptr) why_ = why;
    return false;
  }
  const char* text_of(Node* node) const;
  const char* lacks(Node* node) const;
  const char* is_not_by(Node* node) const;
  bool is_of_others(Node* node) const;
  bool add_condition(Expr* clause);
  bool read_conditions(RelOptInfo* input);
  bool read_joins(PlannerInfo* root, RelOptInfo* input);
  const PlainDimension* dimension_by(int table) const;
  bool find_lookups(PlainDimension* dimension, const Bitmapset* known, List** clauses) const;
  bool place_dimensions(const DensityKey& key, PlainQuery* out) const;
  // Values of a category are groups, which its density may know of itself alone later on.
  static int first_dimension_column(const DensityKey& key, const PlainQuery& query) {
    const bool of_column = key.columns == 1 && key.column[0].attnum != 0 && !query.of_words;
    return of_column ? key.groups : Max(key.groups, 1);
  }
  int column_place(const DensityKey& key) const { return key.groups + dimension_columns_; }
  Node* dimension_column(const DensityKey& key, const Var* var, const PlainQuery& query) const;
  bool read_leaves(Node* node);
  bool read_sets(PlannerInfo* root);
  bool add_grouping(GroupingFunc* node);
  Node* read_case(Node* arg, Asked* asked) const;
  bool add_aggregate(Aggref* node, Expr* whole, PlainEnd end);
  bool is_known_aggregate(const Aggref& node) const;
  bool is_known_value(Node* node) const;
  bool is_never_null(Node* node) const;
  bool read_comparison(Expr* clause, Condition* out) const;
  PlainQuery* question_by(const CatalogEntry& entry, const DensityKey& key,
                          const Bitmapset* some) const;
  bool may_answer(const CatalogEntry& entry, const Bitmapset* some) const;
  void note_columns();
  int group_of(const DensityKey& key, const Named& named, PlainQuery* out) const;
  bool place_groups(const DensityKey& key, PlainQuery* out) const;
  Expr* open(const DensityKey& key, Node* node, PlainQuery* out) const;
  Expr* open_condition(const DensityKey& key, Node* clause, PlainQuery* out) const;
  Node* opened(const DensityKey& key, Node* node, PlainQuery* out) const;
  Node* open_group(const DensityKey& key, Node* node, PlainQuery* out) const;
  bool cut(const DensityKey& key, Node* node, PlainQuery* out) const;
  bool cut_beside_values(const DensityKey& key, Node* node, PlainQuery* out) const;
  bool is_null_where_column_is(const DensityKey& key, const Expr* open) const;
  bool is_bound(const DensityKey& key, const Condition& c, PlainQuery* out) const;
  bool place_conditions(const DensityKey& key, PlainQuery* out) const;
  bool is_passage(const DensityKey& key, const Condition& c, PlainQuery* out) const;
  bool is_null_test(const DensityKey& key, const Condition& c, PlainQuery* out) const;
  bool is_always_true(const Condition& c) const;
  bool is_bounded(const DensityKey& key, const PlainQuery& query) const;
  bool place_aggregates(const DensityKey& key, const Bitmapset* some, PlainQuery* out) const;
  bool is_same_filter(const DensityKey& key, List* clauses) const;
  bool has_no_nulls(const KeyColumn& column) const;
  bool may_answer_nulls(const CatalogEntry& entry, const PlainQuery& query) const;
  int scale_of(Oid function, const DensityKey& key, int column) const;

  bool tells_;  // whether reasons are to be printed
  mutable const char* why_ = nullptr;
  mutable int nearness_ = 0;
  mutable NodeTexts texts_, filters_;
  mutable bool has_texts_ = false;  // whether something was looked for by its text
  Index rti_ = 0;
  Relation relation_ = nullptr;
  List* groups_ = NIL;        // Expr*
  List* shown_groups_ = NIL;  // the same as the select list has them
  List* sets_ = NIL;          // Bitmapset*, of their numbers
  List* sets_refs_ = NIL;     // List*, of their numbers in the select list
  List* aggregates_ = NIL;    // Asked*
  List* conditions_ = NIL;    // Condition*
  // Of the table, by attribute number as the planner has them: what a density must have whatever it
  // is asked, and what conditions are of.
  Bitmapset *columns_ = nullptr, *in_conditions_ = nullptr;
  List* dimensions_ = NIL;  // PlainDimension*, each after those that it is looked up by
  int dimension_columns_ = 0;
  List* joined_ = NIL;  // Expr*, conditions of dimensions, too
};

// Whether a group's key, which is stored as text, reads back as the value it was, whatever happens
// to other objects: those of the server's own scalar types do, and labels of enums are looked at.
bool reads_back(Oid type);
// Whether values that are the same group are the same in every respect, so that any condition holds
// for all of a group's rows or for none.
bool is_equal_image(Oid type, int32 typmod, Oid collation);
// Whether it is not the same for all rows that are alike, or cannot be evaluated by itself.
bool varies(Node* node);

// Whether an expression is of a type whose values are compared for equality alone.
bool is_category(const Named& named);

}  // namespace kde_pg
