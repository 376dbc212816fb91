// See advise_text.h.
#include "pg/advise/advise_text.h"

#include "pg/base/tree_walk.h"
#include "pg/plain_sql/buckets.h"

extern "C" {
#include "parser/parser.h"
#include "tcop/tcopprot.h"
}

#include <cctype>
#include <cstdlib>
#include <initializer_list>

namespace kde_pg {

namespace {

// What stands for constants that are not known: such as nobody writes.
constexpr char kField[] = "kde_aqp_field";
constexpr char kUnit[] = "dAy";
constexpr char kZone[] = "uTC";
constexpr char kLength[] = "01:01:01.010101";
constexpr char kOrigin[] = "1999-12-30 01:02:03.040506";
constexpr char kNumber[] = "98765431";

// ------------------------------------------------------------------------------------- the text

bool is_word_char(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The end of a quoted or commented piece that begins there; the place itself: none does.
const char* past_quoted(const char* at) {
  if (*at == '\'' || *at == '"') {
    const char* end = strchr(at + 1, *at);
    return end != nullptr ? end + 1 : at + strlen(at);
  }
  if (at[0] == '-' && at[1] == '-') return at + strcspn(at, "\n");
  if (at[0] == '/' && at[1] == '*') {
    const char* end = strstr(at, "*/");
    return end != nullptr ? end + 2 : at + strlen(at);
  }
  return at;
}

// The word before a place, in lower case; "" if there is none.
void word_before(const char* text, const char* at, char* out, Size size, const char** begin) {
  while (at > text && isspace(static_cast<unsigned char>(at[-1]))) --at;
  const char* end = at;
  while (at > text && is_word_char(at[-1])) --at;
  Size n = 0;
  for (const char* c = at; c < end && n + 1 < size; ++c)
    out[n++] = static_cast<char>(tolower(static_cast<unsigned char>(*c)));
  out[n] = '\0';
  if (end - at >= static_cast<ptrdiff_t>(size)) out[0] = '\0';
  *begin = at;
}

bool is_type_name(const char* word) {
  static const char* const kTypes[] = {"date",     "time",    "timestamp", "timestamptz", "timetz",
                                       "interval", "numeric", "float8",    "int4",        "int8",
                                       "text",     "bool",    "boolean",   "uuid",        "inet"};
  for (const char* type : kTypes)
    if (strcmp(word, type) == 0) return true;
  return false;
}

// The type whose name ends before a place, as date $1 has it; null: none. *begin: of the name.
const char* type_before(const char* text, const char* at, const char** begin) {
  constexpr Size kWord = 32;
  char word[kWord];
  word_before(text, at, word, kWord, begin);
  if (is_type_name(word)) return pstrdup(word);
  // timestamp with time zone $1, but not at time zone $1.
  const char* const kBefore[] = {"zone", "time", "with"};
  for (const char* wanted : kBefore) {
    if (strcmp(word, wanted) != 0) return nullptr;
    word_before(text, *begin, word, kWord, begin);
  }
  return strcmp(word, "timestamp") == 0 ? "timestamptz" : nullptr;
}

// What is known of a parameter.
struct Known {
  int number;
  const char* text;  // to be put in its place
};

const char* text_of(List* known, int number) {
  for (const Known* k : of_list<const Known>(known)) {
    if (k->number == number) return k->text;
  }
  return nullptr;
}

// date $1 as $1::date; extract($1 FROM x) with a field: within floor() the seconds, as buckets of
// so many are made, else one that there is not, as which it was is not known. known: Known*.
char* repaired(const char* text, List* known) {
  constexpr Size kWord = 32;
  StringInfoData out;
  initStringInfo(&out);
  for (const char* at = text; *at != '\0';) {
    const char* next = past_quoted(at);
    if (next != at) {
      appendBinaryStringInfo(&out, at, static_cast<int>(next - at));
      at = next;
      continue;
    }
    if (at[0] != '$' || isdigit(static_cast<unsigned char>(at[1])) == 0) {
      appendStringInfoChar(&out, *at++);
      continue;
    }
    const char* end = at + 1;
    while (isdigit(static_cast<unsigned char>(*end)) != 0) ++end;
    const int number = atoi(at + 1);
    const char* value = text_of(known, number);
    const char* parameter = value != nullptr ? value : pnstrdup(at, static_cast<Size>(end - at));
    char word[kWord];
    const char* begin;
    const char* type = type_before(out.data, out.data + out.len, &begin);
    if (type != nullptr) {
      out.len = static_cast<int>(begin - out.data);
      appendStringInfo(&out, "%s::%s", parameter, type);
      at = end;
      continue;
    }
    const char* from = end + strspn(end, " \t\n\r");
    const char* open = out.data + out.len;
    while (open > out.data && isspace(static_cast<unsigned char>(open[-1]))) --open;
    if (open > out.data && open[-1] == '(' && pg_strncasecmp(from, "from", 4) == 0) {
      word_before(out.data, open - 1, word, kWord, &begin);
      if (strcmp(word, "extract") == 0) {
        while (begin > out.data &&
               (begin[-1] == '(' || isspace(static_cast<unsigned char>(begin[-1]))))
          --begin;
        word_before(out.data, begin, word, kWord, &begin);
        if (value != nullptr)
          appendStringInfoString(&out, value);
        else if (strcmp(word, "floor") == 0)
          appendStringInfoString(&out, "epoch");
        else
          appendStringInfo(&out, "%s%d", kField, number);
        at = end;
        continue;
      }
    }
    appendStringInfoString(&out, parameter);
    at = end;
  }
  return out.data;
}

// ------------------------------------------------------------------------------------- raw trees

// Parameters, or constants, too, in the order of the walk.
struct Places {
  bool constants;
  List* found;  // ParamRef*, A_Const*
};

bool collect(Node* node, void* state) {
  if (node == nullptr) return false;
  auto* out = static_cast<Places*>(state);
  if (IsA(node, ParamRef) || (out->constants && IsA(node, A_Const))) {
    out->found = lappend(out->found, node);
    return false;
  }
  return raw_expression_tree_walker(node, as_walker(collect), state);
}

List* places_in(Node* node, bool constants) {
  Places out = {constants, NIL};
  (void)collect(node, &out);
  return out.found;
}

// A tree that is the same whatever parameters and constants it has.
Node* anonymous(Node* node) {
  Node* copy = static_cast<Node*>(copyObjectImpl(node));
  List* found = places_in(copy, true);
  for (ParamRef* place : of_list<ParamRef>(found)) {
    static_assert(sizeof(ParamRef) <= sizeof(A_Const));
    place->type = T_ParamRef;
    place->number = 0;
    place->location = -1;
  }
  return copy;
}

// The parameter that stands there; 0: none.
int parameter_at(const Node* node) {
  if (IsA(node, ParamRef)) return reinterpret_cast<const ParamRef*>(node)->number;
  const auto* c = reinterpret_cast<const A_Const*>(node);
  if (c->isnull || !IsA(&c->val, String)) return 0;
  const char* word = strVal(&c->val);
  return strncmp(word, kField, strlen(kField)) == 0 ? atoi(word + strlen(kField)) : 0;
}

// As SQL has it; null: it is NULL or the like.
const char* text_at(const Node* node) {
  if (IsA(node, ParamRef)) return psprintf("$%d", parameter_at(node));
  const auto* c = reinterpret_cast<const A_Const*>(node);
  if (c->isnull) return nullptr;
  switch (nodeTag(&c->val)) {
    case T_String:
      return quote_literal_cstr(strVal(&c->val));
    case T_Integer:
      return psprintf("%d", intVal(&c->val));
    case T_Float:
      return pstrdup(c->val.fval.fval);
    default:
      return nullptr;
  }
}

// What is like an expression of GROUP BY has its constants: the statement ran. Those of GROUP BY
// itself pg_stat_statements leaves as they are.
struct Likeness {
  Node* anonymous;
  List* places;
  List** known;
};

bool learn(Node* node, void* state) {
  if (node == nullptr) return false;
  const auto* like = static_cast<const Likeness*>(state);
  if (nodeTag(node) != nodeTag(like->anonymous) || !equal(anonymous(node), like->anonymous))
    return raw_expression_tree_walker(node, as_walker(learn), state);
  List* found = places_in(node, true);
  ListCell *own, *other;
  forboth(own, found, other, like->places) {
    const int number = parameter_at(static_cast<const Node*>(lfirst(own)));
    const auto* of = static_cast<const Node*>(lfirst(other));
    const char* text = text_at(of);
    if (number == 0 || text == nullptr || number == parameter_at(of) ||
        text_of(*like->known, number) != nullptr)
      continue;
    auto* known = static_cast<Known*>(palloc(sizeof(Known)));
    *known = {number, text};
    *like->known = lappend(*like->known, known);
  }
  return false;
}

// Of all queries in a statement, into List* of Known*.
bool learn_all(Node* node, void* state) {
  if (node == nullptr) return false;
  if (IsA(node, SelectStmt)) {
    auto* select = castNode(SelectStmt, node);
    for (Node* group : of_list<Node>(select->groupClause)) {
      List* places = places_in(group, true);
      if (places == NIL || IsA(group, A_Const)) continue;
      Likeness like = {anonymous(group), places, static_cast<List**>(state)};
      for (List* part : {select->targetList, select->sortClause, select->distinctClause})
        (void)learn(reinterpret_cast<Node*>(part), &like);
      (void)learn(select->havingClause, &like);
    }
  }
  return raw_expression_tree_walker(node, as_walker(learn_all), state);
}

bool is_call(const FuncCall* call, const char* name) {
  return strcmp(strVal(llast(call->funcname)), name) == 0;
}

// count($1) was count(1).
bool mend(Node* node, void* state) {
  if (node == nullptr) return false;
  if (IsA(node, FuncCall)) {
    auto* call = castNode(FuncCall, node);
    if (is_call(call, "count") && list_length(call->args) == 1 && !call->agg_distinct &&
        IsA(linitial(call->args), ParamRef)) {
      call->args = NIL;
      call->agg_star = true;
    }
  }
  return raw_expression_tree_walker(node, as_walker(mend), state);
}

// One after the other, as those that are missing have no type.
void number_anew(RawStmt* statement) {
  List* old = NIL;
  List* found = places_in(statement->stmt, false);
  for (ParamRef* parameter : of_list<ParamRef>(found)) {
    int at = 0;
    while (at < list_length(old) && list_nth_int(old, at) != parameter->number) ++at;
    if (at == list_length(old)) old = lappend_int(old, parameter->number);
    parameter->number = at + 1;
  }
}

bool cast_to_number(Node* node, void* state) {
  if (node == nullptr) return false;
  if (IsA(node, A_Expr)) {
    auto* e = castNode(A_Expr, node);
    const char* name = e->kind == AEXPR_OP ? strVal(llast(e->name)) : "";
    if ((strcmp(name, "+") == 0 || strcmp(name, "-") == 0) && e->rexpr != nullptr &&
        IsA(e->rexpr, ParamRef)) {
      auto* cast = makeNode(TypeCast);
      cast->arg = e->rexpr;
      cast->typeName = makeTypeNameFromOid(INT4OID, -1);
      cast->location = -1;
      e->rexpr = reinterpret_cast<Node*>(cast);
    }
  }
  return raw_expression_tree_walker(node, as_walker(cast_to_number), state);
}

// ------------------------------------------------------------------------------------- constants

Node* constant(const char* text, Oid type) {
  Oid input, parameter;
  getTypeInputInfo(type, &input, &parameter);
  const Datum value = OidInputFunctionCall(input, const_cast<char*>(text), parameter, -1);
  return reinterpret_cast<Node*>(makeConst(type, -1, get_typcollation(type), get_typlen(type),
                                           value, false, get_typbyval(type)));
}

bool is_number_type(Oid type) {
  return type == INT2OID || type == INT4OID || type == INT8OID || type == NUMERICOID ||
         type == FLOAT4OID || type == FLOAT8OID;
}

// What stands for a parameter of a bucket's function; null: nothing does.
const char* stand_in(Oid function, int argument) {
  switch (function) {
    case F_DATE_TRUNC_TEXT_TIMESTAMP:
    case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
    case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
      return argument == 0 ? kUnit : argument == 2 ? kZone : nullptr;
    case F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP:
    case F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ:
      return argument == 0 ? kLength : argument == 2 ? kOrigin : nullptr;
    case F_TIMEZONE_TEXT_TIMESTAMPTZ:
    case F_TIMEZONE_TEXT_TIMESTAMP:
      return argument == 0 ? kZone : nullptr;
    case F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4:
    case F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4:
      return argument == 1 ? "0" : argument == 0 ? nullptr : kNumber;
    default:
      return nullptr;
  }
}

bool has_rounding(Node* node, void* state) {
  if (node == nullptr) return false;
  if (IsA(node, FuncExpr) && is_rounding(castNode(FuncExpr, node)->funcid)) return true;
  return expression_tree_walker(node, as_walker(has_rounding), state);
}

struct Filling {
  bool in_number;  // all parameters that are numbers
};

Node* fill(Node* node, void* state) {
  if (node == nullptr) return nullptr;
  const auto* now = static_cast<const Filling*>(state);
  if (IsA(node, Query))
    return reinterpret_cast<Node*>(
        query_tree_mutator(castNode(Query, node), as_mutator(fill), state, 0));
  if (IsA(node, Param)) {
    const auto* param = castNode(Param, node);
    if (now->in_number && param->paramkind == PARAM_EXTERN && is_number_type(param->paramtype))
      return constant(param->paramtype == INT2OID ? "9876" : kNumber, param->paramtype);
    return static_cast<Node*>(copyObjectImpl(node));
  }
  Filling in = *now;
  if (IsA(node, FuncExpr)) {
    const auto* f = castNode(FuncExpr, node);
    auto* copy = static_cast<FuncExpr*>(copyObjectImpl(node));
    ListCell* cell;
    foreach (cell, copy->args) {
      const char* text = stand_in(f->funcid, foreach_current_index(cell));
      Node* argument = static_cast<Node*>(lfirst(cell));
      if (text != nullptr && IsA(argument, Param))
        lfirst(cell) = constant(text, castNode(Param, argument)->paramtype);
    }
    in.in_number = in.in_number || is_rounding(f->funcid);
    return expression_tree_mutator(reinterpret_cast<Node*>(copy), as_mutator(fill), &in);
  }
  if (IsA(node, OpExpr) && is_number_type(castNode(OpExpr, node)->opresulttype))
    in.in_number = in.in_number || has_rounding(node, nullptr);
  else if (IsA(node, OpExpr) || IsA(node, Aggref) || IsA(node, BoolExpr))
    in.in_number = false;
  return expression_tree_mutator(node, as_mutator(fill), &in);
}

// What a client prepares, or a cursor is of, is what it asks.
RawStmt* parsed(const char* text, List* known) {
  List* raw = raw_parser(repaired(text, known), RAW_PARSE_DEFAULT);
  if (list_length(raw) != 1) return nullptr;
  auto* out = linitial_node(RawStmt, raw);
  for (;;) {
    if (IsA(out->stmt, PrepareStmt))
      out->stmt = castNode(PrepareStmt, out->stmt)->query;
    else if (IsA(out->stmt, DeclareCursorStmt))
      out->stmt = castNode(DeclareCursorStmt, out->stmt)->query;
    else
      return out;
  }
}

}  // namespace

RawStmt* parse_statement(const char* text) {
  List* known = NIL;
  RawStmt* out = parsed(text, known);
  if (out == nullptr || !IsA(out->stmt, SelectStmt)) return out;
  (void)learn_all(out->stmt, &known);
  if (known != NIL) out = parsed(text, known);
  (void)mend(out->stmt, nullptr);
  number_anew(out);
  return out;
}

void type_parameters_as_numbers(RawStmt* statement) {
  (void)cast_to_number(statement->stmt, nullptr);
}

bool has_stand_in(const char* text) {
  for (const char* word : {kField, kUnit, kZone, kLength, kOrigin, kNumber})
    if (strstr(text, word) != nullptr) return true;
  return false;
}

Query* with_bucket_constants(Query* query) {
  Filling none = {false};
  return query_tree_mutator(query, as_mutator(fill), &none, 0);
}

}  // namespace kde_pg
