// The device service's program as a child: fork and exec over a socket pair, its pulse, its end.
#include "pg/device/device_program.h"

extern "C" {
#include "libpq/pqsignal.h"
}

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace kde_pg {

namespace {

constexpr double kPingMs = 1000;
constexpr double kSilenceMs = 5000;
// A driver may compile its kernels the first time it sees a card.
constexpr double kStartMs = 120000;
// Between being told to end and being killed.
constexpr double kEndMs = 1000;
// What an ending worker waits for it at most, and between looks.
constexpr int kLastWaitMs = 200;
constexpr int kLookMs = 2;

void close_all_from(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0U) == 0) return;
#endif
  struct rlimit limit {};
  const bool known = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  const int end = known && limit.rlim_cur < 65536 ? static_cast<int>(limit.rlim_cur) : 65536;
  for (int fd = first; fd < end; ++fd) close(fd);
}

// Between fork and exec, in a process that shares the server's memory: nothing that takes a lock
// or memory (strerror of a number that the kernel gives does not), and never a return.
[[noreturn]] void become_program(const char* path, char* const argv[], int control) {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &plain, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setsid();
  if (dup2(control, 0) >= 0 && dup2(2, 1) >= 0) {
    close_all_from(3);
    execv(path, argv);
  }
  const char* const parts[] = {
      "kde_aqp: the device service's program could not be run: ", std::strerror(errno), "\n"};
  for (const char* part : parts) {
    [[maybe_unused]] const ssize_t written = write(2, part, std::strlen(part));
  }
  _exit(127);
}

// SIGTERM and not SIGKILL: the program may outlive the worker, and the postmaster, as its next
// parent (where it is process 1 or a subreaper), would take a death by a signal for the crash of a
// session and restart the server. SIGCONT lets one that is stopped see it.
void send_end(const Program& program) {
  for (const int signal : {SIGTERM, SIGCONT}) {
    kill(program.pid, signal);
    // Its session, for what a wrapper has started; there is none before it called setsid.
    kill(-program.pid, signal);
  }
}

void end_for(const char* failure, Program* program) {
  program->failure = failure;
  end_program(program);
}

void hear(Program* program) {
  char bytes[64];
  const ssize_t got = recv(program->control, bytes, sizeof bytes, 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
  // It is ending, or has closed what it must keep.
  if (got <= 0) return end_program(program);
  for (ssize_t i = 0; i < got; ++i) {
    if (bytes[i] == 'r' && !program->ready) {
      program->ready = true;
      program->ready_at = now_ms();
    } else if (bytes[i] == 'p') {
      program->waiting = false;
    } else if (bytes[i] != 'r') {
      return end_for("talked nonsense", program);
    }
  }
}

}  // namespace

double now_ms() {
  struct timespec now {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

bool start_program(const char* path, char* const argv[], Program* program) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  // No handler of the worker's may run in the child.
  sigset_t all, old;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &old);
  const pid_t pid = fork();
  if (pid == 0) become_program(path, argv, ends[1]);
  const int fork_errno = errno;
  sigprocmask(SIG_SETMASK, &old, nullptr);
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    errno = fork_errno;
    return false;
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  *program = {};
  program->pid = pid;
  program->control = ends[0];
  program->started = now_ms();
  return true;
}

void attend_program(Program* program) {
  if (program->kill_at > 0 && now_ms() >= program->kill_at) {
    kill(-program->pid, SIGKILL);
    kill(program->pid, SIGKILL);
    // It may outlive even that while a driver holds it. The worker stays its parent.
    program->kill_at = now_ms() + kEndMs;
  }
  if (program->control < 0) return;
  hear(program);
  if (program->control < 0) return;
  const double now = now_ms();
  if (program->ready && !program->waiting && now >= program->asked + kPingMs) {
    // A full buffer is a program that has not read for long; the silence tells.
    [[maybe_unused]] const ssize_t sent = send(program->control, "p", 1, MSG_NOSIGNAL);
    program->asked = now;
    program->waiting = true;
  }
  const double limit = program->ready ? program->asked + kSilenceMs : program->started + kStartMs;
  if ((program->waiting || !program->ready) && now >= limit) end_for("did not answer", program);
}

double next_attention(const Program& program) {
  if (program.kill_at > 0) return program.kill_at;
  if (!program.ready) return program.started + kStartMs;
  return program.asked + (program.waiting ? kSilenceMs : kPingMs);
}

void end_program(Program* program) {
  if (program->pid > 0 && program->kill_at == 0) {
    send_end(*program);
    program->kill_at = now_ms() + kEndMs;
  }
  if (program->control >= 0) close(program->control);
  program->control = -1;
}

void end_program_and_wait(Program* program) {
  end_program(program);
  const double give_up = now_ms() + kLastWaitMs;
  int status;
  while (program->pid > 0 && !reap_program(program, &status) && now_ms() < give_up) {
    poll(nullptr, 0, kLookMs);
  }
}

bool reap_program(Program* program, int* status) {
  if (program->pid <= 0 || waitpid(program->pid, status, WNOHANG) != program->pid) return false;
  if (program->control >= 0) close(program->control);
  program->pid = 0;
  program->control = -1;
  program->kill_at = 0;
  return true;
}

}  // namespace kde_pg
