// A request to stop that comes at a poll of a given number (core/control.h), and how often was
// polled.
#pragma once

#include <limits>

#include "core/control.h"

namespace kde {

// Counted from 1; without a number it never comes.
struct StopAt {
  explicit StopAt(int number = std::numeric_limits<int>::max()) : at(number) {
    control.should_stop = [](void* arg) {
      auto* stop = static_cast<StopAt*>(arg);
      return ++stop->polls >= stop->at;
    };
    control.stop_arg = this;
  }
  StopAt(const StopAt&) = delete;
  StopAt& operator=(const StopAt&) = delete;

  int at;
  int polls = 0;
  Control control;  // of one thread
};

}  // namespace kde
