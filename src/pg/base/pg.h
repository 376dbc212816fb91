// PostgreSQL's headers that most glue code needs, and the rules of the boundary between it and the core.
//
//   * No C++ exception passes a SQL function: core functions are noexcept or report a Status, and
//     nothing here uses what throws.
//   * ereport(ERROR) jumps over C++ frames without running destructors: no object with a
//     destructor lives on the stack where PostgreSQL may be called. Core objects that must outlive
//     such calls are owned by a memory context (owned.h), which destroys them however it ends.
//   * PostgreSQL is called by the backend's main thread only; from inside core only through
//     interrupts.h.
#pragma once

extern "C" {
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pg_list.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
}

#include "pg/base/compat.h"
#include "pg/base/of_list.h"

#include "core/status.h"

namespace kde_pg {

// ereport(ERROR) for a core status that is not ok, with the SQLSTATE that fits its code.
// `doing` completes the sentence "could not ...", e.g. "fit a density to column \"x\"".
// Does nothing for ok.
void check_status(const kde::Status& status, const char* doing, const char* hint = nullptr);

// ereport(ERROR), 22004, if the argument is null; `name` is what the message calls it.
void reject_null(FunctionCallInfo fcinfo, int argument, const char* name);

// Of a parameter by_name_only, of type "any" and NULL by default: error 22023 if it is given, as by
// arguments by position that are too many.
void check_by_name_only(FunctionCallInfo fcinfo, int argument);

}  // namespace kde_pg

// Of the C function behind a SQL function, before its definition, which is by its name.
#define KDE_EXPORT(name)                    \
  extern "C" {                              \
  PG_FUNCTION_INFO_V1(name);                \
  PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
  }                                         \
  static_assert(true)
