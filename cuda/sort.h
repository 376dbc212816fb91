// Values in ascending order, by CUB's radix sort.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "core/status.h"
#include "cuda/runtime.cuh"

namespace kde::cuda {

// in, out: n values on the card, different places. Asynchronous.
Status launch_sort(const double* in, double* out, std::int64_t n, DeviceBuffer<unsigned char>* room,
                   cudaStream_t stream);

}  // namespace kde::cuda
