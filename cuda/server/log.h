// The program's log: lines on stderr, which the worker's server keeps.
#pragma once

#include "core/room.h"

namespace kde::service {

// "kde_aqp_cudad: " and the text, at most 500 bytes, in one write. Safe from any thread.
__attribute__((format(printf, 1, 2))) void log_line(const char* format, ...);

}  // namespace kde::service
