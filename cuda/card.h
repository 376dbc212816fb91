// One graphics card: its stream, its scratch memory, and whose turn it is.
//
// Jobs take turns: a turn has the card to itself and lasts some kTurnMs, so that jobs of many
// clients go on side by side and one that is cancelled is gone soon. Turns are given in the order
// in which they were asked for.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

#include "core/control.h"
#include "core/sums/sums_device.h"
#include "core/status.h"
#include "cuda/cuda_device.h"
#include "cuda/runtime.cuh"

namespace kde::cuda {

inline constexpr double kTurnMs = 25;
// A turn that takes this much longer than it should, and ten times as long, is taken for a hang.
inline constexpr double kHangMs = 10000;

class Card {
 public:
  // Errors: unavailable (too old, no memory), failed.
  static Status open(int ordinal, const CudaOptions& options, std::unique_ptr<Card>* out);
  ~Card();

  // Makes it the calling thread's card.
  Status use() const;

  // Waits for a turn, which the caller ends by end_turn. Errors: cancelled.
  Status begin_turn(const Control& control);
  void end_turn(double busy_ms);

  // Waits for what was enqueued, which should take so long, and which it lets end even when
  // cancelled. Errors: cancelled, failed.
  Status wait(const Control& control, double expected_ms);

  // During a turn, its own: scratch memory of the card, and memory of the host it may write to.
  cudaStream_t stream() const { return stream_; }
  DeviceBuffer<double>& partial() { return partial_; }
  PinnedBuffer<double>& results() { return results_; }
  // During a turn: from anywhere in the host's memory to the card. The source may be reused on
  // return.
  Status upload(void* to, const void* from, std::size_t bytes);

  // Whether so many bytes more are within the limit. Errors: unavailable; too_large where they
  // alone are not.
  Status check_memory(std::size_t bytes);

  int ordinal() const { return ordinal_; }
  MatrixUnits matrix_units() const { return units_; }  // of gram.h
  DeviceInfo info() const;
  void count_job() { ++jobs_; }
  // Records a failure for people. From arm() on it ends the process, which its keeper starts anew:
  // neither a hang nor an error inside a kernel leaves a context that can be used again.
  Status report(const Status& status);
  void arm() { ends_process_ = options_.exit_when_lost; }

  // Pairs a second of the derivative kernel in that precision, measured.
  double pair_rate(Precision precision) const {
    return pair_rate_[precision == Precision::single ? 0 : 1];
  }
  void set_pair_rate(Precision precision, double rate) {
    pair_rate_[precision == Precision::single ? 0 : 1] = rate;
  }

 private:
  Card(int ordinal, const CudaOptions& options) : ordinal_(ordinal), options_(options) {}
  Status start();
  void remember(const char* error);

  const int ordinal_;
  const CudaOptions options_;
  cudaDeviceProp properties_{};
  MatrixUnits units_ = MatrixUnits::none;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
  static constexpr int kStages = 4;
  cudaEvent_t staged_[kStages] = {};
  int stage_ = 0;  // the next
  DeviceBuffer<double> partial_;
  PinnedBuffer<double> results_;
  PinnedBuffer<unsigned char> staging_;
  std::size_t memory_limit_ = 0;
  double pair_rate_[2] = {1e12, 1e11};
  bool ends_process_ = false;

  mutable std::mutex mutex_;
  std::condition_variable turn_;
  std::list<int> waiting_;  // its first has the turn
  double busy_ms_ = 0;
  char last_error_[160] = {};
  std::atomic<std::int64_t> jobs_{0};
};

// A turn that ends with the scope, by which time what was enqueued has ended too, unless it is left
// to the stream's order.
class Turn {
 public:
  // After a begin_turn that succeeded.
  explicit Turn(Card& card) : card_(card), start_(std::chrono::steady_clock::now()) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (!left_) (void)cudaStreamSynchronize(card_.stream());
    card_.end_turn(ms());
  }
  // Nothing is enqueued, or it may go on by itself.
  void leave() { left_ = true; }
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  Card& card_;
  std::chrono::steady_clock::time_point start_;
  bool left_ = false;
};

}  // namespace kde::cuda
