// kde_explain_query(): which densities may answer a query of plain SQL, and why the others do not.
// The query is planned as plain SQL is, with a demand of its own (plain_sql/demand.h); and once more as a session
// would that asks for densities, whose nodes then decide, without a row read of what they answer. Texts may
// have parameters, as those of kde_advise() do: of these that is not known.
#include "pg/advise/advise_statement.h"
#include "pg/advise/advise_text.h"
#include "pg/base/subtransaction.h"
#include "pg/base/tree_walk.h"
#include "pg/catalog/privileges.h"
#include "pg/plain_sql/custom_node.h"
#include "pg/plain_sql/demand.h"
#include "pg/values/result_set.h"

extern "C" {
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

List* analysed(const char* text, Unknown unknown) {
  RawStmt* raw = parse_statement(text);
  if (raw == nullptr)
    ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("a single query is expected"),
                    errhint("Pass one SELECT.")));
  return analysed_with_parameters(raw, text, unknown);
}

// Errors: those of the text; 42601, 0A000 for what is no single query.
Query* as_query(const char* text) {
  List* queries = NIL;
  if (strchr(text, '$') == nullptr)
    queries = analysed(text, Unknown::as_it_is);
  else if (!without_error([&] { queries = analysed(text, Unknown::as_it_is); }))
    queries = analysed(text, Unknown::as_numbers);
  if (list_length(queries) != 1 || linitial_node(Query, queries)->commandType != CMD_SELECT)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("densities answer no other statements than SELECT"),
                    errhint("Pass one SELECT.")));
  return with_bucket_constants(linitial_node(Query, queries));
}

// Of a density that the plan asks: that it does not answer.
void note_obstacle(const DensityKey& key, const char* obstacle, List* reasons) {
  if (!is_readable(key)) return;
  const char* name = density_name(key);
  for (PlainReason* r : of_list<PlainReason>(reasons)) {
    if (!r->answers || r->relation != key.relation || r->density == nullptr ||
        strcmp(r->density, name) != 0 ||
        strcmp(r->filter == nullptr ? "" : r->filter, key.filter) != 0)
      continue;
    r->answers = false;
    r->why = psprintf("would answer, but: %s", obstacle);
    return;
  }
}

// Nothing beneath a node is asked where it answers, and of what depends on other rows nothing is known.
bool try_node(PlanState* node, void* reasons) {
  if (node == nullptr) return false;
  if (!is_plain_node(node->plan)) return planstate_tree_walker(node, as_walker(try_node), reasons);
  if (!bms_is_empty(node->plan->allParam)) return false;
  const DensityKey* density;
  const char* obstacle = obstacle_to_plain_node(node, &density);
  if (obstacle != nullptr) note_obstacle(*density, obstacle, static_cast<List*>(reasons));
  return false;
}

void try_plan(Query* query, const char* text, List* reasons) {
  const int nest = NewGUCNestLevel();
  (void)set_config_option("kde_aqp.approximate", "all", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
                          true, 0, false);
  query->queryId = 0;  // no statement of anybody's
  QueryDesc* run = CreateQueryDesc(plan_query(query, text), text, GetActiveSnapshot(),
                                   InvalidSnapshot, None_Receiver, nullptr, nullptr, 0);
  ExecutorStart(run, 0);
  (void)try_node(run->planstate, reasons);
  for (PlanState* subplan : of_list<PlanState>(run->estate->es_subplanstates))
    (void)try_node(subplan, reasons);
  ExecutorFinish(run);
  ExecutorEnd(run);
  FreeQueryDesc(run);
  AtEOXact_GUC(true, nest);
}

}  // namespace

}  // namespace kde_pg

// kde_explain_query(query)
KDE_EXPORT(kde_explain_query);
Datum kde_explain_query(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  constexpr int kResults = 5;
  const ResultRows rows = begin_rows(fcinfo, kResults);
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  const char* asked = text_to_cstring(PG_GETARG_TEXT_PP(0));
  Query* query = as_query(asked);
  PlainDemand demand;
  demand.of_subqueries = true;
  check_may_run(query);
  auto* again = static_cast<Query*>(copyObjectImpl(query));
  (void)plan_demanded(&demand, query, asked);
  // What raises an error when it begins is for the statement itself to tell.
  if (demand.found && strchr(asked, '$') == nullptr)
    (void)without_error([&] { try_plan(again, asked, demand.reasons); });
  PlainReason none = {InvalidOid, nullptr, nullptr, false, "nothing is grouped or counted",
                      nullptr};
  if (demand.reasons == NIL) demand.reasons = list_make1(&none);
  for (const PlainReason* r : of_list<const PlainReason>(demand.reasons)) {
    rows.put(Field(OidIsValid(r->relation), r->relation), r->density, r->filter, r->answers,
             r->why);
  }
  PG_RETURN_NULL();
}
