// What users write as expressions and filters: parsed and analysed as of their table, refused
// where a density cannot be computed of them, printed in one canonical form.
#include "pg/catalog/expression.h"

#include "pg/base/pinned.h"
#include "pg/base/subtransaction.h"
#include "pg/base/text_list.h"
#include "pg/base/tree_walk.h"
#include "pg/catalog/canonical_filter.h"
#include "pg/catalog/column_name.h"

extern "C" {
#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/pg_attribute.h"
#include "nodes/bitmapset.h"
#include "nodes/parsenodes.h"
#include "optimizer/prep.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
}

namespace kde_pg {

namespace {

// An index entry takes 2704 bytes of a page of 8 kB; each text of an array some more than itself.
constexpr Size kMaxKeyBytes = 2000;

// What an expression is parsed as: the parentheses and the line's end keep it in its place.
constexpr const char* kBefore = "SELECT (";
constexpr const char* kAfter = "\n)";

// Positions of errors are places in the expression, not in the statement that the client sent.
void show_expression(void* text) {
  const int position = geterrposition();
  if (position <= 0) return;
  errposition(0);
  internalerrposition(Max(position - static_cast<int>(strlen(kBefore)), 1));
  internalerrquery(static_cast<const char*>(text));
}

bool is_one_expression(const SelectStmt* s) {
  return s->op == SETOP_NONE && list_length(s->targetList) == 1 && s->distinctClause == NIL &&
         s->intoClause == nullptr && s->fromClause == NIL && s->whereClause == nullptr &&
         s->groupClause == NIL && s->havingClause == nullptr && s->windowClause == NIL &&
         s->valuesLists == NIL && s->sortClause == NIL && s->limitOffset == nullptr &&
         s->limitCount == nullptr && s->lockingClause == NIL && s->withClause == nullptr;
}

Node* parse(const char* query) {
  List* statements = raw_parser(query, RAW_PARSE_DEFAULT);
  if (list_length(statements) == 1) {
    Node* statement = linitial_node(RawStmt, statements)->stmt;
    if (IsA(statement, SelectStmt) && is_one_expression(castNode(SelectStmt, statement))) {
      const ResTarget* target =
          linitial_node(ResTarget, castNode(SelectStmt, statement)->targetList);
      if (target->name == nullptr && target->indirection == NIL) return target->val;
    }
  }
  ereport(ERROR,
          (errcode(ERRCODE_SYNTAX_ERROR), errmsg("a single expression is expected"),
           errhint("Write each expression as an element of its own, as in ARRAY['a', 'b + 1'].")));
  pg_unreachable();
}

// Found before the analysis, which would look at the subquery's tables.
bool has_subquery(Node* node, void* context) {
  if (node == nullptr) return false;
  if (IsA(node, SubLink)) return true;
  return raw_expression_tree_walker(node, as_walker(has_subquery), context);
}

void refuse_if(bool refused, int sqlstate, const char* what) {
  if (refused)
    ereport(ERROR, (errcode(sqlstate),
                    errmsg("%s are not allowed in the columns and filter of a density", what),
                    errhint("Fit a column of the table that holds the value.")));
}

// The columns' names as they were, to the parser.
void rename_columns(ParseNamespaceItem* item, const OldNames& names) {
  List* columns = item->p_names->colnames;
  ListCell* cell;
  foreach (cell, columns) lfirst(cell) = makeString(pstrdup(""));
  for (int i = 0; i < names.count; ++i)
    lfirst(list_nth_cell(columns, names.number[i] - 1)) = makeString(pstrdup(names.name[i]));
}

// Literals such as 'now', which a time is read from as it is at that moment: their places.
bool note_time_words(Node* node, void* context) {
  if (node == nullptr) return false;
  if (IsA(node, A_Const) && !castNode(A_Const, node)->isnull &&
      nodeTag(&castNode(A_Const, node)->val) == T_String) {
    auto** places = static_cast<List**>(context);
    char* text = pstrdup(strVal(&castNode(A_Const, node)->val));
    for (char* word = strtok(text, " \t\n,"); word != nullptr; word = strtok(nullptr, " \t\n,")) {
      for (const char* moving : {"now", "today", "tomorrow", "yesterday"})
        if (pg_strcasecmp(word, moving) == 0)
          *places = lappend_int(*places, castNode(A_Const, node)->location);
    }
    return false;
  }
  return raw_expression_tree_walker(node, as_walker(note_time_words), context);
}

bool is_moving_time(Node* node, void* context) {
  if (node == nullptr) return false;
  if (IsA(node, Const)) {
    const Oid type = getBaseType(castNode(Const, node)->consttype);
    return type != TEXTOID && type != VARCHAROID && type != BPCHAROID && type != NAMEOID &&
           TypeCategory(type) == TYPCATEGORY_DATETIME &&
           list_member_int(static_cast<const List*>(context), castNode(Const, node)->location);
  }
  return expression_tree_walker(node, as_walker(is_moving_time), context);
}

enum class Place { column, filter };

Node* analyse(Relation relation, const OldNames* names, const char* text, Place place) {
  UserExpression expression;
  Node* raw = expression.begin(text);
  refuse_if(has_subquery(raw, nullptr), ERRCODE_FEATURE_NOT_SUPPORTED, "subqueries");

  ParseState* state = make_parsestate(nullptr);
  state->p_sourcetext = expression.source();
  ParseNamespaceItem* item =
      addRangeTableEntryForRelation(state, relation, AccessShareLock, nullptr, false, true);
  if (names != nullptr) rename_columns(item, *names);
  addNSItemToQuery(state, item, true, true, true);
  List* moving = NIL;
  (void)note_time_words(raw, &moving);  // before the analysis, which writes to the tree
  Node* node = transformExpr(state, raw, EXPR_KIND_OTHER);
  if (place == Place::filter) node = coerce_to_boolean(state, node, "filter");
  assign_expr_collations(state, node);

  if (is_moving_time(node, moving))
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
             errmsg("a time such as 'now' is not allowed in the columns and filter of a density"),
             errdetail("It would be the time of the fit, for ever."),
             errhint("Write the time itself, as in sold_at >= '2026-01-01'.")));
  // A subquery may also come of syntax that is none: JSON_ARRAY(SELECT ...), since 16.
  refuse_if(state->p_hasSubLinks, ERRCODE_FEATURE_NOT_SUPPORTED, "subqueries");
  refuse_if(state->p_hasAggs, ERRCODE_GROUPING_ERROR, "aggregate functions");
  refuse_if(state->p_hasWindowFuncs, ERRCODE_WINDOWING_ERROR, "window functions");
  refuse_if(expression_returns_set(node), ERRCODE_FEATURE_NOT_SUPPORTED, "set-returning functions");
  expression.end();
  free_parsestate(state);
  return node;
}

// Adds the columns that an expression uses. False if there are none.
bool add_references(Node* node, Bitmapset** all) {
  Bitmapset* used = nullptr;
  pull_varattnos(node, 1, &used);
  for (int i = -1; (i = bms_next_member(used, i)) >= 0;) {
    const int attnum = i + FirstLowInvalidHeapAttributeNumber;
    refuse_if(attnum < 0, ERRCODE_FEATURE_NOT_SUPPORTED, "system columns");
    refuse_if(attnum == 0, ERRCODE_FEATURE_NOT_SUPPORTED, "whole rows");
  }
  *all = bms_add_members(*all, used);
  return !bms_is_empty(used);
}

void set_references(const Bitmapset* used, DensityKey* key) {
  key->references = bms_num_members(used);
  AttrNumber* numbers =
      static_cast<AttrNumber*>(palloc(sizeof(AttrNumber) * (key->references + 1)));
  int n = 0;
  for (int i = -1; (i = bms_next_member(used, i)) >= 0;)
    numbers[n++] = static_cast<AttrNumber>(i + FirstLowInvalidHeapAttributeNumber);
  key->reference = numbers;
}

// A column in parentheses, or in other capitals, is still a column.
bool is_column(Node* node, AttrNumber* attnum) {
  if (!IsA(node, Var) || castNode(Var, node)->varattno <= 0) return false;
  *attnum = castNode(Var, node)->varattno;
  return true;
}

// Expressions and the filter of a key, from their texts. Names are looked up as the settings say.
void analyse_texts(Relation relation, const OldNames* names, DensityKey* key) {
  Bitmapset* used = nullptr;
  for (int i = 0; i < key->all(); ++i) {
    KeyColumn* column = &key->column[i];
    if (column->attnum == 0) {
      Node* node = analyse(relation, names, column->text, Place::column);
      if (!is_column(node, &column->attnum)) {
        if (!add_references(node, &used))
          ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
                          errmsg("expression \"%s\" uses no column", column->text),
                          errhint("Name a column of the table in it.")));
        column->expression = node;
      }
    }
    if (column->attnum != 0)
      column->text = live_column_name(RelationGetRelid(relation), column->attnum);
  }
  if (key->has_filter()) {
    key->condition = analyse(relation, names, key->filter, Place::filter);
    (void)add_references(key->condition, &used);
  }
  set_references(used, key);
}

void print_texts(Relation relation, DensityKey* key) {
  for (int i = 0; i < key->all(); ++i) {
    KeyColumn* column = &key->column[i];
    if (column->expression != nullptr) column->text = canonical_text(relation, column->expression);
  }
  if (key->condition != nullptr) {
    key->condition = canonical_filter(relation, key->condition);
    key->filter = canonical_text(relation, key->condition);
  }
}

// Completes a key whose columns are names and expressions as the caller wrote them.
void resolve(DensityKey* key) {
  if (key->has_texts()) {
    Relation relation = try_table_open(key->relation, AccessShareLock);
    if (relation == nullptr)
      ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                      errmsg("relation with OID %u does not exist", key->relation)));
    analyse_texts(relation, nullptr, key);
    PinnedSettings settings;
    settings.begin();
    print_texts(relation, key);
    settings.end();
    table_close(relation, NoLock);
  }
  if (!fits_catalog(*key))
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("the expressions and the filter are too long"),
                    errdetail("Together they may have %zu bytes.", kMaxKeyBytes)));
}

// Column or expression `i` of a caller's array.
KeyColumn named_column(Oid relation, const char* text) {
  return {column_number(relation, text), text, nullptr};
}

// What groups are by may be a measure, too.
void check_no_column_twice(const DensityKey& key) {
  for (int i = 0; i < key.all(); ++i) {
    for (int j = i < key.first_group() ? 0 : key.first_group(); j < i; ++j) {
      const KeyColumn& a = key.column[i];
      const KeyColumn& b = key.column[j];
      if (a.attnum == b.attnum && (a.attnum != 0 || strcmp(a.text, b.text) == 0))
        ereport(ERROR, (errcode(ERRCODE_DUPLICATE_COLUMN),
                        errmsg("column \"%s\" is named more than once", a.text)));
    }
  }
}

// Appends columns of a caller's array to the key's. name: of the argument. Returns how many.
int add_columns(ArrayType* columns, const char* name, int most, DensityKey* key) {
  if (columns == nullptr) return 0;
  if (ARR_NDIM(columns) > 1)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("%s must be an array of one dimension", name)));
  List* texts = texts_of_array(columns, name);
  const int n = list_length(texts);
  if (n > most)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("%s must have at most %d elements", name, most),
                    errdetail("%d were given.", n)));
  const int first = key->all();
  for (int i = 0; i < n; ++i)
    key->column[first + i] =
        named_column(key->relation, static_cast<const char*>(list_nth(texts, i)));
  return n;
}

// With what is asked for beside the columns.
DensityKey complete(DensityKey key, text* filter, ArrayType* measures, ArrayType* group_by) {
  key.measures = add_columns(measures, "measures", kde::kMaxMeasures, &key);
  key.groups = add_columns(group_by, "group_by", kde::kMaxGroupBy, &key);
  if (filter != nullptr) key.filter = text_to_cstring(filter);
  resolve(&key);
  check_no_column_twice(key);
  return key;
}

}  // namespace

Node* UserExpression::begin(const char* text) {
  source_ = psprintf("%s%s%s", kBefore, text, kAfter);
  callback_.callback = show_expression;
  callback_.arg = const_cast<char*>(text);
  callback_.previous = error_context_stack;
  error_context_stack = &callback_;
  return parse(source_);
}

void UserExpression::end() { error_context_stack = callback_.previous; }

DensityKey key_by_arrays(Oid relation, ArrayType* columns, text* filter, ArrayType* measures,
                         ArrayType* group_by) {
  DensityKey key;
  key.relation = relation;
  if (const int n = ArrayGetNItems(ARR_NDIM(columns), ARR_DIMS(columns));
      ARR_NDIM(columns) == 1 && n > kde::kMaxColumns)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("a density has at most %d columns", kde::kMaxColumns),
                    errdetail("%d were given.", n)));
  key.columns = add_columns(columns, "column_names", kde::kMaxColumns, &key);
  if (key.columns == 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("column_names must have at least one element")));
  if (group_by != nullptr && key.columns > 1)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("a density of several columns has no groups"),
                    errhint("Fit one column, with the others as measures.")));
  if (measures != nullptr && key.columns > 1)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("a density of several columns has no measures"),
                    errhint("Each of its columns is one; or fit one column.")));
  return complete(key, filter, measures, group_by);
}

DensityKey key_by_name(Oid relation, const char* column_name, text* filter, ArrayType* measures,
                       ArrayType* group_by) {
  DensityKey key;
  key.relation = relation;
  key.columns = 1;
  key.column[0] = named_column(relation, column_name);
  if (key.column[0].attnum == 0) (void)column_by_name(relation, column_name);  // the error
  return complete(key, filter, measures, group_by);
}

void renew_references(DensityKey* key) {
  Bitmapset* used = nullptr;
  for (int i = 0; i < key->all(); ++i)
    if (key->column[i].expression != nullptr)
      (void)add_references(key->column[i].expression, &used);
  if (key->condition != nullptr) (void)add_references(key->condition, &used);
  set_references(used, key);
}

void analyse_key(Relation relation, const OldNames* names, DensityKey* key) {
  AsOwner owner;
  owner.begin(relation);
  PinnedSettings settings;
  settings.begin();
  analyse_texts(relation, names, key);
  print_texts(relation, key);
  settings.end();
  owner.end();
}

bool fold_key(Relation relation, DensityKey* key) {
  const auto fold = [](Node* node) {
    const bool is_fixed = node != nullptr && !contain_mutable_functions(node) && !calls_added(node);
    return is_fixed ? eval_const_expressions(nullptr, node) : node;
  };
  return without_error([&] {
    AsOwner owner;
    owner.begin(relation);
    PinnedSettings settings;
    settings.begin();
    analyse_texts(relation, nullptr, key);
    for (int i = 0; i < key->all(); ++i)
      key->column[i].expression = fold(key->column[i].expression);
    key->condition = fold(key->condition);
    if (key->condition != nullptr)
      key->condition = reinterpret_cast<Node*>(
          canonicalize_qual(reinterpret_cast<Expr*>(key->condition), false));
    print_texts(relation, key);
    settings.end();
    owner.end();
  });
}

namespace {

// The table need not be locked, so it may be gone at any time.
void read_column(Oid relation, AttrNumber attnum, Oid* type, int32* typmod, Oid* collation) {
  HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(attnum));
  if (!HeapTupleIsValid(tuple))
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("the column asked about no longer exists")));
  const auto* attribute = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple));
  *type = attribute->atttypid;
  *typmod = attribute->atttypmod;
  *collation = attribute->attcollation;
  ReleaseSysCache(tuple);
}

}  // namespace

Oid key_column_type(const DensityKey& key, int column, int32* typmod) {
  const KeyColumn& c = key.column[column];
  Oid type;
  Oid collation;
  if (c.attnum != 0) {
    read_column(key.relation, c.attnum, &type, typmod, &collation);
  } else {
    type = exprType(c.expression);
    *typmod = exprTypmod(c.expression);
  }
  (void)getBaseTypeAndTypmod(type, typmod);
  return type;
}

Oid key_column_collation(const DensityKey& key, int column) {
  const KeyColumn& c = key.column[column];
  if (c.attnum == 0) return exprCollation(c.expression);
  Oid type;
  int32 typmod;
  Oid collation;
  read_column(key.relation, c.attnum, &type, &typmod, &collation);
  return collation;
}

bool fits_catalog(const DensityKey& key) {
  Size bytes = strlen(key.filter);
  for (int i = 0; i < key.all(); ++i) bytes += strlen(key.column[i].text);
  return bytes <= kMaxKeyBytes;
}

}  // namespace kde_pg
