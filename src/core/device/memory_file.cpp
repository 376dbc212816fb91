// Written rather than mapped: without memory a write fails, where a store to a mapping would raise
// SIGBUS.
#include "core/device/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace kde {
namespace {

// A millisecond's worth or so.
constexpr std::size_t kBytesBetweenPolls = std::size_t{1} << 22;

Status no_file(int error) {
  return Status::error(Code::unavailable, "could not pass a sample in memory: %s",
                       std::strerror(error));
}

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // of Linux 6.3
#endif

// Nothing is run from it; vm.memfd_noexec may refuse one that does not say so.
Descriptor new_memory_file() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  Descriptor made(::memfd_create("kde_aqp", kFlags | MFD_NOEXEC_SEAL));
  if (!made.is_open() && errno == EINVAL) made = Descriptor(::memfd_create("kde_aqp", kFlags));
  return made;
}

}  // namespace

Status make_memory_file(std::span<const double> values, const Control& control, Descriptor* file) {
  Descriptor made = new_memory_file();
  if (!made.is_open()) return no_file(errno);
  std::span<const std::byte> left = std::as_bytes(values);
  while (!left.empty()) {
    if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
    const ssize_t written =
        ::write(made.get(), left.data(), std::min(left.size(), kBytesBetweenPolls));
    if (written < 0 && errno != EINTR) return no_file(errno);
    if (written > 0) left = left.subspan(static_cast<std::size_t>(written));
  }
  if (::fcntl(made.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) !=
      0)
    return no_file(errno);
  *file = std::move(made);
  return Status::success();
}

}  // namespace kde
