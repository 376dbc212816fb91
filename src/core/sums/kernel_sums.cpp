// The plan of work of kernel_sums.h. An item of work is a tile of queries with a part of the
// points, and has its own slots to add to; once all parts are done they are added in their order.
// Parts are as long as a few milliseconds allow, and depend on nothing but the number of points.
#include "core/sums/kernel_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "core/density/compact_order.h"
#include "core/sums/ordered_sum.h"

namespace kde {
namespace {

// 64 queries with as many points: 3 ms where a term takes 6 ns, the slowest instruction set's time
// in 16 dimensions.
constexpr std::size_t kPartPoints = 8192;
constexpr std::size_t kPartTiles = kPartPoints / kGaussianColumns;
constexpr std::size_t kMostSlots = std::size_t{1} << 20;  // 8 MB

// Fewer queries than these are soon done: ordering the points would take longer.
constexpr std::size_t kQueriesWorthOrder = 512;

constexpr double kScale = std::numbers::log2e / 2;

// log2 of the least term that counts, negated.
double reach_of(Precision precision) { return precision == Precision::single ? 120 : 1020; }

// Points coordinate by coordinate, cut into tiles, and the tiles' boxes.
class Tiles {
 public:
  // ordered: or else they stay as they come.
  Status take(std::span<const double> points, std::size_t d, std::size_t tile, bool ordered,
              const Control& control) {
    d_ = d;
    tile_ = tile;
    count_ = points.size() / d;
    if (ordered) {
      if (Status s = compact_order(points, d, tile, control, &order_); !s.ok()) return s;
    } else {
      order_.resize(count_);
      std::iota(order_.begin(), order_.end(), std::size_t{0});
    }
    coordinates_.resize(points.size());
    low_.assign(size() * d, std::numeric_limits<double>::infinity());
    high_.assign(size() * d, -std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t k = 0; k < d; ++k) {
        const double y = points[order_[i] * d + k];
        const std::size_t box = i / tile * d + k;
        coordinates_[k * count_ + i] = y;
        low_[box] = std::min(low_[box], y);
        high_[box] = std::max(high_[box], y);
      }
    }
    return Status::success();
  }

  std::size_t size() const { return (count_ + tile_ - 1) / tile_; }
  const std::vector<std::size_t>& order() const { return order_; }

  PointTile tile(std::size_t t) const {
    return {coordinates_.data() + t * tile_, count_, std::min(tile_, count_ - t * tile_)};
  }

  // The middle of a tile's box, and how far its corners are.
  double centre(std::size_t t, double* middle) const {
    double square = 0;
    for (std::size_t k = 0; k < d_; ++k) {
      const double low = low_[t * d_ + k];
      const double high = high_[t * d_ + k];
      middle[k] = (low + high) / 2;
      square += (high - low) * (high - low) / 4;
    }
    return std::sqrt(square);
  }

  // The squared distance of two tiles' boxes.
  double distance(std::size_t t, const Tiles& other, std::size_t u) const {
    double square = 0;
    for (std::size_t k = 0; k < d_; ++k) {
      const double gap = std::max({low_[t * d_ + k] - other.high_[u * d_ + k],
                                   other.low_[u * d_ + k] - high_[t * d_ + k], 0.0});
      square += gap * gap;
    }
    return square;
  }

 private:
  std::size_t d_ = 0;
  std::size_t tile_ = 0;
  std::size_t count_ = 0;
  std::vector<std::size_t> order_;   // order_[i]: which of the points given is the i-th here
  std::vector<double> coordinates_;  // d x count
  std::vector<double> low_, high_;   // d a tile
};

}  // namespace

Status tiled_kernel_sums(std::span<const double> points, std::span<const double> queries, int d,
                         std::int64_t target, Precision precision, const Control& control,
                         std::span<double> out) {
  const auto dimensions = static_cast<std::size_t>(d);
  const std::size_t m = out.size();
  Tiles x;
  Tiles q;
  if (Status s = x.take(points, dimensions, kGaussianColumns, m >= kQueriesWorthOrder, control);
      !s.ok())
    return s;
  if (Status s = q.take(queries, dimensions, kGaussianRows, true, control); !s.ok()) return s;

  const GaussianKernels full = gaussian_kernels(target, Precision::full);
  const GaussianKernels asked = gaussian_kernels(target, precision);
  const std::size_t parts = (x.size() + kPartTiles - 1) / kPartTiles;
  const std::size_t at_once = std::clamp<std::size_t>(kMostSlots / m, 1, parts);
  std::vector<double> slots(at_once * m);
  std::vector<double> sums(m, 0.0);
  for (std::size_t begin = 0; begin < parts; begin += at_once) {
    const std::size_t some = std::min(at_once, parts - begin);
    std::fill(slots.begin(), slots.end(), 0.0);
    const auto work = [&](std::int64_t item, double*) {
      const std::size_t t = static_cast<std::size_t>(item) / some;
      const std::size_t part = static_cast<std::size_t>(item) % some;
      double centre[kMaxDimensions];
      const bool near = q.centre(t, centre) <= kSingleRadius;
      const Precision used = near ? precision : Precision::full;
      // In double another centre than the origin would only round once more.
      if (used == Precision::full) std::fill(centre, centre + dimensions, 0.0);
      const double reach = reach_of(used);
      const std::size_t end = std::min(x.size(), (begin + part + 1) * kPartTiles);
      for (std::size_t u = (begin + part) * kPartTiles; u < end; ++u) {
        if (q.distance(t, x, u) * kScale > reach) continue;
        (used == precision ? asked : full)
            .at_rows({q.tile(t), x.tile(u), -std::ptrdiff_t{kGaussianRows}, centre, dimensions},
                     kScale, reach, slots.data() + part * m + t * kGaussianRows);
      }
    };
    // Nothing is added up by it: it lends its threads and its polls.
    const WorkAmount amount{WorkUnit::pairs,
                            static_cast<std::int64_t>(m * some * kPartTiles * kGaussianColumns)};
    if (Status s =
            ordered_sum(control, static_cast<std::int64_t>(q.size() * some), work, {}, amount);
        !s.ok())
      return s;
    for (std::size_t part = 0; part < some; ++part) {
      for (std::size_t k = 0; k < m; ++k) sums[k] += slots[part * m + k];
    }
  }
  for (std::size_t k = 0; k < m; ++k) out[q.order()[k]] = sums[k];
  return Status::success();
}

}  // namespace kde
