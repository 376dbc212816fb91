// See plan_fields.h.
#include "pg/plain_sql/plan_fields.h"

#include "pg/plain_sql/buckets.h"

extern "C" {
#include "nodes/value.h"
}

namespace kde_pg {

namespace {

// The members of custom_private, in their order.
enum class Part { relation, names, numbers, filter, shape, bounds, aggregates, references };

List* part(const List* of, Part p) { return static_cast<List*>(list_nth(of, static_cast<int>(p))); }

char* copy_of(const char* text) { return pstrdup(text); }

void write_one(const PlainQuery& q, bool demanded, uint64 leaves, CustomScan* scan) {
  const DensityKey& key = q.key;
  List* names = NIL;
  List* numbers = NIL;
  for (int i = 0; i < key.all(); ++i) {
    names = lappend(names, makeString(copy_of(key.column[i].text)));
    numbers = lappend_int(numbers, key.column[i].attnum);
  }
  List* shape = NIL;
  for (const int n : {key.columns, key.measures, key.groups, list_length(scan->custom_scan_tlist),
                      q.groups(), q.by_groups, q.bucket != nullptr ? 1 : 0, q.of_words ? 1 : 0,
                      q.with_nulls, demanded ? 1 : 0, q.null_of, q.is_null ? 1 : 0,
                      static_cast<int>(leaves), static_cast<int>(leaves >> 32)})
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
  for (int i = 0; i < q.groups(); ++i)
    add(q.group[i] != nullptr ? reinterpret_cast<Expr*>(q.group[i])
                              : reinterpret_cast<Expr*>(makeNullConst(TEXTOID, -1, InvalidOid)));
  List* bucket = NIL;
  if (q.bucket != nullptr) {
    add(reinterpret_cast<Expr*>(q.bucket));
    bucket = list_make1(open_bucket(q.bucket, key.column[0].attnum));
  }
  for (const PlainAggregate* a : of_list<const PlainAggregate>(q.aggregates)) {
    for (const int n : {a->index, static_cast<int>(a->answer), static_cast<int>(a->end),
                        a->population ? 1 : 0, a->column, static_cast<int>(a->type), a->scale})
      aggregates = lappend_int(aggregates, n);
    add(a->node);
  }
  scan->custom_scan_tlist = columns;
  scan->custom_exprs =
      lappend(scan->custom_exprs, list_make4(values, q.group_conditions, bucket, q.passages));
  List* rest = list_make5(list_make1_oid(key.relation), names, numbers,
                          list_make1(makeString(copy_of(key.filter))), shape);
  List* references = NIL;
  for (int i = 0; i < key.references; ++i) references = lappend_int(references, key.reference[i]);
  rest = lappend(lappend(lappend(rest, bounds), aggregates), references);
  scan->custom_private = lappend(scan->custom_private, rest);
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
  out.by_bucket = list_nth_int(shape, 6) != 0;
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
  List* bounds = part(scan, Part::bounds);
  out.bounds = list_length(bounds) / 6;
  auto* bound =
      static_cast<PlainBound*>(palloc0(sizeof(PlainBound) * static_cast<Size>(out.bounds + 1)));
  for (int i = 0; i < out.bounds; ++i) {
    const auto at = [&](int field) { return list_nth_int(bounds, 6 * i + field); };
    bound[i] = {at(0),
                static_cast<kde::ValueType>(at(1)),
                at(2),
                at(3) != 0,
                nullptr,
                static_cast<Oid>(at(4)),
                static_cast<Oid>(at(5))};
  }
  out.bound = bound;
  List* aggregates = part(scan, Part::aggregates);
  out.aggregates = list_length(aggregates) / 7;
  auto* aggregate = static_cast<PlainAggregate*>(
      palloc0(sizeof(PlainAggregate) * static_cast<Size>(out.aggregates + 1)));
  for (int i = 0; i < out.aggregates; ++i) {
    const auto at = [&](int field) { return list_nth_int(aggregates, 7 * i + field); };
    aggregate[i] = {
        nullptr,    at(0), static_cast<PlainAnswer>(at(1)),    static_cast<PlainEnd>(at(2)),
        at(3) != 0, at(4), static_cast<kde::ValueType>(at(5)), at(6)};
  }
  out.aggregate = aggregate;
  out.values = static_cast<List*>(linitial(expressions));
  out.conditions = static_cast<List*>(lsecond(expressions));
  out.bucket = static_cast<List*>(lthird(expressions));
  out.passages = static_cast<List*>(lfourth(expressions));
  return out;
}

}  // namespace

void write_plain_plans(const List* queries, bool demanded, uint64 leaves, CustomScan* scan) {
  for (const PlainQuery* item : of_list<const PlainQuery>(queries))
    write_one(*item, demanded, leaves, scan);
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
