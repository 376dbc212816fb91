// Wall-clock time since a point in a fit, for its report.
#pragma once

#include "core/room.h"

#include <ctime>

namespace kde {

class Stopwatch {
 public:
  // Milliseconds since construction.
  double ms() const { return now_ms() - start_ms_; }

 private:
  static double now_ms() {
    std::timespec now;
    static_cast<void>(::clock_gettime(CLOCK_MONOTONIC, &now));
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
  }

  double start_ms_ = now_ms();
};

}  // namespace kde
