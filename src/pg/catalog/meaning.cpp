// What a density's columns, expressions and filter mean, as text: gathered from the system caches and
// from the analysed trees.
#include "pg/catalog/meaning.h"

#include "pg/base/pinned.h"
#include "pg/base/text_list.h"
#include "pg/base/tree_walk.h"
#include "pg/catalog/expression.h"
#include "pg/type/word_type.h"

extern "C" {
#include "access/genam.h"
#include "access/parallel.h"
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "common/hashfn.h"
#include "nodes/primnodes.h"
#include "rewrite/rewriteHandler.h"
#include "utils/fmgrprotos.h"
#include "utils/regproc.h"
#include "utils/ruleutils.h"
#include "utils/typcache.h"
}

#include <cstdio>
#include <initializer_list>

namespace kde_pg {

namespace {

// Settings, one bit each.
constexpr unsigned kTimeZone = 1, kDateStyle = 2, kIntervalStyle = 4, kFloatDigits = 8,
                   kByteaOutput = 16, kLcMonetary = 32, kLcNumeric = 64, kLcTime = 128,
                   kTextSearch = 256, kEverySetting = 511;
void add_line(Meaning* m, char* line) {
  for (const char* known : of_list<const char>(m->lines))
    if (strcmp(known, line) == 0) return;
  m->lines = lappend(m->lines, line);
}

char* array_out_text(ArrayType* array) {
  return OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(array));
}

char* list_as_array(List* texts) { return array_out_text(array_of_texts(texts)); }

// With a schema, but for the server's own: the search path is pinned.
char* type_name(Oid type, int32 typmod = -1) { return format_type_with_typemod(type, typmod); }

char* collation_name(Oid collation) {
  HeapTuple tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for collation %u", collation);
  const auto* form = reinterpret_cast<Form_pg_collation>(GETSTRUCT(tuple));
  char* name =
      quote_qualified_identifier(get_namespace_name(form->collnamespace), NameStr(form->collname));
  ReleaseSysCache(tuple);
  return name;
}

// What a collation's order is, by its provider; null: it has no versions. Through SQL's functions:
// the header of the server's own needs ICU's.
char* collation_version(Oid collation) {
  const bool database = collation == DEFAULT_COLLATION_OID;
  LOCAL_FCINFO(fcinfo, 1);
  InitFunctionCallInfoData(*fcinfo, nullptr, 1, InvalidOid, nullptr, nullptr);
  fcinfo->args[0] = {ObjectIdGetDatum(database ? MyDatabaseId : collation), false};
  const Datum version =
      database ? pg_database_collation_actual_version(fcinfo) : pg_collation_actual_version(fcinfo);
  return fcinfo->isnull ? nullptr : TextDatumGetCString(version);
}

void add_collation(Meaning* m, Oid collation) {
  if (!OidIsValid(collation)) return;
  const char* version = collation_version(collation);
  if (version != nullptr)
    add_line(m, psprintf("collation %s=%s", collation_name(collation), version));
}

// The labels' numbers in this database, which stay where a label is renamed.
List* label_numbers(Oid type, List* labels) {
  List* out = NIL;
  for (char* label : of_list<char>(labels)) {
    const Oid oid = GetSysCacheOid2(ENUMTYPOIDNAME, Anum_pg_enum_oid, ObjectIdGetDatum(type),
                                    CStringGetDatum(label));
    out = lappend(out, psprintf("%u", oid));
  }
  return out;
}

void add_labels(Meaning* m, Oid type) {
  List* labels = enum_labels(type);
  add_line(m, psprintf("labels %s=%s", type_name(type), list_as_array(labels)));
  add_line(m,
           psprintf("numbers %s=%s", type_name(type), list_as_array(label_numbers(type, labels))));
}

// A type's own meaning, and that of those in it: what its texts and its order depend on.
void add_type(Meaning* m, Oid type) {
  check_stack_depth();
  if (!OidIsValid(type) || list_member_oid(m->types, type)) return;
  m->types = lappend_oid(m->types, type);
  const Oid element = get_element_type(type);
  if (OidIsValid(element)) return add_type(m, element);
  switch (get_typtype(type)) {
    case TYPTYPE_ENUM:
      return add_labels(m, type);
    case TYPTYPE_DOMAIN:
      return add_type(m, getBaseType(type));
    case TYPTYPE_RANGE: {
      const Oid subtype = get_range_subtype(type);
      if (type >= FirstNormalObjectId)
        add_line(m, psprintf("type %s=%s", type_name(type), type_name(subtype)));
      return add_type(m, subtype);
    }
    case TYPTYPE_MULTIRANGE:
      return add_type(m, get_multirange_range(type));
    case TYPTYPE_COMPOSITE: {
      if (type < FirstNormalObjectId) return;
      StringInfoData text;
      initStringInfo(&text);
      TupleDesc desc = lookup_rowtype_tupdesc_copy(type, -1);
      for (int i = 0; i < desc->natts; ++i) {
        const Form_pg_attribute a = TupleDescAttr(desc, i);
        if (a->attisdropped) continue;
        appendStringInfo(&text, "%s%s %s", text.len > 0 ? ", " : "",
                         quote_identifier(NameStr(a->attname)),
                         type_name(a->atttypid, a->atttypmod));
        add_type(m, a->atttypid);
      }
      return add_line(m, psprintf("type %s=%s", type_name(type), text.data));
    }
    default:
      return;
  }
}

// Settings by which values of a type are printed and read.
unsigned settings_of_text(Oid type) {
  check_stack_depth();
  type = getBaseType(type);
  const Oid element = get_element_type(type);
  if (OidIsValid(element)) return settings_of_text(element);
  switch (type) {
    case DATEOID:
    case TIMEOID:
    case TIMESTAMPOID:
      return kDateStyle;
    case TIMETZOID:
    case TIMESTAMPTZOID:
      return kDateStyle | kTimeZone;
    case INTERVALOID:
      return kIntervalStyle;
    case FLOAT4OID:
    case FLOAT8OID:
    case POINTOID:
    case LSEGOID:
    case PATHOID:
    case BOXOID:
    case POLYGONOID:
    case LINEOID:
    case CIRCLEOID:
      return kFloatDigits;
    case BYTEAOID:
      return kByteaOutput;
    case MONEYOID:
      return kLcMonetary;
    case RECORDOID:
      return kEverySetting & ~kTextSearch;
    default:
      break;
  }
  switch (get_typtype(type)) {
    case TYPTYPE_RANGE:
      return settings_of_text(get_range_subtype(type));
    case TYPTYPE_MULTIRANGE:
      return settings_of_text(get_multirange_range(type));
    case TYPTYPE_COMPOSITE: {
      unsigned all = 0;
      TupleDesc desc = lookup_rowtype_tupdesc_copy(type, -1);
      for (int i = 0; i < desc->natts; ++i)
        if (!TupleDescAttr(desc, i)->attisdropped)
          all |= settings_of_text(TupleDescAttr(desc, i)->atttypid);
      return all;
    }
    default:
      return 0;
  }
}

// STABLE functions of the server by what they depend on. Others of them look at the session, the
// time or the catalogs.
enum class Family { none, zone, text, fixed, format, number, money, search };

bool is_one_of(const char* name, std::initializer_list<const char*> names) {
  for (const char* n : names)
    if (strcmp(name, n) == 0) return true;
  return false;
}

bool ends_in(const char* name, const char* end) {
  const Size length = strlen(name), tail = strlen(end);
  return length > tail && strcmp(name + length - tail, end) == 0;
}

Family family_of(Oid function, const char* name) {
  switch (function) {
    case F_AGE_TIMESTAMP:
    case F_AGE_TIMESTAMPTZ:
    case F_TIMETZ_TIME:  // of today
    case F_TIMEZONE_TEXT_TIMETZ:
    case F_TIMETZ_IN:
      return Family::none;
    default:
      break;
  }
  if (is_one_of(name, {"date_part",
                       "extract",
                       "date_trunc",
                       "date",
                       "timestamp",
                       "timestamptz",
                       "time",
                       "timetz",
                       "overlaps",
                       "in_range",
                       "make_timestamptz",
                       "interval_pl_timestamptz",
                       "timestamptz_pl_interval",
                       "timestamptz_mi_interval",
                       "date_add",
                       "date_subtract",
                       "timezone",
                       "jsonb_path_exists_tz",
                       "jsonb_path_match_tz",
                       "jsonb_path_query_array_tz",
                       "jsonb_path_query_first_tz"}))
    return Family::zone;
  // Comparisons, such as date_lt_timestamptz.
  const bool of_dates = strncmp(name, "date_", 5) == 0 || strncmp(name, "timestamp", 9) == 0;
  if (of_dates && (ends_in(name, "_timestamptz") || ends_in(name, "_timestamp") ||
                   (strncmp(name, "timestamptz_", 12) == 0 && ends_in(name, "_date"))))
    return Family::zone;
  if (is_one_of(name, {"concat", "concat_ws", "format", "array_to_string", "anytextcat",
                       "textanycat", "quote_literal", "quote_nullable", "to_json", "to_jsonb",
                       "row_to_json", "array_to_json", "json_build_array", "json_build_object",
                       "jsonb_build_array", "jsonb_build_object"}))
    return Family::text;
  // By the types of the node that calls them.
  if (is_one_of(name, {"date_in",       "date_out",       "time_in",         "timestamp_in",
                       "timestamp_out", "timestamptz_in", "timestamptz_out", "interval_in",
                       "interval_out",  "array_in",       "array_out",       "range_in",
                       "range_out",     "multirange_in",  "multirange_out",  "record_in",
                       "record_out",    "enum_in",        "enum_out",        "domain_in",
                       "cash_in",       "cash_out",       "byteaout",        "anyarray_out"}))
    return Family::text;
  if (is_one_of(name, {"enum_first", "enum_last", "enum_range", "convert", "convert_from",
                       "convert_to", "length"}))
    return Family::fixed;
  if (is_one_of(name, {"to_char", "to_date", "to_timestamp"})) return Family::format;
  if (is_one_of(name, {"to_number"})) return Family::number;
  if (is_one_of(name, {"money", "numeric"})) return Family::money;
  if (is_one_of(name, {"to_tsvector", "to_tsquery", "plainto_tsquery", "phraseto_tsquery",
                       "websearch_to_tsquery"}))
    return Family::search;
  return Family::none;
}

[[noreturn]] void refuse_part(const char* what) {
  ereport(ERROR,
          (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
           errmsg("%s is not allowed in the columns and filter of a density", what),
           errdetail("It depends on the time or the session: what was fitted would mean something "
                     "else when it is asked."),
           errhint("Compare with a constant, as in sold_at >= '2026-01-01', or fit a column of "
                   "the table that holds the value.")));
  pg_unreachable();
}

List* arguments_of(Node* node) {
  switch (nodeTag(node)) {
    case T_FuncExpr:
      return castNode(FuncExpr, node)->args;
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr:
      return reinterpret_cast<OpExpr*>(node)->args;
    case T_ScalarArrayOpExpr:
      return castNode(ScalarArrayOpExpr, node)->args;
    case T_CoerceViaIO:
      return list_make1(castNode(CoerceViaIO, node)->arg);
    default:
      return NIL;
  }
}

unsigned settings_of_arguments(Node* node) {
  unsigned all = 0;
  for (Node* element : of_list<Node>(arguments_of(node)))
    all |= settings_of_text(exprType(element));
  return all;
}

bool is_month_name_format(Node* node) {
  List* arguments = arguments_of(node);
  if (list_length(arguments) < 2) return true;
  auto* format = static_cast<Node*>(lsecond(arguments));
  if (!IsA(format, Const) || castNode(Const, format)->constisnull) return true;
  return strstr(TextDatumGetCString(castNode(Const, format)->constvalue), "TM") != nullptr;
}

unsigned settings_of_format(Node* node) {
  List* arguments = arguments_of(node);
  const Oid first =
      arguments == NIL ? InvalidOid : exprType(static_cast<Node*>(linitial(arguments)));
  const Oid result = exprType(node);
  unsigned all = first == TIMESTAMPTZOID || result == TIMESTAMPTZOID ? kTimeZone : 0U;
  const bool of_time = first == TIMESTAMPTZOID || first == TIMESTAMPOID || first == INTERVALOID ||
                       result == TIMESTAMPTZOID || result == DATEOID;
  if (of_time)
    all |= is_month_name_format(node) ? kLcTime : 0U;
  else
    all |= kLcNumeric | kLcMonetary;
  return all;
}

void add_function(Meaning* m, Oid function);

// The functions that a body in SQL (BEGIN ATOMIC) or a constraint calls, by the dependency catalog.
// Of other bodies nothing is known.
void add_called(Meaning* m, Oid catalog, Oid object) {
  ScanKeyData key[2];
  ScanKeyInit(&key[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ,
              ObjectIdGetDatum(catalog));
  ScanKeyInit(&key[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ,
              ObjectIdGetDatum(object));
  List* called = NIL;
  Relation depend = table_open(DependRelationId, AccessShareLock);
  SysScanDesc scan = systable_beginscan(depend, DependDependerIndexId, true, nullptr, 2, key);
  HeapTuple tuple;
  while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
    const auto* found = reinterpret_cast<Form_pg_depend>(GETSTRUCT(tuple));
    Oid other = InvalidOid;
    if (found->refclassid == ProcedureRelationId) other = found->refobjid;
    if (found->refclassid == OperatorRelationId) other = get_opcode(found->refobjid);
    if (other >= FirstNormalObjectId) called = lappend_oid(called, other);
  }
  systable_endscan(scan);
  table_close(depend, AccessShareLock);
  for (const Oid oid : oids(called)) add_function(m, oid);
}

// A function's definition may change under the same name.
void add_function(Meaning* m, Oid function) {
  check_stack_depth();
  if (list_member_oid(m->functions, function)) return;
  m->functions = lappend_oid(m->functions, function);
  HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for function %u", function);
  const auto* form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
  const bool as_owner = form->prosecdef;
  const Oid owner = form->proowner;
  ReleaseSysCache(tuple);
  const char* definition =
      TextDatumGetCString(DirectFunctionCall1(pg_get_functiondef, ObjectIdGetDatum(function)));
  if (as_owner) definition = psprintf("%s%s", definition, GetUserNameFromId(owner, true));
  add_line(m, psprintf("function %s=" UINT64_FORMAT, format_procedure_qualified(function),
                       hash_text(definition)));
  add_called(m, ProcedureRelationId, function);
}

Oid type_beneath(Oid domain) {
  HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(domain));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for type %u", domain);
  const Oid base = reinterpret_cast<Form_pg_type>(GETSTRUCT(tuple))->typbasetype;
  ReleaseSysCache(tuple);
  return base;
}

// What a cast to a domain refuses: its constraints, and those of the domains that it is over.
void add_domain(Meaning* m, Oid type) {
  while (get_typtype(type) == TYPTYPE_DOMAIN) {
    List* texts = NIL;
    List* numbers = NIL;
    ScanKeyData key[2];
    ScanKeyInit(&key[0], Anum_pg_constraint_conrelid, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(InvalidOid));
    ScanKeyInit(&key[1], Anum_pg_constraint_contypid, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(type));
    Relation constraints = table_open(ConstraintRelationId, AccessShareLock);
    // In the order of their names.
    SysScanDesc scan =
        systable_beginscan(constraints, ConstraintRelidTypidNameIndexId, true, nullptr, 2, key);
    HeapTuple tuple;
    while (HeapTupleIsValid(tuple = systable_getnext(scan)))
      numbers = lappend_oid(numbers, reinterpret_cast<Form_pg_constraint>(GETSTRUCT(tuple))->oid);
    systable_endscan(scan);
    table_close(constraints, AccessShareLock);
    for (const Oid oid : oids(numbers)) {
      texts = lappend(texts, TextDatumGetCString(
                                 DirectFunctionCall1(pg_get_constraintdef, ObjectIdGetDatum(oid))));
      add_called(m, ConstraintRelationId, oid);
    }
    if (texts != NIL) add_line(m, psprintf("domain %s=%s", type_name(type), list_as_array(texts)));
    type = type_beneath(type);
  }
}

struct Looking {
  Meaning* meaning;
  Node* node;
};

bool look_at_function(Oid function, void* context) {
  auto* looking = static_cast<Looking*>(context);
  Meaning* m = looking->meaning;
  const char volatility = func_volatile(function);
  if (function >= FirstNormalObjectId) {
    if (volatility == PROVOLATILE_STABLE && m->refuses)
      ereport(ERROR,
              (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
               errmsg("function %s is STABLE, which is not allowed in the columns and filter of a "
                      "density",
                      format_procedure(function)),
               errdetail("What was fitted would mean something else where it gives other values."),
               errhint("Declare it IMMUTABLE if it depends on its arguments alone, or fit a column "
                       "of the table that holds the value.")));
    add_function(m, function);
    return false;
  }
  if (volatility != PROVOLATILE_STABLE) return false;
  const char* name = get_func_name(function);
  Node* node = looking->node;
  m->stable = true;
  switch (family_of(function, name)) {
    case Family::none:
      if (m->refuses) refuse_part(psprintf("%s()", name));
      m->settings |= kEverySetting;
      break;
    case Family::zone:
      m->settings |= kTimeZone;
      break;
    case Family::text:
      m->settings |= settings_of_arguments(node) | settings_of_text(exprType(node));
      break;
    case Family::fixed:
      break;
    case Family::format:
      m->settings |= settings_of_format(node);
      break;
    case Family::number:
      m->settings |= kLcNumeric | kLcMonetary;
      break;
    case Family::money:
      m->settings |= kLcMonetary;
      break;
    case Family::search:
      m->settings |= kTextSearch;
      break;
  }
  return false;
}

// Which texts are equal, where all bytes tell.
bool is_plain_equality(Node* node) {
  if (!IsA(node, OpExpr) && !IsA(node, ScalarArrayOpExpr)) return false;
  const Oid op =
      IsA(node, OpExpr) ? castNode(OpExpr, node)->opno : castNode(ScalarArrayOpExpr, node)->opno;
  switch (get_opcode(op)) {
    case F_TEXTEQ:
    case F_TEXTNE:
    case F_BPCHAREQ:
    case F_BPCHARNE:
    case F_TEXTLIKE:
    case F_TEXTNLIKE:
      return true;
    default:
      return false;
  }
}

void look_at_collation(Node* node, Meaning* m) {
  const Oid collation = exprInputCollation(node);
  if (!OidIsValid(collation)) return;
  if (is_plain_equality(node) && get_collation_isdeterministic(collation)) return;
  add_collation(m, collation);
}

bool is_time_type(Oid type) {
  type = getBaseType(type);
  return type == DATEOID || type == TIMEOID || type == TIMETZOID || type == TIMESTAMPOID ||
         type == TIMESTAMPTZOID;
}

bool look(Node* node, void* context) {
  if (node == nullptr) return false;
  check_stack_depth();
  auto* m = static_cast<Meaning*>(context);
  switch (nodeTag(node)) {
    case T_SQLValueFunction:
      if (m->refuses) refuse_part("the time or the user of a session");
      m->settings |= kEverySetting;
      break;
    case T_XmlExpr:
      if (m->refuses) refuse_part("XML");
      break;
    case T_CoerceViaIO: {
      const auto* io = castNode(CoerceViaIO, node);
      m->settings |= settings_of_text(exprType(reinterpret_cast<Node*>(io->arg))) |
                     settings_of_text(io->resulttype);
      // 'now'::text::timestamptz.
      if (m->refuses && is_time_type(io->resulttype) &&
          !contain_var_clause(reinterpret_cast<Node*>(io->arg)))
        refuse_part("a time read from a text");
      add_type(m, io->resulttype);
      break;
    }
    case T_CoerceToDomain:
      add_type(m, castNode(CoerceToDomain, node)->resulttype);
      add_domain(m, castNode(CoerceToDomain, node)->resulttype);
      break;
    case T_Var:
    case T_Const:
    case T_FuncExpr:
    case T_RelabelType:
    case T_ArrayCoerceExpr:
    case T_ArrayExpr:
    case T_FieldSelect:
      add_type(m, exprType(node));
      break;
    default:
#if PG_VERSION_NUM >= 160000
      if (IsA(node, JsonConstructorExpr)) m->settings |= kEverySetting & ~kTextSearch;
#endif
      break;
  }
  if (!IsA(node, List)) {
    look_at_collation(node, m);
    Looking looking = {m, node};
    (void)check_functions_in_node(node, look_at_function, &looking);
  }
  return expression_tree_walker(node, as_walker(look), context);
}

void look_at_tree(const Node* tree, Meaning* m) {
  if (tree == nullptr) return;
  // Planned, as inlining and defaults of arguments bring functions in, too.
  Node* planned = nullptr;
  if (m->refuses) {
    planned = reinterpret_cast<Node*>(expression_planner(static_cast<Expr*>(copyObjectImpl(tree))));
    if (contain_volatile_functions(planned))
      ereport(ERROR,
              (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
               errmsg("volatile functions are not allowed in the columns and filter of a density"),
               errhint("Fit a column of the table that holds the value.")));
  }
  (void)look(const_cast<Node*>(tree), m);
  if (planned == nullptr) return;
  (void)look(planned, m);
  if (!m->stable && contain_mutable_functions(planned)) refuse_part("what is not IMMUTABLE");
}

#if PG_VERSION_NUM >= 180000
// A virtual generated column is what its expression gives.
void look_at_generated(Oid relation, AttrNumber attnum, Meaning* m) {
  Relation table = try_relation_open(relation, AccessShareLock);
  if (table == nullptr) return;
  look_at_tree(build_generation_expression(table, attnum), m);
  relation_close(table, NoLock);
}
#endif

// The type and collation of a value of the key.
char* describe_value(Oid type, int32 typmod, Oid collation, Meaning* m) {
  add_type(m, type);
  StringInfoData text;
  initStringInfo(&text);
  // Its labels tell, whatever its name.
  appendStringInfo(&text, "%s%s", type_is_enum(type) ? "enum " : "", type_name(type, typmod));
  if (get_typtype(type) == TYPTYPE_DOMAIN) {
    const Oid base = getBaseTypeAndTypmod(type, &typmod);
    appendStringInfo(&text, " over %s", type_name(base, typmod));
  }
  if (OidIsValid(collation)) {
    if (collation != DEFAULT_COLLATION_OID)
      appendStringInfo(&text, " collate %s", collation_name(collation));
    // By which other texts may be the same.
    if (!get_collation_isdeterministic(collation)) add_collation(m, collation);
  }
  return text.data;
}

char* describe_attribute(Oid relation, AttrNumber attnum, Meaning* m) {
  HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(attnum));
  if (!HeapTupleIsValid(tuple)) return pstrdup("");
  const auto* a = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple));
  const Oid type = a->atttypid, collation = a->attcollation;
  const int32 typmod = a->atttypmod;
  const bool dropped = a->attisdropped;
#if PG_VERSION_NUM >= 180000
  const char generated = a->attgenerated;
#endif
  ReleaseSysCache(tuple);
  if (dropped) return pstrdup("");
#if PG_VERSION_NUM >= 180000
  if (generated == ATTRIBUTE_GENERATED_VIRTUAL) look_at_generated(relation, attnum, m);
#endif
  return describe_value(type, typmod, collation, m);
}

}  // namespace

bool is_analysed(const DensityKey& key) {
  bool out = !key.has_filter() || key.condition != nullptr;
  for (int i = 0; i < key.all(); ++i)
    out = out && (key.column[i].attnum != 0 || key.column[i].expression != nullptr);
  return out;
}

DensityKey analysed(const DensityKey& key) {
  DensityKey out = key;
  if (is_analysed(key)) return out;
  Relation relation = try_relation_open(key.relation, AccessShareLock);
  if (relation == nullptr)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("its table is gone")));
  analyse_key(relation, nullptr, &out);
  relation_close(relation, NoLock);
  return out;
}

List* meaning_of(const DensityKey& key, Meaning* m) {
  // Names and what they stand for are printed alike for everybody.
  PinnedSettings pinned;
  pinned.begin();
  List* out = NIL;
  for (int i = 0; i < key.all(); ++i) {
    const KeyColumn& c = key.column[i];
    out = lappend(out, c.attnum != 0
                           ? describe_attribute(key.relation, c.attnum, m)
                           : describe_value(exprType(c.expression), exprTypmod(c.expression),
                                            exprCollation(c.expression), m));
  }
  for (int i = 0; i < key.references; ++i)
    out = lappend(out, describe_attribute(key.relation, key.reference[i], m));
  look_at_trees(key, m);
  pinned.end();
  return out;
}

void look_at_trees(const DensityKey& key, Meaning* m) {
  for (int i = 0; i < key.all(); ++i) look_at_tree(key.column[i].expression, m);
  look_at_tree(key.condition, m);
}

void check_not_volatile(const DensityKey& key) {
  Meaning m;
  m.refuses = true;
  look_at_trees(key, &m);
}

}  // namespace kde_pg
