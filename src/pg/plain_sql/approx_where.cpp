// approx_where(): counts, sums and means of the rows that a condition leaves, by any density that
// fits.
//
// The condition becomes SELECT count(*) FROM relation WHERE condition, which is planned as plain
// SQL is (query.h) and run with a demand of its own (demand.h).
#include "pg/answer/call.h"
#include "pg/values/result_set.h"
#include "pg/catalog/expression.h"
#include "pg/plain_sql/demand.h"

extern "C" {
#include "parser/analyze.h"
#include "parser/parser.h"
#include "tcop/tcopprot.h"
}

#include <cmath>

namespace kde_pg {

namespace {

enum Argument { kRelation, kPredicate, kByNameOnly, kMeasure, kFirstOfAccuracy };

// A copy of a tree of expressions as a column of the answer, in double precision.
Node* target(const char* function, Node* argument) {
  List* name = list_make2(makeString(pstrdup("pg_catalog")), makeString(pstrdup(function)));
  List* arguments = argument == nullptr ? NIL : list_make1(copyObjectImpl(argument));
  FuncCall* call = makeFuncCall(name, arguments, COERCE_EXPLICIT_CALL, -1);
  call->agg_star = argument == nullptr;
  auto* cast = makeNode(TypeCast);
  cast->arg = reinterpret_cast<Node*>(call);
  cast->typeName = makeTypeNameFromOid(FLOAT8OID, -1);
  cast->location = -1;
  auto* out = makeNode(ResTarget);
  out->val = reinterpret_cast<Node*>(cast);
  out->location = -1;
  return reinterpret_cast<Node*>(out);
}

Query* analyse(List* targets, Oid relation, Node* predicate, const char* source) {
  auto* select = makeNode(SelectStmt);
  select->targetList = targets;
  select->fromClause = list_make1(
      makeRangeVar(get_namespace_name(get_rel_namespace(relation)), get_rel_name(relation), -1));
  select->whereClause = predicate;
  auto* raw = makeNode(RawStmt);
  raw->stmt = reinterpret_cast<Node*>(select);
  List* queries = pg_analyze_and_rewrite_fixedparams(raw, source, nullptr, 0, nullptr);
  return linitial_node(Query, queries);
}

// The row's columns: three for each of count, sum and mean.
struct Answers {
  kde::Interval of[3];
  bool nan[3] = {};               // that is no NULL
  const char* density = nullptr;  // null: the exact plan
  bool as_of_now = true;
};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// One line for each density, of an error: as many as one reads.
const char* obstacles(List* reasons) {
  constexpr int kMost = 5;
  StringInfoData out;
  initStringInfo(&out);
  ListCell* cell;
  foreach (cell, reasons) {
    const auto* r = static_cast<const PlainReason*>(lfirst(cell));
    if (out.len > 0) appendStringInfoChar(&out, '\n');
    if (foreach_current_index(cell) == kMost) {
      appendStringInfo(&out, "Nor do %d others: kde_explain_query() lists them.",
                       list_length(reasons) - kMost);
      break;
    }
    if (r->density != nullptr)
      appendStringInfo(&out, "The density of %s %s.", r->density, r->why);
    else
      appendStringInfo(&out, "Of the question: %s.", r->why);
  }
  return out.data;
}

bool ask(Oid relation, const char* predicate, const char* measure, const Accuracy& accuracy,
         Answers* out) {
  PlainDemand demand;
  demand.interval = accuracy.interval;
  if (accuracy.required) demand.error = accuracy.most_error;
  demand.may_be_exact = accuracy.otherwise == Otherwise::exact;

  List* targets = list_make1(target("count", nullptr));
  if (measure != nullptr) {
    UserExpression expression;
    Node* of = expression.begin(measure);
    targets = list_make3(target("count", of), target("sum", of), target("avg", of));
    // Errors of it show their places in it, not in the condition.
    (void)analyse(static_cast<List*>(copyObjectImpl(targets)), relation, nullptr,
                  expression.source());
    expression.end();
  }
  UserExpression expression;
  Node* where = expression.begin(predicate);
  Query* query = analyse(targets, relation, where, expression.source());
  expression.end();
  check_may_run(query);
  PlannedStmt* plan = plan_demanded(&demand, query, predicate);
  double exact[3] = {};
  bool nulls[3] = {true, true, true};
  if (demand.found || demand.may_be_exact)
    run_demanded(&demand, plan, predicate, nullptr, exact, nulls);
  if (demand.found && demand.answers != nullptr) {
    out->density = demand.density;
    out->as_of_now = demand.as_of_now;
    for (int i = 0; i < list_length(targets); ++i) out->of[i] = demand.answers[i];
    return true;
  }
  if (demand.may_be_exact) {
    for (int i = 0; i < 3; ++i) {
      if (nulls[i]) continue;
      out->of[i] = {exact[i], exact[i], exact[i]};
      out->nan[i] = std::isnan(exact[i]);
    }
    return true;
  }
  if (accuracy.otherwise == Otherwise::null) return false;
  if (!demand.found)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                    errmsg("no density answers the question about \"%s\"", get_rel_name(relation)),
                    errdetail("%s", obstacles(demand.reasons)),
                    errhint("otherwise => 'exact' counts the rows.")));
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("the density of %s does not answer the question", demand.density),
                  errdetail("The reason is: %s.",
                            demand.detail != nullptr ? demand.detail : describe(demand.outcome)),
                  errhint("otherwise => 'exact' counts the rows.")));
  pg_unreachable();
}

}  // namespace

}  // namespace kde_pg

// approx_where(relation, predicate, by_name_only, measure, max_relative_error, otherwise,
// confidence, changed_rows)
KDE_EXPORT(kde_approx_where);
Datum kde_approx_where(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  if (PG_ARGISNULL(kRelation) || PG_ARGISNULL(kPredicate)) PG_RETURN_NULL();
  check_by_name_only(fcinfo, kByNameOnly);
  const Accuracy accuracy = read_accuracy(fcinfo, kFirstOfAccuracy);
  const Oid relation = PG_GETARG_OID(kRelation);
  if (get_rel_name(relation) == nullptr)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                    errmsg("relation with OID %u does not exist", relation)));
  Answers answers;
  const char* measure =
      PG_ARGISNULL(kMeasure) ? nullptr : text_to_cstring(PG_GETARG_TEXT_PP(kMeasure));
  for (kde::Interval& i : answers.of) i = {kNone, kNone, kNone};
  if (!ask(relation, text_to_cstring(PG_GETARG_TEXT_PP(kPredicate)), measure, accuracy, &answers))
    PG_RETURN_NULL();
  bool exact = answers.as_of_now;
  for (const kde::Interval& i : answers.of)
    exact = exact && (std::isnan(i.lower) || i.lower == i.upper);
  const auto field = [&](int k, double x) {
    return Field(!std::isnan(x) || answers.nan[k], Float8GetDatum(x));
  };
  const auto& [count, sum, mean] = answers.of;
  return record_of(fcinfo, field(0, count.estimate), field(0, count.lower), field(0, count.upper),
                   field(1, sum.estimate), field(1, sum.lower), field(1, sum.upper),
                   field(2, mean.estimate), field(2, mean.lower), field(2, mean.upper), exact,
                   answers.density);
}
