// See value_bounds.h.
#include "pg/answer/value_bounds.h"

#include "pg/base/snapshot_identity.h"

extern "C" {
#include "access/genam.h"
#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "nodes/primnodes.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
}

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde_pg {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Of more tables the type alone speaks.
constexpr int kMostTables = 1000;

// Values without end that a condition may keep out, as bits.
enum Endless { kNan = 1, kMinusInfinity = 2, kPlusInfinity = 4, kEndless = 7 };

// What a condition says of values.
struct Said {
  kde::ValueBounds bounds = {-kInfinity, kInfinity};
  int excluded = 0;  // of Endless, beside what the bounds keep out

  void narrow(const Said& by) {
    bounds.low = std::max(bounds.low, by.bounds.low);
    bounds.high = std::min(bounds.high, by.bounds.high);
    excluded |= by.excluded;
  }
  // What is beyond the bounds; NaN sorts above all.
  int all_excluded() const {
    return excluded | (bounds.high < kInfinity ? kNan | kPlusInfinity : 0) |
           (bounds.low > -kInfinity ? kMinusInfinity : 0);
  }
  // Either.
  void take_in(const Said& other) {
    excluded = all_excluded() & other.all_excluded();
    bounds.take_in(other.bounds);
  }
};

// What constraints say of a column's values, and which constraint is the newest.
struct Checked {
  Said said;
  kde::ValueBounds bounds = {-kInfinity, kInfinity};  // by these and the type
  TransactionId newest = InvalidTransactionId;

  void read_one_by(TransactionId xmin) {
    if (TransactionIdIsNormal(xmin) && TransactionIdFollows(xmin, newest)) newest = xmin;
  }
};

// Of the type's finite values.
kde::ValueBounds finite_bounds(kde::ValueType type, int32 typmod) {
  constexpr double kDay = 86400;
  // From 4714-11-24 BC; to the year 5874898 and 294277, without these.
  constexpr double kFirst = -2440588 * kDay;
  constexpr double kLastDate = (2147483494.0 - 2440588) * kDay;
  constexpr double kLastTime = (109203528.0 - 2440588) * kDay;
  switch (type) {
    case kde::ValueType::int2:
      return {-32768, 32767};
    case kde::ValueType::int4:
      return {-2147483648.0, 2147483647.0};
    case kde::ValueType::int8:
      return {-9223372036854775808.0, 9223372036854775808.0};
    case kde::ValueType::float4:
      return {-std::numeric_limits<float>::max(), std::numeric_limits<float>::max()};
    case kde::ValueType::numeric: {
      if (typmod < static_cast<int32>(VARHDRSZ)) return {-kInfinity, kInfinity};
      // As numerictypmodin() packs it: a scale of 11 bits, with a sign.
      const int32 packed = typmod - static_cast<int32>(VARHDRSZ);
      const int precision = packed >> 16 & 0xffff;
      const int scale = ((packed & 0x7ff) ^ 1024) - 1024;
      const double most = std::pow(10.0, precision - scale);
      return {-most, most};
    }
    case kde::ValueType::date:
      return {kFirst, kLastDate};
    case kde::ValueType::timestamp:
    case kde::ValueType::timestamptz:
      return {kFirst, kLastTime};
    case kde::ValueType::interval: {
      // Months, days and microseconds, each of all that its bits hold.
      const double most = 2147483648.0 * 31 * kDay + 9223372036855.0;
      return {-most, most};
    }
    case kde::ValueType::time:
      return {0, kDay};
    default:
      return {-kInfinity, kInfinity};
  }
}

// Narrows what constraints say by the type. An infinity or NaN that they leave open is beyond any
// bound: NaN sorts above all, and a sum with it has no end.
kde::ValueBounds within_type(kde::ValueType type, int32 typmod, const Said& said) {
  const kde::ValueBounds finite = finite_bounds(type, typmod);
  kde::ValueBounds out = said.bounds;
  const int excluded = said.all_excluded();
  bool low = true;
  bool high = true;
  switch (type) {
    case kde::ValueType::numeric:
      // With a precision it has no infinities, but NaN.
      low = high = (excluded & kNan) != 0;
      break;
    case kde::ValueType::interval:
#if PG_VERSION_NUM < 170000
      break;
#endif
    case kde::ValueType::date:
    case kde::ValueType::timestamp:
    case kde::ValueType::timestamptz:
      low = (excluded & kMinusInfinity) != 0;
      high = (excluded & kPlusInfinity) != 0;
      break;
    case kde::ValueType::float4:
      low = (excluded & kMinusInfinity) != 0;
      high = (~excluded & (kNan | kPlusInfinity)) == 0;
      break;
    default:
      break;
  }
  if (low) out.low = std::max(out.low, finite.low);
  if (high) out.high = std::min(out.high, finite.high);
  return out;
}

kde::ValueBounds bounds_of_type(kde::ValueType type) { return within_type(type, -1, {}); }

// What a condition on values says of their bounds: of a column, or (attnum 0) of a domain's value.
class Condition {
 public:
  Condition(AttrNumber attnum, kde::ValueType type) : attnum_(attnum), type_(type) {}

  Said says(Node* node) const {
    Said out;
    if (node == nullptr) return out;
    if (IsA(node, BoolExpr)) {
      const auto* e = reinterpret_cast<BoolExpr*>(node);
      if (e->boolop == NOT_EXPR) return says_not(static_cast<Node*>(linitial(e->args)));
      Said any = says(static_cast<Node*>(linitial(e->args)));
      for (Node* element : of_list<Node>(e->args)) {
        const Said one = says(element);
        if (e->boolop == AND_EXPR) out.narrow(one);
        any.take_in(one);
      }
      if (e->boolop == OR_EXPR) out = any;
    } else if (IsA(node, FuncExpr)) {
      const auto* e = reinterpret_cast<FuncExpr*>(node);
      if (is_of_finite(e->funcid) && is_value(static_cast<Node*>(linitial(e->args))))
        out.excluded = kEndless;
    } else if (IsA(node, OpExpr)) {
      const auto* e = reinterpret_cast<OpExpr*>(node);
      if (list_length(e->args) != 2) return out;
      auto* left = static_cast<Node*>(linitial(e->args));
      auto* right = static_cast<Node*>(lsecond(e->args));
      if (is_value(left))
        compare(e->opno, right, &out);
      else if (is_value(right))
        compare(get_commutator(e->opno), left, &out);
    } else if (IsA(node, ScalarArrayOpExpr)) {
      const auto* e = reinterpret_cast<ScalarArrayOpExpr*>(node);
      if (is_value(static_cast<Node*>(linitial(e->args))))
        list(e->opno, e->useOr, static_cast<Node*>(lsecond(e->args)), &out);
    }
    return out;
  }

 private:
  // NOT of an equation or a list of them; of others nothing is known.
  Said says_not(Node* node) const {
    Said out;
    if (node != nullptr && IsA(node, OpExpr)) {
      const auto* e = reinterpret_cast<OpExpr*>(node);
      if (list_length(e->args) != 2) return out;
      auto* left = static_cast<Node*>(linitial(e->args));
      auto* right = static_cast<Node*>(lsecond(e->args));
      if (is_value(left))
        compare(get_negator(e->opno), right, &out);
      else if (is_value(right))
        compare(get_negator(get_commutator(e->opno)), left, &out);
    } else if (node != nullptr && IsA(node, ScalarArrayOpExpr)) {
      const auto* e = reinterpret_cast<ScalarArrayOpExpr*>(node);
      if (is_value(static_cast<Node*>(linitial(e->args))))
        list(get_negator(e->opno), !e->useOr, static_cast<Node*>(lsecond(e->args)), &out);
    }
    return out;
  }

  static bool is_of_finite(Oid function) {
    return function == F_ISFINITE_DATE || function == F_ISFINITE_TIMESTAMP ||
           function == F_ISFINITE_TIMESTAMPTZ || function == F_ISFINITE_INTERVAL;
  }

  static int endless(double x) {
    if (std::isnan(x)) return kNan;
    return x == kInfinity ? kPlusInfinity : x == -kInfinity ? kMinusInfinity : 0;
  }

  // Itself, or cast implicitly to a type that has all its values.
  bool is_value(Node* node) const {
    for (;;) {
      if (IsA(node, RelabelType))
        node = reinterpret_cast<Node*>(reinterpret_cast<RelabelType*>(node)->arg);
      else if (IsA(node, CoerceToDomain))
        node = reinterpret_cast<Node*>(reinterpret_cast<CoerceToDomain*>(node)->arg);
      else if (IsA(node, FuncExpr) && is_exact_cast(reinterpret_cast<FuncExpr*>(node)))
        node = static_cast<Node*>(linitial(reinterpret_cast<FuncExpr*>(node)->args));
      else
        break;
      if (node == nullptr) return false;
    }
    if (attnum_ == 0) return IsA(node, CoerceToDomainValue);
    return IsA(node, Var) && reinterpret_cast<Var*>(node)->varattno == attnum_;
  }

  static bool is_exact_cast(const FuncExpr* f) {
    if (f->funcformat != COERCE_IMPLICIT_CAST || list_length(f->args) != 1) return false;
    const Oid from = exprType(static_cast<Node*>(linitial(f->args)));
    const Oid to = f->funcresulttype;
    if (from == INT2OID || from == INT4OID)
      return to == INT4OID || to == INT8OID || to == NUMERICOID || to == FLOAT8OID;
    return (from == INT8OID && to == NUMERICOID) || (from == FLOAT4OID && to == FLOAT8OID) ||
           (from == DATEOID && to == TIMESTAMPOID);
  }

  // A constant as the column's values are numbers. False: it is none, or NULL.
  bool read(Node* node, double* x) const {
    node = eval_const_expressions(nullptr, node);
    if (node == nullptr || !IsA(node, Const)) return false;
    const auto* c = reinterpret_cast<Const*>(node);
    return !c->constisnull && read(c->consttype, c->constvalue, x);
  }

  bool read(Oid given, Datum value, double* x) const {
    kde::ValueType type;
    if (!value_type_of(getBaseType(given), &type)) return false;
    const bool numbers = type <= kde::ValueType::numeric && type_ <= kde::ValueType::numeric;
    // What an instant a date is depends on the zone.
    const bool is_date = type == kde::ValueType::date || type_ == kde::ValueType::date;
    const bool is_time = type == kde::ValueType::timestamp || type_ == kde::ValueType::timestamp;
    if (!numbers && type != type_ && !(is_date && is_time)) return false;
    if (type == kde::ValueType::category) return false;
    *x = value_to_double(type, value);
    return true;
  }

  void compare(Oid op, Node* with, Said* said) const {
    double x;
    int strategy = 0;
    if (!OidIsValid(op) || !read(with, &x)) return;
    if (is_unequal(op)) {
      said->excluded |= endless(x);
      return;
    }
    if (!is_btree(op, &strategy) || std::isnan(x)) return;
    kde::ValueBounds* out = &said->bounds;
    // NaN is above infinity, which is a constant that no number is beyond.
    if (strategy <= BTEqualStrategyNumber && x == kInfinity) said->excluded |= kNan;
    // Beyond is what only the infinities and NaN are; a number may be too large for a double.
    constexpr double kMost = std::numeric_limits<double>::max();
    const bool strict = type_ != kde::ValueType::numeric;
    if (strict && strategy == BTGreaterStrategyNumber && x == -kInfinity) x = -kMost;
    if (strict && strategy == BTLessStrategyNumber && x == kInfinity) x = kMost;
    if (strategy >= BTEqualStrategyNumber) out->low = x;
    if (strategy <= BTEqualStrategyNumber) out->high = x;
  }

  static bool is_unequal(Oid op) {
    int strategy = 0;
    const Oid equal = get_negator(op);
    return OidIsValid(equal) && is_btree(equal, &strategy) && strategy == BTEqualStrategyNumber;
  }

  // By its meaning in every family that has it.
  static bool is_btree(Oid op, int* strategy) {
#if PG_VERSION_NUM >= 180000
    List* all = get_op_index_interpretation(op);
#else
    List* all = get_op_btree_interpretation(op);
#endif
    ListCell* cell;
    foreach (cell, all) {
#if PG_VERSION_NUM >= 180000
      const int s = static_cast<int>(static_cast<OpIndexInterpretation*>(lfirst(cell))->cmptype);
#else
      const int s = static_cast<OpBtreeInterpretation*>(lfirst(cell))->strategy;
#endif
      // Beyond these is <>.
      if (s < BTLessStrategyNumber || s > BTGreaterStrategyNumber) return false;
      if (*strategy != 0 && s != *strategy) return false;
      *strategy = s;
    }
    return all != NIL;
  }

  // op ANY (any) or op ALL of an array.
  void list(Oid op, bool any_of, Node* array, Said* out) const {
    int strategy = 0;
    if (!OidIsValid(op)) return;
    const bool unequal = !any_of && is_unequal(op);
    if (!unequal && (!any_of || !is_btree(op, &strategy) || strategy != BTEqualStrategyNumber))
      return;
    array = eval_const_expressions(nullptr, array);
    if (array == nullptr || !IsA(array, Const)) return;
    const auto* c = reinterpret_cast<Const*>(array);
    const Oid element = get_element_type(getBaseType(c->consttype));
    if (c->constisnull || !OidIsValid(element)) return;
    int16 length;
    bool by_value;
    char align;
    get_typlenbyvalalign(element, &length, &by_value, &align);
    Datum* values;
    bool* nulls;
    int n;
    deconstruct_array(DatumGetArrayTypeP(c->constvalue), element, length, by_value, align, &values,
                      &nulls, &n);
    Said any;
    for (int i = 0; i < n; ++i) {
      double x;
      if (unequal) {
        // Each by itself.
        if (!nulls[i] && read(element, values[i], &x)) out->excluded |= endless(x);
        continue;
      }
      // With a NULL among them it is never false, so it keeps nothing out.
      if (nulls[i] || !read(element, values[i], &x) || std::isnan(x)) return;
      if (i == 0)
        any.bounds = {x, x};
      else
        any.bounds.take_in({x, x});
    }
    if (!unequal) out->narrow(any);
  }

  AttrNumber attnum_;
  kde::ValueType type_;
};

// By the constraints of a table, or of a domain, as the snapshot sees them; null: as of now.
void narrow_by_constraints(Oid table, Oid domain, const Condition& condition, Snapshot snapshot,
                           Checked* out) {
  Relation constraints = table_open(ConstraintRelationId, AccessShareLock);
  ScanKeyData key[2];
  ScanKeyInit(&key[0], Anum_pg_constraint_conrelid, BTEqualStrategyNumber, F_OIDEQ,
              ObjectIdGetDatum(table));
  ScanKeyInit(&key[1], Anum_pg_constraint_contypid, BTEqualStrategyNumber, F_OIDEQ,
              ObjectIdGetDatum(domain));
  SysScanDesc scan =
      systable_beginscan(constraints, ConstraintRelidTypidNameIndexId, true, snapshot, 2, key);
  HeapTuple tuple;
  while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
    const auto* c = reinterpret_cast<Form_pg_constraint>(GETSTRUCT(tuple));
    if (c->contype != CONSTRAINT_CHECK || !c->convalidated) continue;
#if PG_VERSION_NUM >= 180000
    if (!c->conenforced) continue;
#endif
    bool is_null;
    const Datum tree =
        heap_getattr(tuple, Anum_pg_constraint_conbin, RelationGetDescr(constraints), &is_null);
    if (is_null) continue;
    out->read_one_by(HeapTupleHeaderGetXmin(tuple->t_data));
    out->said.narrow(condition.says(static_cast<Node*>(stringToNode(TextDatumGetCString(tree)))));
  }
  systable_endscan(scan);
  table_close(constraints, AccessShareLock);
}

// By the domains that a type is of. *typmod becomes that of the type they are over.
void narrow_by_domains(Oid type, kde::ValueType value_type, Snapshot snapshot, int32* typmod,
                       Checked* out) {
  for (;;) {
    HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
    if (!HeapTupleIsValid(tuple)) return;
    const auto* t = reinterpret_cast<Form_pg_type>(GETSTRUCT(tuple));
    const bool is_domain = t->typtype == TYPTYPE_DOMAIN;
    const Oid base = t->typbasetype;
    const int32 base_typmod = t->typtypmod;
    ReleaseSysCache(tuple);
    if (!is_domain) return;
    narrow_by_constraints(InvalidOid, type, Condition(0, value_type), snapshot, out);
    type = base;
    *typmod = base_typmod;
  }
}

// Of the column of one table, by itself.
Checked bounds_in(Oid relation, const char* column, kde::ValueType type, Snapshot snapshot) {
  Checked out;
  const AttrNumber attnum = get_attnum(relation, column);
  if (attnum <= 0) return out;
  Oid own;
  int32 typmod;
  Oid collation;
  get_atttypetypmodcoll(relation, attnum, &own, &typmod, &collation);
  // What another server checks is its own matter.
  if (get_rel_relkind(relation) == RELKIND_FOREIGN_TABLE) {
    out.bounds = bounds_of_type(type);
    return out;
  }
  narrow_by_domains(own, type, snapshot, &typmod, &out);
  narrow_by_constraints(relation, InvalidOid, Condition(attnum, type), snapshot, &out);
  out.bounds = within_type(type, typmod, out.said);
  return out;
}

Checked bounds_of_column(Oid relation, AttrNumber attnum, kde::ValueType type, Snapshot snapshot) {
  Checked out;
  const char* column = get_attname(relation, attnum, true);
  if (column == nullptr) return out;
  if (!has_subclass(relation)) return bounds_in(relation, column, type, snapshot);
  List* tables = find_all_inheritors(relation, NoLock, nullptr);
  out.bounds = list_length(tables) > kMostTables ? bounds_of_type(type) : kde::ValueBounds();
  if (list_length(tables) > kMostTables) return out;
  for (const Oid oid : oids(tables)) {
    CHECK_FOR_INTERRUPTS();
    // A partitioned table has no rows of its own.
    if (get_rel_relkind(oid) == RELKIND_PARTITIONED_TABLE) continue;
    const Checked one = bounds_in(oid, column, type, snapshot);
    out.bounds.take_in(one.bounds);
    out.read_one_by(one.newest);
  }
  if (out.bounds.low > out.bounds.high) out.bounds = bounds_of_type(type);
  return out;
}

// ---- what is kept

struct Key {
  Oid relation;
  int32 attnum;
};

struct Entry {
  Key key;
  Checked now;  // as the catalog is
  // As a snapshot sees it that may not see all constraints of now.
  SnapshotIdentity seen_by;
  kde::ValueBounds seen;
};

HTAB* kept;
uint64 changes;  // of the catalog, that were heard of

void on_relation(Datum, Oid) { ++changes; }
void on_type(Datum, CacheNumber, uint32) { ++changes; }

void begin() {
  if (kept != nullptr) return;
  HASHCTL control = {};
  control.keysize = sizeof(Key);
  control.entrysize = sizeof(Entry);
  HTAB* made = hash_create("kde_aqp value bounds", 32, &control, HASH_ELEM | HASH_BLOBS);
  CacheRegisterRelcacheCallback(on_relation, 0);
  CacheRegisterSyscacheCallback(TYPEOID, on_type, 0);
  CacheRegisterSyscacheCallback(CONSTROID, on_type, 0);
  kept = made;
}

void forget_old() {
  constexpr int kMostKept = 1000;
  static uint64 known;
  if (known == changes && hash_get_num_entries(kept) <= kMostKept) return;
  HASH_SEQ_STATUS each;
  hash_seq_init(&each, kept);
  while (auto* entry = static_cast<Entry*>(hash_seq_search(&each)))
    (void)hash_search(kept, &entry->key, HASH_REMOVE, nullptr);
  known = changes;
}

// In memory of its own, as trees of conditions are read.
Checked read_bounds(Oid relation, AttrNumber attnum, kde::ValueType type, Snapshot snapshot) {
  MemoryContext own =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp constraints", ALLOCSET_DEFAULT_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(own);
  const Checked out = bounds_of_column(relation, attnum, type, snapshot);
  MemoryContextSwitchTo(caller);
  MemoryContextDelete(own);
  return out;
}

// A constraint that the active snapshot does not see says nothing of rows that it sees.
kde::ValueBounds kept_bounds(Oid relation, AttrNumber attnum, kde::ValueType type) {
  begin();
  forget_old();
  Snapshot snapshot = GetActiveSnapshot();
  const SnapshotIdentity identity = identity_of(snapshot);
  const Key key = {relation, attnum};
  const auto* found = static_cast<Entry*>(hash_search(kept, &key, HASH_FIND, nullptr));
  if (found != nullptr && same(found->seen_by, identity)) return found->seen;
  const uint64 before = changes;
  const Checked now = found != nullptr ? found->now : read_bounds(relation, attnum, type, nullptr);
  // One that went since is not missed: without it the bounds are wider.
  const kde::ValueBounds seen = TransactionIdPrecedes(now.newest, snapshot->xmin)
                                    ? now.bounds
                                    : read_bounds(relation, attnum, type, snapshot).bounds;
  // What was read while that changed may be old already.
  if (changes == before) {
    auto* entry = static_cast<Entry*>(hash_search(kept, &key, HASH_ENTER, nullptr));
    entry->now = now;
    entry->seen_by = identity;
    entry->seen = seen;
  }
  return seen;
}

}  // namespace

kde::IntervalOptions with_value_bounds(Oid relation, AttrNumber attnum, kde::ValueType type,
                                       kde::IntervalOptions options) {
  // As of the fit there may have been no such constraint.
  const bool by_type = !(options.changed_rows > 0) || !OidIsValid(relation) || attnum <= 0;
  const kde::ValueBounds bounds =
      by_type ? bounds_of_type(type) : kept_bounds(relation, attnum, type);
  options.least_value = bounds.low;
  options.greatest_value = bounds.high;
  return options;
}

}  // namespace kde_pg
