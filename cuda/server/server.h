// The device service: serves a Device to clients on a Unix socket, by the protocol of
// core/device/wire.h.
//
// A thread accepts, and each connection has one, which also calls the Device: a client that is
// slow, mad or gone concerns nobody else. Clients must be of the process's own user.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "core/device/descriptor.h"
#include "core/sums/sums_device.h"
#include "core/device/wire.h"
#include "core/room.h"
#include "core/status.h"
#include "cuda/server/jobs.h"

namespace kde::service {

struct ServerOptions {
  std::string socket_path;
  std::string program;             // name and version, for `welcome`
  std::uint64_t memory_limit = 0;  // bytes of all samples together, at 32 a number; 0: no limit
  int max_jobs = 64;               // in the Device at once, computed or waiting there
  int max_connections = 256;
  int beat_ms = wire::kBeatMs;
  int silence_ms = wire::kSilenceMs;  // a peer is waited for so long in the middle of a message
  std::uint32_t peer_uid;             // the user whose clients are served; this process's

  // For tests of clients: what to do to every welcome, device_list and done before it goes out, on
  // the thread that called the Device. Null: nothing.
  std::function<void(std::span<char> message)> alter;

  ServerOptions();
};

class Server {
 public:
  // Binds the socket with mode 0600 (for which it sets the process's umask for a moment), in place
  // of one that nobody listens on any more; returns listening. The device outlives the server.
  // Errors: invalid_argument (the path, or it is taken), failed (the system refuses),
  // out_of_memory.
  static Status start(const ServerOptions& options, Device* device, std::unique_ptr<Server>* out);

  // Hangs up on all, which cancels their jobs, and waits for them to end.
  ~Server();

  // Threads that call the Device: whether they are alive.
  Visits& visits() { return visits_; }

 private:
  struct Connection {
    Descriptor socket;
    std::thread thread;
    bool ended = false;
  };

  Server(const ServerOptions& options, Device* device);
  Status listen();
  void accept_all();
  void accept_one();
  void refuse(const Descriptor& socket, const char* why) const;
  void reap();

  const ServerOptions options_;
  Device* const device_;
  Quota jobs_;
  Quota memory_;
  Visits visits_;
  Descriptor listening_;
  Descriptor stop_;  // an eventfd: readable once the server ends
  std::thread acceptor_;
  std::mutex mutex_;  // of connections_
  std::list<Connection> connections_;
};

}  // namespace kde::service
