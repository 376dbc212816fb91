// What a core function reports instead of throwing: a code and a message.
//
// Status is trivially copyable and owns nothing, so glue may hold one where PostgreSQL's
// error handling jumps over C++ frames.
#pragma once

#include "core/room.h"

#include <cstdarg>
#include <cstdio>

namespace kde {

enum class Code {
  ok,
  invalid_argument,  // the caller asked for what has no meaning (n < 2, NaN bandwidth ...)
  invalid_format,    // bytes or text that are not a density
  too_large,         // more memory than the caller allowed; to a device, more than it can ever take
  out_of_memory,     // an allocation failed
  cancelled,         // Control::should_stop said so
  out_of_range,      // a sum is beyond double precision
  degenerate,        // the data have no such bandwidth (constant, overwhelmed by ties)
  unavailable,       // a device is absent, busy or full: another engine should do it
  failed,            // a device or its service is defective: another engine should do it
  internal,          // a defect of this library
};

struct [[nodiscard]] Status {
  Code code = Code::ok;
  int measure = -1;  // of out_of_range: whose sum, counted from 0; -1: none's
  char message[240];

  // Leaves the rest of the message alone: success is reported once a row.
  Status() { message[0] = '\0'; }

  bool ok() const { return code == Code::ok; }

  static Status success() { return {}; }

  // The message is a whole sentence part in PostgreSQL's style: lower case, no full stop.
  __attribute__((format(printf, 2, 3))) static Status error(Code code, const char* format, ...) {
    Status s;
    s.code = code;
    va_list args;
    va_start(args, format);
    std::vsnprintf(s.message, sizeof s.message, format, args);
    va_end(args);
    return s;
  }
};

inline Status cancelled() { return Status::error(Code::cancelled, "cancelled"); }
inline Status out_of_memory() { return Status::error(Code::out_of_memory, "out of memory"); }

}  // namespace kde
