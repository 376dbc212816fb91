// The poll of interrupts.h.
#include "pg/interrupts.h"

#include "pg/fault.h"
#include "pg/progress.h"

#include "core/sums/pair_sums.h"

#include <signal.h>

extern "C" {
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/memutils.h"

// Of libpq/libpq.h, which would ask for the headers of GSSAPI.
extern bool pq_check_connection(void);
}

namespace kde_pg {

namespace {

// An error raised while interrupts were served inside core work, until it can be raised again.
ErrorData* pending_error = nullptr;

// Whether serving the pending interrupt would end the session (FATAL): its exit must not begin
// while threads compute, so core is left first.
bool ends_session() {
#if PG_VERSION_NUM >= 170000
  if (TransactionTimeoutPending) return true;
#endif
  return ClientConnectionLost || (CheckClientConnectionPending && !pq_check_connection());
}

}  // namespace

bool should_stop(void*) {
  // Core may poll again before it returns, and must not take a later "no" for the answer.
  if (pending_error != nullptr) return true;
  if (!InterruptPending && !KDE_FAULT_ARMED("core.polled")) return false;
  if (QueryCancelPending || ProcDiePending || ends_session()) return true;
  const MemoryContext context = CurrentMemoryContext;
  volatile bool failed = false;
  PG_TRY();
  {
    KDE_FAULT("core.polled");
    CHECK_FOR_INTERRUPTS();
  }
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

kde::Control begin_core_work(int threads) {
  kde::Control control;
  control.should_stop = should_stop;
  watch_work(&control);
  clear_pending_interrupt();
#if PG_VERSION_NUM >= 160000
  // A conflict with recovery may end the session from within CHECK_FOR_INTERRUPTS; the process must
  // not exit while its other threads compute.
  if (RecoveryInProgress()) threads = 1;
#endif
  if (threads <= 1) return control;
  // New threads inherit the signal mask, so that every signal goes to the main thread, which alone
  // may handle PostgreSQL's. Nothing in between can raise an error.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  control.threads = kde::start_threads(threads);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return control;
}

void clear_pending_interrupt() { pending_error = nullptr; }

void raise_pending_interrupt() {
  ErrorData* error = pending_error;
  pending_error = nullptr;
  if (error != nullptr) ReThrowError(error);
  CHECK_FOR_INTERRUPTS();
}

}  // namespace kde_pg
