// Messages over a Unix stream socket. Every call of the system returns at once (MSG_DONTWAIT) but
// poll(), which waits in slices, so that the waiter is asked in between. EINTR counts as a slice:
// the signal may be what the waiter is waiting for.
#include "core/device/message.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace kde {
namespace {

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

Status hung_up() { return Status::error(Code::failed, "the device service hung up"); }

Status broken(const char* what, int error) {
  const bool no_memory = error == ENOMEM || error == ENOBUFS || error == ETOOMANYREFS;
  return Status::error(no_memory ? Code::unavailable : Code::failed, "could not %s: %s", what,
                       std::strerror(error));
}

// Until the socket is ready, or has something to say in the call that follows, or a slice is over.
Status wait_slice(int socket, short events, Waiter& waiter) {
  pollfd waiting{socket, events, 0};
  if (::poll(&waiting, 1, kSliceMs) > 0) return Status::success();
  return waiter.go_on();
}

// What is left of a message that is on its way.
class Parts {
 public:
  void add(std::span<const std::byte> part) {
    if (!part.empty()) left_[count_++] = {const_cast<std::byte*>(part.data()), part.size()};
  }
  bool empty() const { return count_ == 0; }
  iovec* data() { return left_; }
  std::size_t count() const { return count_; }

  void remove(std::size_t bytes) {
    std::size_t gone = 0;
    while (gone < count_ && bytes >= left_[gone].iov_len) bytes -= left_[gone++].iov_len;
    count_ -= gone;
    for (std::size_t k = 0; k < count_; ++k) left_[k] = left_[gone + k];
    if (count_ == 0) return;
    left_[0].iov_base = static_cast<std::byte*>(left_[0].iov_base) + bytes;
    left_[0].iov_len -= bytes;
  }

 private:
  iovec left_[3] = {};
  std::size_t count_ = 0;
};

}  // namespace

Status send_message(int socket, wire::Type type, const Payload& payload, Waiter& waiter) {
  wire::Head head;
  head.type = type;
  head.bytes = payload.body.size() + payload.numbers.size_bytes();
  Parts parts;
  parts.add(bytes_of(head));
  parts.add(payload.body);
  parts.add(std::as_bytes(payload.numbers));

  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  if (payload.descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &payload.descriptor, sizeof(int));
  }

  while (!parts.empty()) {
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.count();
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      parts.remove(static_cast<std::size_t>(sent));
      message.msg_control = nullptr;  // it went with the first byte
      message.msg_controllen = 0;
      waiter.moved();
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return Status::success();
    } else if (would_block(errno) || errno == EINTR) {
      if (Status s = wait_slice(socket, POLLOUT, waiter); !s.ok()) return s;
    } else {
      return broken("send to the device service", errno);
    }
  }
  return Status::success();
}

Status receive_bytes(int socket, std::span<std::byte> out, Waiter& waiter) {
  while (!out.empty()) {
    const ssize_t received = ::recv(socket, out.data(), out.size(), MSG_DONTWAIT);
    if (received > 0) {
      out = out.subspan(static_cast<std::size_t>(received));
      waiter.moved();
    } else if (received == 0 || errno == ECONNRESET) {
      return hung_up();
    } else if (would_block(errno) || errno == EINTR) {
      if (Status s = wait_slice(socket, POLLIN, waiter); !s.ok()) return s;
    } else {
      return broken("receive from the device service", errno);
    }
  }
  return Status::success();
}

Status receive_head(int socket, wire::Head* head, Waiter& waiter) {
  if (Status s = receive_bytes(socket, writable_bytes_of(*head), waiter); !s.ok()) return s;
  if (head->magic != wire::kMagic) {
    return Status::error(Code::failed, "what listens there is no device service");
  }
  if (head->version != wire::kVersion) {
    return Status::error(Code::unavailable,
                         "the device service speaks version %d of the protocol, not %d",
                         head->version, wire::kVersion);
  }
  if (head->bytes > wire::kMaxBody) {
    return Status::error(Code::failed, "the device service sent a message of impossible size");
  }
  return Status::success();
}

bool make_printable(std::span<char> text) {
  for (char& c : text) {
    if (c == '\0') return true;
    if (c < ' ' || c > '~') c = '?';
  }
  return false;
}

}  // namespace kde
