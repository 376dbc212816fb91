// The vector engine's plan of work. The points are sorted and cut into tiles; pairs of tiles
// are the items of work, and those that lie farther apart than kernel_reach bandwidths are never
// visited. Sorting also makes the sum independent of the order in which the points came, and gives
// every pair of tiles a gap between them, from which the kernels measure: see simd.cpp.
#include <algorithm>
#include <cmath>
#include <new>
#include <numbers>
#include <utility>
#include <vector>

#include "core/sums/engine_parts.h"
#include "core/sums/gaussian_derivatives.h"
#include "core/sums/ordered_sum.h"

namespace kde {
namespace {

class TiledSums : public PairSums {
 public:
  TiledSums(std::vector<double> sorted, std::int64_t target, Precision precision,
            const Control& control)
      : x_(std::move(sorted)), target_(target), precision_(precision), control_(control) {
    first_item_.resize(tiles() + 1);
  }

  Status derivative(int r, double g, double* sum) override {
    if (Status s = check_derivative(r, g); !s.ok()) return s;
    const DerivativeKernels kernels = derivative_kernels(target_, precision_, r);
    lay_out_items(g, kernel_reach(r));

    double total = 0;
    try {
      const auto work = [&](std::int64_t item, double* out) {
        const std::size_t low = tile_of(item);
        const std::size_t high = low + static_cast<std::size_t>(item - first_item_[low]);
        *out =
            low == high ? kernels.triangle(tile(low), g) : kernels.cross(tile(low), tile(high), g);
      };
      const Status status = ordered_sum(control_, first_item_.back(), work, {&total, 1},
                                        pairs_of(static_cast<std::int64_t>(x_.size())));
      if (!status.ok()) return status;
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
    *sum = total * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    return Status::success();
  }

 private:
  std::size_t tiles() const { return (x_.size() + kTilePoints - 1) / kTilePoints; }

  std::span<const double> tile(std::size_t t) const {
    const std::size_t begin = t * kTilePoints;
    return std::span(x_).subspan(begin, std::min(kTilePoints, x_.size() - begin));
  }

  // Tile `low` has the items first_item_[low] .. first_item_[low + 1] - 1: itself, then the tiles
  // above it within reach. Points are sorted, so the last tile within reach never moves back.
  void lay_out_items(double g, double reach) {
    std::size_t reached = 0;
    first_item_[0] = 0;
    for (std::size_t low = 0; low < tiles(); ++low) {
      reached = std::max(reached, low);
      const double edge = tile(low).back();
      while (reached + 1 < tiles() && (tile(reached + 1).front() - edge) / g <= reach) ++reached;
      first_item_[low + 1] = first_item_[low] + static_cast<std::int64_t>(reached - low + 1);
    }
  }

  std::size_t tile_of(std::int64_t item) const {
    const auto after = std::upper_bound(first_item_.begin(), first_item_.end(), item);
    return static_cast<std::size_t>(after - first_item_.begin()) - 1;
  }

  std::vector<double> x_;
  std::int64_t target_;
  Precision precision_;
  Control control_;
  std::vector<std::int64_t> first_item_;
};

}  // namespace

std::unique_ptr<PairSums> make_tiled_sums(std::vector<double> sorted, std::int64_t target,
                                          Precision precision, const Control& control) {
  return std::make_unique<TiledSums>(std::move(sorted), target, precision, control);
}

}  // namespace kde
