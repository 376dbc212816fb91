// The poll by which core work serves interrupts, with signals kept away from its threads.
#include "pg/base/interrupts.h"

#include "pg/base/fault.h"

#include "core/kde.h"

#include <signal.h>

extern "C" {
#include "access/xlog.h"
#include "storage/pmsignal.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/timeout.h"

// Of libpq/libpq.h, which would ask for the headers of GSSAPI.
extern bool pq_check_connection(void);
}

namespace kde_pg {

namespace {

// An error raised while interrupts were served inside core work, until it can be raised again. In
// the transaction's memory.
ErrorData* pending_error = nullptr;

void (*watch_core_work)(kde::Control*) = nullptr;

void forget_error(void*) { pending_error = nullptr; }

// All signals are kept from this thread, and from those it starts. Returns what was kept from it
// before.
sigset_t block_signals() {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  return old;
}

// As ProcessInterrupts() does, which would end the session.
bool is_connection_lost() {
  if (CheckClientConnectionPending) {
    CheckClientConnectionPending = false;
    if (client_connection_check_interval > 0) {
      if (pq_check_connection()) {
        enable_timeout_after(CLIENT_CONNECTION_CHECK_TIMEOUT, client_connection_check_interval);
      } else {
        ClientConnectionLost = true;
      }
    }
  }
  return ClientConnectionLost;
}

// A process without its postmaster keeps the next server from starting while it computes. Where
// PostgreSQL waits, it ends at once; here as if it was terminated.
void notice_lost_postmaster() {
  if (!IsUnderPostmaster || PostmasterIsAlive()) return;
  ProcDiePending = true;
  InterruptPending = true;
}

// Whether serving the pending interrupts would end the command, or the session (FATAL): its exit
// must not begin while threads compute, so core is left first.
bool ends_command() {
  if (ProcDiePending || (QueryCancelPending && QueryCancelHoldoffCount == 0)) return true;
#if PG_VERSION_NUM >= 170000
  if (TransactionTimeoutPending && TransactionTimeout > 0) return true;
#endif
  return is_connection_lost();
}

// False if one of them raised an error.
bool serve_interrupts() {
  const MemoryContext context = CurrentMemoryContext;
  volatile bool failed = false;
  PG_TRY();
  {
    KDE_FAULT("core.polled");
    CHECK_FOR_INTERRUPTS();
    KDE_FAULT("core.polled");
  }
  PG_CATCH();
  {
    MemoryContextSwitchTo(TopTransactionContext);
    pending_error = CopyErrorData();
    FlushErrorState();
    auto* callback = static_cast<MemoryContextCallback*>(palloc0(sizeof(MemoryContextCallback)));
    callback->func = forget_error;
    MemoryContextRegisterResetCallback(TopTransactionContext, callback);
    MemoryContextSwitchTo(context);
    failed = true;
  }
  PG_END_TRY();
  return !failed;
}

}  // namespace

bool should_stop(void*) {
  // Core may poll again before it returns, and must not take a later "no" for the answer.
  if (pending_error != nullptr) return true;
  notice_lost_postmaster();
  if (!InterruptPending && !KDE_FAULT_ARMED("core.polled")) return false;
  // What cannot be raised after core's return is not to stop it.
  if (InterruptHoldoffCount != 0 || CritSectionCount != 0) return false;
  // A signal that comes after the look waits for the next poll.
  const sigset_t old = block_signals();
  const bool stop = ends_command() || !serve_interrupts();
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return stop;
}

kde::Control begin_core_work(int threads) {
  kde::Control control;
  control.should_stop = should_stop;
  if (watch_core_work != nullptr) watch_core_work(&control);
  clear_pending_error();
#if PG_VERSION_NUM >= 160000
  // A conflict with recovery may end the session from within CHECK_FOR_INTERRUPTS; the process must
  // not exit while its other threads compute.
  if (RecoveryInProgress()) threads = 1;
#endif
  if (threads <= 1) return control;
  // New threads inherit the signal mask, so that every signal goes to the main thread, which alone
  // may handle PostgreSQL's. Nothing in between can raise an error.
  const sigset_t old = block_signals();
  control.threads = kde::start_threads(threads);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return control;
}

void at_core_work(void (*watch)(kde::Control*)) { watch_core_work = watch; }

void clear_pending_error() { pending_error = nullptr; }

void raise_pending_error() {
  ErrorData* error = pending_error;
  pending_error = nullptr;
  if (error != nullptr) ReThrowError(error);
}

}  // namespace kde_pg
