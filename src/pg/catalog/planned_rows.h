// Where the rows of a relation are: in the tables that the server knows by its name, or elsewhere.
//
// What a query sees of a relation is the planner's decision. An extension may put rows that lie on
// other servers, in compressed chunks or in a format of its own in the place of a table's, by hooks
// of the planner; who reads the table's file then finds a shell, with some of the rows or none. So
// the planner is asked: rows are the tables' own if the plan of SELECT * FROM relation is the scan
// of each of them, once, and nothing else (appended, gathered); empty ones may be left out.
// Anything else (a custom scan, a function's scan, a table put in the place of another) is read by
// a query, whatever made it.
//
// Where no hook of the planner is set but this library's it knows tables alone, and is not asked.
//
// Beneath: where a custom scan has plans of its own that end in whole scans of heap tables of this
// server, as that of a compressed chunk has, the rows come from those. They are read by a query all
// the same, but what changes them changes one of these tables.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "optimizer/planner.h"
#include "utils/relcache.h"
}

namespace kde_pg {

// From _PG_init: this library's own hooks of the planner, and those that they call.
struct PlannerHooks {
  planner_hook_type planner = nullptr, next_planner = nullptr;
  create_upper_paths_hook_type upper_paths = nullptr, next_upper_paths = nullptr;
};
extern PlannerHooks own_planner_hooks;

// Whether a query sees other rows than the tables': relation and its descendants are locked by the
// caller. Plans as the current user (AsOwner, pinned.h), and needs an active snapshot. Errors:
// those of planning.
// *beneath: whether they are so in tables of this server alone.
bool rows_are_elsewhere(Relation relation, bool* beneath = nullptr);

// Planning computes what is constant in a table's index expressions and the like: by any function,
// or where the table's owner's cannot be let in, by the server's own alone.
enum class PlanFunctions { any, built_in };

// A table beneath, none of the relation's own.
struct TableBeneath {
  Oid relation;
  int64 rows_each;  // rows in one of its, by the planner's estimate: at least 1
};

enum class RowsSeem {
  here,
  beneath,  // or here
  elsewhere,
  functions,  // not asked, for functions that are not the server's own
  failed      // planning raised an error
};

// The same for a look in passing: nothing is locked for longer than it takes, and nothing is waited
// for by this. `here` also where that cannot be told now: while somebody else has the relation or a
// descendant locked, and of trees with foreign tables, whose planning may ask another server.
// *beneath: the tables (TableBeneath*), palloc'ed; null: they are elsewhere.
// Errors: a cancel; in parallel mode also those of planning.
RowsSeem rows_seem(Oid relation, PlanFunctions functions, List** beneath = nullptr);

}  // namespace kde_pg
