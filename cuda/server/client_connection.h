// One client: its requests, one after the other, until it hangs up or cannot be trusted.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "core/sums/sums_device.h"
#include "core/room.h"
#include "core/status.h"
#include "cuda/server/jobs.h"
#include "cuda/server/server.h"
#include "cuda/server/stream.h"

namespace kde::service {

// What connections share; all of it outlives them.
struct Shared {
  const ServerOptions& options;
  Device& device;
  Quota& jobs;
  Quota& memory;
  Visits& visits;
};

class ConnectionLoop {
 public:
  // fd: the client's socket, borrowed.
  ConnectionLoop(const Shared& shared, int fd);
  ~ConnectionLoop();

  void run() noexcept;

 private:
  bool serve(Request& request);
  bool welcome();
  bool list_devices();
  bool load(Request& request);
  bool derivative(const Request& request);
  bool sweep(const Request& request);
  bool full(const Request& request);
  bool density(Request& request);

  // Runs `work`, which calls the Device, as a job, and sends what it says and answer's numbers.
  bool run_job(const char* what, double deadline_ms, Answer& answer,
               const std::function<Status(const Control&)>& work);
  bool send_status(const Status& status);
  bool send_altered(std::span<char> message);

  Shared shared_;
  Stream stream_;
  Quota::Share memory_;
  std::unique_ptr<DeviceSample> sample_;
  int d_ = 0;           // of the sample
  double read_ms_ = 0;  // when the request was read
};

}  // namespace kde::service
