// The device service over the processor, for tests of its clients: kde_aqp_cudad but for the cards,
// and --fail=MODE, which may be given several times (faulty_device.h names the modes; besides,
// hang-limit=MS after which a job that is not heard of ends the program).
#include <charconv>

#include "cuda/server/serve_main.h"
#include "device/faulty_device.h"
#include "device/cpu_device.h"

namespace {

bool read_hang_limit(std::string_view mode, int* out) {
  constexpr std::string_view kName = "hang-limit=";
  if (!mode.starts_with(kName)) return false;
  const std::string_view value = mode.substr(kName.size());
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *out);
  return error == std::errc() && end == value.data() + value.size() && *out > 0;
}

}  // namespace

int main(int argc, char** argv) {
  using kde::testing::FaultyDevice;
  kde::testing::Faults faults;
  kde::service::Program program;
  program.name = "fake_cudad";
  program.version = KDE_AQP_VERSION;
  program.make_device = [&](std::size_t, std::unique_ptr<kde::Device>* out) {
    if (faults.start) {
      return kde::Status::error(kde::Code::unavailable, "no device, as it was asked to say");
    }
    *out = std::make_unique<FaultyDevice>(std::make_unique<kde::testing::CpuDevice>(), faults);
    return kde::Status::success();
  };
  program.fail = [&](std::string_view mode) {
    return read_hang_limit(mode, &program.hang_ms) || faults.read(mode);
  };
  program.alter = [&](std::span<char> message) { FaultyDevice::alter(faults, message); };
  return kde::service::serve_main(argc, argv, program);
}
