// The sums of units of jobs (jobs.h), by CUB's reduction of a block.
#include <cub/block/block_reduce.cuh>

#include "cuda/jobs.h"
#include "cuda/runtime.cuh"

namespace kde::cuda {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    unit_sums_kernel(const double* __restrict__ partial, std::int64_t jobs, int results,
                     double* __restrict__ out, const float* norm, float* norm_out) {
  using Reduce = cub::BlockReduce<double, kThreads>;
  __shared__ typename Reduce::TempStorage reduce;
  const int k = static_cast<int>(blockIdx.x);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * kUnitJobs;
  const std::int64_t last = min(first + kUnitJobs, jobs);
  double sum = 0;
  for (std::int64_t job = first + threadIdx.x; job < last; job += kThreads)
    sum += partial[job * results + k];
  const double total = Reduce(reduce).Sum(sum);
  if (threadIdx.x == 0) out[static_cast<std::int64_t>(blockIdx.y) * results + k] = total;
  if (norm_out != nullptr && k == 0 && blockIdx.y == 0 && threadIdx.x == 0) *norm_out = *norm;
}

// Unit sums of many results: 32 neighbours of one job lie side by side in memory.
constexpr int kManyThreads = 1024;
__global__ void __launch_bounds__(kManyThreads)
    many_unit_sums_kernel(const double* __restrict__ partial, std::int64_t jobs, int results,
                          double* __restrict__ out, const float* norm, float* norm_out) {
  constexpr int kParts = kManyThreads / 32;
  __shared__ double parts[kParts][32];
  const int k = static_cast<int>(blockIdx.x * 32 + threadIdx.x % 32);
  const int part = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * kUnitJobs;
  const std::int64_t last = min(first + kUnitJobs, jobs);
  double sum = 0;
  if (k < results) {
#pragma unroll 8
    for (std::int64_t job = first + part; job < last; job += kParts)
      sum += partial[job * results + k];
  }
  parts[part][threadIdx.x % 32] = sum;
  __syncthreads();
  if (part != 0 || k >= results) return;
  for (int other = 1; other < kParts; ++other) sum += parts[other][threadIdx.x % 32];
  out[static_cast<std::int64_t>(blockIdx.y) * results + k] = sum;
  if (norm_out != nullptr && k == 0 && blockIdx.y == 0) *norm_out = *norm;
}

}  // namespace

Status launch_unit_sums(const double* partial, std::int64_t jobs, int results, double* out,
                        cudaStream_t stream, const float* norm, float* norm_out) {
  const auto units = static_cast<unsigned>((jobs + kUnitJobs - 1) / kUnitJobs);
  if (results >= 32) {
    many_unit_sums_kernel<<<dim3(static_cast<unsigned>((results + 31) / 32), units), kManyThreads,
                            0, stream>>>(partial, jobs, results, out, norm, norm_out);
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  }
  unit_sums_kernel<<<dim3(static_cast<unsigned>(results), units), kThreads, 0, stream>>>(
      partial, jobs, results, out, norm, norm_out);
  KDE_CUDA(cudaGetLastError());
  return Status::success();
}

}  // namespace kde::cuda
