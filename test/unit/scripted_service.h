// A device service that does what a test tells it to: a socket in a directory of its own, and a
// thread that accepts connections and runs a script with each. Blocking calls throughout: what it
// waits for is the client's next step or the end of the connection.
#pragma once

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/device/descriptor.h"
#include "core/device/message.h"
#include "core/device/wire.h"
#include "temporary_directory.h"

namespace kde::testing {

using Bytes = std::vector<std::byte>;

template <class Struct>
void append(Bytes* out, const Struct& value) {
  const auto bytes = bytes_of(value);
  out->insert(out->end(), bytes.begin(), bytes.end());
}

// A message, whole.
inline Bytes message(wire::Type type, const Bytes& body = {}) {
  wire::Head head;
  head.type = type;
  head.bytes = body.size();
  Bytes out;
  append(&out, head);
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

inline Bytes done_body(Code code, const char* text, const std::vector<double>& numbers = {}) {
  wire::Done done;
  done.code = static_cast<std::int32_t>(code);
  std::snprintf(done.message, sizeof done.message, "%s", text);
  Bytes out;
  append(&out, done);
  for (const double v : numbers) append(&out, v);
  return out;
}

inline Bytes done(Code code, const char* text, const std::vector<double>& numbers = {}) {
  return message(wire::Type::done, done_body(code, text, numbers));
}

// The service's end of a connection.
class Peer {
 public:
  explicit Peer(int fd) : fd_(fd) {}

  // False at the end of the connection.
  bool receive_bytes(std::span<std::byte> out, int* passed = nullptr) {
    while (!out.empty()) {
      iovec into{out.data(), out.size()};
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
      msghdr m = {};
      m.msg_iov = &into;
      m.msg_iovlen = 1;
      m.msg_control = control;
      m.msg_controllen = sizeof control;
      const ssize_t got = ::recvmsg(fd_.get(), &m, MSG_CMSG_CLOEXEC);
      if (got <= 0) return false;
      if (const cmsghdr* rights = CMSG_FIRSTHDR(&m); rights != nullptr) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
        if (passed != nullptr)
          *passed = fd;
        else
          ::close(fd);
      }
      out = out.subspan(static_cast<std::size_t>(got));
    }
    return true;
  }

  // A request; its type, body and descriptor are left in the members.
  bool receive() {
    wire::Head head;
    int passed = -1;
    const bool whole = receive_bytes(writable_bytes_of(head), &passed);
    descriptor.reset(passed);
    if (!whole) return false;
    EXPECT_EQ(head.magic, wire::kMagic);
    EXPECT_EQ(head.version, wire::kVersion);
    type = head.type;
    body.resize(head.bytes);
    return receive_bytes(body);
  }

  // The struct that the request begins with, and the numbers behind it.
  template <class Struct>
  Struct request(std::vector<double>* numbers = nullptr) const {
    Struct out;
    EXPECT_GE(body.size(), sizeof out);
    std::memcpy(static_cast<void*>(&out), body.data(), sizeof out);
    if (numbers != nullptr) {
      numbers->resize((body.size() - sizeof out) / sizeof(double));
      std::memcpy(numbers->data(), body.data() + sizeof out, body.size() - sizeof out);
    } else {
      EXPECT_EQ(body.size(), sizeof out);
    }
    return out;
  }

  // False where the client has hung up.
  bool send(const Bytes& bytes) const {
    return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }

  // Waits until the client hangs up, or for so long.
  bool has_hung_up(int timeout_ms) const {
    pollfd p{fd_.get(), POLLRDHUP, 0};
    return ::poll(&p, 1, timeout_ms) > 0;
  }
  void await_hang_up() const {
    while (!has_hung_up(-1)) {
    }
  }

  wire::Type type = wire::Type::hello;
  Bytes body;
  Descriptor descriptor;

 private:
  Descriptor fd_;
};

inline Descriptor listen_at(const std::string& path, int backlog) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(fd.get(), backlog), 0);
  return fd;
}

class ScriptedService {
 public:
  using Script = std::function<void(Peer&)>;

  explicit ScriptedService(Script script)
      : script_(std::move(script)), listener_(listen_at(path(), 16)), thread_([this] { run(); }) {}
  ScriptedService(const ScriptedService&) = delete;
  ScriptedService& operator=(const ScriptedService&) = delete;
  ~ScriptedService() {
    ::shutdown(listener_.get(), SHUT_RDWR);  // wakes accept()
    thread_.join();
  }
  std::string path() const { return directory_.socket_path(); }
  const std::string& directory() const { return directory_.path(); }

 private:
  void run() {
    for (;;) {
      const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      Peer peer(fd);
      script_(peer);
    }
  }

  TemporaryDirectory directory_;
  Script script_;
  Descriptor listener_;
  std::thread thread_;
};

}  // namespace kde::testing
