// Arguments, signals, the device, the server; in this order, so that nothing is touched for a
// wrong argument and no client comes before the cards are ready.
#include "cuda/server/serve_main.h"

#include <getopt.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <system_error>

#include "core/device/wire.h"
#include "cuda/server/log.h"
#include "cuda/server/server.h"
#include "cuda/server/watch.h"

namespace kde::service {
namespace {

struct Arguments {
  std::string socket;
  std::uint64_t memory_limit_mb = 0;
  int max_jobs = ServerOptions().max_jobs;
  bool foreground = false;
  bool quiet_start = false;
};

void print_help(const Program& program) {
  std::printf(
      "%s computes kernel sums of kde_aqp for the servers of this machine.\n"
      "\n"
      "  --socket PATH        the Unix socket to serve\n"
      "  --memory-limit MB    of all samples together on each card (default: 4/5 of the card)\n"
      "  --max-jobs N         computed or waiting at once (default %d)\n"
      "  --foreground         run by hand: until SIGINT or SIGTERM, not until stdin closes\n"
      "  --quiet-start        say nothing where there is no usable device\n"
      "  --version, --help\n"
      "\n"
      "Exit status: %d told to stop, %d usage or the socket cannot be bound, %d no usable device,\n"
      "%d hung or a device was lost.\n",
      program.name.c_str(), Arguments().max_jobs, kExitStopped, kExitUsage, kExitNoDevice,
      kExitHung);
}

// A whole number from least to most, and nothing else.
bool read_number(const char* text, long long least, long long most, long long* out) {
  char* end = nullptr;
  errno = 0;
  *out = std::strtoll(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && *out >= least && *out <= most;
}

// Negative: go on; otherwise the exit status.
int read_arguments(int argc, char** argv, const Program& program, Arguments* out) {
  enum { kSocket = 1, kMemoryLimit, kMaxJobs, kForeground, kQuietStart, kVersion, kHelp, kFail };
  static constexpr option kOptions[] = {{"socket", required_argument, nullptr, kSocket},
                                        {"memory-limit", required_argument, nullptr, kMemoryLimit},
                                        {"max-jobs", required_argument, nullptr, kMaxJobs},
                                        {"foreground", no_argument, nullptr, kForeground},
                                        {"quiet-start", no_argument, nullptr, kQuietStart},
                                        {"version", no_argument, nullptr, kVersion},
                                        {"help", no_argument, nullptr, kHelp},
                                        {"fail", required_argument, nullptr, kFail},
                                        {nullptr, 0, nullptr, 0}};
  const auto wrong = [](const char* what) {
    log_line("%s; see --help", what);
    return kExitUsage;
  };
  optind = 1;
  opterr = 0;
  long long number = 0;
  int which = 0;
  while ((which = ::getopt_long(argc, argv, "", kOptions, nullptr)) != -1) {
    switch (which) {
      case kSocket:
        out->socket = optarg;
        break;
      case kMemoryLimit:
        if (!read_number(optarg, 0, std::numeric_limits<long long>::max() >> 20, &number)) {
          return wrong("--memory-limit takes a number of megabytes");
        }
        out->memory_limit_mb = static_cast<std::uint64_t>(number);
        break;
      case kMaxJobs:
        if (!read_number(optarg, 1, 1 << 16, &number)) {
          return wrong("--max-jobs takes a number from 1 to 65536");
        }
        out->max_jobs = static_cast<int>(number);
        break;
      case kForeground:
        out->foreground = true;
        break;
      case kQuietStart:
        out->quiet_start = true;
        break;
      case kVersion:
        std::printf("%s %s (protocol %d)\n", program.name.c_str(), program.version.c_str(),
                    static_cast<int>(wire::kVersion));
        return kExitStopped;
      case kHelp:
        print_help(program);
        return kExitStopped;
      case kFail:
        if (program.fail == nullptr || !program.fail(optarg)) return wrong("no such failure");
        break;
      default:
        return wrong("an argument is wrong");
    }
  }
  if (optind < argc) return wrong("there is an argument too many");
  if (out->socket.empty()) return wrong("--socket is missing");
  struct stat control {};
  if (!out->foreground && (::fstat(STDIN_FILENO, &control) != 0 || !S_ISSOCK(control.st_mode))) {
    return wrong("stdin is no socket; to run by hand takes --foreground");
  }
  return -1;
}

void on_signal(int) { ::_exit(kExitStopped); }

void set_signals(bool foreground) {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
  // The terminal of a server started by hand is not this program's to obey.
  if (!foreground) ::sigaction(SIGHUP, &action, nullptr);
  action.sa_handler = on_signal;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The program must not outlive what started it, not even if that was killed. By SIGTERM, whose
// handler ends it with status 0: an orphan's status may be read by a postmaster that is process 1,
// as in a container, which takes a death by a signal for that of a session and restarts the server.
void follow_parent() {
  const pid_t parent = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  // It may have ended before; had it ended before the first line, stdin would say so.
  if (::getppid() != parent) ::_exit(kExitStopped);
}

// A connection has a socket and for moments a memory file; drivers take descriptors as well.
void raise_descriptor_limit() {
  constexpr rlim_t kWanted = 4096;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kWanted) return;
  limit.rlim_cur = limit.rlim_max < kWanted ? limit.rlim_max : kWanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int serve(const Program& program, const Arguments& arguments) {
  WatchOptions watch_options;
  watch_options.control = arguments.foreground ? -1 : STDIN_FILENO;
  watch_options.hang_ms = program.hang_ms;
  Watch watch(watch_options);
  watch.start();

  const std::uint64_t memory_limit = arguments.memory_limit_mb << 20;
  std::unique_ptr<Device> device;
  const Status made = program.make_device(memory_limit, &device);
  if (!made.ok()) {
    if (!arguments.quiet_start) log_line("%s", made.message);
    ::_exit(kExitNoDevice);  // not by return: the watch's thread goes on
  }

  ServerOptions options;
  options.socket_path = arguments.socket;
  options.program = program.name + " " + program.version;
  options.memory_limit = memory_limit;
  options.max_jobs = arguments.max_jobs;
  options.alter = program.alter;
  std::unique_ptr<Server> server;
  const Status started = Server::start(options, device.get(), &server);
  if (!started.ok()) {
    log_line("%s", started.message);
    ::_exit(kExitUsage);
  }
  for (const DeviceInfo& info : device->devices()) {
    log_line("serving %s, %llu MB", info.name, static_cast<unsigned long long>(info.memory >> 20));
  }
  watch.ready(&server->visits());
  for (;;) ::pause();
}

}  // namespace

int serve_main(int argc, char** argv, const Program& program) {
  Arguments arguments;
  const int status = read_arguments(argc, argv, program, &arguments);
  if (status >= 0) return status;
  set_signals(arguments.foreground);
  if (!arguments.foreground) follow_parent();
  raise_descriptor_limit();
  try {
    return serve(program, arguments);
  } catch (const std::exception& error) {
    log_line("%s", error.what());
    ::_exit(kExitHung);
  }
}

}  // namespace kde::service
