// CUB's radix sort (sort.h), in a file of its own because it takes long to compile.
#include <cub/device/device_radix_sort.cuh>

#include "cuda/sort.h"

namespace kde::cuda {

Status launch_sort(const double* in, double* out, std::int64_t n, DeviceBuffer<unsigned char>* room,
                   cudaStream_t stream) {
  std::size_t bytes = 0;
  KDE_CUDA(cub::DeviceRadixSort::SortKeys(nullptr, bytes, in, out, n, 0, 64, stream));
  if (Status s = room->reserve(bytes, stream); !s.ok()) return s;
  KDE_CUDA(cub::DeviceRadixSort::SortKeys(room->data(), bytes, in, out, n, 0, 64, stream));
  return Status::success();
}

}  // namespace kde::cuda
