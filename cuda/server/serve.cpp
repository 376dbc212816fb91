// Listening, accepting, and the threads of connections.
#include "cuda/server/server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "cuda/server/client_connection.h"
#include "cuda/server/log.h"

namespace kde::service {
namespace {

// Accepting waits so long where the system is out of descriptors or memory.
constexpr int kAcceptPauseMs = 100;

Status system_error(const char* what) {
  return Status::error(Code::failed, "%s: %s", what, std::strerror(errno));
}

Descriptor unix_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Removes a socket that nobody listens on; nothing else is removed.
Status remove_stale(const sockaddr_un& address) {
  struct stat found {};
  if (::lstat(address.sun_path, &found) != 0) {
    return errno == ENOENT ? Status::success() : system_error("the socket's folder");
  }
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (S_ISSOCK(found.st_mode)) {
    const Descriptor probe = unix_socket();
    if (!probe.is_open()) return system_error("a socket");
    if (::connect(probe.get(), generic, sizeof address) != 0 && errno == ECONNREFUSED) {
      return ::unlink(address.sun_path) == 0 || errno == ENOENT
                 ? Status::success()
                 : system_error("the stale socket could not be removed");
    }
  }
  return Status::error(Code::invalid_argument, "\"%s\" is in use", address.sun_path);
}

std::uint64_t or_unlimited(std::uint64_t limit) {
  return limit > 0 ? limit : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

ServerOptions::ServerOptions() : peer_uid(::geteuid()) {}

Server::Server(const ServerOptions& options, Device* device)
    : options_(options),
      device_(device),
      jobs_(static_cast<std::uint64_t>(options.max_jobs)),
      memory_(or_unlimited(options.memory_limit)) {}

Status Server::start(const ServerOptions& options, Device* device, std::unique_ptr<Server>* out) {
  if (options.max_jobs < 1 || options.max_connections < 1) {
    return Status::error(Code::invalid_argument, "there must be room for a job");
  }
  try {
    std::unique_ptr<Server> server(new Server(options, device));
    const Status listening = server->listen();
    if (!listening.ok()) return listening;
    server->acceptor_ = std::thread([self = server.get()] { self->accept_all(); });
    *out = std::move(server);
    return Status::success();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory");
  } catch (const std::system_error& error) {
    return Status::error(Code::failed, "no thread could be started: %s", error.what());
  }
}

Server::~Server() {
  const std::uint64_t one = 1;
  if (acceptor_.joinable()) {
    [[maybe_unused]] const auto written = ::write(stop_.get(), &one, sizeof one);
    acceptor_.join();
    ::unlink(options_.socket_path.c_str());
  }
  {
    const std::lock_guard lock(mutex_);
    for (const Connection& connection : connections_) {
      if (!connection.ended) ::shutdown(connection.socket.get(), SHUT_RDWR);
    }
  }
  for (Connection& connection : connections_) connection.thread.join();
}

Status Server::listen() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = options_.socket_path;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Status::error(Code::invalid_argument, "the socket's path must have 1 to %zu bytes",
                         sizeof address.sun_path - 1);
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const Status removed = remove_stale(address);
  if (!removed.ok()) return removed;

  stop_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
  listening_ = unix_socket();
  if (!stop_.is_open() || !listening_.is_open()) return system_error("a socket");
  const mode_t before = ::umask(0177);
  const int bound =
      ::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int why = errno;
  ::umask(before);
  errno = why;
  if (bound != 0) return system_error("the socket could not be bound");
  if (::listen(listening_.get(), options_.max_connections) != 0) {
    return system_error("the socket could not be listened on");
  }
  return Status::success();
}

void Server::accept_all() {
  pollfd wanted[2] = {{stop_.get(), POLLIN, 0}, {listening_.get(), POLLIN, 0}};
  for (;;) {
    if (::poll(wanted, 2, -1) < 0) {
      if (errno == EINTR) continue;
      log_line("poll: %s; no more clients are served", std::strerror(errno));
      return;
    }
    if (wanted[0].revents != 0) return;
    if (wanted[1].revents != 0) accept_one();
  }
}

void Server::accept_one() {
  Descriptor socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open()) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      log_line("a client had to wait: %s", std::strerror(errno));
      pollfd stop{stop_.get(), POLLIN, 0};
      ::poll(&stop, 1, kAcceptPauseMs);
    }
    return;
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid != options_.peer_uid) {
    log_line("a client of user %u was turned away", static_cast<unsigned>(peer.uid));
    return;
  }
  reap();
  const std::lock_guard lock(mutex_);
  if (connections_.size() >= static_cast<std::size_t>(options_.max_connections)) {
    refuse(socket, "too many connections");
    return;
  }
  try {
    Connection& connection = connections_.emplace_back();
    connection.socket = std::move(socket);
    try {
      connection.thread = std::thread([this, &connection] {
        const Shared shared{options_, *device_, jobs_, memory_, visits_};
        ConnectionLoop(shared, connection.socket.get()).run();
        const std::lock_guard at_end(mutex_);
        connection.socket.reset();
        connection.ended = true;
      });
    } catch (...) {
      refuse(connection.socket, "no thread could be started");
      connections_.pop_back();
      throw;
    }
  } catch (const std::exception& error) {
    log_line("a client was turned away: %s", error.what());
  }
}

// The peer has its whole queue free: the message goes, or nobody is there.
void Server::refuse(const Descriptor& socket, const char* why) const {
  Answer answer(0);
  Stream(socket.get(), 0).send(answer.message(Status::error(Code::unavailable, "%s", why), 0));
}

// Joins the threads that have ended, which they do at once.
void Server::reap() {
  std::list<Connection> ended;
  {
    const std::lock_guard lock(mutex_);
    for (auto next = connections_.begin(); next != connections_.end();) {
      const auto connection = next++;
      if (connection->ended) ended.splice(ended.end(), connections_, connection);
    }
  }
  for (Connection& connection : ended) connection.thread.join();
}

}  // namespace kde::service
