// How a caller bounds and stops long work in the core.
#pragma once

#include "core/room.h"

namespace kde {

struct Control {
  // OpenMP threads used at most; results do not depend on it.
  int threads = 1;
  // Polled every few milliseconds by the calling thread alone; true ends the work with
  // Code::cancelled. Null: never stop.
  bool (*should_stop)(void* arg) = nullptr;
  void* stop_arg = nullptr;

  bool stop_requested() const { return should_stop != nullptr && should_stop(stop_arg); }
};

}  // namespace kde
