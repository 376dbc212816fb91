// The graphics cards of this machine as a Device.
#pragma once

#include <cstddef>
#include <memory>

#include "core/device/device.h"
#include "core/room.h"
#include "core/status.h"

namespace kde::cuda {

struct CudaOptions {
  std::size_t memory_limit = 0;  // bytes of each card, 0: four fifths of it
};

// All cards that can be used; a context on each. Errors: unavailable (no card, no driver, one that
// is too old), failed, out_of_memory.
Status make_cuda_device(const CudaOptions& options, std::unique_ptr<Device>* out);

}  // namespace kde::cuda
