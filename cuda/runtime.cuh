// The CUDA runtime's errors as Status, and its memory as objects that free it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "core/status.h"

namespace kde::cuda {

// Errors: unavailable for want of memory, failed otherwise.
inline Status status_of(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return Status::success();
  (void)cudaGetLastError();  // an error that does not stick is forgotten
  return Status::error(error == cudaErrorMemoryAllocation ? Code::unavailable : Code::failed,
                       "%s: %s", doing, cudaGetErrorString(error));
}

#define KDE_CUDA(call)                                                  \
  do {                                                                  \
    if (const cudaError_t kde_error = (call); kde_error != cudaSuccess) \
      return ::kde::cuda::status_of(kde_error, #call);                  \
  } while (false)

// Memory of the current card, taken and given back in the order of a stream.
template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { release(); }

  // Holds `count` items or more afterwards; what it held is lost if it had fewer.
  Status reserve(std::size_t count, cudaStream_t stream) {
    if (count <= size_) return Status::success();
    release();
    KDE_CUDA(cudaMallocAsync(&data_, count * sizeof(T), stream));
    stream_ = stream;
    size_ = count;
    return Status::success();
  }
  void release() {
    if (data_ != nullptr) (void)cudaFreeAsync(data_, stream_);
    data_ = nullptr;
    size_ = 0;
  }
  T* data() const { return static_cast<T*>(data_); }
  std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
  cudaStream_t stream_ = nullptr;
};

// Page-locked memory of the host that the cards write to directly.
template <typename T>
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer() { release(); }

  Status reserve(std::size_t count) {
    if (count <= size_) return Status::success();
    release();
    KDE_CUDA(cudaHostAlloc(&data_, count * sizeof(T), cudaHostAllocPortable));
    size_ = count;
    return Status::success();
  }
  void release() {
    if (data_ != nullptr) (void)cudaFreeHost(data_);
    data_ = nullptr;
    size_ = 0;
  }
  T* data() const { return static_cast<T*>(data_); }
  std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kde::cuda
