// fstat, seals, mmap; in that order nothing can change between a check and its use, as seals are
// never taken off.
#include "cuda/server/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>

namespace kde::service {

MappedNumbers::~MappedNumbers() {
  if (data_ != nullptr) ::munmap(const_cast<double*>(data_), count_ * sizeof(double));
}

Status MappedNumbers::map(const Descriptor& file, std::size_t count) {
  if (count == 0 || data_ != nullptr ||
      count > std::numeric_limits<std::size_t>::max() / sizeof(double)) {
    return Status::error(Code::invalid_argument, "no memory file has so many numbers");
  }
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) {
    return Status::error(Code::invalid_argument, "the descriptor is not of a sealed memory file");
  }
  struct stat found {};
  if (::fstat(file.get(), &found) != 0 || found.st_size < 0 ||
      static_cast<std::uint64_t>(found.st_size) != count * sizeof(double)) {
    return Status::error(Code::invalid_argument, "the memory file must have %zu numbers", count);
  }
  void* data = ::mmap(nullptr, count * sizeof(double), PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) {
    return Status::error(Code::unavailable, "the memory file could not be mapped: %s",
                         std::strerror(errno));
  }
  data_ = static_cast<const double*>(data);
  count_ = count;
  return Status::success();
}

}  // namespace kde::service
