// What the service's tests speak to it with: a socket and wire.h, nothing of the real client, and
// nothing that keeps a test from sending nonsense.
#pragma once

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/device/descriptor.h"
#include "core/device/wire.h"

namespace kde::testing {

// No test waits that long unless it fails.
inline constexpr int kGuardMs = 20000;

inline constexpr int kAllSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

inline Descriptor memory_file(std::span<const char> bytes, int seals = kAllSeals) {
  Descriptor file(::memfd_create("numbers", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_TRUE(file.is_open());
  EXPECT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, seals), 0);
  return file;
}

inline Descriptor memory_file(std::span<const double> numbers, int seals = kAllSeals) {
  return memory_file(std::span(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()),
                     seals);
}

using Bytes = std::vector<char>;

template <typename Struct>
Bytes bytes_of(const Struct& value, std::span<const double> numbers = {}) {
  Bytes bytes(sizeof value + numbers.size_bytes());
  std::memcpy(bytes.data(), &value, sizeof value);
  if (!numbers.empty()) {
    std::memcpy(bytes.data() + sizeof value, numbers.data(), numbers.size_bytes());
  }
  return bytes;
}

inline Bytes message_of(wire::Type type, const Bytes& body) {
  wire::Head head;
  head.type = type;
  head.bytes = body.size();
  Bytes message = bytes_of(head);
  message.insert(message.end(), body.begin(), body.end());
  return message;
}

struct Message {
  wire::Head head;
  Bytes body;

  template <typename Struct>
  Struct as() const {
    Struct value;
    EXPECT_GE(body.size(), sizeof value);
    if (body.size() >= sizeof value) std::memcpy(&value, body.data(), sizeof value);
    return value;
  }
  Code code() const {
    return head.type == wire::Type::done ? static_cast<Code>(as<wire::Done>().code)
                                         : Code::internal;
  }
  std::string text() const { return as<wire::Done>().message; }
  std::vector<double> numbers() const {
    std::vector<double> out((body.size() - sizeof(wire::Done)) / sizeof(double));
    std::memcpy(out.data(), body.data() + sizeof(wire::Done), out.size() * sizeof(double));
    return out;
  }
};

class RawClient {
 public:
  explicit RawClient(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    connected_ =
        ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }

  bool connected() const { return connected_; }
  int fd() const { return socket_.get(); }
  void hang_up() { socket_.reset(); }

  // False if the service has hung up.
  bool send(std::span<const char> bytes, const std::vector<int>& files = {}) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    std::vector<char> control(CMSG_SPACE(files.size() * sizeof(int)));
    if (!files.empty()) {
      header.msg_control = control.data();
      header.msg_controllen = control.size();
      cmsghdr* passed = CMSG_FIRSTHDR(&header);
      passed->cmsg_level = SOL_SOCKET;
      passed->cmsg_type = SCM_RIGHTS;
      passed->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
      std::memcpy(CMSG_DATA(passed), files.data(), files.size() * sizeof(int));
    }
    return ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }

  // The next message, `working` included; nothing at the end of the stream.
  std::optional<Message> receive_any() {
    Message message;
    if (!read(reinterpret_cast<char*>(&message.head), sizeof message.head)) return {};
    EXPECT_LE(message.head.bytes, wire::kMaxBody);
    if (message.head.bytes > wire::kMaxBody) return {};
    message.body.resize(message.head.bytes);
    if (!read(message.body.data(), message.body.size())) return {};
    return message;
  }

  std::optional<Message> receive() {
    std::optional<Message> message = receive_any();
    while (message && message->head.type == wire::Type::working) {
      ++beats_;
      message = receive_any();
    }
    return message;
  }

  Message ask(wire::Type type, const Bytes& body, const std::vector<int>& files = {}) {
    send(message_of(type, body), files);
    std::optional<Message> answer = receive();
    EXPECT_TRUE(answer) << "the service hung up";
    return answer ? *answer : Message();
  }

  Message load(std::span<const double> points, int d) {
    wire::Load request;
    request.n = static_cast<std::int64_t>(points.size()) / d;
    request.d = d;
    const Descriptor file = memory_file(points);
    return ask(wire::Type::load, bytes_of(request), {file.get()});
  }

  // Waits until the service hangs up, without reading what it sent.
  bool wait_for_hang_up() {
    pollfd service{socket_.get(), POLLRDHUP, 0};
    return ::poll(&service, 1, kGuardMs) == 1;
  }

  // Reads to the end of the stream.
  bool at_end() {
    while (receive_any()) {
    }
    return ended_;
  }

  int beats() const { return beats_; }

 private:
  bool read(char* out, std::size_t size) {
    while (size > 0) {
      pollfd service{socket_.get(), POLLIN, 0};
      if (::poll(&service, 1, kGuardMs) != 1) {
        ADD_FAILURE() << "the service is silent";
        return false;
      }
      const ssize_t got = ::recv(socket_.get(), out, size, 0);
      if (got <= 0) {
        ended_ = got == 0 || errno == ECONNRESET;
        return false;
      }
      out += got;
      size -= static_cast<std::size_t>(got);
    }
    return true;
  }

  Descriptor socket_;
  bool connected_ = false;
  bool ended_ = false;
  int beats_ = 0;
};

}  // namespace kde::testing
