// How a density's columns, expressions and filter were meant: gathered from the system caches and
// from the analysed trees, as text, and compared with what was stored.
#include "pg/catalog/as_fitted.h"

#include "pg/base/pinned.h"
#include "pg/base/subtransaction.h"
#include "pg/base/tree_walk.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/expression.h"
#include "pg/type/word_type.h"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"
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
constexpr const char* kSettingNames[] = {
    "TimeZone",    "DateStyle",  "IntervalStyle", "extra_float_digits",        "bytea_output",
    "lc_monetary", "lc_numeric", "lc_time",       "default_text_search_config"};
constexpr const char* kSetting = "setting ";
constexpr const char* kLabels = "labels ";
constexpr const char* kNumbers = "numbers ";

bool begins(const char* text, const char* with) { return strncmp(text, with, strlen(with)) == 0; }

// What is gathered of a key.
struct Meaning {
  List* lines = NIL;  // char*, each once
  unsigned settings = 0;
  List* types = NIL;  // those looked at, Oids
  List* functions = NIL;
  bool refuses = false;
  bool stable = false;  // there are STABLE parts of known kinds
};

void add_line(Meaning* m, char* line) {
  ListCell* cell;
  foreach (cell, m->lines)
    if (strcmp(static_cast<const char*>(lfirst(cell)), line) == 0) return;
  m->lines = lappend(m->lines, line);
}

char* array_out_text(ArrayType* array) {
  return OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(array));
}

char* list_as_array(List* texts) {
  const int n = list_length(texts);
  Datum* values = static_cast<Datum*>(palloc(sizeof(Datum) * static_cast<Size>(n + 1)));
  ListCell* cell;
  foreach (cell, texts)
    values[foreach_current_index(cell)] =
        CStringGetTextDatum(static_cast<const char*>(lfirst(cell)));
  return array_out_text(construct_array(values, n, TEXTOID, -1, false, TYPALIGN_INT));
}

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
  ListCell* cell;
  foreach (cell, labels) {
    const Oid oid = GetSysCacheOid2(ENUMTYPOIDNAME, Anum_pg_enum_oid, ObjectIdGetDatum(type),
                                    CStringGetDatum(static_cast<char*>(lfirst(cell))));
    out = lappend(out, psprintf("%u", oid));
  }
  return out;
}

void add_labels(Meaning* m, Oid type) {
  List* labels = enum_labels(type);
  add_line(m, psprintf("%s%s=%s", kLabels, type_name(type), list_as_array(labels)));
  add_line(m, psprintf("%s%s=%s", kNumbers, type_name(type),
                       list_as_array(label_numbers(type, labels))));
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
  ListCell* cell;
  foreach (cell, arguments_of(node))
    all |= settings_of_text(exprType(static_cast<Node*>(lfirst(cell))));
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
  ListCell* cell;
  foreach (cell, called) add_function(m, lfirst_oid(cell));
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
  const uint64 hash = hash_bytes_extended(reinterpret_cast<const unsigned char*>(definition),
                                          static_cast<int>(strlen(definition)), 0);
  add_line(m, psprintf("function %s=" UINT64_FORMAT, format_procedure_qualified(function), hash));
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
    ListCell* cell;
    foreach (cell, numbers) {
      texts = lappend(texts, TextDatumGetCString(DirectFunctionCall1(
                                 pg_get_constraintdef, ObjectIdGetDatum(lfirst_oid(cell)))));
      add_called(m, ConstraintRelationId, lfirst_oid(cell));
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
  (void)look(const_cast<Node*>(tree), m);
  if (!m->refuses) return;
  // And what defaults of arguments and inlined bodies bring in.
  Node* planned =
      reinterpret_cast<Node*>(expression_planner(static_cast<Expr*>(copyObjectImpl(tree))));
  (void)look(planned, m);
  if (!m->stable && contain_mutable_functions(planned)) refuse_part("what is not IMMUTABLE");
}

void look_at_trees(const DensityKey& key, Meaning* m) {
  for (int i = 0; i < key.all(); ++i) look_at_tree(key.column[i].expression, m);
  look_at_tree(key.condition, m);
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

bool has_texts(const DensityKey& key) {
  bool any = key.has_filter();
  for (int i = 0; i < key.all(); ++i) any = any || key.column[i].attnum == 0;
  return any;
}

bool is_analysed(const DensityKey& key) {
  bool out = !key.has_filter() || key.condition != nullptr;
  for (int i = 0; i < key.all(); ++i)
    out = out && (key.column[i].attnum != 0 || key.column[i].expression != nullptr);
  return out;
}

// With its trees. The relation need not be open.
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

// Each in its place, as texts; then the lines.
List* describe(const DensityKey& key, Meaning* m) {
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

List* texts_in(ArrayType* array) {
  List* out = NIL;
  if (array == nullptr || ARR_NDIM(array) > 1 || ARR_ELEMTYPE(array) != TEXTOID) return out;
  Datum* values;
  bool* nulls;
  int n;
  deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &n);
  for (int i = 0; i < n; ++i)
    out = lappend(out, nulls[i] ? pstrdup("") : TextDatumGetCString(values[i]));
  return out;
}

ArrayType* array_of(List* texts) {
  const int n = list_length(texts);
  Datum* values = static_cast<Datum*>(palloc(sizeof(Datum) * static_cast<Size>(n + 1)));
  ListCell* cell;
  foreach (cell, texts)
    values[foreach_current_index(cell)] =
        CStringGetTextDatum(static_cast<const char*>(lfirst(cell)));
  return construct_array(values, n, TEXTOID, -1, false, TYPALIGN_INT);
}

// The value of a setting among lines of them, palloc'ed; null: it is not there.
char* setting_in(const char* lines, const char* name) {
  const Size length = strlen(name);
  for (const char* line = lines; line != nullptr && *line != '\0';) {
    const char* end = strchrnul(line, '\n');
    if (strncmp(line, name, length) == 0 && line[length] == '=')
      return pnstrdup(line + length + 1, static_cast<Size>(end - line) - length - 1);
    line = *end == '\0' ? end : end + 1;
  }
  return nullptr;
}

char* settings_text(const DensityKey& key, unsigned settings) {
  StringInfoData text;
  initStringInfo(&text);
  for (unsigned i = 0; i < lengthof(kSettingNames); ++i) {
    if ((settings >> i & 1U) == 0) continue;
    const char* value = setting_in(key.settings, kSettingNames[i]);
    if (value == nullptr) value = GetConfigOption(kSettingNames[i], false, false);
    appendStringInfo(&text, "%s%s=%s", text.len > 0 ? "\n" : "", kSettingNames[i], value);
  }
  return text.data;
}

List* read_list(const char* line, Size from) {
  Oid input, io_param;
  getTypeInputInfo(TEXTARRAYOID, &input, &io_param);
  return texts_in(DatumGetArrayTypeP(
      OidInputFunctionCall(input, const_cast<char*>(line + from), io_param, -1)));
}

int place_in(List* texts, const char* text) {
  ListCell* cell;
  foreach (cell, texts)
    if (strcmp(static_cast<const char*>(lfirst(cell)), text) == 0)
      return foreach_current_index(cell);
  return -1;
}

// Whether the labels that there were are there, in their order: those that were added change
// nothing of the values that were read. A label may have been renamed, and its old name be
// another's by now: its number tells, unless a dump came between.
bool are_labels_kept(List* then, List* numbers, List* now, List* numbers_now) {
  int last = -1;
  for (int i = 0; i < list_length(then); ++i) {
    const int at = place_in(now, static_cast<const char*>(list_nth(then, i)));
    if (at <= last) return false;
    last = at;
    const int renamed = i < list_length(numbers)
                            ? place_in(numbers_now, static_cast<const char*>(list_nth(numbers, i)))
                            : -1;
    if (renamed >= 0 && renamed != at) return false;
  }
  return true;
}

// Up to the last '=' that is no part of the name; names may have one, quoted.
Size name_length(const char* line) {
  bool quoted = false;
  for (const char* p = line; *p != '\0'; ++p) {
    if (*p == '"') quoted = !quoted;
    if (*p == '=' && !quoted) return static_cast<Size>(p - line);
  }
  return strlen(line);
}

// What a line of labels, the k-th of them, says beside that of their numbers, which follows it.
char* labels_changed(const char* then, const char* numbers, int k, List* now) {
  const Size length = name_length(then);
  int found = -1, same_place = -1, place = 0;
  for (int i = 0; i < list_length(now); ++i) {
    const char* line = static_cast<const char*>(list_nth(now, i));
    if (!begins(line, kLabels)) continue;
    if (name_length(line) == length && strncmp(line, then, length) == 0) found = i;
    if (place++ == k) same_place = i;
  }
  // A type that was renamed.
  if (found < 0) found = same_place;
  if (found >= 0 && found + 1 < list_length(now)) {
    const char* labels = static_cast<const char*>(list_nth(now, found));
    const char* present = static_cast<const char*>(list_nth(now, found + 1));
    if (are_labels_kept(
            read_list(then, length + 1),
            begins(numbers, kNumbers) ? read_list(numbers, name_length(numbers) + 1) : NIL,
            read_list(labels, name_length(labels) + 1),
            read_list(present, name_length(present) + 1)))
      return nullptr;
  }
  return psprintf("labels of type %s were renamed",
                  pnstrdup(then + strlen(kLabels), length - strlen(kLabels)));
}

char* line_changed(const char* then, List* now) {
  const Size length = name_length(then);
  const char* found = nullptr;
  ListCell* cell;
  foreach (cell, now) {
    const char* line = static_cast<const char*>(lfirst(cell));
    if (name_length(line) == length && strncmp(line, then, length) == 0) found = line;
  }
  if (found != nullptr && strcmp(found, then) == 0) return nullptr;
  const char* name = pnstrdup(then, length);
  const char* of = strchrnul(name, ' ');
  of = *of == '\0' ? of : of + 1;
  if (begins(then, "function ")) return psprintf("function %s was redefined", of);
  if (begins(then, "collation ")) return psprintf("collation %s has another version", of);
  return psprintf("type %s was changed", of);
}

bool is_whole(const char* type) { return is_one_of(type, {"smallint", "integer", "bigint"}); }

// Characters that a text may have at most; -1: it is no text, or may be padded.
int most_characters(const char* type) {
  if (strcmp(type, "text") == 0 || strcmp(type, "character varying") == 0) return PG_INT32_MAX;
  int n;
  return std::sscanf(type, "character varying(%d)", &n) == 1 ? n : -1;
}

// Digits before and after the point.
bool read_digits(const char* type, int* whole, int* decimals) {
  *whole = *decimals = PG_INT32_MAX;
  if (strcmp(type, "numeric") == 0) return true;
  int precision;
  if (std::sscanf(type, "numeric(%d,%d)", &precision, decimals) != 2) return false;
  *whole = precision - *decimals;
  return true;
}

// Whether all values of a type are the same ones in another, as where a column is made wider.
// is_number: to those who ask, who compare numbers, whatever they are of.
bool is_wider(char* then, char* now, bool is_number) {
  char* collation = strstr(then, " collate ");
  char* other = strstr(now, " collate ");
  if ((collation == nullptr) != (other == nullptr)) return false;
  if (collation != nullptr && strcmp(collation, other) != 0) return false;
  if (collation != nullptr) *collation = *other = '\0';
  if (is_whole(then) && is_whole(now)) return true;
  const int most = most_characters(then);
  if (most >= 0) return most_characters(now) >= most;
  if (!is_number) return false;
  int whole, decimals, whole_now, decimals_now;
  // What is stored are doubles.
  const bool is_decimal = read_digits(then, &whole, &decimals);
  if (strcmp(now, "double precision") == 0)
    return is_whole(then) || is_decimal || strcmp(then, "real") == 0;
  if (is_whole(then)) return strcmp(now, "numeric") == 0 || read_digits(now, &whole, &decimals);
  return is_decimal && read_digits(now, &whole_now, &decimals_now) && whole_now >= whole &&
         decimals_now >= decimals;
}

// In the subtransaction: the present meaning.
char* compare(const DensityKey& wanted, List* then) {
  const DensityKey key = analysed(wanted);
  Meaning m;
  List* now = describe(key, &m);
  const int places = list_length(now);
  if (list_length(then) < places || key.references != wanted.references)
    return pstrdup("its expressions or its filter use other columns");
  for (int i = 0; i < key.all(); ++i)
    if (strcmp(key.column[i].text, wanted.column[i].text) != 0)
      return psprintf("%s is written as %s now", describe_column(wanted, i), key.column[i].text);
  if (strcmp(key.filter, wanted.filter) != 0)
    return psprintf("its filter is written as %s now", key.filter);
  for (int i = 0; i < places; ++i) {
    const char* before = static_cast<const char*>(list_nth(then, i));
    const char* after = static_cast<const char*>(list_nth(now, i));
    if (begins(before, "enum ") && begins(after, "enum ")) continue;
    const bool is_value = i < key.first_group() && key.column[i].attnum != 0;
    if (strcmp(before, after) == 0 || is_wider(pstrdup(before), pstrdup(after), is_value)) continue;
    const char* what = i < key.all()
                           ? describe_column(key, i)
                           : psprintf("column \"%s\"",
                                      live_column_name(key.relation, key.reference[i - key.all()]));
    return psprintf("%s is of type %s, and was of type %s", what, after, before);
  }
  int labels = 0;
  for (int i = places; i < list_length(then); ++i) {
    const char* line = static_cast<const char*>(list_nth(then, i));
    if (begins(line, kSetting) || begins(line, kNumbers)) continue;
    const char* next =
        i + 1 < list_length(then) ? static_cast<const char*>(list_nth(then, i + 1)) : "";
    char* why = begins(line, kLabels) ? labels_changed(line, next, labels++, m.lines)
                                      : line_changed(line, m.lines);
    if (why != nullptr) return why;
  }
  return nullptr;
}

}  // namespace

void check_stable_parts(const DensityKey& key) {
  Meaning m;
  m.refuses = true;
  look_at_trees(key, &m);
}

const char* settings_of(const DensityKey& key) {
  if (!has_texts(key)) return "";
  Meaning m;
  look_at_trees(analysed(key), &m);
  return settings_text(key, m.settings);
}

ArrayType* as_fitted(const DensityKey& wanted) {
  const DensityKey key = analysed(wanted);
  Meaning m;
  List* texts = describe(key, &m);
  texts = list_concat(texts, m.lines);
  // Outside of what describe() pins.
  for (const char* line = settings_text(wanted, m.settings); *line != '\0';) {
    const char* end = strchrnul(line, '\n');
    texts = lappend(texts, psprintf("%s%.*s", kSetting, static_cast<int>(end - line), line));
    line = *end == '\0' ? end : end + 1;
  }
  return array_of(texts);
}

const char* settings_in(ArrayType* fitted) {
  StringInfoData text;
  initStringInfo(&text);
  ListCell* cell;
  List* lines = texts_in(fitted);
  foreach (cell, lines) {
    const char* line = static_cast<const char*>(lfirst(cell));
    if (begins(line, kSetting))
      appendStringInfo(&text, "%s%s", text.len > 0 ? "\n" : "", line + strlen(kSetting));
  }
  return text.data;
}

const char* changed_since_fit(const DensityKey& key, ArrayType* fitted) {
  if (fitted == nullptr) return pstrdup("what its columns were when it was fitted is not known");
  List* then = texts_in(fitted);
  char* why = nullptr;
  // A parallel worker has no subtransactions, and where nothing is analysed none is needed.
  if (is_analysed(key) || IsInParallelMode()) return compare(key, then);
  if (!without_error([&] { why = compare(key, then); }))
    return pstrdup("its expressions or its filter can no longer be read");
  return why;
}

bool is_gone(const DensityKey& key) {
  if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(key.relation))) return true;
  for (int i = 0; i < key.all(); ++i)
    if (key.column[i].attnum != 0 &&
        live_column_name(key.relation, key.column[i].attnum) == nullptr)
      return true;
  for (int i = 0; i < key.references; ++i)
    if (live_column_name(key.relation, key.reference[i]) == nullptr) return true;
  return false;
}

bool has_settings(const char* settings) {
  if (settings == nullptr || *settings == '\0') return true;
  for (const char* line = settings; *line != '\0';) {
    const char* end = strchrnul(line, '\n');
    const char* name_end =
        static_cast<const char*>(memchr(line, '=', static_cast<Size>(end - line)));
    if (name_end == nullptr) return false;
    char name[NAMEDATALEN];
    const Size length = Min(static_cast<Size>(name_end - line), sizeof name - 1);
    memcpy(name, line, length);
    name[length] = '\0';
    const char* now = GetConfigOption(name, true, false);
    const Size value = static_cast<Size>(end - name_end) - 1;
    if (now == nullptr || strlen(now) != value || strncmp(now, name_end + 1, value) != 0)
      return false;
    line = *end == '\0' ? end : end + 1;
  }
  return true;
}

void raise_changed_meaning(const DensityKey& key, const char* why) {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("the density of %s was fitted before its definition changed", display_name(key)),
           errdetail_internal("%s%s.", psprintf("%c", pg_toupper(static_cast<unsigned char>(*why))),
                              why + 1),
           errhint("Refresh it with kde_refresh(), or fit it again with kde_fit().")));
  pg_unreachable();
}

void raise_other_settings(const DensityKey& key, const char* settings) {
  StringInfoData set;
  initStringInfo(&set);
  for (const char* line = settings; *line != '\0';) {
    const char* end = strchrnul(line, '\n');
    const char* equals = static_cast<const char*>(memchr(line, '=', static_cast<Size>(end - line)));
    if (equals == nullptr) break;
    appendStringInfo(&set, "%sSET %.*s = %s", set.len > 0 ? "; " : "",
                     static_cast<int>(equals - line), line,
                     quote_literal_cstr(pnstrdup(equals + 1, static_cast<Size>(end - equals) - 1)));
    line = *end == '\0' ? end : end + 1;
  }
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("the density of %s was fitted under other settings than this session's",
                         display_name(key)),
                  errdetail("Its expressions or its filter depend on them."),
                  errhint("Run %s, or fit it again under the present ones.", set.data)));
  pg_unreachable();
}

ArrayType* reorder_fitted(ArrayType* fitted, int columns, const NamedColumns& brought,
                          const DensityKey& key) {
  List* texts = texts_in(fitted);
  if (list_length(texts) < columns + brought.count || brought.count != key.references)
    return nullptr;
  List* out = NIL;
  for (int i = 0; i < columns; ++i) out = lappend(out, list_nth(texts, i));
  for (int i = 0; i < key.references; ++i) {
    const char* name = live_column_name(key.relation, key.reference[i]);
    int k = 0;
    while (k < brought.count && (name == nullptr || strcmp(brought.name[k], name) != 0)) ++k;
    if (k == brought.count) return nullptr;
    out = lappend(out, list_nth(texts, columns + k));
  }
  for (int i = columns + brought.count; i < list_length(texts); ++i)
    out = lappend(out, list_nth(texts, i));
  return array_of(out);
}

}  // namespace kde_pg
