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
#include "access/xact.h"
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

bool has_parameter(Node* node, void* context) {
  if (node == nullptr) return false;
  if (IsA(node, Query))
    return query_tree_walker(castNode(Query, node), as_walker(has_parameter), context, 0);
  return IsA(node, Param) || expression_tree_walker(node, as_walker(has_parameter), context);
}

void note_obstacle(const char* obstacle, PlainReason* to) {
  to->answers = false;
  to->why = psprintf("would answer, but: %s", obstacle);
}

// Of a density that the plan asks: that it does not answer. Of those that the user may not read there is one
// reason, which names none.
void note_obstacle(const DensityKey& key, const char* obstacle, List* reasons) {
  const char* name = is_readable(key) ? density_name(key) : nullptr;
  for (PlainReason* r : of_list<PlainReason>(reasons)) {
    if (!r->answers || r->relation != key.relation || (r->density == nullptr) != (name == nullptr))
      continue;
    if (name != nullptr && (strcmp(r->density, name) != 0 ||
                            strcmp(r->filter == nullptr ? "" : r->filter, key.filter) != 0))
      continue;
    note_obstacle(obstacle, r);
    return;
  }
}

struct Trial {
  List* reasons;      // PlainReason*
  bool after_others;  // of the transaction, as the statement would be
  int nodes, refused;
};

// But for the least and greatest values that the exact plan has from an index: parameters there in their stead.
bool depends_on_rows(const Plan* node) {
  Bitmapset* of = bms_copy(node->allParam);
  for (const TargetEntry* entry :
       of_list<TargetEntry>(reinterpret_cast<const CustomScan*>(node)->custom_scan_tlist))
    if (IsA(entry->expr, Param)) of = bms_del_member(of, castNode(Param, entry->expr)->paramid);
  return !bms_is_empty(of);
}

// Nothing beneath a node is asked where it answers, and of what depends on other rows nothing is known.
bool try_node(PlanState* node, void* context) {
  if (node == nullptr) return false;
  if (!is_plain_node(node->plan)) return planstate_tree_walker(node, as_walker(try_node), context);
  if (depends_on_rows(node->plan)) return false;
  auto* trial = static_cast<Trial*>(context);
  const DensityKey* density;
  const char* obstacle = obstacle_to_plain_node(node, trial->after_others, &density);
  ++trial->nodes;
  if (obstacle == nullptr) return false;
  ++trial->refused;
  note_obstacle(*density, obstacle, trial->reasons);
  return false;
}

// Beside the one that a query's only grouping asks, and that does not answer.
void note_others(const Trial& trial) {
  if (trial.nodes != 1 || trial.refused != 1) return;
  for (PlainReason* r : of_list<PlainReason>(trial.reasons))
    if (r->answers) note_obstacle("the plan asks another, which does not answer", r);
}

void try_plan(Query* query, const char* text, Trial trial) {
  const int nest = NewGUCNestLevel();
  (void)set_config_option("kde_aqp.approximate", "all", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
                          true, 0, false);
  query->queryId = 0;  // no statement of anybody's
  QueryDesc* run = CreateQueryDesc(plan_query(query, text), text, GetActiveSnapshot(),
                                   InvalidSnapshot, None_Receiver, nullptr, nullptr, 0);
  begin_to_try(run);
  (void)try_node(run->planstate, &trial);
  for (PlanState* subplan : of_list<PlanState>(run->estate->es_subplanstates))
    (void)try_node(subplan, &trial);
  note_others(trial);
  standard_ExecutorEnd(run);
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
  const bool is_known = !has_parameter(reinterpret_cast<Node*>(query), nullptr);
  PlainDemand demand;
  demand.of_subqueries = true;
  check_may_run(query);
  const char* exact_alone = why_exact_alone(query);
  auto* again = static_cast<Query*>(copyObjectImpl(query));
  (void)plan_demanded(&demand, query, asked);
  for (PlainReason* r : of_list<PlainReason>(demand.reasons))
    if (exact_alone != nullptr && r->answers) note_obstacle(exact_alone, r);
  // Before the subtransaction, which would count as a block of several statements.
  const Trial trial = {demand.reasons, IsTransactionBlock(), 0, 0};
  // What raises an error when it begins is for the statement itself to tell. What changes rows would do so
  // as it ends.
  if (demand.found && exact_alone == nullptr && is_known)
    (void)without_error([&] { try_plan(again, asked, trial); });
  PlainReason none = {InvalidOid, nullptr, nullptr, false, "nothing is grouped or counted",
                      nullptr};
  if (demand.reasons == NIL) demand.reasons = list_make1(&none);
  for (const PlainReason* r : of_list<const PlainReason>(demand.reasons)) {
    rows.put(Field(OidIsValid(r->relation), r->relation), r->density, r->filter, r->answers,
             r->why);
  }
  PG_RETURN_NULL();
}
