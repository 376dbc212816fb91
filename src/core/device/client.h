// A client of the device service: a Device whose samples live behind a Unix socket (wire.h).
//
// Everything is done by the calling thread, which polls control.should_stop while it waits. A
// service that is absent, of another version, too busy, crashed, hung, or that answers nonsense is
// a Status, never a wait without end: DeviceSample says which. Never raises SIGPIPE.
//
//   nobody listens, another version, no time or memory left      unavailable
//   says that it will never take the sample                       too_large
//   hung up, reset, silent, another user's, or answers nonsense   failed
//
// All but the service's own `unavailable` and `too_large` to a single request hang up for good:
// later calls of the same sample fail as the first one did, and after a cancel as unavailable.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/control.h"
#include "core/sums/sums_device.h"
#include "core/device/wire.h"
#include "core/status.h"

namespace kde {

struct ServiceTimes {
  int silence_ms = wire::kSilenceMs;  // without a word, the service is taken for dead
  // A job is given this long, the time in its queue included, beyond what it should take.
  double patience_ms = 60000;
};

// What the service says of itself.
struct ServiceGreeting {
  std::string program;
  double pair_rate[2] = {0, 0};
  int devices = 0;
};

// path: of the socket; shorter than sockaddr_un::sun_path, a relative one from the process's
// working directory. Texts that come back are printable ASCII. Errors: unavailable, failed, as
// above; cancelled, out_of_memory.
Status greet_service(std::string_view path, const ServiceTimes& times, const Control& control,
                     ServiceGreeting* out) noexcept;
Status list_service_devices(std::string_view path, const ServiceTimes& times,
                            const Control& control, std::vector<DeviceInfo>* out) noexcept;

// Each sample it loads has a connection of its own, closed with it.
class ServiceDevice : public Device {
 public:
  // greeting: what greet_service told.
  ServiceDevice(std::string path, ServiceGreeting greeting, ServiceTimes times = {});

  Status load(std::span<const double> points, int d, const Control& control,
              std::unique_ptr<DeviceSample>* out) override;
  // Greets the service until it answers: a fallen one may be on its way back.
  Status await_return(double patience_ms, const Control& control) override;
  // Empty where the service does not answer. Cannot be cancelled: list_service_devices can.
  std::vector<DeviceInfo> devices() override;
  double pair_rate(Precision precision) const override;

 private:
  std::string path_;
  ServiceGreeting greeting_;
  ServiceTimes times_;
};

}  // namespace kde
