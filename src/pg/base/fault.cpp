// What happens at fault points: errors, waits, crashes, by kde_aqp.fault. Empty but in builds for
// tests.
#include "pg/base/fault.h"

#ifdef KDE_AQP_FAULTS

extern "C" {
#include "access/xlog.h"
#include "storage/lock.h"
}

#include <signal.h>
#include <unistd.h>

#include <cstring>

namespace kde_pg {

namespace {

char* option_fault = nullptr;

enum class Action { none, error, wait, crash, terminate, notice };
constexpr const char* kActionNames[] = {"", "error", "wait", "crash", "terminate", "notice"};

struct Fault {
  char point[64] = "";
  Action action = Action::none;
  long pass = 0;  // 0: every
};
Fault fault;
long passes = 0;       // of the option's point since it was set
bool in_work = false;  // this transaction passed a point
bool tells_next = false;

bool parse(const char* text, Fault* out) {
  *out = {};
  if (text[0] == '\0') return true;
  char action[16];
  const int read = std::sscanf(text, "%63s %15s %ld", out->point, action, &out->pass);
  if (read < 2) return false;
  for (int i = 1; i < static_cast<int>(lengthof(kActionNames)); ++i) {
    if (std::strcmp(action, kActionNames[i]) == 0) out->action = static_cast<Action>(i);
  }
  return out->action != Action::none;
}

bool check_fault(char** value, void**, GucSource) {
  Fault ignored;
  if (parse(*value, &ignored)) return true;
  GUC_check_errdetail("It is \"POINT ACTION\" or \"POINT ACTION PASS\".");
  return false;
}

void assign_fault(const char* value, void*) {
  (void)parse(value, &fault);
  passes = 0;
}

bool is_meant(const char* point) {
  if (fault.action == Action::notice && std::strcmp(fault.point, "*") == 0) return true;
  return fault.action != Action::none && std::strcmp(fault.point, point) == 0;
}

// Whoever holds the lock lets us pass by releasing it.
void wait_for_lock() {
  LOCKTAG tag;
  SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, 1, 1);
  (void)LockAcquire(&tag, ShareLock, false, false);
  (void)LockRelease(&tag, ShareLock, false);
}

[[noreturn]] void crash() {
  if (XactLastRecEnd != InvalidXLogRecPtr) XLogFlush(XactLastRecEnd);
  (void)kill(PostmasterPid, SIGKILL);
  (void)kill(getpid(), SIGKILL);
  for (;;) (void)pause();
}

void act(const char* point) {
  switch (fault.action) {
    case Action::none:
      break;
    case Action::error:
      ereport(ERROR, (errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
                      errmsg("fault at point \"%s\"", point)));
      break;
    case Action::wait:
      wait_for_lock();
      break;
    case Action::crash:
      crash();
    case Action::terminate:
      (void)kill(getpid(), SIGTERM);
      tells_next = true;
      break;
    case Action::notice:
      ereport(NOTICE, (errmsg("fault point %s", point)));
      break;
  }
}

// Like fault_point, but what it does is no work of the transaction.
void end_of_transaction(XactEvent event, void*) {
  const bool worked = in_work;
  switch (event) {
    case XACT_EVENT_PRE_PREPARE:
      if (worked) fault_point("transaction.preparing");
      break;
    case XACT_EVENT_PRE_COMMIT:
      if (worked) fault_point("transaction.committing");
      break;
    case XACT_EVENT_COMMIT:
      if (worked) fault_point("transaction.committed");
      in_work = false;
      break;
    case XACT_EVENT_PREPARE:
    case XACT_EVENT_ABORT:
      in_work = false;
      break;
    default:
      break;
  }
}

}  // namespace

void define_faults() {
  DefineCustomStringVariable("kde_aqp.fault", "What happens at a fault point.",
                             "Of a build for tests alone.", &option_fault, "", PGC_SUSET,
                             GUC_NOT_IN_SAMPLE, check_fault, assign_fault, nullptr);
  RegisterXactCallback(end_of_transaction, nullptr);
}

bool is_fault_armed(const char* point) { return is_meant(point); }

void fault_point(const char* point) {
  in_work = true;
  if (tells_next) {
    tells_next = false;
    ereport(NOTICE, (errmsg("fault point %s is reached", point)));
  }
  if (!is_meant(point)) return;
  ++passes;
  if (fault.pass == 0 || passes == fault.pass) act(point);
}

}  // namespace kde_pg

#endif
