// Core statuses, and arguments that must not be null, as PostgreSQL errors.
#include "pg/base/interrupts.h"
#include "pg/base/pg.h"

extern "C" {
#include "port.h"
}

namespace kde_pg {

namespace {

int sqlstate_of(kde::Code code) {
  switch (code) {
    case kde::Code::invalid_argument:
      return ERRCODE_INVALID_PARAMETER_VALUE;
    case kde::Code::invalid_format:
      return ERRCODE_DATA_CORRUPTED;
    case kde::Code::too_large:
      return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
    case kde::Code::out_of_memory:
      return ERRCODE_OUT_OF_MEMORY;
    case kde::Code::cancelled:
      return ERRCODE_QUERY_CANCELED;
    case kde::Code::out_of_range:
      return ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;
    case kde::Code::degenerate:
      return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
    case kde::Code::unavailable:
    case kde::Code::failed:
      return ERRCODE_SYSTEM_ERROR;
    case kde::Code::ok:
    case kde::Code::internal:
      break;
  }
  return ERRCODE_INTERNAL_ERROR;
}

}  // namespace

void check_status(const kde::Status& status, const char* doing, const char* hint) {
  const bool cancelled = status.code == kde::Code::cancelled;
  if (status.ok() || cancelled) raise_pending_error();
  if (status.ok()) return;
  clear_pending_error();
  // The cancel that stopped the work speaks for itself (user request, timeout, termination). It
  // returns if that was nothing: a cancel that came too late for its command.
  if (cancelled) CHECK_FOR_INTERRUPTS();
  // A message of the core begins like part of a sentence; a detail is a sentence.
  if (hint == nullptr && status.code == kde::Code::out_of_range)
    hint = "Give the measure in a larger unit, as divided by 1e200.";
  ereport(ERROR,
          (errcode(sqlstate_of(status.code)), errmsg("could not %s", doing),
           errdetail_internal("%c%s.", pg_toupper(static_cast<unsigned char>(status.message[0])),
                              status.message + 1),
           hint != nullptr ? errhint("%s", hint) : 0));
}

void reject_null(FunctionCallInfo fcinfo, int argument, const char* name) {
  if (PG_ARGISNULL(argument))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be null", name)));
}

void check_by_name_only(FunctionCallInfo fcinfo, int argument) {
  if (!PG_ARGISNULL(argument))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg_plural("%s() takes at most %d argument by position",
                                  "%s() takes at most %d arguments by position", argument,
                                  get_func_name(fcinfo->flinfo->fn_oid), argument),
                    errhint("A density is named in one argument, 'table.column' or 'table "
                            "(column, ...)'; options are given by name, as in filter => "
                            "'...'.")));
}

}  // namespace kde_pg
