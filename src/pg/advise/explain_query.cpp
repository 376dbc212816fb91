// kde_explain_query(): which densities may answer a query of plain SQL, and why the others do not.
// The query is planned as plain SQL is, with a demand of its own (plain_sql/demand.h). Texts may have
// parameters, as those of kde_advise() do.
#include "pg/advise/advise_statement.h"
#include "pg/advise/advise_text.h"
#include "pg/base/subtransaction.h"
#include "pg/plain_sql/demand.h"
#include "pg/values/result_set.h"

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
  (void)plan_demanded(&demand, query, asked);
  PlainReason none = {InvalidOid, nullptr, nullptr, false, "nothing is grouped or counted"};
  if (demand.reasons == NIL) demand.reasons = list_make1(&none);
  for (const PlainReason* r : of_list<const PlainReason>(demand.reasons)) {
    rows.put(Field(OidIsValid(r->relation), r->relation), r->density, r->filter, r->answers,
             r->why);
  }
  PG_RETURN_NULL();
}
