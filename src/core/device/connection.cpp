// Connects, asks, and believes nothing of an answer that has not been looked at.
#include "core/device/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace kde {
namespace {

Status nonsense(const char* what) {
  return Status::error(Code::failed, "the device service sent %s", what);
}

// With the listener's queue full a Unix socket has no way to wait for a place (EAGAIN, and poll()
// has nothing to say), so it is tried again every slice.
Status connect_to(const std::string& path, Watch& watch, Descriptor* out) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path ||
      path.find('\0') != std::string::npos) {
    return Status::error(Code::unavailable, "no socket can have the path \"%s\"", path.c_str());
  }
  path.copy(address.sun_path, path.size());
  Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.is_open())
    return Status::error(Code::unavailable, "could not make a socket: %s", std::strerror(errno));
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  while (::connect(made.get(), name, sizeof address) != 0) {
    const int error = errno;
    if (error == EISCONN) break;
    if (error != EAGAIN && error != EINTR) {
      const bool absent = error == ENOENT || error == ECONNREFUSED || error == ENOTDIR ||
                          error == EACCES || error == EPERM;
      return Status::error(absent ? Code::unavailable : Code::failed,
                           "could not connect to the device service: %s", std::strerror(error));
    }
    if (error == EAGAIN) static_cast<void>(::poll(nullptr, 0, kSliceMs));
    if (Status s = watch.go_on(); !s.ok()) return s;
  }
  *out = std::move(made);
  return Status::success();
}

Status check_peer(int socket) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return Status::error(Code::failed, "could not tell whose the device service is: %s",
                         std::strerror(errno));
  }
  if (peer.uid != ::geteuid())
    return Status::error(Code::failed, "the device service runs as another user");
  return Status::success();
}

// What the service may say to a client; what else it says is its own trouble.
Code code_for_client(Code code) {
  switch (code) {
    case Code::ok:
    case Code::invalid_argument:
    case Code::unavailable:
    case Code::too_large:
      return code;
    case Code::out_of_memory:
      return Code::unavailable;
    default:
      return Code::failed;
  }
}

}  // namespace

Status Watch::go_on() {
  if (control_.stop_requested()) return cancelled();
  const double now_ms = clock_.ms();
  if (now_ms >= deadline_ms_) {
    return Status::error(Code::unavailable, "the device service took longer than %.0f ms",
                         deadline_ms_);
  }
  if (now_ms - moved_ms_ >= silence_ms_) {
    return Status::error(Code::failed, "the device service has been silent for %d ms", silence_ms_);
  }
  return Status::success();
}

Status Connection::open(const std::string& path, Watch& watch) {
  if (Status s = watch.go_on(); !s.ok()) return s;
  if (Status s = connect_to(path, watch, &socket_); !s.ok()) return give_up(s);
  if (Status s = check_peer(socket_.get()); !s.ok()) return give_up(s);
  lost_ = Status::success();
  return lost_;
}

Status Connection::give_up(const Status& reason) {
  socket_.reset();
  lost_ = reason.code == Code::cancelled
              ? Status::error(Code::unavailable, "the device service was hung up on by a cancel")
              : reason;
  return reason;
}

Status Connection::ask(wire::Type request, const Payload& payload, wire::Type expected,
                       Watch& watch, wire::Head* head, Status* verdict) {
  if (!lost_.ok()) return lost_;
  Status s = exchange(request, payload, expected, watch, head, verdict);
  return s.ok() ? s : give_up(s);
}

Status Connection::exchange(wire::Type request, const Payload& payload, wire::Type expected,
                            Watch& watch, wire::Head* head, Status* verdict) {
  *verdict = Status::success();
  if (Status s = watch.go_on(); !s.ok()) return s;
  if (Status s = send_message(socket_.get(), request, payload, watch); !s.ok()) return s;
  for (;;) {
    if (Status s = receive_head(socket_.get(), head, watch); !s.ok()) return s;
    if (head->type != wire::Type::working) break;
    if (head->bytes != 0) return nonsense("a sign of life with a body");
    // A service that says nothing else would never let a wait come to its slice.
    if (Status s = watch.go_on(); !s.ok()) return s;
  }
  if (head->type == wire::Type::done) {
    if (Status s = receive_verdict(*head, watch, verdict); !s.ok()) return s;
    if (!verdict->ok()) return Status::success();
  }
  if (head->type != expected) return nonsense("a message that answers another question");
  return Status::success();
}

Status Connection::receive_verdict(const wire::Head& head, Watch& watch, Status* verdict) {
  wire::Done done;
  if (head.bytes < sizeof done) return nonsense("a message that is too short");
  if (Status s = receive_bytes(socket_.get(), writable_bytes_of(done), watch); !s.ok()) return s;
  if (done.code < 0 || done.code > static_cast<std::int32_t>(Code::internal))
    return nonsense("an unknown code");
  if (!make_printable(done.message)) return nonsense("a text without an end");
  const Code code = code_for_client(static_cast<Code>(done.code));
  if (code == Code::ok) return Status::success();
  if (head.bytes != sizeof done) return nonsense("an error with results");
  *verdict = Status::error(
      code, "%s", done.message[0] != '\0' ? done.message : "the device service gives no reason");
  return Status::success();
}

Status Connection::receive(std::span<std::byte> out, Watch& watch) {
  if (!lost_.ok()) return lost_;
  Status s = receive_bytes(socket_.get(), out, watch);
  return s.ok() ? s : give_up(s);
}

Status Connection::compute(wire::Type request, const Payload& payload, Watch& watch,
                           std::span<double> out) {
  wire::Head head;
  Status verdict;
  if (Status s = ask(request, payload, wire::Type::done, watch, &head, &verdict); !s.ok()) return s;
  if (!verdict.ok()) return verdict.code == Code::failed ? give_up(verdict) : verdict;
  if (head.bytes != sizeof(wire::Done) + out.size_bytes())
    return give_up(nonsense("another number of results"));
  if (Status s = receive(std::as_writable_bytes(out), watch); !s.ok()) return s;
  if (!std::all_of(out.begin(), out.end(), [](double v) { return std::isfinite(v); }))
    return give_up(nonsense("results that are not finite"));
  return Status::success();
}

}  // namespace kde
