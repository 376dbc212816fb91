// See plan_fields.h.
#include "pg/plain_sql/plan_fields.h"

extern "C" {
#include "nodes/value.h"
}

namespace kde_pg {

namespace {

// The members of custom_private, in their order.
enum class Part {
  relation,
  names,
  numbers,
  filter,
  shape,
  bounds,
  aggregates,
  references,
  open,
  dimensions,
  sets
};
// And of what is open.
enum class Open { others, conditions, cut_kinds, rows, zeros, values };

List* part(const List* of, Part p) { return static_cast<List*>(list_nth(of, static_cast<int>(p))); }

char* copy_of(const char* text) { return pstrdup(text); }

// Of each its name, a list of numbers and its lookups.
List* write_dimensions(const PlainQuery& q) {
  List* out = NIL;
  ListCell *cell, *lookups;
  forboth(cell, q.dimensions, lookups, q.lookups) {
    const auto* of = static_cast<const PlainDimension*>(lfirst(cell));
    List* numbers = list_make3_int(static_cast<int>(of->join), static_cast<int>(of->relation),
                                   list_length(of->columns()));
    for (const DimensionKey* key : of_list<const DimensionKey>(of->keys))
      for (const int n : {key->column, static_cast<int>(key->equal),
                          static_cast<int>(key->collation), key->has_nulls ? 1 : 0})
        numbers = lappend_int(numbers, n);
    out = lappend(out, list_make3(makeString(copy_of(of->name)), numbers, lfirst(lookups)));
  }
  return out;
}

// Of each the columns that it is by.
List* write_sets(const PlainQuery& q) {
  List* out = NIL;
  const int others = q.column_place() + (q.cuts_column ? 1 : 0);
  for (const Bitmapset* set : of_list<const Bitmapset>(q.sets)) {
    List* columns = NIL;
    for (int i = -1; (i = bms_next_member(set, i)) >= 0;) {
      const int place = list_nth_int(q.places, i);
      columns = lappend_int(columns,
                            place < kde::kMaxGroupBy ? place : others + place - kde::kMaxGroupBy);
    }
    out = lappend(out, columns);
  }
  return out;
}

void read_sets(const List* from, PlainPlan* out) {
  out->sets = list_length(from);
  auto** set =
      static_cast<Bitmapset**>(palloc0(sizeof(Bitmapset*) * static_cast<Size>(out->sets + 1)));
  for (int i = 0; i < out->sets; ++i) {
    ListCell* column;
    foreach (column, static_cast<const List*>(list_nth(from, i)))
      set[i] = bms_add_member(set[i], lfirst_int(column));
  }
  out->set = set;
}

void read_dimensions(const List* from, PlainPlan* out) {
  out->dimensions = list_length(from);
  auto* dimension = static_cast<DimensionPlan*>(
      palloc0(sizeof(DimensionPlan) * static_cast<Size>(out->dimensions + 1)));
  for (int i = 0; i < out->dimensions; ++i) {
    DimensionPlan& to = dimension[i];
    const auto* of = static_cast<const List*>(list_nth(from, i));
    const auto* numbers = static_cast<const List*>(lsecond(of));
    to.name = strVal(linitial(of));
    to.join = static_cast<PlainJoin>(list_nth_int(numbers, 0));
    to.relation = static_cast<Oid>(list_nth_int(numbers, 1));
    to.columns = list_nth_int(numbers, 2);
    to.lookups = static_cast<List*>(lthird(of));
    to.keys = list_length(to.lookups);
    auto* key =
        static_cast<DimensionKey*>(palloc(sizeof(DimensionKey) * static_cast<Size>(to.keys + 1)));
    for (int k = 0; k < to.keys; ++k) {
      const auto at = [&](int field) { return list_nth_int(numbers, 3 + 4 * k + field); };
      key[k] = {at(0), static_cast<Oid>(at(1)), static_cast<Oid>(at(2)), at(3) != 0};
    }
    to.key = key;
    out->dimension_columns += to.columns;
  }
  out->dimension = dimension;
  Bitmapset* of_groups = bms_add_range(nullptr, 0, out->groups - 1);
  Bitmapset* of_parts = bms_make_singleton(out->column());
  int first = out->groups;
  for (int i = 0; i < out->dimensions; ++i) {
    DimensionPlan& to = dimension[i];
    const Bitmapset* by = columns_of(to.lookups);
    to.of_column = bms_overlap(by, of_parts);
    to.of_groups = bms_overlap(by, of_groups);
    const int last = first + to.columns - 1;
    if (to.of_column) of_parts = bms_add_range(of_parts, first, last);
    if (to.of_groups) of_groups = bms_add_range(of_groups, first, last);
    first = last + 1;
  }
  out->of_groups = of_groups;
  out->of_parts = of_parts;
}

// The planner takes the first of two for what the query is grouped by, which is that among the others.
Expr* column_beside_others(const PlainQuery& q, Var* var) {
  for (const Node* other : of_list<const Node>(q.others)) {
    const auto* same = reinterpret_cast<const Var*>(other);
    if (IsA(other, Var) && same->varno == var->varno && same->varattno == var->varattno)
      return reinterpret_cast<Expr*>(makeRelabelType(reinterpret_cast<Expr*>(var), var->vartype,
                                                     var->vartypmod, var->varcollid,
                                                     COERCE_IMPLICIT_CAST));
  }
  return &var->xpr;
}

void write_one(const PlainQuery& q, bool demanded, uint64 leaves, CustomScan* scan) {
  const DensityKey& key = q.key;
  List* names = NIL;
  List* numbers = NIL;
  for (int i = 0; i < key.all(); ++i) {
    names = lappend(names, makeString(copy_of(key.column[i].text)));
    numbers = lappend_int(numbers, key.column[i].attnum);
  }
  List* shape = NIL;
  for (const int n :
       {key.columns, key.measures, key.groups, list_length(scan->custom_scan_tlist), q.groups(),
        q.by_groups, q.cuts_column ? 1 : 0, q.of_words ? 1 : 0, q.with_nulls, demanded ? 1 : 0,
        q.null_of, q.is_null ? 1 : 0, static_cast<int>(leaves), static_cast<int>(leaves >> 32)})
    shape = lappend_int(shape, n);
  List* bounds = NIL;
  List* values = NIL;
  for (const PlainBound* b : of_list<const PlainBound>(q.bounds)) {
    for (const int n : {b->column, static_cast<int>(b->type), b->strategy, b->any ? 1 : 0,
                        static_cast<int>(b->column_type), static_cast<int>(b->collation)})
      bounds = lappend_int(bounds, n);
    if (b->strategy != 0) values = lappend(values, b->value);
  }
  List* aggregates = NIL;
  List* columns = scan->custom_scan_tlist;
  const auto add = [&columns](Expr* of) {
    const auto number = static_cast<AttrNumber>(list_length(columns) + 1);
    columns = lappend(columns, makeTargetEntry(of, number, nullptr, false));
  };
  for (int i = 0; i < q.groups(); ++i) {
    Node* group = q.shown_group[i] != nullptr ? q.shown_group[i] : q.group[i];
    add(group != nullptr ? reinterpret_cast<Expr*>(group)
                         : reinterpret_cast<Expr*>(makeNullConst(TEXTOID, -1, InvalidOid)));
  }
  for (const PlainDimension* of : of_list<const PlainDimension>(q.dimensions))
    for (Var* var : of_list<Var>(of->columns())) add(column_beside_others(q, var));
  if (q.cuts_column) add(reinterpret_cast<Expr*>(q.column));
  for (Expr* other : of_list<Expr>(q.shown_others)) add(other);
  List* rows = NIL;
  List* zeros = NIL;
  List* open_values = NIL;
  List* fractions = NIL;
  List* of_sets = NIL;
  for (const PlainAggregate* a : of_list<const PlainAggregate>(q.aggregates)) {
    for (const int n : {a->index, static_cast<int>(a->answer), static_cast<int>(a->end),
                        a->population ? 1 : 0, a->column, static_cast<int>(a->type), a->scale})
      aggregates = lappend_int(aggregates, n);
    rows = lappend(rows, a->open_rows);
    zeros = lappend(zeros, a->open_zeros);
    open_values = lappend(open_values, a->open_value);
    of_sets = lappend(of_sets, a->of_sets);
    if (a->is_percentile()) fractions = lappend(fractions, a->fraction);
    add(a->node);
  }
  scan->custom_scan_tlist = columns;
  scan->custom_exprs =
      lappend(scan->custom_exprs, list_make4(values, q.passages, q.cuts, fractions));
  List* rest = list_make5(list_make1_oid(key.relation), names, numbers,
                          list_make1(makeString(copy_of(key.filter))), shape);
  List* references = NIL;
  for (int i = 0; i < key.references; ++i) references = lappend_int(references, key.reference[i]);
  rest = lappend(lappend(lappend(rest, bounds), aggregates), references);
  rest = lappend(rest, lappend(list_make5(q.open_others, q.conditions, q.cut_kinds, rows, zeros),
                               open_values));
  rest = lappend(rest, write_dimensions(q));
  rest = lappend(rest, list_make2(write_sets(q), of_sets));
  scan->custom_private = lappend(scan->custom_private, rest);
}

void read_bounds(const List* from, PlainPlan* out) {
  out->bounds = list_length(from) / 6;
  auto* bound =
      static_cast<PlainBound*>(palloc0(sizeof(PlainBound) * static_cast<Size>(out->bounds + 1)));
  for (int i = 0; i < out->bounds; ++i) {
    const auto at = [&](int field) { return list_nth_int(from, 6 * i + field); };
    bound[i] = {at(0),
                static_cast<kde::ValueType>(at(1)),
                at(2),
                at(3) != 0,
                nullptr,
                static_cast<Oid>(at(4)),
                static_cast<Oid>(at(5))};
  }
  out->bound = bound;
}

PlainPlan read_one(const List* scan, const List* expressions) {
  PlainPlan out = {};
  DensityKey& key = out.key;
  List* shape = part(scan, Part::shape);
  key.relation = linitial_oid(part(scan, Part::relation));
  key.columns = list_nth_int(shape, 0);
  key.measures = list_nth_int(shape, 1);
  key.groups = list_nth_int(shape, 2);
  out.first = list_nth_int(shape, 3);
  out.groups = list_nth_int(shape, 4);
  out.by_groups = list_nth_int(shape, 5);
  out.cuts_column = list_nth_int(shape, 6) != 0;
  out.of_words = list_nth_int(shape, 7) != 0;
  out.with_nulls = list_nth_int(shape, 8);
  out.demanded = list_nth_int(shape, 9) != 0;
  out.null_of = list_nth_int(shape, 10);
  out.is_null = list_nth_int(shape, 11) != 0;
  out.leaves = static_cast<uint32>(list_nth_int(shape, 12)) |
               static_cast<uint64>(static_cast<uint32>(list_nth_int(shape, 13))) << 32;
  for (int i = 0; i < key.all(); ++i)
    key.column[i] = {static_cast<AttrNumber>(list_nth_int(part(scan, Part::numbers), i)),
                     strVal(list_nth(part(scan, Part::names), i)), nullptr};
  key.filter = strVal(linitial(part(scan, Part::filter)));
  List* references = part(scan, Part::references);
  auto* reference = static_cast<AttrNumber*>(
      palloc(sizeof(AttrNumber) * static_cast<Size>(list_length(references) + 1)));
  for (int i = 0; i < list_length(references); ++i)
    reference[i] = static_cast<AttrNumber>(list_nth_int(references, i));
  key.references = list_length(references);
  key.reference = reference;
  read_bounds(part(scan, Part::bounds), &out);
  List* open = part(scan, Part::open);
  const auto of_open = [open](Open p) {
    return static_cast<List*>(list_nth(open, static_cast<int>(p)));
  };
  out.open_others = of_open(Open::others);
  out.others = list_length(out.open_others);
  out.conditions = of_open(Open::conditions);
  out.cut_kinds = of_open(Open::cut_kinds);
  read_dimensions(part(scan, Part::dimensions), &out);
  read_sets(static_cast<List*>(linitial(part(scan, Part::sets))), &out);
  auto* of_sets = static_cast<List*>(lsecond(part(scan, Part::sets)));
  List* aggregates = part(scan, Part::aggregates);
  out.aggregates = list_length(aggregates) / 7;
  auto* aggregate = static_cast<PlainAggregate*>(
      palloc0(sizeof(PlainAggregate) * static_cast<Size>(out.aggregates + 1)));
  for (int i = 0; i < out.aggregates; ++i) {
    const auto at = [&](int field) { return list_nth_int(aggregates, 7 * i + field); };
    PlainAggregate& a = aggregate[i];
    a.index = at(0);
    a.answer = static_cast<PlainAnswer>(at(1));
    a.end = static_cast<PlainEnd>(at(2));
    a.population = at(3) != 0;
    a.column = at(4);
    a.type = static_cast<kde::ValueType>(at(5));
    a.scale = at(6);
    a.open_rows = static_cast<Expr*>(list_nth(of_open(Open::rows), i));
    a.open_zeros = static_cast<Expr*>(list_nth(of_open(Open::zeros), i));
    a.of_sets = static_cast<List*>(list_nth(of_sets, i));
    a.open_value = static_cast<Expr*>(list_nth(of_open(Open::values), i));
  }
  out.aggregate = aggregate;
  out.values = static_cast<List*>(linitial(expressions));
  out.passages = static_cast<List*>(lsecond(expressions));
  out.cuts = static_cast<List*>(lthird(expressions));
  out.fractions = static_cast<List*>(lfourth(expressions));
  return out;
}

}  // namespace

bool PlainPlan::is_by_column() const {
  for (const Expr* other : of_list<const Expr>(open_others))
    if (is_of_parts(other)) return true;
  return false;
}

Bitmapset* columns_of(const void* open) {
  Bitmapset* numbers = nullptr;
  pull_varattnos(static_cast<Node*>(const_cast<void*>(open)), INDEX_VAR, &numbers);
  Bitmapset* out = nullptr;
  for (int i = -1; (i = bms_next_member(numbers, i)) >= 0;)
    out = bms_add_member(out, i + FirstLowInvalidHeapAttributeNumber - 1);
  return out;
}

int PlainPlan::other_column() const {
  for (int i = 0; i < others; ++i) {
    auto* other = static_cast<const Node*>(list_nth(open_others, i));
    if (IsA(other, Var) && reinterpret_cast<const Var*>(other)->varattno == column() + 1)
      return keys() - others + i;
  }
  return -1;
}

void write_plain_plans(const List* queries, bool demanded, uint64 leaves, CustomScan* scan) {
  for (const PlainQuery* item : of_list<const PlainQuery>(queries))
    write_one(*item, demanded, leaves, scan);
}

void write_others(const List* queries, const List* reasons, Oid user, CustomScan* scan) {
  List* others = NIL;
  for (const PlainReason* r : of_list<const PlainReason>(reasons)) {
    bool is_asked = r->key == nullptr;
    for (const PlainQuery* q : of_list<const PlainQuery>(queries))
      is_asked = is_asked || same_key(q->key, *r->key);
    if (is_asked) continue;
    const char* why = r->answers ? "may answer, too, and is not asked" : r->why;
    others =
        lappend(others, list_make2(makeString(display_name(*r->key)), makeString(copy_of(why))));
  }
  scan->custom_private = lappend(scan->custom_private, list_make2(list_make1_oid(user), others));
}

const List* read_others(const CustomScan* scan, Oid user) {
  const int plans = list_length(scan->custom_exprs);
  if (list_length(scan->custom_private) <= plans) return NIL;
  const auto* kept = static_cast<const List*>(list_nth(scan->custom_private, plans));
  const bool is_of_user = linitial_oid(static_cast<const List*>(linitial(kept))) == user;
  return is_of_user ? static_cast<const List*>(lsecond(kept)) : NIL;
}

List* read_plain_plans(const CustomScan* scan) {
  List* out = NIL;
  ListCell *rest, *expressions;
  forboth(rest, scan->custom_private, expressions, scan->custom_exprs) {
    auto* plan = static_cast<PlainPlan*>(palloc(sizeof(PlainPlan)));
    *plan = read_one(static_cast<const List*>(lfirst(rest)),
                     static_cast<const List*>(lfirst(expressions)));
    out = lappend(out, plan);
  }
  return out;
}

}  // namespace kde_pg
