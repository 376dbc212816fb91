// Reading and writing of whole messages by poll(2), recvmsg(2) and sendmsg(2) that never block.
//
// Descriptors come with the bytes they were sent with (unix(7), SCM_RIGHTS): with the Head, in
// ours. All that come are taken into this process, wherever they come, so that they are closed.
#include "cuda/server/stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/sums/sums_device.h"

namespace kde::service {
namespace {

// Bytes of the shortest and the longest body of a request; most < least: not a request.
struct BodySize {
  std::uint64_t least = 1, most = 0;
};

BodySize body_size(wire::Type type) {
  const auto exactly = [](std::uint64_t bytes) { return BodySize{bytes, bytes}; };
  const std::uint64_t matrix = sizeof(double) * kMaxDimensions * kMaxDimensions;
  switch (type) {
    case wire::Type::hello:
    case wire::Type::devices:
      return exactly(0);
    case wire::Type::load:
      return exactly(sizeof(wire::Load));
    case wire::Type::derivative:
      return exactly(sizeof(wire::Derivative));
    case wire::Type::sweep:
      return {sizeof(wire::Sweep), sizeof(wire::Sweep) + sizeof(double) * kMaxSweep};
    case wire::Type::full:
      return {sizeof(wire::Full), sizeof(wire::Full) + matrix};
    case wire::Type::density:
      return {sizeof(wire::Density), sizeof(wire::Density) + matrix};
    default:
      return {};
  }
}

Status check_head(const wire::Head& head) {
  if (head.magic != wire::kMagic) {
    return Status::error(Code::invalid_argument, "not a message of the device service");
  }
  if (head.version != wire::kVersion) {
    return Status::error(Code::unavailable, "the device service has protocol version %d, not %d",
                         static_cast<int>(wire::kVersion), static_cast<int>(head.version));
  }
  const BodySize size = body_size(head.type);
  if (size.most < size.least) {
    return Status::error(Code::invalid_argument, "there are no requests of type %d",
                         static_cast<int>(head.type));
  }
  if (head.bytes < size.least || head.bytes > size.most) {
    return Status::error(Code::invalid_argument, "a request of type %d cannot have %llu bytes",
                         static_cast<int>(head.type), static_cast<unsigned long long>(head.bytes));
  }
  return Status::success();
}

// False after the time; -1: no limit.
bool wait_for(int fd, short events, int timeout_ms) {
  pollfd wanted{fd, events, 0};
  for (;;) {
    const int ready = ::poll(&wanted, 1, timeout_ms);
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) return false;
  }
}

// Takes over the descriptors that came with a message.
void collect_files(msghdr* header, PassedFiles* files) {
  for (cmsghdr* part = CMSG_FIRSTHDR(header); part != nullptr; part = CMSG_NXTHDR(header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      Descriptor file(fd);
      if (files->first.is_open()) {
        files->more = true;
      } else {
        files->first = std::move(file);
      }
    }
  }
  if ((header->msg_flags & MSG_CTRUNC) != 0) files->lost = true;
}

// What must come with a request of the type, and nothing else.
Status check_files(wire::Type type, const PassedFiles& files) {
  const bool wanted = type == wire::Type::load || type == wire::Type::density;
  if (!files.more && files.first.is_open() == wanted) return Status::success();
  // Of one alone the kernel leaves out what this process has no number for.
  if (!files.more && wanted && files.lost) {
    return Status::error(Code::unavailable, "the service has no more descriptors");
  }
  return Status::error(Code::invalid_argument, "a request of type %d comes with %s descriptor",
                       static_cast<int>(type), wanted ? "one" : "no");
}

}  // namespace

Answer::Answer(std::size_t numbers) : words_(kHeader + numbers) {
  static_assert((sizeof(wire::Head) + sizeof(wire::Done)) % sizeof(double) == 0);
}

std::span<char> Answer::message(const Status& status, double busy_ms) {
  const std::size_t numbers = status.ok() ? words_.size() - kHeader : 0;
  wire::Head head;
  head.type = wire::Type::done;
  head.bytes = sizeof(wire::Done) + numbers * sizeof(double);
  wire::Done done;
  done.code = static_cast<std::int32_t>(status.code);
  done.busy_ms = busy_ms;
  static_assert(sizeof done.message == sizeof status.message);
  // The rest of a Status' message is not written by anyone: not a byte of it goes out.
  if (!status.ok()) {
    std::memcpy(done.message, status.message, ::strnlen(status.message, sizeof done.message - 1));
  }
  char* bytes = reinterpret_cast<char*>(words_.data());
  std::memcpy(bytes, &head, sizeof head);
  std::memcpy(bytes + sizeof head, &done, sizeof done);
  return {bytes, sizeof head + head.bytes};
}

Received Stream::read(std::span<char> out, bool wait_for_first, PassedFiles* files) {
  std::size_t have = 0;
  while (have < out.size()) {
    iovec space{out.data() + have, out.size() - have};
    // Room for two: a second one shows that there are too many.
    alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control;
    msghdr header{};
    header.msg_iov = &space;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(fd_, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got > 0) {
      collect_files(&header, files);
      have += static_cast<std::size_t>(got);
      continue;
    }
    if (got == 0) return Received::closed;
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return Received::closed;
    const int timeout_ms = have == 0 && wait_for_first ? -1 : silence_ms_;
    if (!wait_for(fd_, POLLIN, timeout_ms)) return Received::closed;
  }
  return Received::request;
}

Received Stream::receive(Request* out, Status* why) {
  PassedFiles files;
  wire::Head head;
  Received read_so_far = read({reinterpret_cast<char*>(&head), sizeof head}, true, &files);
  if (read_so_far != Received::request) return read_so_far;
  *why = check_head(head);
  if (!why->ok()) return Received::refused;

  out->type = head.type;
  out->body.resize(head.bytes);
  read_so_far = read(out->body, false, &files);
  if (read_so_far != Received::request) return read_so_far;

  *why = check_files(head.type, files);
  if (!why->ok()) return Received::refused;
  out->file = std::move(files.first);
  return Received::request;
}

bool Stream::send(std::span<const char> message) {
  while (!message.empty()) {
    const ssize_t sent = ::send(fd_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      message = message.subspan(static_cast<std::size_t>(sent));
    } else if (sent < 0 && errno == EINTR) {
      continue;
    } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!wait_for(fd_, POLLOUT, silence_ms_)) return false;
    } else {
      return false;
    }
  }
  return true;
}

bool Stream::send_working() {
  wire::Head head;
  head.type = wire::Type::working;
  for (;;) {
    const ssize_t sent = ::send(fd_, &head, sizeof head, MSG_DONTWAIT | MSG_NOSIGNAL);
    // So few bytes go into one buffer of the kernel, or not at all.
    if (sent == static_cast<ssize_t>(sizeof head)) return true;
    if (sent >= 0) return false;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK;
  }
}

bool Stream::peer_gone() const {
  pollfd peer{fd_, POLLRDHUP, 0};
  return ::poll(&peer, 1, 0) > 0 && (peer.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace kde::service
