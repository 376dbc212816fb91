// Client and service together: a ServiceDevice over a socket to a Server over the processor's
// Device, which fails as it is asked to.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/device/client.h"
#include "cuda/server/server.h"
#include "device/cpu_device.h"
#include "device/faulty_device.h"
#include "temporary_directory.h"

namespace kde::service {
namespace {

using testing::CpuDevice;
using testing::Faults;
using testing::FaultyDevice;

class DeviceService : public ::testing::Test {
 protected:
  DeviceService() { times_.silence_ms = 1000; }

  // With the faults named; stops what ran before.
  void start(const std::vector<std::string>& modes = {}) {
    server_.reset();
    faults_ = {};
    for (const std::string& mode : modes) EXPECT_TRUE(faults_.read(mode)) << mode;
    device_ = std::make_unique<FaultyDevice>(std::make_unique<CpuDevice>(), faults_);
    ServerOptions options;
    options.socket_path = directory_.socket_path();
    options.program = "test 1";
    options.alter = [this](std::span<char> message) { FaultyDevice::alter(faults_, message); };
    const Status status = Server::start(options, device_.get(), &server_);
    ASSERT_TRUE(status.ok()) << status.message;
  }

  // Of loading a sample and then computing one sum.
  Status load_and_sum(double* sum) {
    ServiceGreeting greeting;
    Status status = greet_service(directory_.socket_path(), times_, {}, &greeting);
    if (!status.ok()) return status;
    ServiceDevice client(directory_.socket_path(), greeting, times_);
    std::unique_ptr<DeviceSample> sample;
    status = client.load(points_, 1, {}, &sample);
    return status.ok() ? sample->derivative(4, 0.7, Precision::full, {}, sum) : status;
  }

  testing::TemporaryDirectory directory_;
  ServiceTimes times_;
  Faults faults_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Server> server_;
  std::vector<double> points_{-1, -0.5, 0, 0.25, 1, 3};
};

TEST_F(DeviceService, ComputesWhatTheDeviceComputes) {
  start();
  ServiceGreeting greeting;
  ASSERT_TRUE(greet_service(directory_.socket_path(), times_, {}, &greeting).ok());
  EXPECT_EQ(greeting.program, "test 1");
  EXPECT_EQ(greeting.devices, 1);
  std::vector<DeviceInfo> devices;
  ASSERT_TRUE(list_service_devices(directory_.socket_path(), times_, {}, &devices).ok());
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_STREQ(devices[0].name, "processor");

  ServiceDevice client(directory_.socket_path(), greeting, times_);
  CpuDevice direct;
  const std::vector<double> h{0.3, 1.5}, a{1, 0, 0.5, 2}, queries{0, 0, 1, 2, -1, 0.5};
  for (const Precision precision : {Precision::single, Precision::full}) {
    std::unique_ptr<DeviceSample> near, far;
    ASSERT_TRUE(direct.load(points_, 1, {}, &near).ok());
    ASSERT_TRUE(client.load(points_, 1, {}, &far).ok());
    double expected = 0, found = 0;
    for (const int r : {0, 2, 10}) {
      ASSERT_TRUE(near->derivative(r, 0.7, precision, {}, &expected).ok());
      ASSERT_TRUE(far->derivative(r, 0.7, precision, {}, &found).ok());
      EXPECT_EQ(expected, found);
    }
    ASSERT_TRUE(direct.load(points_, 2, {}, &near).ok());
    ASSERT_TRUE(client.load(points_, 2, {}, &far).ok());
    const auto same = [&](std::size_t count, auto&& ask) {
      std::vector<double> here(count), there(count);
      EXPECT_TRUE(ask(*near, here).ok());
      const Status status = ask(*far, there);
      EXPECT_TRUE(status.ok()) << status.message;
      EXPECT_EQ(here, there);
    };
    for (const bool slopes : {false, true}) {
      same(slopes ? 8 : 4, [&](DeviceSample& sample, std::vector<double>& out) {
        return sample.sweep(h, slopes, precision, {}, out);
      });
    }
    same(2, [&](DeviceSample& sample, std::vector<double>& out) {
      return sample.full(a, precision, {}, out);
    });
    same(6, [&](DeviceSample& sample, std::vector<double>& out) {
      return sample.scatter(a, 0.5, -2, precision, {}, out);
    });
    same(3, [&](DeviceSample& sample, std::vector<double>& out) {
      return sample.density(a, queries, precision, {}, out);
    });
  }
}

TEST_F(DeviceService, FaultsReachTheClientAsErrors) {
  double sum = 0;
  start();
  EXPECT_TRUE(load_and_sum(&sum).ok());
  start({"slow=120"});  // beats come in between
  EXPECT_TRUE(load_and_sum(&sum).ok());
  start({"version"});
  EXPECT_EQ(load_and_sum(&sum).code, Code::unavailable);
  start({"busy"});
  EXPECT_EQ(load_and_sum(&sum).code, Code::unavailable);
  start({"oom"});
  EXPECT_EQ(load_and_sum(&sum).code, Code::unavailable);
  for (const char* mode : {"garbage-at=", "wrong-size-at=", "device-error-at="}) {
    for (const char* job : {"1", "2"}) {
      start({std::string(mode) + job});
      EXPECT_EQ(load_and_sum(&sum).code, Code::failed) << mode << job;
      EXPECT_TRUE(load_and_sum(&sum).ok()) << mode << job;
    }
  }
  start({"nan-at=2"});
  EXPECT_EQ(load_and_sum(&sum).code, Code::failed);
  start({"hang-at=2"});
  times_.patience_ms = 50;
  EXPECT_EQ(load_and_sum(&sum).code, Code::unavailable);
  server_.reset();
  EXPECT_EQ(load_and_sum(&sum).code, Code::unavailable);
}

}  // namespace
}  // namespace kde::service
