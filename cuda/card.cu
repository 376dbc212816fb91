// Turns, waiting and uploads of one card (card.h).
#include "cuda/card.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "cuda/gram.h"

namespace kde::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPoll = std::chrono::milliseconds(5);
// Shorter work is waited for without letting go of the processor.
constexpr auto kSpin = std::chrono::microseconds(1000);
constexpr std::size_t kWorthAsking = std::size_t{64} << 10;  // bytes
constexpr std::size_t kLeastStage = std::size_t{256} << 10;
constexpr std::size_t kStaging = std::size_t{1} << 20;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

Status Card::open(int ordinal, const CudaOptions& options, std::unique_ptr<Card>* out) {
  std::unique_ptr<Card> card(new Card(ordinal, options));
  if (Status s = card->start(); !s.ok()) return s;
  *out = std::move(card);
  return Status::success();
}

Status Card::start() {
  KDE_CUDA(cudaGetDeviceProperties(&properties_, ordinal_));
  if (properties_.major * 10 + properties_.minor < 75)
    return Status::error(Code::unavailable, "%s has compute capability %d.%d; 7.5 is the least",
                         properties_.name, properties_.major, properties_.minor);
  if (Status s = use(); !s.ok()) return s;
  memory_limit_ =
      options_.memory_limit > 0 ? options_.memory_limit : properties_.totalGlobalMem / 5 * 4;
  KDE_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  KDE_CUDA(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
  for (cudaEvent_t& event : staged_)
    KDE_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  if (Status s = find_matrix_units(&units_, stream_); !s.ok()) return s;
  units_ = std::min(units_, options_.most_units);
  // Keeps what is given back for the next sample, up to this much, so that taking memory costs
  // microseconds.
  cudaMemPool_t pool = nullptr;
  KDE_CUDA(cudaDeviceGetDefaultMemPool(&pool, ordinal_));
  std::uint64_t keep = std::uint64_t{256} << 20;
  KDE_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  return staging_.reserve(kStages * kStaging);
}

Card::~Card() {
  (void)use();
  if (stream_ != nullptr) (void)cudaStreamSynchronize(stream_);
  partial_.release();
  for (cudaEvent_t event : staged_)
    if (event != nullptr) (void)cudaEventDestroy(event);
  if (done_ != nullptr) (void)cudaEventDestroy(done_);
  if (stream_ != nullptr) {
    (void)cudaStreamSynchronize(stream_);
    (void)cudaStreamDestroy(stream_);
  }
}

Status Card::use() const {
  KDE_CUDA(cudaSetDevice(ordinal_));
  return Status::success();
}

Status Card::begin_turn(const Control& control) {
  std::unique_lock lock(mutex_);
  const auto mine = waiting_.insert(waiting_.end(), 0);
  while (waiting_.begin() != mine) {
    if (turn_.wait_for(lock, kPoll) == std::cv_status::no_timeout) continue;
    lock.unlock();
    const bool stop = control.stop_requested();
    lock.lock();
    if (!stop) continue;
    waiting_.erase(mine);
    turn_.notify_all();
    return Status::error(Code::cancelled, "cancelled");
  }
  return Status::success();
}

void Card::end_turn(double busy_ms) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.pop_front();
    busy_ms_ += busy_ms;
  }
  turn_.notify_all();
}

Status Card::wait(const Control& control, double expected_ms) {
  KDE_CUDA(cudaEventRecord(done_, stream_));
  const Clock::time_point start = Clock::now();
  Clock::time_point polled = start;
  bool stop = false;
  for (;;) {
    const cudaError_t state = cudaEventQuery(done_);
    if (state == cudaSuccess) break;
    if (state != cudaErrorNotReady) return status_of(state, "waiting for the card");
    const Clock::time_point now = Clock::now();
    if (now - polled >= kPoll) {
      polled = now;
      stop = stop || control.stop_requested();
      const double most_ms = kHangMs + 10 * expected_ms;
      if (ms_since(start) > most_ms)
        return Status::error(Code::failed, "the card did not end its work within %.0f s",
                             most_ms / 1000);
    }
    if (now - start > kSpin) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  (void)cudaGetLastError();  // cudaErrorNotReady
  return stop ? Status::error(Code::cancelled, "cancelled") : Status::success();
}

Status Card::upload(void* to, const void* from, std::size_t bytes) {
  cudaPointerAttributes attributes{};
  const bool ask = bytes >= kWorthAsking;  // asking costs as much as copying less
  const bool known = ask && cudaPointerGetAttributes(&attributes, from) == cudaSuccess;
  if (ask && !known) (void)cudaGetLastError();
  if (known && attributes.type == cudaMemoryTypeHost) {
    // Page-locked already: the card reads it itself.
    KDE_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_));
    KDE_CUDA(cudaEventRecord(done_, stream_));
    KDE_CUDA(cudaEventSynchronize(done_));
    return Status::success();
  }
  // In parts, so that copying to page-locked memory and from there to the card go on at one time.
  const std::size_t most = std::clamp(bytes / 4, kLeastStage, kStaging);
  auto* target = static_cast<unsigned char*>(to);
  const auto* source = static_cast<const unsigned char*>(from);
  for (; bytes > 0; stage_ = (stage_ + 1) % kStages) {
    const std::size_t part = std::min(bytes, most);
    unsigned char* stage = staging_.data() + stage_ * kStaging;
    KDE_CUDA(cudaEventSynchronize(staged_[stage_]));
    std::memcpy(stage, source, part);
    KDE_CUDA(cudaMemcpyAsync(target, stage, part, cudaMemcpyHostToDevice, stream_));
    KDE_CUDA(cudaEventRecord(staged_[stage_], stream_));
    target += part;
    source += part;
    bytes -= part;
  }
  return Status::success();
}

Status Card::check_memory(std::size_t bytes) {
  cudaMemPool_t pool = nullptr;
  std::uint64_t used = 0;
  KDE_CUDA(cudaDeviceGetDefaultMemPool(&pool, ordinal_));
  KDE_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  // Scratch memory is kept from turn to turn; it is no sample's.
  used -= std::min<std::uint64_t>(used, partial_.size() * sizeof(double));
  if (used + bytes <= memory_limit_) return Status::success();
  const Status status =
      Status::error(bytes > memory_limit_ ? Code::too_large : Code::unavailable,
                    "%zu MB more would exceed the limit of %zu MB of device memory", bytes >> 20,
                    memory_limit_ >> 20);
  remember(status.message);
  return status;
}

DeviceInfo Card::info() const {
  DeviceInfo info;
  std::snprintf(info.name, sizeof info.name, "%.*s", static_cast<int>(sizeof info.name) - 1,
                properties_.name);
  info.major = properties_.major;
  info.minor = properties_.minor;
  info.memory = properties_.totalGlobalMem;
  cudaMemPool_t pool = nullptr;
  std::uint64_t used = 0;
  if (cudaDeviceGetDefaultMemPool(&pool, ordinal_) == cudaSuccess &&
      cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) == cudaSuccess)
    info.memory_used = used;
  info.jobs = jobs_;
  const std::lock_guard lock(mutex_);
  info.busy_ms = busy_ms_;
  std::memcpy(info.last_error, last_error_, sizeof info.last_error);
  return info;
}

void Card::remember(const char* error) {
  const std::lock_guard lock(mutex_);
  std::snprintf(last_error_, sizeof last_error_, "%.*s", static_cast<int>(sizeof last_error_) - 1,
                error);
}

Status Card::report(const Status& status) {
  if (status.code != Code::failed) return status;
  remember(status.message);
  if (ends_process_) {
    std::fprintf(stderr, "kde_aqp_cudad: card %d is lost: %s\n", ordinal_, status.message);
    std::_Exit(4);
  }
  return status;
}

}  // namespace kde::cuda
