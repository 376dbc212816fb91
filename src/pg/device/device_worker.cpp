// The background worker that runs the device service's program, and when it starts it again.
//
// A program that ends is started again after 1 s, then 2 s, 4 s ... 5 min; one that has served for
// a minute begins anew. Where it found no device (exit status 3) it is tried as often, and said
// once.
#include "pg/device/device_worker.h"

#include "pg/base/options.h"
#include "pg/base/wait_events.h"
#include "pg/device/device_program.h"
#include "pg/device/device_state.h"

extern "C" {
#include "port.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

PGDLLEXPORT void kde_device_worker_main(Datum);
}

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace kde_pg {

namespace {

constexpr int kFirstPause = 1;
constexpr int kLongestPause = 300;  // seconds
constexpr double kServedMs = 60000;

// The one program, at file level for the exit callback.
Program program;

// What the running program was started with.
struct Settings {
  char path[MAXPGPATH];
  int memory_limit;
  int max_jobs;

  bool operator==(const Settings& other) const {
    return std::strcmp(path, other.path) == 0 && memory_limit == other.memory_limit &&
           max_jobs == other.max_jobs;
  }
};

Settings current_settings() {
  Settings out;
  device_program_path(out.path);
  out.memory_limit = option_gpu_memory_limit;
  out.max_jobs = option_gpu_max_jobs;
  return out;
}

BackgroundWorker describe_worker() {
  BackgroundWorker worker{};
  strlcpy(worker.bgw_name, "kde_aqp device service", BGW_MAXLEN);
  strlcpy(worker.bgw_type, "kde_aqp device service", BGW_MAXLEN);
  worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
  // Bandwidths can be asked for on a standby as well.
  worker.bgw_start_time = BgWorkerStart_PostmasterStart;
  strlcpy(worker.bgw_library_name, "kde_aqp", sizeof worker.bgw_library_name);
  strlcpy(worker.bgw_function_name, "kde_device_worker_main", BGW_MAXLEN);
  return worker;
}

// False, with errno, if it is no regular file that can be run.
bool can_run(const char* path) {
  struct stat found {};
  if (stat(path, &found) != 0) return false;
  if (!S_ISREG(found.st_mode)) {
    errno = S_ISDIR(found.st_mode) ? EISDIR : EACCES;
    return false;
  }
  return access(path, X_OK) == 0;
}

void on_child_end(SIGNAL_ARGS) {
  const int saved = errno;
  SetLatch(MyLatch);
  errno = saved;
}

void clean_up(int, Datum) {
  end_program_and_wait(&program);
  remove_service_files();
}

class Worker {
 public:
  [[noreturn]] void run() {
    for (;;) {
      // A worker that ends leaves its program to the exit callback, and to the kernel, which closes
      // the socket pair.
      if (ShutdownRequestPending) end();
      if (ConfigReloadPending) reload();
      int status;
      if (reap_program(&program, &status)) program_ended(status);
      if (program.pid == 0 && now_ms() >= next_try_) start();
      const bool was_ready = program.ready, had_failed = program.failure != nullptr;
      attend_program(&program);
      if (program.ready && !was_ready && program.failure == nullptr) {
        ereport(LOG, (errmsg("device service is ready")));
        write_service_state("%s", kStateReady);
        no_device_ = false;
      }
      // Which may take long where a driver holds it.
      if (program.failure != nullptr && !had_failed)
        write_service_state("%s, is being ended", program.failure);
      wait();
    }
  }

 private:
  [[noreturn]] static void end() {
    // Registered at the server's start, it comes back after a status other than 0.
    proc_exit(MyBgworkerEntry->bgw_restart_time == BGW_NEVER_RESTART ? 0 : 1);
  }

  void reload() {
    ConfigReloadPending = false;
    const bool off = chosen_device_mode() == DeviceMode::cpu;
    ProcessConfigFile(PGC_SIGHUP);
    if (!off && chosen_device_mode() == DeviceMode::cpu) {
      ereport(LOG, (errmsg("device service ends: \"kde_aqp.device\" is now \"cpu\"")));
      proc_exit(0);
    }
    if (current_settings() == settings_) return;
    // Also ends a pause, as what was changed may be what was wrong.
    restart_asked_ = true;
    pause_ = kFirstPause;
    next_try_ = 0;
    // Before it ends, so that nobody who finds it gone reads that it is ready.
    write_service_state("%s", kStateStarting);
    end_program(&program);
  }

  void start() {
    settings_ = current_settings();
    write_service_state("%s", kStateStarting);
    restart_asked_ = false;
    char memory_limit[16], max_jobs[16];
    std::snprintf(memory_limit, sizeof memory_limit, "%d", settings_.memory_limit);
    std::snprintf(max_jobs, sizeof max_jobs, "%d", settings_.max_jobs);
    const char* argv[] = {"kde_aqp_cudad",  "--socket",   kServiceSocket,
                          "--memory-limit", memory_limit, "--max-jobs",
                          max_jobs,         nullptr,      nullptr};
    if (no_device_) argv[7] = "--quiet-start";
    // The program makes it anew; until then nobody should knock at an old one.
    unlink(kServiceSocket);
    if (!can_run(settings_.path)) {
      if (!no_program_) {
        ereport(LOG, (errcode_for_file_access(),
                      errmsg("device service cannot run program \"%s\": %m", settings_.path)));
      }
      no_program_ = true;
      retry_later("program not found");
      return;
    }
    no_program_ = false;
    if (!start_program(settings_.path, const_cast<char* const*>(argv), &program)) {
      ereport(LOG, (errcode(ERRCODE_INSUFFICIENT_RESOURCES),
                    errmsg("device service could not start a process: %m")));
      retry_later("no process could be started");
    }
  }

  void program_ended(int status) {
    unlink(kServiceSocket);
    const bool served = program.ready && now_ms() - program.ready_at >= kServedMs;
    if (served) pause_ = kFirstPause;
    if (restart_asked_) {
      next_try_ = 0;
      return;
    }
    const bool exited = WIFEXITED(status);
    if (exited && WEXITSTATUS(status) == kExitNoDevice) {
      if (!no_device_) {
        ereport(LOG,
                (errcode(ERRCODE_SYSTEM_ERROR), errmsg("device service found no usable device"),
                 errdetail("It is tried again, at last every %d s, without another message.",
                           kLongestPause)));
      }
      no_device_ = true;
      retry_later("no usable device");
      return;
    }
    no_device_ = false;
    char what[80];
    if (program.failure != nullptr) {
      std::snprintf(what, sizeof what, "%s", program.failure);
    } else if (exited && WEXITSTATUS(status) == kExitDeviceLost) {
      std::snprintf(what, sizeof what, "a device hung or was lost");
    } else if (exited) {
      std::snprintf(what, sizeof what, "ended (exit status %d)", WEXITSTATUS(status));
    } else {
      std::snprintf(what, sizeof what, "crashed (signal %d)", WTERMSIG(status));
    }
    ereport(LOG, (errcode(ERRCODE_SYSTEM_ERROR), errmsg("device service failed: %s", what),
                  errdetail("Its program is started again in %d s.", pause_)));
    retry_later(what);
  }

  void retry_later(const char* what) {
    write_service_state("%s, next try within %d s", what, pause_);
    next_try_ = now_ms() + 1000.0 * pause_;
    pause_ = Min(2 * pause_, kLongestPause);
  }

  void wait() {
    const double next = program.pid == 0 ? next_try_ : next_attention(program);
    const long timeout = static_cast<long>(Max(next - now_ms(), 0.0)) + 1;
    int events = WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH;
    if (program.control >= 0) events |= WL_SOCKET_READABLE;
    static uint32 event = 0;
    (void)WaitLatchOrSocket(MyLatch, events,
                            program.control >= 0 ? program.control : PGINVALID_SOCKET, timeout,
                            named_wait("KdeDeviceWorkerMain", &event));
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
  }

  Settings settings_{};
  double next_try_ = 0;
  int pause_ = kFirstPause;
  bool restart_asked_ = false;
  bool no_device_ = false, no_program_ = false;  // said already
};

}  // namespace

bool device_program_exists() {
  char path[MAXPGPATH];
  device_program_path(path);
  return can_run(path);
}

void register_device_worker() {
  if (IsBinaryUpgrade || chosen_device_mode() == DeviceMode::cpu || !device_program_exists())
    return;
  BackgroundWorker worker = describe_worker();
  worker.bgw_restart_time = 10;
  RegisterBackgroundWorker(&worker);
}

BackgroundWorkerHandle* start_device_worker() {
  BackgroundWorker worker = describe_worker();
  worker.bgw_restart_time = BGW_NEVER_RESTART;
  worker.bgw_notify_pid = MyProcPid;
  BackgroundWorkerHandle* handle = nullptr;
  return RegisterDynamicBackgroundWorker(&worker, &handle) ? handle : nullptr;
}

}  // namespace kde_pg

void kde_device_worker_main(Datum) {
  using namespace kde_pg;
  pqsignal(SIGHUP, SignalHandlerForConfigReload);
  pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
  pqsignal(SIGCHLD, on_child_end);
  BackgroundWorkerUnblockSignals();
  if (!take_service_lock()) proc_exit(0);
  write_service_state("%s", kStateStarting);
  on_proc_exit(clean_up, 0);
  // Trivially destructible: proc_exit does not return here.
  Worker worker;
  worker.run();
}
