// See advise_statement.h.
//
// A statement is answered where every table that it reads is grouped by a query of its own, which a
// density answers: the small tables that these are joined with aside.
#include "pg/advise/advise_statement.h"

#include "pg/base/subtransaction.h"
#include "pg/base/tree_walk.h"
#include "pg/catalog/privileges.h"
#include "pg/advise/advise_demand.h"
#include "pg/advise/advise_text.h"

extern "C" {
#include "access/sysattr.h"
#include "catalog/pg_inherits.h"
#include "parser/parsetree.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
}

#include <initializer_list>

namespace kde_pg {

namespace {

// Of all tables that are read besides, in pages, over those of the tables that densities answer of.
constexpr double kSmall = 0.01;

// What a query's tree has, at all its levels.
struct Seen {
  const Query* query;
  List* tables;  // OIDs
  bool aggregates, distinct;
};

bool see(Node* node, void* state) {
  auto* seen = static_cast<Seen*>(state);
  if (node == nullptr) return false;
  if (IsA(node, RangeTblRef)) {
    const RangeTblEntry* rte = rt_fetch(castNode(RangeTblRef, node)->rtindex, seen->query->rtable);
    if (rte->rtekind == RTE_RELATION) seen->tables = lappend_oid(seen->tables, rte->relid);
    return false;
  }
  if (IsA(node, Query)) {
    const Query* outer = seen->query;
    seen->query = castNode(Query, node);
    seen->aggregates = seen->aggregates || seen->query->hasAggs ||
                       seen->query->groupClause != NIL || seen->query->groupingSets != NIL;
    seen->distinct = seen->distinct || seen->query->distinctClause != NIL;
    (void)query_tree_walker(const_cast<Query*>(seen->query), as_walker(see), state, 0);
    seen->query = outer;
    return false;
  }
  return expression_tree_walker(node, as_walker(see), state);
}

double pages_of(Oid relation) {
  double out = 0;
  List* tables = find_all_inheritors(relation, NoLock, nullptr);
  for (const Oid oid : oids(tables)) {
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(oid));
    if (!HeapTupleIsValid(tuple)) continue;
    out += reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relpages;
    ReleaseSysCache(tuple);
  }
  return out;
}

Query* analysed(const char* text, Unknown unknown, const char** why) {
  RawStmt* raw = parse_statement(text);
  if (raw == nullptr) {
    *why = "it is not one statement";
    return nullptr;
  }
  if (!IsA(raw->stmt, SelectStmt) || castNode(SelectStmt, raw->stmt)->intoClause != nullptr) {
    *why = "it is no query";
    return nullptr;
  }
  if (castNode(SelectStmt, raw->stmt)->lockingClause != NIL) {
    *why = "it locks rows";
    return nullptr;
  }
  List* queries = analysed_with_parameters(raw, text, unknown);
  auto* query = list_length(queries) == 1 ? linitial_node(Query, queries) : nullptr;
  if (query == nullptr || query->commandType != CMD_SELECT || query->hasModifyingCTE) {
    *why = "it is no query";
    return nullptr;
  }
  return query;
}

void read(Advice* advice, AdvisedStatement* statement, Unknown unknown) {
  Query* query = analysed(statement->text, unknown, &statement->why);
  if (query == nullptr) return;
  Seen seen = {};
  (void)see(reinterpret_cast<Node*>(query), &seen);
  if (seen.tables == NIL) {
    statement->why = "it reads no table";
    return;
  }
  if (!seen.aggregates) {
    statement->why = seen.distinct ? "it has DISTINCT, and neither counts nor adds up"
                                   : "it neither counts nor adds up";
    return;
  }
  bool joins;
  demands_of(advice, statement, with_bucket_constants(query), &joins);
  double answered = 0;
  for (const AdvisedDemand* demand : of_list<const AdvisedDemand>(statement->demands)) {
    seen.tables = list_delete_oid(seen.tables, demand->relation);
    for (const Oid oid : oids(demand->dimensions)) seen.tables = list_delete_oid(seen.tables, oid);
    answered += demand->pages;
    if (statement->why == nullptr) statement->why = demand->why;
  }
  double rest = 0;
  for (const Oid oid : oids(seen.tables)) rest += pages_of(oid);
  if (statement->why == nullptr && (statement->demands == NIL || rest > kSmall * answered))
    statement->why = joins ? "it joins tables" : "it reads rows beside what it counts and adds up";
}

// Cancelled statements and a lack of memory end the command.
bool is_of_statement(int sqlstate) {
  switch (ERRCODE_TO_CATEGORY(sqlstate)) {
    case ERRCODE_OPERATOR_INTERVENTION:
    case ERRCODE_INSUFFICIENT_RESOURCES:
    case ERRCODE_SYSTEM_ERROR:
    case ERRCODE_TRANSACTION_ROLLBACK:
      return false;
    default:
      return true;
  }
}

// Whether the caller may ask for what a demand's densities are of.
bool is_readable(const AdvisedDemand& demand) {
  for (int i = -1; (i = bms_next_member(demand.columns, i)) >= 0;) {
    const auto attnum = static_cast<AttrNumber>(i + FirstLowInvalidHeapAttributeNumber);
    if (attnum > 0 && !kde_pg::is_readable(TableColumn{demand.relation, attnum})) return false;
  }
  return true;
}

}  // namespace

List* analysed_with_parameters(RawStmt* raw, const char* text, Unknown unknown) {
  if (unknown == Unknown::as_numbers) type_parameters_as_numbers(raw);
  Oid* types = nullptr;
  int count = 0;
  return pg_analyze_and_rewrite_varparams(raw, text, &types, &count, nullptr);
}

void read_statement(Advice* advice, AdvisedStatement* statement) {
  MemoryContext caller = CurrentMemoryContext;
  MemoryContext memory = AllocSetContextCreate(caller, "kde_aqp statement", ALLOCSET_DEFAULT_SIZES);
  bool done = false;
  const char* error = nullptr;  // the first
  for (const Unknown unknown : {Unknown::as_it_is, Unknown::as_numbers}) {
    if (done) break;
    statement->demands = NIL;
    statement->why = nullptr;
    MemoryContextSwitchTo(memory);
    const char* message = nullptr;
    done = without_error(
        [=] {
          Oid user;
          int security;
          GetUserIdAndSecContext(&user, &security);
          if (OidIsValid(statement->user) && statement->user != user)
            SetUserIdAndSecContext(statement->user, security | SECURITY_RESTRICTED_OPERATION);
          read(advice, statement, unknown);
          SetUserIdAndSecContext(user, security);
        },
        nullptr, is_of_statement, false, &message);
    MemoryContextSwitchTo(caller);
    if (error == nullptr && message != nullptr)
      error = MemoryContextStrdup(advice->memory, psprintf("it cannot be read: %s", message));
    MemoryContextReset(memory);
  }
  MemoryContextDelete(memory);
  if (!done) {
    statement->demands = NIL;
    statement->why = error;
    return;
  }
  for (AdvisedDemand* demand : of_list<AdvisedDemand>(statement->demands)) {
    if (is_readable(*demand)) continue;
    demand->options = NIL;
    statement->why = "it is of a table that the current user may not read";
  }
}

}  // namespace kde_pg
