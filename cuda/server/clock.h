// Time that only goes forward, in milliseconds.
#pragma once

#include <chrono>

#include "core/room.h"

namespace kde::service {

inline double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace kde::service
