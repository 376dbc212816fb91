// See buckets.h. A bucket is a chain of functions, the column innermost, each of which never falls
// as its argument rises, but where a time zone changes its offset: these places are searched for,
// link by link, and the whole is looked at there. Where a bucket ends is searched for by bisection
// over the column's values, first where the one before would have put it: some three calls of the
// function a bucket where they are equally wide.
#include "pg/plain_sql/buckets.h"

#include "pg/base/tree_walk.h"
#include "pg/plain_sql/value_steps.h"

extern "C" {
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
}

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace kde_pg {

bool is_rounding(Oid function) {
  switch (function) {
    case F_FLOOR_FLOAT8:
    case F_CEIL_FLOAT8:
    case F_CEILING_FLOAT8:
    case F_TRUNC_FLOAT8:
    case F_ROUND_FLOAT8:
    case F_FLOOR_NUMERIC:
    case F_CEIL_NUMERIC:
    case F_CEILING_NUMERIC:
    case F_TRUNC_NUMERIC:
    case F_TRUNC_NUMERIC_INT4:
    case F_ROUND_NUMERIC:
    case F_ROUND_NUMERIC_INT4:
      return true;
    default:
      return false;
  }
}

namespace {

// A function of a chain, and where it may fall: where its argument passes a change of the zone's
// offset, as an instant, or as a time of day there, before the change or after it.
struct Link {
  Node* inner = nullptr;  // its argument, the others being constants; null: not known
  pg_tz* zone = nullptr;  // null: it never falls
  bool at_instants = false, at_times = false;
  // The time of day that counts is so many seconds later there.
  double later = 0;
};

const Const* constant(Node* node) {
  return IsA(node, Const) && !castNode(Const, node)->constisnull ? castNode(Const, node) : nullptr;
}

// A constant that is a number; NaN: it is none.
double number_in(Node* node) {
  const Const* c = constant(node);
  kde::ValueType type;
  if (c == nullptr || !value_type_of(c->consttype, &type) || type > kde::ValueType::numeric)
    return NAN;
  return value_to_double(type, c->constvalue);
}

// A constant that is a positive number; 0: it is none.
double positive(Node* node) {
  const double x = number_in(node);
  return x > 0 && std::isfinite(x) ? x : 0;
}

bool is_number(Node* node) {
  kde::ValueType type;
  return value_type_of(exprType(node), &type) && type <= kde::ValueType::numeric;
}

bool is_word(Node* node, const char* word) {
  const Const* c = constant(node);
  return c != nullptr && pg_strcasecmp(TextDatumGetCString(c->constvalue), word) == 0;
}

// The zone that a constant names; null: none, or it might be an abbreviation, which names cannot
// be.
pg_tz* zone_of(Node* node) {
  const Const* c = constant(node);
  if (c == nullptr) return nullptr;
  const char* name = TextDatumGetCString(c->constvalue);
  const bool is_name = strchr(name, '/') != nullptr || pg_strcasecmp(name, "UTC") == 0;
  return is_name ? pg_tzset(name) : nullptr;
}

Link inside(Node* inner) {
  Link out;
  out.inner = inner;
  return out;
}

Link at_instants(Node* inner, pg_tz* zone) {
  Link out;
  if (zone == nullptr) return out;
  out.inner = inner;
  out.zone = zone;
  out.at_instants = true;
  return out;
}

Link at_times(Node* inner, pg_tz* zone) {
  Link out = at_instants(inner, zone);
  out.at_instants = false;
  out.at_times = true;
  return out;
}

// Parts of a date that never fall: of what has no zone, and of an instant.
Link extracted(List* args, bool has_zone) {
  Node* field = static_cast<Node*>(linitial(args));
  Node* inner = static_cast<Node*>(lsecond(args));
  if (is_word(field, "epoch")) return inside(inner);
  if (!is_word(field, "year") && !is_word(field, "isoyear")) return Link();
  return has_zone ? at_instants(inner, session_timezone) : inside(inner);
}

Link function_link(const FuncExpr* f) {
  List* args = f->args;
  if (args == NIL) return Link();
  Node* first = static_cast<Node*>(linitial(args));
  Node* second = list_length(args) > 1 ? static_cast<Node*>(lsecond(args)) : nullptr;
  if (is_rounding(f->funcid)) return inside(first);
  switch (f->funcid) {
    case F_DATE_TIMESTAMP:
    case F_TIMESTAMP_DATE:
    case F_TO_TIMESTAMP_FLOAT8:
    case F_FLOAT8_INT2:
    case F_FLOAT8_INT4:
    case F_FLOAT8_INT8:
    case F_FLOAT8_FLOAT4:
    case F_FLOAT8_NUMERIC:
    case F_NUMERIC_INT2:
    case F_NUMERIC_INT4:
    case F_NUMERIC_INT8:
    case F_INT4_INT2:
    case F_INT8_INT2:
    case F_INT8_INT4:
    case F_INT4_FLOAT8:
    case F_INT8_FLOAT8:
    case F_INT4_NUMERIC:
    case F_INT8_NUMERIC:
      return inside(first);
    case F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4:
    case F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4:
      // It falls where the greater bound comes first.
      return number_in(second) < number_in(static_cast<Node*>(lthird(args))) ? inside(first)
                                                                             : Link();
    case F_DATE_TRUNC_TEXT_TIMESTAMP:
    case F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP:
    case F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ:
      return inside(second);
    case F_DATE_TIMESTAMPTZ:
    case F_TIMESTAMP_TIMESTAMPTZ:
      return at_instants(first, session_timezone);
    case F_TIMESTAMPTZ_DATE:
    case F_TIMESTAMPTZ_TIMESTAMP:
      return at_times(first, session_timezone);
    // Days and what is longer are farther apart than a change is long; what is shorter keeps its
    // offset.
    case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
      return at_instants(second, session_timezone);
    case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
      return at_instants(second, zone_of(static_cast<Node*>(lthird(args))));
    case F_TIMEZONE_TEXT_TIMESTAMPTZ:
      return at_instants(second, zone_of(first));
    case F_TIMEZONE_TEXT_TIMESTAMP:
      return at_times(second, zone_of(first));
    case F_EXTRACT_TEXT_DATE:
    case F_EXTRACT_TEXT_TIMESTAMP:
    case F_DATE_PART_TEXT_TIMESTAMP:
      return extracted(args, false);
    case F_EXTRACT_TEXT_TIMESTAMPTZ:
    case F_DATE_PART_TEXT_TIMESTAMPTZ:
      return extracted(args, true);
    default:
      return Link();
  }
}

// What the function is of, if it is one of these; null: none.
List* arguments(Node* node, std::initializer_list<Oid> functions) {
  if (!IsA(node, FuncExpr)) return NIL;
  const auto* f = castNode(FuncExpr, node);
  return std::find(functions.begin(), functions.end(), f->funcid) != functions.end() ? f->args
                                                                                     : NIL;
}

// A time truncated to hours, or minutes, and as many parts of one as there are whole ones in its
// minutes, or seconds, none of which go beyond it: INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM
// at) / 5). In an hour it rises as they do.
Link parted(Node* truncated, const Interval* part, Node* number) {
  constexpr double kSixty = 60;
  List* of = arguments(truncated, {F_DATE_TRUNC_TEXT_TIMESTAMP, F_DATE_TRUNC_TEXT_TIMESTAMPTZ});
  List* cast = arguments(number, {F_FLOAT8_NUMERIC});
  if (cast != NIL) number = static_cast<Node*>(linitial(cast));
  List* whole = arguments(number, {F_FLOOR_NUMERIC, F_FLOOR_FLOAT8});
  if (of == NIL || whole == NIL || !IsA(linitial(whole), OpExpr)) return Link();
  const auto* quotient = castNode(OpExpr, static_cast<Node*>(linitial(whole)));
  const Oid divides = get_opcode(quotient->opno);
  if (divides != F_NUMERIC_DIV && divides != F_FLOAT8DIV) return Link();
  const double parts = positive(static_cast<Node*>(lsecond(quotient->args)));
  List* field = arguments(static_cast<Node*>(linitial(quotient->args)),
                          {F_EXTRACT_TEXT_TIMESTAMP, F_EXTRACT_TEXT_TIMESTAMPTZ,
                           F_DATE_PART_TEXT_TIMESTAMP, F_DATE_PART_TEXT_TIMESTAMPTZ});
  if (!(parts > 0) || field == NIL || !equal(lsecond(field), lsecond(of))) return Link();
  auto* unit = static_cast<Node*>(linitial(of));
  auto* counted = static_cast<Node*>(linitial(field));
  double length;
  if (is_word(unit, "hour") && is_word(counted, "minute"))
    length = USECS_PER_HOUR;
  else if (is_word(unit, "minute") && is_word(counted, "second"))
    length = USECS_PER_MINUTE;
  else
    return Link();
  if (static_cast<double>(part->time) * kSixty > length * parts) return Link();
  auto* time = static_cast<Node*>(lsecond(of));
  return exprType(time) == TIMESTAMPTZOID ? at_instants(time, session_timezone) : inside(time);
}

// A time and an interval, which has no months, as those are not equally long.
Link moved(Node* time, Node* by, bool has_zone, bool back) {
  const Const* c = constant(by);
  if (c == nullptr) {
    // A number of seconds, say, after a time.
    if (back || !IsA(by, OpExpr)) return Link();
    const auto* product = castNode(OpExpr, by);
    const Oid function = get_opcode(product->opno);
    if (function != F_INTERVAL_MUL && function != F_MUL_D_INTERVAL) return Link();
    const bool number_first = function == F_MUL_D_INTERVAL;
    Node* number =
        static_cast<Node*>(number_first ? linitial(product->args) : lsecond(product->args));
    c = constant(
        static_cast<Node*>(number_first ? lsecond(product->args) : linitial(product->args)));
    if (c == nullptr) return Link();
    const Interval* unit = DatumGetIntervalP(c->constvalue);
    if (unit->month != 0 || unit->day != 0 || unit->time <= 0) return Link();
    return constant(time) != nullptr ? inside(number) : parted(time, unit, number);
  }
  const Interval* interval = DatumGetIntervalP(c->constvalue);
  if (interval->month != 0) return Link();
  if (!has_zone || interval->day == 0) return inside(time);
  Link out = at_instants(time, session_timezone);
  out.at_times = true;
  out.later = (back ? -1.0 : 1.0) * interval->day * SECS_PER_DAY;
  return out;
}

Link operator_link(const OpExpr* op) {
  if (list_length(op->args) != 2 || op->opno >= FirstNormalObjectId) return Link();
  Node* left = static_cast<Node*>(linitial(op->args));
  Node* right = static_cast<Node*>(lsecond(op->args));
  switch (get_opcode(op->opno)) {
    case F_DATE_PLI:
    case F_DATE_MII:
      return constant(right) != nullptr ? inside(left) : Link();
    case F_DATE_PL_INTERVAL:
    case F_TIMESTAMP_PL_INTERVAL:
      return moved(left, right, false, false);
    case F_DATE_MI_INTERVAL:
    case F_TIMESTAMP_MI_INTERVAL:
      return moved(left, right, false, true);
    case F_TIMESTAMPTZ_PL_INTERVAL:
      return moved(left, right, true, false);
    case F_TIMESTAMPTZ_MI_INTERVAL:
      return moved(left, right, true, true);
    default:
      break;
  }
  if (!is_number(left) || !is_number(right)) return Link();
  // Of numbers; a product or a quotient with a positive constant.
  const char* sign = get_opname(op->opno);
  if (sign == nullptr || strlen(sign) != 1) return Link();
  const bool either = *sign == '+' || *sign == '*';
  Node* other = either && constant(left) != nullptr ? left : right;
  if (constant(other) == nullptr) return Link();
  const bool rises =
      *sign == '+' || *sign == '-' || ((*sign == '*' || *sign == '/') && positive(other) > 0);
  return rises ? inside(other == left ? right : left) : Link();
}

bool are_constants(List* args, const Node* but) {
  ListCell* cell;
  foreach (cell, args)
    if (lfirst(cell) != but && !IsA(lfirst(cell), Const)) return false;
  return true;
}

Link link_of(Node* node) {
  if (IsA(node, RelabelType)) {
    const auto* relabel = castNode(RelabelType, node);
    auto* arg = reinterpret_cast<Node*>(relabel->arg);
    // From a domain, not from an integer to an oid, say, whose order is another.
    return getBaseType(exprType(arg)) == getBaseType(relabel->resulttype) ? inside(arg) : Link();
  }
  if (IsA(node, OpExpr)) return operator_link(castNode(OpExpr, node));
  if (!IsA(node, FuncExpr)) return Link();
  const Link link = function_link(castNode(FuncExpr, node));
  return are_constants(castNode(FuncExpr, node)->args, link.inner) ? link : Link();
}

Node* open(Node* node, void* state) {
  if (node == nullptr) return nullptr;
  if (IsA(node, Var) && castNode(Var, node)->varattno == *static_cast<const AttrNumber*>(state)) {
    const auto* var = castNode(Var, node);
    auto* value = makeNode(CaseTestExpr);
    value->typeId = var->vartype;
    value->typeMod = var->vartypmod;
    value->collation = var->varcollid;
    return reinterpret_cast<Node*>(value);
  }
  return expression_tree_mutator(node, as_mutator(open), state);
}

}  // namespace

namespace {

// Of the parts of a time that extract() and date_part() know, what to truncate to.
const char* unit_of_field(Node* field) {
  struct Known {
    const char* field;
    const char* unit;
  };
  static const Known kKnown[] = {{"minute", "minute"},   {"hour", "hour"},      {"day", "day"},
                                 {"dow", "day"},         {"isodow", "day"},     {"doy", "day"},
                                 {"week", "week"},       {"isoyear", "week"},   {"month", "month"},
                                 {"quarter", "quarter"}, {"year", "year"},      {"decade", "year"},
                                 {"century", "year"},    {"millennium", "year"}};
  for (const Known& known : kKnown)
    if (is_word(field, known.field)) return known.unit;
  return nullptr;
}

bool is_longer_than_day(const char* unit) {
  return strcmp(unit, "minute") != 0 && strcmp(unit, "hour") != 0 && strcmp(unit, "day") != 0;
}

// Of to_char()'s pattern: each of its words for what is shorter than a day has one of these in it, and
// so may a text without quotes, which is then taken for one. Of months alone it has no other letters.
const char* unit_of_pattern(Node* pattern) {
  const Const* c = constant(pattern);
  if (c == nullptr) return nullptr;
  char* upper = TextDatumGetCString(c->constvalue);
  bool is_quoted = false;
  for (char* at = upper; *at != '\0'; ++at) {
    if (*at == '\\') return nullptr;
    if (*at == '"') is_quoted = !is_quoted;
    *at = is_quoted ? ' ' : static_cast<char>(pg_toupper(static_cast<unsigned char>(*at)));
  }
  const auto has = [upper](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(),
                       [upper](const char* word) { return strstr(upper, word) != nullptr; });
  };
  if (has({"SS", "MS", "US", "FF", "TZ", "OF"})) return nullptr;
  if (has({"MI"})) return "minute";
  if (has({"HH", "AM", "PM", "A.M", "P.M"})) return "hour";
  return strpbrk(upper, "DWJI") != nullptr ? "day" : "month";
}

}  // namespace

Node* bucket_of_part(Node* node) {
  if (!IsA(node, FuncExpr)) return nullptr;
  const auto* f = castNode(FuncExpr, node);
  const char* unit = nullptr;
  Node* time = nullptr;
  switch (f->funcid) {
    case F_EXTRACT_TEXT_DATE:
    case F_EXTRACT_TEXT_TIMESTAMP:
    case F_EXTRACT_TEXT_TIMESTAMPTZ:
    case F_DATE_PART_TEXT_TIMESTAMP:
    case F_DATE_PART_TEXT_TIMESTAMPTZ:
      unit = unit_of_field(static_cast<Node*>(linitial(f->args)));
      time = static_cast<Node*>(lsecond(f->args));
      break;
    case F_TO_CHAR_TIMESTAMP_TEXT:
    case F_TO_CHAR_TIMESTAMPTZ_TEXT:
      unit = unit_of_pattern(static_cast<Node*>(lsecond(f->args)));
      time = static_cast<Node*>(linitial(f->args));
      break;
    default:
      return nullptr;
  }
  if (unit == nullptr) return nullptr;
  const Oid type = exprType(time);
  if (type == DATEOID) {
    if (!is_longer_than_day(unit)) return time;
    time = reinterpret_cast<Node*>(makeFuncExpr(F_TIMESTAMP_DATE, TIMESTAMPOID, list_make1(time),
                                                InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));
  }
  Node* text = reinterpret_cast<Node*>(
      makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, CStringGetTextDatum(unit), false, false));
  const bool has_zone = type == TIMESTAMPTZOID;
  return reinterpret_cast<Node*>(makeFuncExpr(
      has_zone ? F_DATE_TRUNC_TEXT_TIMESTAMPTZ : F_DATE_TRUNC_TEXT_TIMESTAMP, exprType(time),
      list_make2(text, time), InvalidOid, DEFAULT_COLLATION_OID, COERCE_EXPLICIT_CALL));
}

bool is_bucket(Node* node, AttrNumber column) {
  while (node != nullptr && !IsA(node, Var)) node = link_of(node).inner;
  return node != nullptr && castNode(Var, node)->varattno == column;
}

Expr* open_bucket(Node* node, AttrNumber column) {
  return reinterpret_cast<Expr*>(open(node, &column));
}

namespace {

// Of a time zone's offset, and what may come of them.
constexpr int kMostChanges = 2000;

// Where a chain may fall: where an expression of the column passes what a zone's change is to it.
struct Turn {
  ExprState* value;
  kde::ValueType type;
  pg_tz* zone;
  bool at_instants;
  double later;
};

class Search {
 public:
  Search(ExprState* function, ExprContext* context, const ValueSteps& values, Oid result,
         Oid collation)
      : function_(function), context_(context), values_(values), collation_(collation) {
    result_ = lookup_type_cache(result, TYPECACHE_CMP_PROC_FINFO);
  }

  bool can_compare() const { return OidIsValid(result_->cmp_proc_finfo.fn_oid); }

  // Until the next one.
  NullableDatum at(ExprState* expression, int64 k) {
    CHECK_FOR_INTERRUPTS();
    ResetExprContext(context_);
    MemoryContext caller = MemoryContextSwitchTo(context_->ecxt_per_tuple_memory);
    NullableDatum out = {0, true};
    context_->caseValue_datum = values_.datum(k);
    context_->caseValue_isNull = false;
    out.value = ExecEvalExpr(expression, context_, &out.isnull);
    MemoryContextSwitchTo(caller);
    return out;
  }
  // To keep; false: it has none.
  bool read(int64 k, Datum* out) {
    const NullableDatum there = at(function_, k);
    if (there.isnull) return false;
    // Of minus zero some rows may be, and of zero others.
    if (result_->type_id == FLOAT8OID && DatumGetFloat8(there.value) == 0 &&
        std::signbit(DatumGetFloat8(there.value)))
      return false;
    *out = datumCopy(there.value, result_->typbyval, result_->typlen);
    return true;
  }

  int compare(Datum a, Datum b) const {
    return DatumGetInt32(FunctionCall2Coll(&result_->cmp_proc_finfo, collation_, a, b));
  }
  bool holds(ExprState* comparison, int64 k) {
    const NullableDatum there = at(comparison, k);
    return !there.isnull && DatumGetBool(there.value);
  }
  bool is(int64 k, Datum value) {
    const NullableDatum there = at(function_, k);
    return !there.isnull && compare(there.value, value) == 0;
  }

  // The first value of which the function is not what it is of `low`, at most `high`, where it is
  // not.
  int64 end_of(int64 low, Datum value, int64 guess, int64 high) {
    for (const int64 g : {guess, guess - 1})
      if (g > low && g < high) (is(g, value) ? low : high) = g;
    while (low + 1 < high) {
      const int64 middle = low + (high - low) / 2;
      (is(middle, value) ? low : high) = middle;
    }
    return high;
  }

  // Whether it falls anywhere from the first to the last value, or that is not known.
  bool falls(int64 first, int64 last);

 private:
  List* turns() const;
  double at(const Turn& turn, int64 k);
  bool read_changes(const Turn& turn, double low, double high);
  int64 passing(const Turn& turn, double change, int64 low, int64 high);

  ExprState* function_;
  ExprContext* context_;
  const ValueSteps& values_;
  Oid collation_;
  TypeCacheEntry* result_;
  double changes_[kMostChanges];
  int changes_read_ = 0;
  int64 places_[kMostChanges];
  int places_found_ = 0;
};

// Of a function that has been found to be a bucket.
Link inner_of(Node* node) {
  const Link link = link_of(node);
  if (link.inner == nullptr)
    elog(ERROR, "no function of a bucket: %d", static_cast<int>(nodeTag(node)));
  return link;
}

// Innermost first.
List* Search::turns() const {
  List* out = NIL;
  for (Node* node = reinterpret_cast<Node*>(function_->expr); !IsA(node, CaseTestExpr);) {
    const Link link = inner_of(node);
    const auto add = [&out, &link](Node* value, bool at_instants) {
      auto* turn = static_cast<Turn*>(palloc(sizeof(Turn)));
      *turn = {ExecInitExpr(reinterpret_cast<Expr*>(value), nullptr), kde::ValueType::float8,
               link.zone, at_instants, at_instants ? 0 : link.later};
      if (!value_type_of(exprType(value), &turn->type)) elog(ERROR, "the function is no bucket");
      out = lcons(turn, out);
    };
    if (link.at_times) {
      Node* value = link.inner;
      if (exprType(value) == TIMESTAMPTZOID)
        value = reinterpret_cast<Node*>(makeFuncExpr(F_TIMESTAMP_TIMESTAMPTZ, TIMESTAMPOID,
                                                     list_make1(value), InvalidOid, InvalidOid,
                                                     COERCE_EXPLICIT_CALL));
      add(value, false);
    }
    if (link.at_instants) add(link.inner, true);
    node = link.inner;
  }
  return out;
}

// NaN: there is none.
double Search::at(const Turn& turn, int64 k) {
  const NullableDatum there = at(turn.value, k);
  return there.isnull ? NAN : value_to_double(turn.type, there.value) + turn.later;
}

// Of the zone, as the turn's values are, after `low`, up to `high`. False: too many.
bool Search::read_changes(const Turn& turn, double low, double high) {
  constexpr double kLongest = 2 * 86400.0;
  changes_read_ = 0;
  auto t = static_cast<pg_time_t>(std::max(low - kLongest, -1e11));
  for (int looked = 0; looked < kMostChanges / 2; ++looked) {
    long offset_before, offset_after;
    int dst_before, dst_after;
    pg_time_t boundary;
    if (pg_next_dst_boundary(&t, &offset_before, &dst_before, &boundary, &offset_after, &dst_after,
                             turn.zone) != 1 ||
        static_cast<double>(boundary) > high + kLongest)
      return true;
    t = boundary;
    if (offset_before == offset_after) continue;
    const auto instant = static_cast<double>(boundary);
    if (turn.at_instants) {
      changes_[changes_read_++] = instant;
    } else {
      changes_[changes_read_++] = instant + static_cast<double>(offset_before);
      changes_[changes_read_++] = instant + static_cast<double>(offset_after);
    }
  }
  return false;
}

// The first value where the turn's has come to the change; it has not at `low`, and has at `high`.
int64 Search::passing(const Turn& turn, double change, int64 low, int64 high) {
  const int64 guess = values_.nearest(values_.at(low) + (change - at(turn, low)));
  for (const int64 g : {guess, guess - 1})
    if (g > low && g < high) (at(turn, g) < change ? low : high) = g;
  while (low + 1 < high) {
    const int64 middle = low + (high - low) / 2;
    (at(turn, middle) < change ? low : high) = middle;
  }
  return high;
}

// From one place to before the next all links so far rise, so that where one more may fall can be
// searched for by bisection.
bool Search::falls(int64 first, int64 last) {
  places_[0] = first;
  places_found_ = 1;
  auto* start = static_cast<double*>(palloc(sizeof(double) * kMostChanges));
  auto* end = static_cast<double*>(palloc(sizeof(double) * kMostChanges));
  ListCell* cell;
  foreach (cell, turns()) {
    const auto& turn = *static_cast<const Turn*>(lfirst(cell));
    const int before = places_found_;
    const auto last_of = [&](int i) { return i + 1 < before ? places_[i + 1] - 1 : last; };
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < before; ++i) {
      start[i] = at(turn, places_[i]);
      end[i] = at(turn, last_of(i));
      if (!std::isfinite(start[i]) || !std::isfinite(end[i])) return true;
      low = std::min(low, start[i]);
      high = std::max(high, end[i]);
    }
    if (!read_changes(turn, low, high)) return true;
    for (int c = 0; c < changes_read_; ++c)
      for (int i = 0; i < before; ++i) {
        if (!(start[i] < changes_[c] && changes_[c] <= end[i])) continue;
        if (places_found_ == kMostChanges) return true;
        places_[places_found_++] = passing(turn, changes_[c], places_[i], last_of(i));
      }
    std::sort(places_, places_ + places_found_);
    places_found_ = static_cast<int>(std::unique(places_, places_ + places_found_) - places_);
  }
  for (int i = 1; i < places_found_; ++i) {
    Datum before;
    if (!read(places_[i] - 1, &before)) return true;
    const NullableDatum after = at(function_, places_[i]);
    if (after.isnull || compare(before, after.value) > 0) return true;
  }
  return false;
}

// Of the column that the function is of.
ValueSteps values_of(const ExprState* function, kde::ValueType type) {
  Node* column = reinterpret_cast<Node*>(function->expr);
  while (!IsA(column, CaseTestExpr)) column = inner_of(column).inner;
  return ValueSteps(type, castNode(CaseTestExpr, column)->typeMod);
}

}  // namespace

bool is_at_change(double instant) {
  constexpr double kLongest = 86400, kFarthest = 1e11;
  if (!(std::fabs(instant) < kFarthest)) return false;
  auto t = static_cast<pg_time_t>(std::floor(instant - kLongest)) - 1;
  long before, after;
  int dst_before, dst_after;
  pg_time_t change;
  while (pg_next_dst_boundary(&t, &before, &dst_before, &change, &after, &dst_after,
                              session_timezone) == 1 &&
         static_cast<double>(change) <= instant + kLongest) {
    const auto length = static_cast<double>(std::labs(after - before));
    if (length > 0 && std::fabs(static_cast<double>(change) - instant) <= length) return true;
    t = change;
  }
  return false;
}

bool find_passage(ExprState* comparison, ExprContext* context, kde::ValueType type, double first,
                  double last, Passage* out) {
  const auto* op = castNode(OpExpr, reinterpret_cast<Node*>(comparison->expr));
  auto* side = static_cast<Node*>(linitial(op->args));
  ExprState* function = ExecInitExpr(reinterpret_cast<Expr*>(side), nullptr);
  const ValueSteps values = values_of(function, type);
  if (!values.are_told_apart(first) || !values.are_told_apart(last)) return false;
  int64 low = values.from(first);
  int64 high = values.up_to(last);
  *out = {false, false, INFINITY};
  if (low > high) return true;
  auto* search = new (palloc(sizeof(Search)))
      Search(function, context, values, exprType(side), exprCollation(side));
  if (!search->can_compare() || search->falls(low, high)) return false;
  Datum start, end;
  if (!search->read(low, &start) || !search->read(high, &end) || search->compare(start, end) > 0)
    return false;
  out->before = search->holds(comparison, low);
  out->from = search->holds(comparison, high);
  if (out->before == out->from) return true;
  while (low + 1 < high) {
    const int64 middle = low + (high - low) / 2;
    (search->holds(comparison, middle) == out->before ? low : high) = middle;
  }
  out->place = values.at(high);
  return true;
}

List* buckets_between(ExprState* function, ExprContext* context, kde::ValueType type, Oid result,
                      Oid collation, double first, double last, int most, bool* sure) {
  const ValueSteps values = values_of(function, type);
  *sure = false;
  if (!values.are_told_apart(first) || !values.are_told_apart(last)) return NIL;
  const int64 from = values.from(first);
  const int64 to = values.up_to(last);
  *sure = from > to;
  if (*sure) return NIL;
  // Each value by itself.
  if (IsA(function->expr, CaseTestExpr) && to - from >= most) return NIL;
  auto* search = new (palloc(sizeof(Search))) Search(function, context, values, result, collation);
  Datum end;
  if (!search->can_compare() || search->falls(from, to) || !search->read(to, &end)) return NIL;
  List* out = NIL;
  double width = 0;
  for (int64 k = from; k <= to;) {
    Datum value;
    if (list_length(out) == most || !search->read(k, &value)) return NIL;
    auto* bucket = static_cast<Bucket*>(palloc(sizeof(Bucket)));
    *bucket = {value, values.at(k), INFINITY};
    out = lappend(out, bucket);
    const int left = search->compare(value, end);
    if (left > 0) return NIL;
    if (left == 0) break;
    k = search->end_of(k, value, values.nearest(bucket->lower + width), to);
    bucket->upper = values.at(k);
    width = bucket->upper - bucket->lower;
  }
  *sure = true;
  return out;
}

}  // namespace kde_pg
