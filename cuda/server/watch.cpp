// A thread of its own, from before the devices are touched: it must answer whatever they do.
#include "cuda/server/watch.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "cuda/server/clock.h"
#include "cuda/server/log.h"

namespace kde::service {
namespace {

// Between two looks at the threads inside the Device, of the time after which they hang.
constexpr int kLooksPerHang = 8;

}  // namespace

void Watch::start() {
  started_ms_ = looked_ms_ = now_ms();
  std::thread([this] { run(); }).detach();
}

void Watch::ready(Visits* visits) {
  visits_.store(visits);
  if (options_.control >= 0) {
    ::send(options_.control, "r", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

void Watch::run() {
  const int look_ms = options_.hang_ms / kLooksPerHang + 1;
  for (;;) {
    pollfd control{options_.control, POLLIN, 0};  // poll ignores a negative descriptor
    const int ready = ::poll(&control, 1, look_ms);
    if (ready > 0) answer_control();
    look_for_hang();
  }
}

void Watch::answer_control() {
  char bytes[64];
  const ssize_t got = ::recv(options_.control, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) ::_exit(kExitStopped);
  for (ssize_t i = 0; i < got; ++i) {
    if (bytes[i] == 'p') ::send(options_.control, "p", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

void Watch::look_for_hang() {
  const double now = now_ms();
  const bool stood_still = now - looked_ms_ > options_.hang_ms / 2.0;
  looked_ms_ = now;
  Visits* visits = visits_.load();
  if (visits == nullptr) {
    if (now - started_ms_ < options_.start_limit_ms) return;
    log_line("the devices were not ready after %.0f s", (now - started_ms_) / 1000);
    ::_exit(kExitHung);
  }
  // A process that was stopped or had no processor says nothing about its devices.
  if (stood_still) visits->forgive();
  const Visits::Silence silence = visits->longest_silence();
  if (silence.what == nullptr || silence.ms < options_.hang_ms) return;
  log_line("hung: %s has not been heard of for %.1f s", silence.what, silence.ms / 1000);
  ::_exit(kExitHung);
}

}  // namespace kde::service
