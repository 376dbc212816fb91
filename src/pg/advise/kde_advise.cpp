// kde_advise(): which densities would answer how much of the time that statements take, and why
// none answers the others. Statements are those of pg_stat_statements, or given as texts. Each is
// parsed and planned, none is run; see advise_statement.h, advise_demand.h and advise_choice.h.
#include "pg/advise/advise.h"

#include "pg/base/interrupts.h"
#include "pg/values/number_array.h"
#include "pg/values/result_set.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/privileges.h"
#include "pg/catalog/shards.h"
#include "pg/advise/advise_choice.h"
#include "pg/advise/advise_cost.h"
#include "pg/advise/advise_statement.h"

extern "C" {
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "utils/acl.h"
}

#include <cmath>

namespace kde_pg {

namespace {

enum Argument { kStatements, kWeights, kLeastShare };

AdvisedStatement* add_statement(Advice* advice, const char* text, double ms, double calls) {
  MemoryContext caller = MemoryContextSwitchTo(advice->memory);
  auto* out = static_cast<AdvisedStatement*>(palloc0(sizeof(AdvisedStatement)));
  out->text = pstrdup(text);
  out->ms = ms;
  out->calls = calls;
  advice->statements = lappend(advice->statements, out);
  MemoryContextSwitchTo(caller);
  return out;
}

void add_given(Advice* advice, ArrayType* texts, ArrayType* weights) {
  Datum* values;
  bool* nulls;
  int count;
  deconstruct_array(texts, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
  std::span<const double> ms;
  if (weights != nullptr) {
    ms = read_numbers(weights, "weights");
    if (ms.size() != static_cast<Size>(count))
      ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                      errmsg("statements and weights differ in number"),
                      errdetail("There are %d statements and %zu weights.", count, ms.size())));
  }
  double total = 0;
  for (int i = 0; i < count; ++i) {
    const double weight = weights != nullptr ? ms[static_cast<Size>(i)] : 1;
    total += weight;
    if (!(weight >= 0) || !std::isfinite(total))
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("weights must be finite and not negative, and so must be their sum")));
    if (!nulls[i]) (void)add_statement(advice, TextDatumGetCString(values[i]), weight, 1);
  }
}

// Those of this database, as the caller may see them. Functions' own statements are a part of the
// time of what calls them.
void add_counted(Advice* advice) {
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  const auto run = [](const char* query) {
    if (SPI_execute(query, true, 0) != SPI_OK_SELECT) elog(ERROR, "SPI_execute failed");
  };
  run("SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension AS e, "
      "pg_catalog.pg_namespace AS n WHERE n.oid OPERATOR(pg_catalog.=) e.extnamespace "
      "AND e.extname OPERATOR(pg_catalog.=) 'pg_stat_statements'");
  if (SPI_processed == 0)
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_OBJECT),
             errmsg("the extension pg_stat_statements is not installed in this database"),
             errhint("Install it (shared_preload_libraries = 'pg_stat_statements', CREATE "
                     "EXTENSION pg_stat_statements), or give a list: kde_advise(ARRAY['SELECT "
                     "...', ...]).")));
  const char* schema = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
  const char* database = quote_literal_cstr(psprintf("%u", MyDatabaseId));
  // Whether a statement is the client's own is not known before version 1.9.
  run(psprintf(
      "SELECT s.query, s.total_exec_time, s.calls::pg_catalog.float8, s.userid, s.queryid "
      "FROM %s.pg_stat_statements AS s WHERE s.dbid OPERATOR(pg_catalog.=) %s::pg_catalog.oid "
      "AND coalesce((pg_catalog.to_jsonb(s) OPERATOR(pg_catalog.->>) "
      "'toplevel')::pg_catalog.bool, true)",
      schema, database));
  for (uint64 i = 0; i < SPI_processed; ++i) {
    constexpr int kColumns = 5;
    bool nulls[kColumns];
    Datum values[kColumns];
    for (int k = 0; k < kColumns; ++k)
      values[k] = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, k + 1, &nulls[k]);
    if (nulls[1] || nulls[2] || nulls[3]) continue;
    const char* query = nulls[0] ? "" : TextDatumGetCString(values[0]);
    AdvisedStatement* statement =
        add_statement(advice, query, DatumGetFloat8(values[1]), DatumGetFloat8(values[2]));
    statement->user = DatumGetObjectId(values[3]);
    statement->id = nulls[4] ? 0 : DatumGetInt64(values[4]);
    // Planning computes what is constant: as the role whose statement it was, or not at all.
    if (statement->user != GetUserId() &&
        (nulls[0] || !has_privs_of_role(GetUserId(), statement->user) ||
         GetUserNameFromId(statement->user, true) == nullptr))
      statement->why = "it is another role's";
  }
  SPI_finish();
}

// Planning is not counted as a statement, and joins are not looked at closely.
void set_for_planning() {
  const auto set = [](const char* name, const char* value) {
    (void)set_config_option(name, value, PGC_SUSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
  };
  set("compute_query_id", "off");
  set("join_collapse_limit", "1");
  set("from_collapse_limit", "1");
}

void read_all(Advice* advice) {
  const int nest = NewGUCNestLevel();
  set_for_planning();
  for (AdvisedStatement* statement : of_list<AdvisedStatement>(advice->statements)) {
    CHECK_FOR_INTERRUPTS();
    if (statement->why == nullptr) read_statement(advice, statement);
  }
  AtEOXact_GUC(false, nest);
  for (AdvisedDensity* density : of_list<AdvisedDensity>(advice->densities)) {
    density->readable = is_readable(density->key);
  }
}

// ------------------------------------------------------------------------------------- rows

// The key as it is to be fitted.
DensityKey with_measures(const AdvisedDensity& density) {
  DensityKey out = density.key;
  const int groups = out.groups;
  KeyColumn by[kde::kMaxGroupBy];
  for (int i = 0; i < groups; ++i) by[i] = out.column[out.first_group() + i];
  for (int i = -1; (i = bms_next_member(density.chosen_measures, i)) >= 0;)
    out.column[out.columns + out.measures++] =
        *static_cast<const KeyColumn*>(list_nth(density.measures, i));
  for (int i = 0; i < groups; ++i) out.column[out.first_group() + i] = by[i];
  return out;
}

// One statement that fits it, if it is not, and allows plain SQL.
const char* call_of(const AdvisedDensity& density) {
  StringInfoData out;
  initStringInfo(&out);
  appendStringInfoString(&out, "SELECT ");
  const DensityKey& key = density.key;
  const auto allow = [&](const DensityKey& of) {
    appendStringInfo(&out, "kde_set_plain_sql(%s, true", quote_literal_cstr(density_name(of)));
    if (of.has_filter()) appendStringInfo(&out, ", filter => %s", quote_literal_cstr(of.filter));
    appendStringInfoChar(&out, ')');
  };
  if (density.serves || key.groups == 0) allow(key);
  if (density.serves && density.serves_own) appendStringInfoString(&out, ", ");
  if (density.serves_own) allow(ungrouped(key));
  if (density.fitted) return out.data;
  char* fit = fit_call(with_measures(density));
  fit[strlen(fit) - 1] = '\0';
  appendStringInfo(&out, " FROM %s%s)", fit, key.columns == 1 ? ", sample_rows => -1" : "");
  return out.data;
}

const char* note_of(const AdvisedDensity& density) {
  StringInfoData out;
  initStringInfo(&out);
  if (density.fitted)
    appendStringInfoString(&out, "fitted, and not allowed yet");
  else if (density.error > 0)
    appendStringInfo(&out, "about within %.2g %%%s", 100 * density.error,
                     density.error_is_of_tenth ? " where a tenth of the rows is asked for" : "");
  else
    appendStringInfoString(&out, "exact as of its fit");
  const int ends = advised_ends(density, bms_num_members(density.chosen_measures));
  if (!density.fitted && !(density.error > 0) && ends != kNoEnds)
    appendStringInfo(&out, " between whole %s", ends == kHourEnds ? "hours" : "days");
  if (density.guessed) appendStringInfoString(&out, "; ANALYZE the table for better estimates");
  if (!is_owner(density.key.relation))
    appendStringInfoString(&out, "; the table's owner has to run it");
  return out.data;
}

// Whether nothing proves what has changed.
bool is_unproven(Oid relation) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
  if (!HeapTupleIsValid(tuple)) return true;
  const auto* form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
  const bool out = form->relkind == RELKIND_FOREIGN_TABLE ||
                   form->relpersistence == RELPERSISTENCE_UNLOGGED ||
                   (OidIsValid(form->relam) && form->relam != HEAP_TABLE_AM_OID);
  ReleaseSysCache(tuple);
  return out || is_of_shards(relation);
}

// How its answers stay those of now (docs/upkeep.md).
const char* freshness_of(const AdvisedDensity& density) {
  if (is_unproven(density.key.relation))
    return "as of its fit: changes are not known, and kde_set_plain_sql(..., as_of => '1 day') "
           "consents to an age";
  if (density.key.columns > 1)
    return "by kde_refresh(): until then answers are within the rows that changed";
  return "by itself: blocks that changed are read beside it, where autovacuum comes";
}

double rounded(double x, double places) { return std::rint(x * places) / places; }

struct Answer {
  ResultRows rows;
  double total;
  double cumulated;
  bool weighed;  // in milliseconds
  bool counted;  // by pg_stat_statements
};

// Those that a row is about, the longest first, of which so many are told.
class Told {
 public:
  explicit Told(bool are_counted) : are_counted_(are_counted) {}
  void add(const AdvisedStatement& statement) {
    constexpr int kMost = 20;
    if (n_ == kMost) return;
    ++n_;
    texts_ = accumArrayResult(texts_, CStringGetTextDatum(statement.text), *statement.text == '\0',
                              TEXTOID, CurrentMemoryContext);
    ids_ = accumArrayResult(ids_, Int64GetDatum(statement.id), statement.id == 0, INT8OID,
                            CurrentMemoryContext);
  }
  Field texts() const {
    return Field(n_ > 0, n_ > 0 ? makeArrayResult(texts_, CurrentMemoryContext) : 0);
  }
  Field ids() const {
    const bool any = n_ > 0 && are_counted_;
    return Field(any, any ? makeArrayResult(ids_, CurrentMemoryContext) : 0);
  }

 private:
  bool are_counted_;
  int n_ = 0;
  ArrayBuildState* texts_ = nullptr;
  ArrayBuildState* ids_ = nullptr;
};

constexpr double kShare = 1000, kMilliseconds = 10;

void put_density(Answer* to, const Advice& advice, const AdvisedDensity& density) {
  Told told(to->counted);
  for (const AdvisedStatement* s : of_list<const AdvisedStatement>(advice.statements))
    if (s->by == &density) told.add(*s);
  const int measures = bms_num_members(density.chosen_measures);
  const double share = to->total > 0 ? density.ms / to->total : 0;
  const double each = rounded(density.calls > 0 ? density.ms / density.calls : 0, kMilliseconds);
  to->cumulated += share;
  to->rows.put(
      density.rank, density.key.relation, static_cast<int64>(density.statements),
      rounded(share, kShare), rounded(to->cumulated, kShare), Field(to->weighed, each),
      Field(!density.fitted, static_cast<int64>(std::rint(advised_bytes(density, measures)))),
      Field(!density.fitted, std::rint(advised_fit_ms(density, measures))), note_of(density),
      call_of(density), freshness_of(density), told.texts(), told.ids());
}

struct Rest {
  const char* why;
  double statements, ms, calls;
};

// Statements that are not answered, by the reason.
List* rest_of(const Advice& advice) {
  List* out = NIL;
  for (const AdvisedStatement* statement : of_list<const AdvisedStatement>(advice.statements)) {
    if (statement->why == nullptr) continue;
    Rest* rest = nullptr;
    for (Rest* r : of_list<Rest>(out)) {
      if (strcmp(r->why, statement->why) == 0) rest = r;
    }
    if (rest == nullptr) {
      rest = static_cast<Rest*>(palloc0(sizeof(Rest)));
      rest->why = statement->why;
      out = lappend(out, rest);
    }
    rest->statements += 1;
    rest->ms += statement->ms;
    rest->calls += statement->calls;
  }
  const auto longer = [](const ListCell* a, const ListCell* b) {
    const double x = static_cast<const Rest*>(lfirst(a))->ms;
    const double y = static_cast<const Rest*>(lfirst(b))->ms;
    return x < y ? 1 : x > y ? -1 : 0;
  };
  list_sort(out, longer);
  return out;
}

void put_rest(Answer* to, const Advice& advice, const Rest& rest) {
  Told told(to->counted);
  for (const AdvisedStatement* s : of_list<const AdvisedStatement>(advice.statements))
    if (s->why != nullptr && strcmp(s->why, rest.why) == 0) told.add(*s);
  const Field none(false, 0);
  const double each = rounded(rest.calls > 0 ? rest.ms / rest.calls : 0, kMilliseconds);
  to->rows.put(none, none, static_cast<int64>(rest.statements),
               rounded(to->total > 0 ? rest.ms / to->total : 0, kShare), none,
               Field(to->weighed, each), none, none, rest.why, none, none, told.texts(),
               told.ids());
}

}  // namespace

}  // namespace kde_pg

// kde_advise(statements, weights, least_share)
KDE_EXPORT(kde_advise);
Datum kde_advise(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  constexpr int kResults = 13;
  Answer to = {};
  to.rows = begin_rows(fcinfo, kResults);
  (void)catalog_oid();
  reject_null(fcinfo, kLeastShare, "least_share");
  const double least = PG_GETARG_FLOAT8(kLeastShare);
  if (!(least >= 0 && least <= 1))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("least_share must be between 0 and 1")));
  const bool given = !PG_ARGISNULL(kStatements);
  if (!given && !PG_ARGISNULL(kWeights))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("weights need statements that they are of")));
  Advice advice;
  advice.memory = CurrentMemoryContext;
  if (given)
    add_given(&advice, PG_GETARG_ARRAYTYPE_P(kStatements),
              PG_ARGISNULL(kWeights) ? nullptr : PG_GETARG_ARRAYTYPE_P(kWeights));
  else
    add_counted(&advice);
  to.counted = !given;
  to.weighed = !given || !PG_ARGISNULL(kWeights);
  read_all(&advice);
  for (AdvisedStatement* item : of_list<AdvisedStatement>(advice.statements)) to.total += item->ms;
  List* chosen = choose_densities(&advice, least * to.total);
  for (const AdvisedDensity* item : of_list<const AdvisedDensity>(chosen))
    put_density(&to, advice, *item);
  List* rest = rest_of(advice);
  for (const Rest* item : of_list<const Rest>(rest)) put_rest(&to, advice, *item);
  PG_RETURN_NULL();
}
