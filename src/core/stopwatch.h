// Wall-clock time since a point in a fit, for its report.
#pragma once

#include "core/room.h"

#include <chrono>

namespace kde {

class Stopwatch {
 public:
  // Milliseconds since construction.
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace kde
