// See plain_plan.h.
#include "pg/plan/plain_plan.h"

#include "pg/plan/buckets.h"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
}

namespace kde_pg {

namespace {

// The members of custom_private, in their order.
enum class Part { relation, names, numbers, filter, shape, bounds, aggregates };

List* part(const CustomScan* scan, Part p) {
  return static_cast<List*>(list_nth(scan->custom_private, static_cast<int>(p)));
}

char* copy_of(const char* text) { return pstrdup(text); }

}  // namespace

void write_plain_plan(const PlainQuery& q, CustomScan* scan) {
  const DensityKey& key = q.key;
  List* names = NIL;
  List* numbers = NIL;
  for (int i = 0; i < key.all(); ++i) {
    names = lappend(names, makeString(copy_of(key.column[i].text)));
    numbers = lappend_int(numbers, key.column[i].attnum);
  }
  List* shape = NIL;
  for (const int n :
       {key.columns, key.measures, key.groups, q.by_groups ? 1 : 0, q.bucket != nullptr ? 1 : 0})
    shape = lappend_int(shape, n);
  List* bounds = NIL;
  List* values = NIL;
  ListCell* cell;
  foreach (cell, q.bounds) {
    const auto* b = static_cast<const PlainBound*>(lfirst(cell));
    for (const int n : {b->column, static_cast<int>(b->type), b->strategy})
      bounds = lappend_int(bounds, n);
    if (b->strategy != 0) values = lappend(values, b->value);
  }
  List* aggregates = NIL;
  List* columns = NIL;
  const auto add = [&columns](Expr* of) {
    const auto number = static_cast<AttrNumber>(list_length(columns) + 1);
    columns = lappend(columns, makeTargetEntry(of, number, nullptr, false));
  };
  for (int i = 0; i < key.groups; ++i)
    add(q.group[i] != nullptr ? reinterpret_cast<Expr*>(q.group[i])
                              : reinterpret_cast<Expr*>(makeNullConst(TEXTOID, -1, InvalidOid)));
  List* bucket = NIL;
  if (q.bucket != nullptr) {
    add(reinterpret_cast<Expr*>(q.bucket));
    bucket = list_make1(open_bucket(q.bucket, key.column[0].attnum));
  }
  foreach (cell, q.aggregates) {
    const auto* a = static_cast<const PlainAggregate*>(lfirst(cell));
    for (const int n :
         {static_cast<int>(a->answer), a->column, static_cast<int>(a->type), a->scale})
      aggregates = lappend_int(aggregates, n);
    add(reinterpret_cast<Expr*>(a->node));
  }
  scan->custom_scan_tlist = columns;
  scan->custom_exprs = list_make3(values, q.group_conditions, bucket);
  scan->custom_private = list_make5(list_make1_oid(key.relation), names, numbers,
                                    list_make1(makeString(copy_of(key.filter))), shape);
  scan->custom_private = lappend(lappend(scan->custom_private, bounds), aggregates);
}

PlainPlan read_plain_plan(const CustomScan* scan) {
  PlainPlan out = {};
  DensityKey& key = out.key;
  List* shape = part(scan, Part::shape);
  key.relation = linitial_oid(part(scan, Part::relation));
  key.columns = list_nth_int(shape, 0);
  key.measures = list_nth_int(shape, 1);
  key.groups = list_nth_int(shape, 2);
  out.by_groups = list_nth_int(shape, 3) != 0;
  out.by_bucket = list_nth_int(shape, 4) != 0;
  for (int i = 0; i < key.all(); ++i)
    key.column[i] = {static_cast<AttrNumber>(list_nth_int(part(scan, Part::numbers), i)),
                     strVal(list_nth(part(scan, Part::names), i)), nullptr};
  key.filter = strVal(linitial(part(scan, Part::filter)));
  List* bounds = part(scan, Part::bounds);
  out.bounds = list_length(bounds) / 3;
  auto* bound =
      static_cast<PlainBound*>(palloc0(sizeof(PlainBound) * static_cast<Size>(out.bounds + 1)));
  for (int i = 0; i < out.bounds; ++i)
    bound[i] = {list_nth_int(bounds, 3 * i),
                static_cast<kde::ValueType>(list_nth_int(bounds, 3 * i + 1)),
                list_nth_int(bounds, 3 * i + 2), nullptr};
  out.bound = bound;
  List* aggregates = part(scan, Part::aggregates);
  out.aggregates = list_length(aggregates) / 4;
  auto* aggregate = static_cast<PlainAggregate*>(
      palloc0(sizeof(PlainAggregate) * static_cast<Size>(out.aggregates + 1)));
  for (int i = 0; i < out.aggregates; ++i)
    aggregate[i] = {nullptr, static_cast<PlainAnswer>(list_nth_int(aggregates, 4 * i)),
                    list_nth_int(aggregates, 4 * i + 1),
                    static_cast<kde::ValueType>(list_nth_int(aggregates, 4 * i + 2)),
                    list_nth_int(aggregates, 4 * i + 3)};
  out.aggregate = aggregate;
  return out;
}

}  // namespace kde_pg
