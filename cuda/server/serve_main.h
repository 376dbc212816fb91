// The program's main function, over whatever makes the Device: the cards, or what tests put in
// their place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/sums/sums_device.h"
#include "core/room.h"
#include "core/status.h"

namespace kde::service {

struct Program {
  std::string name;
  std::string version;
  // memory_limit: --memory-limit in bytes, 0 if it was not given. An error ends the program with
  // kExitNoDevice.
  std::function<Status(std::size_t memory_limit, std::unique_ptr<Device>* out)> make_device;
  int hang_ms = 10000;  // WatchOptions::hang_ms

  // For tests: takes what --fail=MODE says, false if there is no such mode. Null: no such option.
  std::function<bool(std::string_view mode)> fail;
  std::function<void(std::span<char> message)> alter;  // ServerOptions::alter
};

// Returns the exit status (watch.h) of what was wrong at the start, or never: a program that serves
// ends by _exit.
int serve_main(int argc, char** argv, const Program& program);

}  // namespace kde::service
