// kde_aqp_cudad: the device service over the graphics cards (server/serve_main.h).

#include "cuda/cuda_device.h"
#include "cuda/server/serve_main.h"

int main(int argc, char** argv) {
  kde::service::Program program;
  program.name = "kde_aqp_cudad";
  program.version = KDE_AQP_VERSION;
  program.make_device = [](std::size_t memory_limit, std::unique_ptr<kde::Device>* out) {
    kde::cuda::CudaOptions options;
    options.memory_limit = memory_limit;
    return kde::cuda::make_cuda_device(options, out);
  };
  return kde::service::serve_main(argc, argv, program);
}
