// Numbers that a client passes as a sealed memory file (memfd_create(2), fcntl(2) "File sealing").
#pragma once

#include <cstddef>
#include <span>

#include "core/device/descriptor.h"
#include "core/room.h"
#include "core/status.h"

namespace kde::service {

// The file's numbers, mapped to be read. The seals keep the client from cutting the file short or
// changing it while they are read: the first would kill this process, the second get past checks.
class MappedNumbers {
 public:
  MappedNumbers() = default;
  MappedNumbers(const MappedNumbers&) = delete;
  MappedNumbers& operator=(const MappedNumbers&) = delete;
  ~MappedNumbers();

  // file: of exactly `count` >= 1 doubles, sealed against shrinking, growing and writing. Whether
  // they are finite is not looked at. Errors: invalid_argument, unavailable (no address space).
  Status map(const Descriptor& file, std::size_t count);

  std::span<const double> numbers() const { return {data_, count_}; }

 private:
  const double* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace kde::service
