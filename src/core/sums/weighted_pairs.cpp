// Checks what tied.cpp takes for granted.
#include "core/sums/weighted_pairs.h"

#include <algorithm>
#include <functional>
#include <new>

#include "core/sums/engine_parts.h"
#include "core/sums/finite.h"

namespace kde {

Status make_weighted_pair_sums(std::span<const double> sorted, std::span<const double> weights,
                               const Control& control, std::unique_ptr<PairSums>* out) noexcept {
  if (sorted.size() < 2)
    return Status::error(Code::invalid_argument, "sums over pairs need at least two values");
  if (weights.size() != sorted.size())
    return Status::error(Code::invalid_argument, "there must be as many weights as values");
  if (!all_finite(sorted) ||
      std::adjacent_find(sorted.begin(), sorted.end(), std::greater_equal<>()) != sorted.end())
    return Status::error(Code::invalid_argument,
                         "values must be finite, in ascending order and none twice");
  if (!all_finite(weights) ||
      !std::all_of(weights.begin(), weights.end(), [](double w) { return w > 0; }))
    return Status::error(Code::invalid_argument, "weights must be positive and finite");
  try {
    *out = make_tied_sums({sorted.begin(), sorted.end()}, {weights.begin(), weights.end()},
                          best_simd_target(), control);
    return Status::success();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for %zu weighted values", sorted.size());
  }
}

}  // namespace kde
