// Sorting that can be cancelled: blocks are sorted and merged, with a poll between two steps.
#pragma once

#include "core/control.h"
#include "core/room.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace kde {

// Ascending. False if control asked to stop; then the order is unspecified. A step takes some
// milliseconds a million values. Throws std::bad_alloc as std::inplace_merge may.
inline bool sort_values(std::vector<double>* values, const Control& control) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  const std::size_t n = values->size();
  const auto at = [values](std::size_t i) {
    return values->begin() + static_cast<std::ptrdiff_t>(i);
  };
  if (std::is_sorted(values->begin(), values->end())) return true;
  for (std::size_t i = 0; i < n; i += kBlock) {
    if (control.stop_requested()) return false;
    std::sort(at(i), at(std::min(i + kBlock, n)));
  }
  for (std::size_t width = kBlock; width < n; width *= 2) {
    for (std::size_t i = 0; i + width < n; i += 2 * width) {
      if (control.stop_requested()) return false;
      std::inplace_merge(at(i), at(i + width), at(std::min(i + 2 * width, n)));
    }
  }
  return true;
}

}  // namespace kde
