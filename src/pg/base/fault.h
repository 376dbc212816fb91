// Fault points, for tests of what a failure at a certain step leaves behind. Only a build with
// -DKDE_AQP_FAULTS (`make faults`) has them: elsewhere KDE_FAULT is nothing.
//
// In such a build the superuser option kde_aqp.fault, "POINT ACTION" or "POINT ACTION PASS", says
// what happens at a point:
//
//   error      an error of the class 38 (external routine exception)
//   wait       it waits until no session holds the advisory lock 1
//   crash      what is in WAL so far is flushed; postmaster and this process are killed (SIGKILL)
//   terminate  this process is sent SIGTERM
//   notice     a NOTICE names the point; POINT may be *, for all
//
// at every passing, or at the PASS-th since the option was set alone. Points of the transaction's
// own end, in transactions that passed another: transaction.preparing, transaction.committing (an
// error may still undo all) and transaction.committed (nothing can; an error is a PANIC).
//
// Include this in source files alone: `make faults` compiles anew those that do.
#pragma once

#include "pg/base/pg.h"

#ifdef KDE_AQP_FAULTS

namespace kde_pg {

// Defines the option and the transactions' callback. Called once, from _PG_init, before the prefix
// of the options is reserved.
void define_faults();

// Does what the option says of this point. Raises errors: not for the core's frames.
void fault_point(const char* point);

// Whether the option speaks of this point.
bool is_fault_armed(const char* point);

}  // namespace kde_pg

#define KDE_FAULT(point) ::kde_pg::fault_point(point)
#define KDE_FAULT_ARMED(point) ::kde_pg::is_fault_armed(point)
#define KDE_DEFINE_FAULTS() ::kde_pg::define_faults()

#else

#define KDE_FAULT(point) static_cast<void>(0)
#define KDE_FAULT_ARMED(point) false
#define KDE_DEFINE_FAULTS() static_cast<void>(0)

#endif
