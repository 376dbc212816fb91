// Work whose errors are no errors of the command: run in a subtransaction, undone if it fails.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "utils/resowner.h"
}

namespace kde_pg {

// Whether an error says that what was asked makes no sense here, rather than that the command must
// end (a cancel, a lack of memory or room, a deadlock, a defect).
inline bool is_about_the_work(int sqlstate) {
  switch (ERRCODE_TO_CATEGORY(sqlstate)) {
    case ERRCODE_OPERATOR_INTERVENTION:
    case ERRCODE_INSUFFICIENT_RESOURCES:
    case ERRCODE_SYSTEM_ERROR:
    case ERRCODE_TRANSACTION_ROLLBACK:
    case ERRCODE_INTERNAL_ERROR:
      return false;
    default:
      return true;
  }
}

// A cancel is the caller's; whatever else comes is the affair of what was tried.
inline bool is_no_cancel(int sqlstate) {
  return ERRCODE_TO_CATEGORY(sqlstate) != ERRCODE_OPERATOR_INTERVENTION;
}

// False if work() raised an error that is_trapped(sqlstate) says true of; its effects are then
// undone. Other errors pass. What it pallocs stays in the caller's memory context. sqlstate: null,
// or set to that of the error. keep: false if what it did, locked and opened is undone in any case.
// message: null, or set to the error's; whole: the same of all of it.
template <typename Work>
bool without_error(Work work, int* sqlstate = nullptr,
                   bool (*is_trapped)(int sqlstate) = is_about_the_work, bool keep = true,
                   const char** message = nullptr, ErrorData** whole = nullptr) {
  MemoryContext context = CurrentMemoryContext;
  ResourceOwner owner = CurrentResourceOwner;
  volatile bool done = false;
  BeginInternalSubTransaction(nullptr);
  MemoryContextSwitchTo(context);
  PG_TRY();
  {
    work();
    if (keep)
      ReleaseCurrentSubTransaction();
    else
      RollbackAndReleaseCurrentSubTransaction();
    done = true;
  }
  PG_CATCH();
  {
    MemoryContextSwitchTo(context);
    ErrorData* error = CopyErrorData();
    FlushErrorState();
    RollbackAndReleaseCurrentSubTransaction();
    if (!is_trapped(error->sqlerrcode)) ReThrowError(error);
    if (sqlstate != nullptr) *sqlstate = error->sqlerrcode;
    if (message != nullptr) *message = pstrdup(error->message);
    if (whole != nullptr)
      *whole = error;
    else
      FreeErrorData(error);
  }
  PG_END_TRY();
  MemoryContextSwitchTo(context);
  CurrentResourceOwner = owner;
  return done;
}

}  // namespace kde_pg
