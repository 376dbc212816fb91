// The graphics cards of this machine as a Device: there are none yet.
#include "cuda/cuda_device.h"

namespace kde::cuda {

Status make_cuda_device(const CudaOptions&, std::unique_ptr<Device>*) {
  return Status::error(Code::unavailable, "this program was built without kernels");
}

}  // namespace kde::cuda
