// One write a line, so that the lines of threads do not mix and nothing waits in a buffer when the
// program ends by _exit.
#include "cuda/server/log.h"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace kde::service {

void log_line(const char* format, ...) {
  static constexpr char kPrefix[] = "kde_aqp_cudad: ";
  char line[520];
  const std::size_t prefix = sizeof kPrefix - 1;
  std::memcpy(line, kPrefix, prefix);
  va_list args;
  va_start(args, format);
  const int text = std::vsnprintf(line + prefix, sizeof line - prefix - 1, format, args);
  va_end(args);
  if (text < 0) return;
  const std::size_t length =
      std::min(prefix + static_cast<std::size_t>(text), sizeof line - 2);  // of a text cut short
  std::replace(line, line + length, '\n', ' ');
  line[length] = '\n';
  // A log that cannot be written is no reason to stop serving.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, length + 1);
}

}  // namespace kde::service
