// What ends the program: its parent, through the control socket, and a Device that hangs.
//
// The control socket is stdin, one end of a socketpair: its other end says 'p' and hears 'p', hears
// 'r' once clients can connect, and ends the program by closing it. The program ends at once, by
// _exit: a driver that hangs holds up no orderly end.
#pragma once

#include <atomic>

#include "core/room.h"
#include "cuda/server/jobs.h"

namespace kde::service {

inline constexpr int kExitStopped = 0;
inline constexpr int kExitUsage = 2;     // or the socket cannot be bound
inline constexpr int kExitNoDevice = 3;  // or no driver
inline constexpr int kExitHung = 4;      // or the device was lost

struct WatchOptions {
  int control = -1;             // the control socket; negative: none, run by hand
  int hang_ms = 10000;          // a thread in the Device that says nothing for so long hangs
  int start_limit_ms = 120000;  // the devices are made ready within this time
};

class Watch {
 public:
  explicit Watch(const WatchOptions& options) : options_(options) {}

  // Starts the thread that watches until the process ends; *this must live as long. May throw
  // std::system_error.
  void start();

  // From now on clients can connect, and `visits` is watched.
  void ready(Visits* visits);

 private:
  void run();
  void answer_control();
  void look_for_hang();

  const WatchOptions options_;
  std::atomic<Visits*> visits_{nullptr};
  double started_ms_ = 0;
  double looked_ms_ = 0;
};

}  // namespace kde::service
