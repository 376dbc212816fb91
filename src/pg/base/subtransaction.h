// Work whose errors are no errors of the command: run in a subtransaction, undone if it fails.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "access/parallel.h"
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

// Whether a subtransaction may begin: until PostgreSQL 17 none does while there are workers.
inline bool may_undo() {
#if PG_VERSION_NUM >= 170000
  return true;
#else
  return !IsInParallelMode() || (!ParallelContextActive() && !IsParallelWorker());
#endif
}

// All of a plan is run in parallel mode that may have workers somewhere. Without any it may be left: so many
// times it was entered. Apart, as no loop's variable lives across what longjmp() comes back to.
[[gnu::noinline]] inline int leave_parallel_mode() {
  int levels = 0;
#if PG_VERSION_NUM < 170000
  for (; IsInParallelMode() && may_undo(); ++levels) ExitParallelMode();
#endif
  return levels;
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
  const int levels = leave_parallel_mode();
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
  for (int i = 0; i < levels; ++i) EnterParallelMode();
  return done;
}

}  // namespace kde_pg
