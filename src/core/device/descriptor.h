// A file descriptor and its one owner.
#pragma once

#include <unistd.h>

#include <utility>

#include "core/room.h"

namespace kde {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

  void reset(int fd = -1) {
    // Linux frees the number even where close() reports EINTR or an error.
    if (const int old = std::exchange(fd_, fd); old >= 0) static_cast<void>(::close(old));
  }

 private:
  int fd_ = -1;
};

}  // namespace kde
