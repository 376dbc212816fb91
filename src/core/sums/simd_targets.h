// Which instruction set vector code runs by: one of simd_targets() of pair_sums.h.
#pragma once

#include <cstdint>

#include "core/room.h"

namespace kde {

// The target that Engine::target == 0 stands for.
std::int64_t best_simd_target();
bool is_simd_target(std::int64_t target);

}  // namespace kde
