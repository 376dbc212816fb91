// Builds and runs the query of an exact answer. Every name in it is qualified and quoted, or
// printed to be read under a pinned search path (expression.h): the session's does not matter.
#include "pg/answer/exact.h"

#include "pg/base/pinned.h"
#include "pg/catalog/as_fitted.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/planned_rows.h"

extern "C" {
#include "access/parallel.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_operator.h"
#include "executor/spi.h"
#include "storage/lmgr.h"
#include "utils/typcache.h"
}

#include <cmath>

namespace kde_pg {

namespace {

// What is added up, from a column as the query has it.
const char* number_of(kde::ValueType type, const char* column) {
  switch (type) {
    case kde::ValueType::float4:
      // The sum of reals is a real to SQL, which loses rows once it is large.
      return psprintf("%s::pg_catalog.float8", column);
    case kde::ValueType::date:
    case kde::ValueType::timestamp:
    case kde::ValueType::timestamptz:
    case kde::ValueType::time:
      return psprintf("pg_catalog.\"extract\"('epoch', %s)", column);
    case kde::ValueType::interval:
      // SQL's epoch has years of 365.25 days, its comparisons have 360: 5.25 days too many.
      return psprintf(
          "pg_catalog.\"extract\"('epoch', %s) OPERATOR(pg_catalog.-) CASE WHEN "
          "pg_catalog.isfinite(%s) THEN pg_catalog.\"extract\"('year', %s) "
          "OPERATOR(pg_catalog.*) 453600 ELSE 0 END",
          column, column, column);
    default:
      return column;
  }
}

// What a foreign table's wrapper, or what has taken a table's place in the plan, may do in a
// parallel worker is not known; the rows of a temporary table are in the leader's memory. (Those of
// other sessions' temporary tables no query reads.)
void check_may_read(Oid relation) {
  if (!IsParallelWorker()) return;
  for (const Oid child : oids(find_all_inheritors(relation, AccessShareLock, nullptr))) {
    const bool foreign = get_rel_relkind(child) == RELKIND_FOREIGN_TABLE;
    if (foreign || (get_rel_persistence(child) == RELPERSISTENCE_TEMP &&
                    isTempNamespace(get_rel_namespace(child))))
      ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                      errmsg("cannot query %s table \"%s\" in a parallel worker",
                             foreign ? "foreign" : "temporary", get_rel_name(child)),
                      errhint("Set max_parallel_workers_per_gather to 0.")));
  }
  if (rows_seem(relation, PlanFunctions::any) == RowsSeem::elsewhere)
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
             errmsg("cannot query table \"%s\" in a parallel worker", get_rel_name(relation)),
             errdetail("Its rows are elsewhere."),
             errhint("Set max_parallel_workers_per_gather to 0.")));
}

const char* aggregate_of(Aggregate aggregate, kde::ValueType type, const char* column) {
  switch (aggregate) {
    case Aggregate::count:
      return "pg_catalog.count(*)";
    case Aggregate::sum:
      return psprintf("pg_catalog.sum(%s)", number_of(type, column));
    case Aggregate::avg:
      return psprintf("pg_catalog.avg(%s)", number_of(type, column));
    case Aggregate::variance:
      return psprintf("pg_catalog.var_samp(%s)", number_of(type, column));
    case Aggregate::stddev:
      break;
  }
  return psprintf("pg_catalog.stddev_samp(%s)", number_of(type, column));
}

// A query with its parameters, being written.
struct Query {
  StringInfoData sql;
  int conditions;
  int parameters;
  Oid types[2 * kde::kMaxColumns];
  Datum values[2 * kde::kMaxColumns];
};

void begin_condition(Query* query) {
  appendStringInfoString(&query->sql, query->conditions++ == 0 ? " WHERE " : " AND ");
}

void add_bound(Query* query, const char* column, const char* comparison, kde::ValueType type,
               const Bound& bound) {
  if (bound.unbounded) return;
  const int i = query->parameters++;
  query->values[i] = bound.value;
  query->types[i] = bound_to_sql(type, bound.type, &query->values[i]);
  begin_condition(query);
  appendStringInfo(&query->sql, "%s OPERATOR(pg_catalog.%s%s) $%d", column, comparison,
                   bound.inclusive ? "=" : "", i + 1);
}

// A NULL is no row of a range, not of one without bounds either.
void add_range(Query* query, const char* column, kde::ValueType type, const SqlRange& range) {
  if (range.empty) {
    begin_condition(query);
    appendStringInfoString(&query->sql, "false");
    return;
  }
  add_bound(query, column, ">", type, range.lower);
  add_bound(query, column, "<", type, range.upper);
  if (!range.lower.unbounded || !range.upper.unbounded) return;
  begin_condition(query);
  appendStringInfo(&query->sql, "%s IS NOT NULL", column);
}

// A column of the question, in the query.
const char* column_of(const DensityKey& key, int i) {
  const KeyColumn& column = key.column[i];
  if (column.attnum == 0) return psprintf("(%s)", column.text);
  const char* name = live_column_name(key.relation, column.attnum);
  if (name == nullptr)
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("the column asked about no longer exists")));
  // An alias, so that no column of the table's name is meant.
  return psprintf("t.%s", quote_identifier(name));
}

// The table, for " FROM"; locked as the query will lock it: names looked up before might be another
// table's by then.
const char* locked_table(Oid relation) {
  LockRelationOid(relation, AccessShareLock);
  const char* table = get_rel_name(relation);
  const char* schema = table == nullptr ? nullptr : get_namespace_name(get_rel_namespace(relation));
  if (schema == nullptr)
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("the table asked about no longer exists")));
  check_may_read(relation);
  return quote_qualified_identifier(schema, table);
}

void add_filter(Query* query, const DensityKey& key) {
  if (!key.has_filter()) return;
  begin_condition(query);
  appendStringInfo(&query->sql, "(%s)", key.filter);
}

// Whether names are to be looked up in pg_catalog alone: only where there is something printed to be
// read so, as what a column's own functions see is the session's.
bool is_printed(const DensityKey& key) {
  bool printed = key.has_filter();
  for (int i = 0; i < key.columns; ++i) printed |= key.column[i].attnum == 0;
  return printed;
}

// The only value of the only row.
NullableDatum run(const Query& query, const DensityKey& key) {
  const bool printed = is_printed(key);
  PinnedSearchPath pinned;
  if (printed) pinned.begin();
  PinnedExact exact;
  exact.begin();
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  const int status =
      SPI_execute_with_args(query.sql.data, query.parameters, const_cast<Oid*>(query.types),
                            const_cast<Datum*>(query.values), nullptr, true, 0);
  if (status != SPI_OK_SELECT || SPI_processed != 1)
    elog(ERROR, "the exact query failed: %s", SPI_result_code_string(status));
  NullableDatum result;
  const TupleDesc desc = SPI_tuptable->tupdesc;
  result.value = SPI_getbinval(SPI_tuptable->vals[0], desc, 1, &result.isnull);
  if (!result.isnull) {
    const Form_pg_attribute attribute = TupleDescAttr(desc, 0);
    result.value = SPI_datumTransfer(result.value, attribute->attbyval, attribute->attlen);
  }
  SPI_finish();
  exact.end();
  if (printed) pinned.end();
  return result;
}

}  // namespace

namespace {

// By the equality of the type's default hash operator class, which the words were told apart by.
void add_words(Query* query, const char* column, const WordValues& words) {
  const TypeCacheEntry* type = lookup_type_cache(words.type, TYPECACHE_EQ_OPR);
  HeapTuple tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(type->eq_opr));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for operator %u", type->eq_opr);
  const auto* equality = reinterpret_cast<Form_pg_operator>(GETSTRUCT(tuple));
  const char* schema = quote_identifier(get_namespace_name(equality->oprnamespace));
  const char* name = pstrdup(NameStr(equality->oprname));
  ReleaseSysCache(tuple);
  const Oid element = words.type;
  const Oid array = get_array_type(element);
  if (!OidIsValid(array)) {
    // One by one, of a type that has no arrays of its values.
    begin_condition(query);
    appendStringInfoString(&query->sql, words.count == 0 ? "false" : "(");
    for (int i = 0; i < words.count; ++i) {
      if (query->parameters == 2 * kde::kMaxColumns)
        ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                        errmsg("too many values of type %s", format_type_be(words.type)),
                        errhint("Ask for fewer values at once.")));
      const int k = query->parameters++;
      query->types[k] = words.type;
      query->values[k] = words.values[i];
      appendStringInfo(&query->sql, "%s%s OPERATOR(%s.%s) $%d", i > 0 ? " OR " : "", column, schema,
                       name, k + 1);
    }
    if (words.count > 0) appendStringInfoChar(&query->sql, ')');
    return;
  }
  int16 length;
  bool by_value;
  char alignment;
  get_typlenbyvalalign(element, &length, &by_value, &alignment);
  const int k = query->parameters++;
  query->types[k] = array;
  query->values[k] = PointerGetDatum(
      construct_array(words.values, words.count, element, length, by_value, alignment));
  begin_condition(query);
  appendStringInfo(&query->sql, "%s OPERATOR(%s.%s) ANY ($%d)", column, schema, name, k + 1);
}

}  // namespace

namespace {

Query query_of(Aggregate aggregate, const Question& q, const SqlRange* ranges,
               const WordValues* const* words) {
  const char* table = locked_table(q.asked.relation);
  Query query = {};
  initStringInfo(&query.sql);
  const int measure = aggregate == Aggregate::count ? 0 : q.measure;
  appendStringInfo(&query.sql, "SELECT %s::pg_catalog.float8 FROM %s AS t",
                   aggregate_of(aggregate, q.type[measure], column_of(q.asked, measure)), table);
  for (int i = 0; i < q.sides; ++i) {
    const char* column = column_of(q.asked, i);
    if (words[i] != nullptr)
      add_words(&query, column, *words[i]);
    else
      add_range(&query, column, q.type[i], ranges[i]);
  }
  add_filter(&query, q.asked);
  return query;
}

}  // namespace

NullableDatum exact_answer(Aggregate aggregate, const Question& q, const SqlRange* ranges,
                           const WordValues* const* words) {
  return run(query_of(aggregate, q, ranges, words), q.asked);
}

bool (*ask_with_rest)(const ExactQuery& query, const Accuracy& accuracy,
                      kde::Interval* out) = nullptr;

bool answer_with_rest(Aggregate aggregate, const Question& q, const SqlRange* ranges,
                      const WordValues* const* words, const Accuracy& accuracy,
                      kde::Interval* out) {
  const Query query = query_of(aggregate, q, ranges, words);
  const bool printed = is_printed(q.asked);
  PinnedSearchPath pinned;
  if (printed) pinned.begin();
  const bool answered =
      ask_with_rest({query.sql.data, query.parameters, query.types, query.values}, accuracy, out);
  if (printed) pinned.end();
  return answered;
}

namespace {

// What a group is by as the density's keys have it: as the type's output function prints it.
const char* key_of_group(const DensityKey& key, int i) {
  const char* column = column_of(key, i);
  return psprintf("CASE WHEN %s IS DISTINCT FROM NULL THEN pg_catalog.format('%%s', %s) END",
                  column, column);
}

double number_or_nan(HeapTuple tuple, TupleDesc desc, int column) {
  bool is_null;
  const Datum value = SPI_getbinval(tuple, desc, column, &is_null);
  return is_null ? NAN : DatumGetFloat8(value);
}

}  // namespace

char* group_condition(const DensityKey& by, const char* group) {
  StringInfoData sql;
  initStringInfo(&sql);
  appendStringInfoString(&sql, by.groups > 1 ? "ARRAY[" : "");
  for (int i = 0; i < by.groups; ++i)
    appendStringInfo(&sql, "%s%s", i > 0 ? ", " : "", key_of_group(by, by.first_group() + i));
  appendStringInfo(&sql, "%s IS NOT DISTINCT FROM %s", by.groups > 1 ? "]::pg_catalog.text" : "",
                   group == nullptr ? "NULL" : quote_literal_cstr(group));
  return sql.data;
}

void exact_groups(const Question& q, const SqlRange* ranges,
                  void (*put)(const ExactGroup& group, void* state), void* state) {
  const char* table = locked_table(q.asked.relation);
  const DensityKey& by = *q.grouped;
  Query query = {};
  initStringInfo(&query.sql);
  StringInfo sql = &query.sql;
  const char* measure = column_of(q.asked, q.measure);
  appendStringInfoString(sql, by.groups > 1 ? "SELECT ARRAY[" : "SELECT ");
  for (int i = 0; i < by.groups; ++i)
    appendStringInfo(sql, "%s%s", i > 0 ? ", " : "", key_of_group(by, by.first_group() + i));
  appendStringInfo(sql,
                   "%s, pg_catalog.count(%s)::pg_catalog.float8, %s::pg_catalog.float8, "
                   "%s::pg_catalog.float8 FROM %s AS t",
                   by.groups > 1 ? "]::pg_catalog.text" : "", measure,
                   // Of dates there is a mean, and no sum.
                   is_added_up(q.type[q.measure])
                       ? aggregate_of(Aggregate::sum, q.type[q.measure], measure)
                       : "NULL",
                   aggregate_of(Aggregate::avg, q.type[q.measure], measure), table);
  add_range(&query, column_of(q.asked, 0), q.type[0], ranges[0]);
  add_filter(&query, q.asked);
  for (int i = 0; i < by.groups; ++i)
    appendStringInfo(sql, "%s%s", i > 0 ? ", " : " GROUP BY ", column_of(by, by.first_group() + i));
  appendStringInfoString(sql, " ORDER BY 2 DESC, 1");
  // The session's, which the density has too.
  const char* fitted = settings_of(by);
  PinnedSettings pinned;
  pinned.begin();
  FittedSettings settings;
  settings.begin(fitted);
  PinnedExact exact;
  exact.begin();
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  if (SPI_execute_with_args(sql->data, query.parameters, query.types, query.values, nullptr, true,
                            0) != SPI_OK_SELECT)
    elog(ERROR, "the exact query failed");
  const TupleDesc desc = SPI_tuptable->tupdesc;
  for (uint64 i = 0; i < SPI_processed; ++i) {
    HeapTuple tuple = SPI_tuptable->vals[i];
    put({SPI_getvalue(tuple, desc, 1), number_or_nan(tuple, desc, 2), number_or_nan(tuple, desc, 3),
         number_or_nan(tuple, desc, 4)},
        state);
  }
  SPI_finish();
  exact.end();
  settings.end();
  pinned.end();
}

NullableDatum exact_quantile(const Question& q, double fraction) {
  const char* table = locked_table(q.asked.relation);
  Query query = {};
  initStringInfo(&query.sql);
  appendStringInfo(&query.sql,
                   "SELECT pg_catalog.percentile_disc($1) WITHIN GROUP (ORDER BY %s) FROM %s AS t",
                   column_of(q.asked, 0), table);
  query.parameters = 1;
  query.types[0] = FLOAT8OID;
  query.values[0] = Float8GetDatum(fraction);
  add_filter(&query, q.asked);
  const NullableDatum value = run(query, q.asked);
  if (value.isnull) return value;
  return {Float8GetDatum(value_to_double(q.type[0], value.value)), false};
}

}  // namespace kde_pg
