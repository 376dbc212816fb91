// The kernel of whiten.h: a thread a point, in double.
#include "cuda/whiten.h"

#include <cub/block/block_reduce.cuh>

#include "cuda/runtime.cuh"

namespace kde::cuda {
namespace {

constexpr int kThreads = 128;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    whiten_kernel(const double* __restrict__ points, std::int64_t n, int d, int coordinates,
                  Whitening whitening, const double* __restrict__ centre, T* __restrict__ y,
                  T* __restrict__ half_norms, float* greatest_norm) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) {
    for (int k = 0; k < coordinates; ++k)
      y[i * coordinates + k] = static_cast<T>(k == 0 ? kAway : 0);
    half_norms[i] = static_cast<T>(1e30);
    return;
  }
  T norm = 0;
  for (int k = 0; k < d; ++k) {
    double sum = 0;
    for (int l = 0; l <= k; ++l) sum += whitening.a[k * d + l] * (points[i * d + l] - centre[l]);
    const T rounded = static_cast<T>(sum);
    y[i * coordinates + k] = rounded;
    norm = fma(rounded, rounded, norm);
  }
  for (int k = d; k < coordinates; ++k) y[i * coordinates + k] = T{0};
  half_norms[i] = norm / 2;
  // Of numbers that are not negative, the bits have the same order.
  atomicMax(reinterpret_cast<int*>(greatest_norm), __float_as_int(static_cast<float>(norm / 2)));
}

__global__ void __launch_bounds__(kThreads)
    centre_kernel(const double* __restrict__ points, std::int64_t n, int d,
                  double* __restrict__ centre) {
  using Reduce = cub::BlockReduce<double, kThreads>;
  __shared__ typename Reduce::TempStorage reduce;
  const std::int64_t count = min(n, kCentrePoints);
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kThreads)
    sum += points[i * n / count * d + blockIdx.x] / static_cast<double>(count);
  const double mean = Reduce(reduce).Sum(sum);
  if (threadIdx.x == 0) centre[blockIdx.x] = mean;
}

}  // namespace

Status launch_centre(const double* points, std::int64_t n, int d, double* centre,
                     cudaStream_t stream) {
  centre_kernel<<<static_cast<unsigned>(d), kThreads, 0, stream>>>(points, n, d, centre);
  KDE_CUDA(cudaGetLastError());
  return Status::success();
}

template <typename T>
Status launch_whiten(const double* points, std::int64_t n, int d, int coordinates,
                     const Whitening& a, const double* centre, T* y, T* half_norms,
                     float* greatest_norm, cudaStream_t stream) {
  whiten_kernel<T><<<static_cast<unsigned>(padded(n) / kThreads), kThreads, 0, stream>>>(
      points, n, d, coordinates, a, centre, y, half_norms, greatest_norm);
  KDE_CUDA(cudaGetLastError());
  return Status::success();
}

template Status launch_whiten<float>(const double*, std::int64_t, int, int, const Whitening&,
                                     const double*, float*, float*, float*, cudaStream_t);
template Status launch_whiten<double>(const double*, std::int64_t, int, int, const Whitening&,
                                      const double*, double*, double*, float*, cudaStream_t);

}  // namespace kde::cuda
