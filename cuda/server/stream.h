// Messages of core/device/wire.h on a client's socket, from the service's side.
//
// A peer may be slow, mad or gone: nothing is allocated before its size is checked, nobody is
// waited for longer than the silence, but for the first byte of a request: between two a client
// does other things.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/device/descriptor.h"
#include "core/device/wire.h"
#include "core/room.h"
#include "core/status.h"

namespace kde::service {

struct Request {
  wire::Type type = wire::Type::hello;
  std::vector<char> body;
  Descriptor file;  // of a load and a density, which come with one; others come with none
};

// The descriptors that came with a request, as far as they matter.
struct PassedFiles {
  Descriptor first;
  bool more = false;  // than one came; all but the first are closed
  bool lost = false;  // some did not fit, here or into this process
};

enum class Received {
  request,
  closed,   // the peer hung up, or fell silent within a message
  refused,  // not of this protocol: nothing that follows can be trusted
};

// Space for a message of type done: its Head, its Done, then the numbers of the result.
class Answer {
 public:
  // numbers: most there can be. May throw std::bad_alloc.
  explicit Answer(std::size_t numbers);

  std::span<double> numbers() { return std::span(words_).subspan(kHeader); }
  // The whole message; without numbers after an error.
  std::span<char> message(const Status& status, double busy_ms);

 private:
  static constexpr std::size_t kHeader = (sizeof(wire::Head) + sizeof(wire::Done)) / sizeof(double);
  std::vector<double> words_;
};

class Stream {
 public:
  // fd: a connected stream socket, borrowed; silence_ms: bytes of a message are waited for so long.
  Stream(int fd, int silence_ms) : fd_(fd), silence_ms_(silence_ms) {}

  int fd() const { return fd_; }

  // Waits for a request; `why` says why one was refused. May throw std::bad_alloc.
  Received receive(Request* out, Status* why);

  // False if the peer is gone or has taken nothing for the silence.
  bool send(std::span<const char> message);

  // One `working`; left out where the peer's queue is full. False if the peer is gone.
  bool send_working();

  // Whether the peer has hung up, or has closed its sending half.
  bool peer_gone() const;

 private:
  Received read(std::span<char> out, bool wait_for_first, PassedFiles* files);

  int fd_;
  int silence_ms_;
};

}  // namespace kde::service
