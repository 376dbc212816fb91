// A uniform sample without replacement of a stream of unknown length, with O(n log(N/n)) random
// numbers: Algorithm L, K.-H. Li, ACM TOMS 20(4), 1994.
#pragma once

#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace kde {

class Reservoir {
 public:
  Reservoir(std::uint64_t size, std::uint64_t seed) : size_(size), random_(seed) {}

  std::uint64_t held() const { return held_; }

  // Where in the sample the next element of the stream is put: a new place until it is full, then
  // that of an element it replaces, or nowhere.
  std::optional<std::uint64_t> place() {
    if (held_ < size_) {
      if (++held_ == size_) {
        shrink();
        next_skip();
      }
      return held_ - 1;
    }
    if (skip_ > 0) {
      --skip_;
      return std::nullopt;
    }
    const std::uint64_t at = random_.below(size_);
    next_skip();
    return at;
  }

  // Passes over the next elements that are put nowhere, at most so many; returns how many.
  std::uint64_t pass(std::uint64_t most) {
    if (held_ < size_) return 0;
    const std::uint64_t passed = std::min(skip_, most);
    skip_ -= passed;
    return passed;
  }

 private:
  void shrink() { w_ *= std::exp(std::log(random_.uniform()) / static_cast<double>(size_)); }
  void next_skip() {
    const double skip = std::floor(std::log(random_.uniform()) / std::log1p(-w_));
    // A skip beyond any stream's length never ends.
    skip_ = skip < 0x1p62 ? static_cast<std::uint64_t>(skip) : std::uint64_t{1} << 62;
    shrink();
  }

  std::uint64_t size_, held_ = 0, skip_ = 0;
  Random random_;
  double w_ = 1;
};

}  // namespace kde
