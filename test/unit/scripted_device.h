// A Device whose results say what it was asked, and which waits, fails or falls silent on command.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/sums/sums_device.h"

namespace kde::testing {

class ScriptedDevice : public Device {
 public:
  // What every job does first; its error is the job's.
  using Script = std::function<Status(const Control&)>;

  void set_script(Script script) {
    const std::lock_guard lock(mutex_);
    script_ = std::move(script);
  }

  // Jobs from now on wait until release(), polling, or, if deaf, without.
  void hold(bool deaf = false) {
    const std::lock_guard lock(mutex_);
    held_ = true;
    deaf_ = deaf;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }

  struct Counts {
    int entered = 0, left = 0, cancelled = 0, samples = 0;
  };
  Counts counts() {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  // Waits until the counts are so.
  bool wait_until(const std::function<bool(const Counts&)>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return condition(counts_); });
  }

  Status load(std::span<const double> points, int d, const Control& control,
              std::unique_ptr<DeviceSample>* out) override {
    const Status status = job(control);
    if (status.ok()) *out = std::make_unique<Sample>(*this, points, d);
    return status;
  }

  std::vector<DeviceInfo> devices() override {
    DeviceInfo info;
    info.name[0] = 'A';
    info.major = 9;
    info.memory = 1000;
    DeviceInfo other = info;
    other.name[0] = 'B';
    return {info, other};
  }

  double pair_rate(Precision precision) const override {
    return precision == Precision::single ? 20 : 10;
  }

 private:
  class Sample : public DeviceSample {
   public:
    Sample(ScriptedDevice& device, std::span<const double> points, int d)
        : device_(device), d_(d), total_(std::accumulate(points.begin(), points.end(), 0.0)) {
      device_.count([](Counts& c) { ++c.samples; });
    }
    ~Sample() override {
      device_.count([](Counts& c) { --c.samples; });
    }

    // Numbers are distinct for distinct arguments of these tests.
    Status derivative(int r, double g, Precision precision, const Control& control,
                      double* sum) override {
      *sum = total_ + 1000 * r + 100 * static_cast<int>(precision) + g;
      return device_.job(control);
    }
    Status sweep(std::span<const double> h, bool slopes, Precision precision,
                 const Control& control, std::span<double> out) override {
      EXPECT_EQ(out.size(), h.size() * (slopes ? 4 : 2));
      const std::size_t each = slopes ? 4 : 2;
      for (std::size_t k = 0; k < out.size(); ++k) {
        out[k] = total_ + 100 * static_cast<int>(precision) + h[k / each] + 0.01 * (k % each);
      }
      return device_.job(control);
    }
    Status full(std::span<const double> a, Precision precision, const Control& control,
                std::span<double> out) override {
      EXPECT_EQ(a.size(), static_cast<std::size_t>(d_ * d_));
      EXPECT_EQ(out.size(), 2U);
      out[0] = total_ + a.back();
      out[1] = 100 * static_cast<int>(precision);
      return device_.job(control);
    }
    Status scatter(std::span<const double> a, double once, double twice, Precision precision,
                   const Control& control, std::span<double> out) override {
      EXPECT_EQ(out.size(), 2 + a.size());
      out[0] = once;
      out[1] = twice;
      for (std::size_t k = 0; k < a.size(); ++k) {
        out[2 + k] = a[k] + 100 * static_cast<int>(precision);
      }
      return device_.job(control);
    }
    Status density(std::span<const double> a, std::span<const double> queries, Precision precision,
                   const Control& control, std::span<double> out) override {
      EXPECT_EQ(queries.size(), out.size() * static_cast<std::size_t>(d_));
      for (std::size_t k = 0; k < out.size(); ++k) {
        out[k] =
            a[0] + 100 * static_cast<int>(precision) + queries[k * static_cast<std::size_t>(d_)];
      }
      return device_.job(control);
    }

   private:
    ScriptedDevice& device_;
    int d_;
    double total_;
  };

  void count(const std::function<void(Counts&)>& change) {
    const std::lock_guard lock(mutex_);
    change(counts_);
    changed_.notify_all();
  }

  Status job(const Control& control) {
    Script script;
    {
      const std::lock_guard lock(mutex_);
      script = script_;
    }
    count([](Counts& c) { ++c.entered; });
    const Status status = wait(control);
    count([&](Counts& c) {
      ++c.left;
      if (status.code == Code::cancelled) ++c.cancelled;
    });
    if (!status.ok() || script == nullptr) return status;
    return script(control);
  }

  Status wait(const Control& control) {
    std::unique_lock lock(mutex_);
    while (held_) {
      if (deaf_) {
        changed_.wait(lock);
        continue;
      }
      lock.unlock();
      if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
      lock.lock();
      changed_.wait_for(lock, std::chrono::milliseconds(1));
    }
    return Status::success();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Script script_;
  bool held_ = false;
  bool deaf_ = false;
  Counts counts_;
};

}  // namespace kde::testing
