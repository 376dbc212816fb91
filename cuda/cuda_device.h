// The graphics cards of this machine as one Device (core/sums/sums_device.h).
#pragma once

#include <cstddef>
#include <memory>

#include "core/sums/sums_device.h"
#include "core/status.h"

namespace kde::cuda {

// Of a card, what gram.h's sums use: nothing, instructions of a warp, instructions of four warps.
enum class MatrixUnits { none, warp, group };

struct CudaOptions {
  std::size_t memory_limit = 0;  // bytes of each card; 0: four fifths of it
  int most_cards = 0;            // the first so many cards; 0: all
  // A card that fails ends the process (exit status 4), for its context cannot be used again.
  bool exit_when_lost = false;
  MatrixUnits most_units = MatrixUnits::group;  // for tests: each way on one card
};

// Creates a context on each card of compute capability 7.5 or more and measures its speed: some
// tenths of a second. A card that cannot be used is left out; if none is left, or there is no
// driver, or it is too old: unavailable, with the reason.
Status make_cuda_device(const CudaOptions& options, std::unique_ptr<Device>* out);

}  // namespace kde::cuda
