// Requests to calls of the Device, and their results to answers.
//
// After a request that was read whole but asks for something impossible the connection goes on;
// after one that is not of the protocol (stream.h) it ends, as nobody knows where the next begins.
#include "cuda/server/client_connection.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "cuda/server/clock.h"
#include "cuda/server/job_control.h"
#include "cuda/server/log.h"
#include "cuda/server/memory_file.h"
#include "cuda/server/request.h"

namespace kde::service {
namespace {

// What a Device keeps of a number of a sample, in bytes: the number in both precisions, sorted or
// in blocks, and what its sums leave on the way.
constexpr std::uint64_t kBytesPerNumber = 32;

// Points are looked through in pieces of so many numbers, some tenths of a millisecond each.
constexpr std::size_t kPiece = std::size_t{1} << 18;

constexpr double kNoDeadline = std::numeric_limits<double>::infinity();

Precision precision_of(std::int32_t precision) { return static_cast<Precision>(precision); }

Status check_finite(std::span<const double> numbers, const Control& control) {
  while (!numbers.empty()) {
    if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
    const std::size_t piece = std::min(numbers.size(), kPiece);
    if (!all_finite(numbers.first(piece))) {
      return Status::error(Code::invalid_argument, "the points must be finite");
    }
    numbers = numbers.subspan(piece);
  }
  return Status::success();
}

Status no_memory() { return Status::error(Code::unavailable, "the service is out of memory"); }

// The Device's part of a job; of its errors, those that the protocol has.
Status call_device(const std::function<Status(const Control&)>& work, const JobControl& job,
                   const Control& control) {
  Status status;
  try {
    status = work(control);
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (...) {
    return Status::error(Code::failed, "the device raised an exception");
  }
  switch (status.code) {
    case Code::ok:
    case Code::invalid_argument:
    case Code::unavailable:
    case Code::too_large:
    case Code::failed:
      break;
    case Code::out_of_memory:
      status.code = Code::unavailable;
      break;
    case Code::cancelled:
      return job.stop() == JobControl::Stop::deadline
                 ? Status::error(Code::unavailable, "the deadline has passed")
                 : Status::error(Code::failed, "the device cancelled the job by itself");
    default:
      status.code = Code::failed;
  }
  return status;
}

}  // namespace

ConnectionLoop::ConnectionLoop(const Shared& shared, int fd)
    : shared_(shared), stream_(fd, shared.options.silence_ms) {}

ConnectionLoop::~ConnectionLoop() {
  const Visits::Visit visit(shared_.visits, "freeing a sample");
  sample_.reset();
}

void ConnectionLoop::run() noexcept {
  try {
    Request request;
    Status why;
    for (;;) {
      const Received received = stream_.receive(&request, &why);
      read_ms_ = now_ms();
      if (received == Received::refused) send_status(why);
      if (received != Received::request || !serve(request)) return;
      request.file.reset();
    }
  } catch (const std::bad_alloc&) {
    log_line("out of memory; a client was hung up on");
  } catch (...) {
    log_line("a client was hung up on after an unexpected exception");
  }
}

bool ConnectionLoop::serve(Request& request) {
  const bool needs_sample = request.type != wire::Type::hello &&
                            request.type != wire::Type::devices && request.type != wire::Type::load;
  if (needs_sample && sample_ == nullptr) {
    return send_status(Status::error(Code::invalid_argument, "no sample was loaded"));
  }
  try {
    switch (request.type) {
      case wire::Type::hello:
        return welcome();
      case wire::Type::devices:
        return list_devices();
      case wire::Type::load:
        return load(request);
      case wire::Type::derivative:
        return derivative(request);
      case wire::Type::sweep:
        return sweep(request);
      case wire::Type::full:
        return full(request);
      case wire::Type::density:
        return density(request);
      default:
        return false;  // stream.h has refused it
    }
  } catch (const std::bad_alloc&) {
    return send_status(no_memory());
  }
}

bool ConnectionLoop::welcome() {
  struct Message {
    wire::Head head;
    wire::Welcome body;
  } message;
  message.head.type = wire::Type::welcome;
  message.head.bytes = sizeof message.body;
  const std::string& program = shared_.options.program;
  std::memcpy(message.body.program, program.data(),
              std::min(program.size(), sizeof message.body.program - 1));
  {
    const Visits::Visit visit(shared_.visits, "counting the devices");
    message.body.pair_rate[0] = shared_.device.pair_rate(Precision::single);
    message.body.pair_rate[1] = shared_.device.pair_rate(Precision::full);
    message.body.devices = static_cast<std::int32_t>(shared_.device.devices().size());
  }
  return send_altered({reinterpret_cast<char*>(&message), sizeof message});
}

bool ConnectionLoop::list_devices() {
  std::vector<DeviceInfo> devices;
  {
    const Visits::Visit visit(shared_.visits, "listing the devices");
    devices = shared_.device.devices();
  }
  wire::Head head;
  head.type = wire::Type::device_list;
  head.bytes = devices.size() * sizeof(DeviceInfo);
  std::vector<char> message(sizeof head + head.bytes);
  std::memcpy(message.data(), &head, sizeof head);
  if (!devices.empty()) std::memcpy(message.data() + sizeof head, devices.data(), head.bytes);
  return send_altered(message);
}

bool ConnectionLoop::load(Request& request) {
  wire::Load load;
  Status status = read_load(request.body, &load);
  if (status.ok() && sample_ != nullptr) {
    status = Status::error(Code::invalid_argument, "a connection has one sample");
  }
  if (!status.ok()) return send_status(status);

  // The quota comes first: a file may be longer than the memory there is, and is read to be mapped.
  const std::size_t numbers = static_cast<std::size_t>(load.n) * static_cast<std::size_t>(load.d);
  if (!shared_.memory.take(numbers * kBytesPerNumber, &memory_)) {
    const bool ever = numbers * kBytesPerNumber <= shared_.memory.most();
    return send_status(Status::error(ever ? Code::unavailable : Code::too_large,
                                     "the memory limit leaves no room for a sample of %zu MB",
                                     (numbers * kBytesPerNumber) >> 20));
  }
  MappedNumbers points;
  status = points.map(request.file, numbers);
  bool going = false;
  if (status.ok()) {
    request.file.reset();
    Answer answer(0);
    going = run_job("load", kNoDeadline, answer, [&](const Control& control) {
      const Status finite = check_finite(points.numbers(), control);
      return finite.ok() ? shared_.device.load(points.numbers(), load.d, control, &sample_)
                         : finite;
    });
  } else {
    going = send_status(status);
  }
  d_ = load.d;
  if (sample_ == nullptr) memory_.give_back();
  return going;
}

bool ConnectionLoop::derivative(const Request& request) {
  wire::Derivative asked;
  const Status status = read_derivative(request.body, d_, &asked);
  if (!status.ok()) return send_status(status);
  Answer answer(1);
  return run_job("derivative", asked.deadline_ms, answer, [&](const Control& control) {
    return sample_->derivative(asked.r, asked.g, precision_of(asked.precision), control,
                               answer.numbers().data());
  });
}

bool ConnectionLoop::sweep(const Request& request) {
  wire::Sweep asked;
  std::vector<double> h;
  const Status status = read_sweep(request.body, &asked, &h);
  if (!status.ok()) return send_status(status);
  const bool slopes = asked.slopes != 0;
  Answer answer(h.size() * (slopes ? 4 : 2));
  return run_job("sweep", asked.deadline_ms, answer, [&](const Control& control) {
    return sample_->sweep(h, slopes, precision_of(asked.precision), control, answer.numbers());
  });
}

bool ConnectionLoop::full(const Request& request) {
  wire::Full asked;
  std::vector<double> a;
  const Status status = read_full(request.body, d_, &asked, &a);
  if (!status.ok()) return send_status(status);
  const bool scatter = asked.scatter != 0;
  Answer answer(2 + (scatter ? a.size() : 0));
  return run_job(scatter ? "scatter" : "full", asked.deadline_ms, answer,
                 [&](const Control& control) {
                   const Precision precision = precision_of(asked.precision);
                   return scatter ? sample_->scatter(a, asked.once, asked.twice, precision, control,
                                                     answer.numbers())
                                  : sample_->full(a, precision, control, answer.numbers());
                 });
}

bool ConnectionLoop::density(Request& request) {
  wire::Density asked;
  std::vector<double> a;
  MappedNumbers queries;
  Status status = read_density(request.body, d_, &asked, &a);
  const std::size_t m = static_cast<std::size_t>(asked.m);
  if (status.ok()) status = queries.map(request.file, m * static_cast<std::size_t>(d_));
  if (!status.ok()) return send_status(status);
  request.file.reset();
  Answer answer(m);
  return run_job("density", asked.deadline_ms, answer, [&](const Control& control) {
    const Status finite = check_finite(queries.numbers(), control);
    return finite.ok() ? sample_->density(a, queries.numbers(), precision_of(asked.precision),
                                          control, answer.numbers())
                       : finite;
  });
}

bool ConnectionLoop::run_job(const char* what, double deadline_ms, Answer& answer,
                             const std::function<Status(const Control&)>& work) {
  Status status;
  double busy_ms = 0;
  {
    // Both end before the answer is sent: a client slow to read it holds up nobody.
    Quota::Share job;
    const double start = now_ms();
    if (start >= read_ms_ + deadline_ms) {
      status = Status::error(Code::unavailable, "the deadline has passed");
    } else if (!shared_.jobs.take(1, &job)) {
      status = Status::error(Code::unavailable, "too many jobs");
    } else {
      Visits::Visit visit(shared_.visits, what);
      JobControl control(stream_, visit, shared_.options.beat_ms, read_ms_ + deadline_ms);
      status = call_device(work, control, control.control());
      busy_ms = now_ms() - start;
      if (control.stop() == JobControl::Stop::client_gone) return false;
    }
  }
  return send_altered(answer.message(status, busy_ms));
}

bool ConnectionLoop::send_status(const Status& status) {
  Answer answer(0);
  return send_altered(answer.message(status, 0));
}

bool ConnectionLoop::send_altered(std::span<char> message) {
  if (shared_.options.alter != nullptr) shared_.options.alter(message);
  return stream_.send(message);
}

}  // namespace kde::service
