// The poll of interrupts.h.
#include "pg/interrupts.h"

extern "C" {
#include "miscadmin.h"
#include "utils/memutils.h"
}

namespace kde_pg {

namespace {

// An error raised while interrupts were served inside core work, until it can be raised again.
ErrorData* pending_error = nullptr;

}  // namespace

bool should_stop(void*) {
  if (!InterruptPending) return false;
  if (QueryCancelPending || ProcDiePending) return true;
  const MemoryContext context = CurrentMemoryContext;
  volatile bool failed = false;
  PG_TRY();
  { CHECK_FOR_INTERRUPTS(); }
  PG_CATCH();
  {
    MemoryContextSwitchTo(TopTransactionContext);
    pending_error = CopyErrorData();
    FlushErrorState();
    MemoryContextSwitchTo(context);
    failed = true;
  }
  PG_END_TRY();
  return failed;
}

void raise_pending_interrupt() {
  ErrorData* error = pending_error;
  pending_error = nullptr;
  if (error != nullptr) ReThrowError(error);
  CHECK_FOR_INTERRUPTS();
}

}  // namespace kde_pg
