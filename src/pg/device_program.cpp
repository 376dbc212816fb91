// The child process of device_program.h.
#include "pg/device_program.h"

extern "C" {
#include "libpq/pqsignal.h"
}

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kde_pg {

namespace {

constexpr double kPingMs = 1000;
constexpr double kSilenceMs = 5000;
// A driver may compile its kernels the first time it sees a card.
constexpr double kStartMs = 120000;

void close_all_from(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0U) == 0) return;
#endif
  struct rlimit limit {};
  const bool known = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  const int end = known && limit.rlim_cur < 65536 ? static_cast<int>(limit.rlim_cur) : 65536;
  for (int fd = first; fd < end; ++fd) close(fd);
}

// Between fork and exec, in a process that shares the server's memory: only what is safe in a
// signal handler, and never a return.
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
  constexpr char kFailed[] = "kde_aqp: the device service's program could not be run\n";
  [[maybe_unused]] const ssize_t written = write(2, kFailed, sizeof kFailed - 1);
  _exit(127);
}

void hear(Program* program) {
  char bytes[64];
  for (;;) {
    const ssize_t got = recv(program->control, bytes, sizeof bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) {
      // It is ending, or has closed what it must keep.
      kill_program(program);
      return;
    }
    for (ssize_t i = 0; i < got; ++i) {
      if (bytes[i] == 'r' && !program->ready) {
        program->ready = true;
        program->ready_at = now_ms();
      } else if (bytes[i] == 'p') {
        program->waiting = false;
      }
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
  if ((program->waiting || !program->ready) && now >= limit) {
    program->hung = true;
    kill_program(program);
  }
}

double next_attention(const Program& program) {
  if (!program.ready) return program.started + kStartMs;
  return program.asked + (program.waiting ? kSilenceMs : kPingMs);
}

void kill_program(Program* program) {
  if (program->pid > 0) kill(program->pid, SIGKILL);
  if (program->control >= 0) close(program->control);
  program->control = -1;
}

bool reap_program(Program* program, int* status) {
  if (program->pid <= 0 || waitpid(program->pid, status, WNOHANG) != program->pid) return false;
  if (program->control >= 0) close(program->control);
  program->pid = 0;
  program->control = -1;
  return true;
}

}  // namespace kde_pg
