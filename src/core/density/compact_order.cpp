// The recursion of compact_order.h, on indices.
#include "core/density/compact_order.h"

#include <algorithm>
#include <numeric>

namespace kde {
namespace {

class Halves {
 public:
  Halves(std::span<const double> points, std::size_t d, std::size_t tile, const Control& control)
      : x_(points), d_(d), tile_(tile), control_(control) {}

  // False: told to stop.
  bool sort(std::span<std::size_t> part) const {
    if (part.size() <= tile_) return true;
    if (part.size() >= kPointsBetweenPolls && control_.stop_requested()) return false;
    const std::size_t k = widest(part);
    const std::size_t tiles = (part.size() + tile_ - 1) / tile_;
    const auto middle = static_cast<std::ptrdiff_t>(tiles / 2 * tile_);
    const auto below = [&](std::size_t a, std::size_t b) {
      const double xa = x_[a * d_ + k];
      const double xb = x_[b * d_ + k];
      return xa != xb ? xa < xb : a < b;
    };
    std::nth_element(part.begin(), part.begin() + middle, part.end(), below);
    return sort(part.first(static_cast<std::size_t>(middle))) &&
           sort(part.subspan(static_cast<std::size_t>(middle)));
  }

 private:
  static constexpr std::size_t kPointsBetweenPolls = 16384;

  std::size_t widest(std::span<const std::size_t> part) const {
    std::size_t best = 0;
    double best_extent = -1;
    for (std::size_t k = 0; k < d_; ++k) {
      double low = x_[part[0] * d_ + k];
      double high = low;
      for (const std::size_t i : part) {
        low = std::min(low, x_[i * d_ + k]);
        high = std::max(high, x_[i * d_ + k]);
      }
      if (high - low > best_extent) {
        best = k;
        best_extent = high - low;
      }
    }
    return best;
  }

  std::span<const double> x_;
  std::size_t d_;
  std::size_t tile_;
  const Control& control_;
};

}  // namespace

Status compact_order(std::span<const double> points, std::size_t d, std::size_t tile,
                     const Control& control, std::vector<std::size_t>* order) {
  order->resize(points.size() / d);
  std::iota(order->begin(), order->end(), std::size_t{0});
  if (!Halves(points, d, tile, control).sort(*order)) {
    return cancelled();
  }
  return Status::success();
}

}  // namespace kde
