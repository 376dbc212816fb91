// The client: what each function of sums_device.h sends, and what must come back.
//
// A request gets, beyond the client's patience, the time that sums/device_choice.h predicts for it;
// the service is told, and has a beat more to say so itself before it is hung up on.
#include "core/device/client.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "core/control.h"
#include "core/device/connection.h"
#include "core/device/descriptor.h"
#include "core/status.h"
#include "core/stopwatch.h"
#include "core/sums/sums_device.h"
#include "core/sums/device_choice.h"
#include "core/sums/device_retry.h"
#include "core/guarded.h"

namespace kde {
namespace {

// A memory file of numbers that nobody can change any more (memfd_create, sealed): how samples and
// queries pass to another process.

// A millisecond's worth or so.
constexpr std::size_t kBytesBetweenPolls = std::size_t{1} << 22;

Status no_file(int error) {
  return Status::error(Code::unavailable, "could not pass a sample in memory: %s",
                       std::strerror(error));
}

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // of Linux 6.3
#endif

// Nothing is run from it; vm.memfd_noexec may refuse one that does not say so.
Descriptor new_memory_file() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  Descriptor made(::memfd_create("kde_aqp", kFlags | MFD_NOEXEC_SEAL));
  if (!made.is_open() && errno == EINVAL) made = Descriptor(::memfd_create("kde_aqp", kFlags));
  return made;
}

Status make_memory_file(std::span<const double> values, const Control& control, Descriptor* file) {
  Descriptor made = new_memory_file();
  if (!made.is_open()) return no_file(errno);
  std::span<const std::byte> left = std::as_bytes(values);
  while (!left.empty()) {
    if (control.stop_requested()) return cancelled();
    const ssize_t written =
        ::write(made.get(), left.data(), std::min(left.size(), kBytesBetweenPolls));
    if (written < 0 && errno != EINTR) return no_file(errno);
    if (written > 0) left = left.subspan(static_cast<std::size_t>(written));
  }
  if (::fcntl(made.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) !=
      0)
    return no_file(errno);
  *file = std::move(made);
  return Status::success();
}

constexpr double kLongestMs = 24 * 3600e3;
constexpr std::uint64_t kMostDevices = 1024;

Status nonsense(const char* what) {
  return Status::error(Code::failed, "the device service sent %s", what);
}

bool is_rate(double rate) { return rate > 0 && std::isfinite(rate); }

// Asks something that has no body, on a connection of its own; *head is the answer's.
Status ask_once(const std::string& path, wire::Type request, wire::Type expected,
                Connection* connection, Watch& watch, wire::Head* head) {
  if (Status s = connection->open(path, watch); !s.ok()) return s;
  Status verdict;
  if (Status s = connection->ask(request, {}, expected, watch, head, &verdict); !s.ok()) return s;
  return verdict;
}

class ServiceSample : public DeviceSample {
 public:
  ServiceSample(std::int64_t n, int d, const double (&pair_rate)[2], const ServiceTimes& times)
      : n_(n), d_(d), pair_rate_{pair_rate[0], pair_rate[1]}, times_(times) {}

  // To be called first.
  Status load(const std::string& path, std::span<const double> points, const Control& control) {
    Descriptor file;
    if (Status s = make_memory_file(points, control, &file); !s.ok()) return s;
    Watch watch(control, times_.silence_ms, times_.patience_ms);
    if (Status s = connection_.open(path, watch); !s.ok()) return s;
    wire::Load load;
    load.n = n_;
    load.d = d_;
    return connection_.compute(wire::Type::load, {bytes_of(load), {}, file.get()}, watch, {});
  }

  Status derivative(int r, double g, Precision precision, const Control& control,
                    double* sum) override {
    if (Status s = check_device_derivative(d_, r, g); !s.ok()) return s;
    wire::Derivative request;
    request.g = g;
    request.deadline_ms = deadline_ms(1, precision);
    request.r = r;
    request.precision = static_cast<std::int32_t>(precision);
    return compute(wire::Type::derivative, {bytes_of(request)}, request.deadline_ms, control,
                   {sum, 1});
  }

  Status sweep(std::span<const double> h, bool slopes, Precision precision, const Control& control,
               std::span<double> out) override {
    if (Status s = check_device_sweep(h, slopes, out.size()); !s.ok()) return s;
    wire::Sweep request;
    request.deadline_ms = deadline_ms(static_cast<double>(h.size()), precision);
    request.count = static_cast<std::int32_t>(h.size());
    request.slopes = slopes ? 1 : 0;
    request.precision = static_cast<std::int32_t>(precision);
    return compute(wire::Type::sweep, {bytes_of(request), h}, request.deadline_ms, control, out);
  }

  Status full(std::span<const double> a, Precision precision, const Control& control,
              std::span<double> out) override {
    if (Status s = check_device_full(d_, a, out.size()); !s.ok()) return s;
    wire::Full request;
    request.deadline_ms = deadline_ms(1, precision);
    request.precision = static_cast<std::int32_t>(precision);
    return compute(wire::Type::full, {bytes_of(request), a}, request.deadline_ms, control, out);
  }

  Status scatter(std::span<const double> a, double once, double twice, Precision precision,
                 const Control& control, std::span<double> out) override {
    if (Status s = check_device_scatter(d_, a, once, twice, out.size()); !s.ok()) return s;
    wire::Full request;
    request.deadline_ms = deadline_ms(d_, precision);
    request.once = once;
    request.twice = twice;
    request.scatter = 1;
    request.precision = static_cast<std::int32_t>(precision);
    return compute(wire::Type::full, {bytes_of(request), a}, request.deadline_ms, control, out);
  }

  Status density(std::span<const double> a, std::span<const double> queries, Precision precision,
                 const Control& control, std::span<double> out) override {
    if (Status s = check_device_density(d_, a, queries.size(), out.size()); !s.ok()) return s;
    Descriptor file;
    if (Status s = make_memory_file(queries, control, &file); !s.ok()) return s;
    wire::Density request;
    const auto m = static_cast<double>(out.size());
    // m n terms, in passes of n (n - 1)/2.
    request.deadline_ms = deadline_ms(2 * m / static_cast<double>(n_ - 1), precision);
    request.m = static_cast<std::int64_t>(out.size());
    request.precision = static_cast<std::int32_t>(precision);
    return compute(wire::Type::density, {bytes_of(request), a, file.get()}, request.deadline_ms,
                   control, out);
  }

 private:
  double deadline_ms(double passes, Precision precision) const {
    const double rate = pair_rate_[precision == Precision::single ? 0 : 1];
    const double expected_ms = passes * predicted_device_ms({n_, d_, 1, precision}, rate);
    return std::min(times_.patience_ms + expected_ms, kLongestMs);
  }

  Status compute(wire::Type type, const Payload& payload, double deadline_ms,
                 const Control& control, std::span<double> out) {
    Watch watch(control, times_.silence_ms, deadline_ms + wire::kBeatMs);
    return connection_.compute(type, payload, watch, out);
  }

  std::int64_t n_;
  int d_;
  double pair_rate_[2];
  ServiceTimes times_;
  Connection connection_;
};

}  // namespace

Status greet_service(std::string_view path, const ServiceTimes& times, const Control& control,
                     ServiceGreeting* out) noexcept {
  return guarded([&] {
    Watch watch(control, times.silence_ms, times.patience_ms);
    Connection connection;
    wire::Head head;
    if (Status s = ask_once(std::string(path), wire::Type::hello, wire::Type::welcome, &connection,
                            watch, &head);
        !s.ok())
      return s;
    wire::Welcome welcome;
    if (head.bytes != sizeof welcome) return nonsense("a welcome of another size");
    if (Status s = connection.receive(writable_bytes_of(welcome), watch); !s.ok()) return s;
    if (!make_printable(welcome.program)) return nonsense("a text without an end");
    if (!is_rate(welcome.pair_rate[0]) || !is_rate(welcome.pair_rate[1]) || welcome.devices < 0)
      return nonsense("rates without meaning");
    *out = {welcome.program, {welcome.pair_rate[0], welcome.pair_rate[1]}, welcome.devices};
    return Status::success();
  });
}

Status list_service_devices(std::string_view path, const ServiceTimes& times,
                            const Control& control, std::vector<DeviceInfo>* out) noexcept {
  return guarded([&] {
    Watch watch(control, times.silence_ms, times.patience_ms);
    Connection connection;
    wire::Head head;
    if (Status s = ask_once(std::string(path), wire::Type::devices, wire::Type::device_list,
                            &connection, watch, &head);
        !s.ok())
      return s;
    if (head.bytes % sizeof(DeviceInfo) != 0 || head.bytes / sizeof(DeviceInfo) > kMostDevices)
      return nonsense("a list of devices of impossible size");
    std::vector<DeviceInfo> found(head.bytes / sizeof(DeviceInfo));
    if (Status s = connection.receive(std::as_writable_bytes(std::span(found)), watch); !s.ok())
      return s;
    for (DeviceInfo& info : found) {
      if (!make_printable(info.name) || !make_printable(info.last_error))
        return nonsense("a text without an end");
      if (info.jobs < 0 || !(info.busy_ms >= 0) || !std::isfinite(info.busy_ms))
        return nonsense("counts without meaning");
    }
    *out = std::move(found);
    return Status::success();
  });
}

ServiceDevice::ServiceDevice(std::string path, ServiceGreeting greeting, ServiceTimes times)
    : path_(std::move(path)), greeting_(std::move(greeting)), times_(times) {}

Status ServiceDevice::load(std::span<const double> points, int d, const Control& control,
                           std::unique_ptr<DeviceSample>* out) {
  if (Status s = check_device_points(points.size(), d); !s.ok()) return s;
  return guarded([&] {
    const auto n = static_cast<std::int64_t>(points.size() / static_cast<std::size_t>(d));
    auto sample = std::make_unique<ServiceSample>(n, d, greeting_.pair_rate, times_);
    if (Status s = sample->load(path_, points, control); !s.ok()) return s;
    *out = std::move(sample);
    return Status::success();
  });
}

Status ServiceDevice::await_return(double patience_ms, const Control& control) {
  const Stopwatch since;
  for (;;) {
    ServiceTimes times = times_;
    times.patience_ms = std::min(times.patience_ms, patience_ms - since.ms());
    ServiceGreeting greeting;
    const Status s = greet_service(path_, times, control, &greeting);
    if (s.ok() || s.code == Code::cancelled || s.code == Code::out_of_memory) return s;
    if (since.ms() >= patience_ms) return s;
    if (Status p = pause_between_tries(control); !p.ok()) return p;
  }
}

std::vector<DeviceInfo> ServiceDevice::devices() {
  std::vector<DeviceInfo> found;
  if (!list_service_devices(path_, times_, Control{}, &found).ok()) found.clear();
  return found;
}

double ServiceDevice::pair_rate(Precision precision) const {
  return greeting_.pair_rate[precision == Precision::single ? 0 : 1];
}

}  // namespace kde
