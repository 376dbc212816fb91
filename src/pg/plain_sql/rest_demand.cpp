// What answer functions ask of a table that grew, where they are asked for accuracy: the query that
// would answer exactly, run with a demand of their own (demand.h), by any density beside which what
// changed is read.
#include "pg/answer/exact.h"
#include "pg/plain_sql/demand.h"
#include "pg/plain_sql/rest.h"

extern "C" {
#include "parser/parser.h"
#include "tcop/tcopprot.h"
}

#include <cmath>

namespace kde_pg {

namespace {

ParamListInfo parameters_of(const ExactQuery& asked) {
  ParamListInfo out = makeParamList(asked.parameters);
  for (int i = 0; i < asked.parameters; ++i)
    out->params[i] = {asked.values[i], false, PARAM_FLAG_CONST, asked.types[i]};
  return out;
}

bool ask(const ExactQuery& asked, const Accuracy& accuracy, kde::Interval* out) {
  PlainDemand demand;
  demand.interval = accuracy.interval;
  demand.error = accuracy.most_error;
  demand.may_be_exact = accuracy.otherwise == Otherwise::exact;
  auto* raw = linitial_node(RawStmt, raw_parser(asked.sql, RAW_PARSE_DEFAULT));
  auto* query = linitial_node(
      Query, pg_analyze_and_rewrite_fixedparams(raw, asked.sql, const_cast<Oid*>(asked.types),
                                                asked.parameters, nullptr));
  check_may_run(query);
  PlannedStmt* plan = plan_demanded(&demand, query, asked.sql);
  if (!demand.found && !demand.may_be_exact) return false;
  double exact = 0;
  bool is_null = true;
  run_demanded(&demand, plan, asked.sql, parameters_of(asked), &exact, &is_null);
  if (demand.found && demand.answers != nullptr) {
    *out = demand.answers[0];
    return true;
  }
  if (is_null) exact = NAN;
  *out = {exact, exact, exact};
  return demand.may_be_exact;
}

}  // namespace

void register_rest_demand() { ask_with_rest = ask; }

}  // namespace kde_pg
