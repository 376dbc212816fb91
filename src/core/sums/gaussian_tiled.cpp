// The vector engine's plan of work. The points are put in an order in which neighbours are near
// (compact_order.h), transformed once a sum, and cut into tiles; a tile of rows with one of columns
// is an item of work. Items whose bounding boxes lie farther apart than any scale reaches are not
// visited.
//
// Every sum is taken over y with e = 2^(-|y_i - y_j|^2 scale). For a sweep y = x/unit with the
// narrowest h as the unit and scale = log2(e) unit^2/(4 h^2); for a matrix y = A x and scale =
// log2(e)/4. Where that would put points more than kGaussianSpan from the centre, y is less and
// scale greater by the right factor, so that single precision holds them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "core/density/compact_order.h"
#include "core/sums/gaussian_parts.h"
#include "core/sums/ordered_sum.h"
#include "core/guarded.h"

namespace kde {
namespace {

constexpr double kLowestScale = 1e-35;
constexpr double kHighestScale = 1e30;

// Bandwidths in one pass over the pairs: bounds the time that an item takes.
constexpr std::size_t kMostBandwidths = 160;

constexpr std::size_t kTilesPerColumn = kGaussianColumns / kGaussianRows;

double scale_of(double relative_bandwidth) {
  const double scale = std::numbers::log2e / 4 / (relative_bandwidth * relative_bandwidth);
  return std::clamp(scale, kLowestScale, kHighestScale);
}

class TiledSums : public GaussianPairSums {
 public:
  TiledSums(std::span<const double> points, std::size_t d, std::int64_t target, Precision precision,
            const Control& control)
      : d_(d),
        n_(points.size() / d),
        control_(control),
        kernels_(gaussian_kernels(target, precision)),
        x_(points.size()),
        y_(points.size()),
        low_(tiles() * d),
        high_(tiles() * d),
        first_item_(tiles() + 1) {
    for (std::size_t t = 0; t < tiles(); ++t) {
      const std::size_t columns = column_tiles() - t / kTilesPerColumn;
      first_item_[t + 1] = first_item_[t] + static_cast<std::int64_t>(columns);
    }
  }

  // To be called first. Points are centred at the middle of their range, so that span_ is what
  // they need of a number's range.
  Status take(std::span<const double> points) {
    std::vector<std::size_t> order;
    if (Status s = compact_order(points, d_, kGaussianRows, control_, &order); !s.ok()) return s;
    double middle[kMaxDimensions];
    for (std::size_t k = 0; k < d_; ++k) {
      double low = points[k];
      double high = low;
      for (std::size_t i = 0; i < n_; ++i) {
        low = std::min(low, points[i * d_ + k]);
        high = std::max(high, points[i * d_ + k]);
      }
      middle[k] = low / 2 + high / 2;
      span_ = std::max({span_, high - middle[k], middle[k] - low});
    }
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t k = 0; k < d_; ++k) x_[i * d_ + k] = points[order[i] * d_ + k] - middle[k];
    }
    return Status::success();
  }

  Status sweep(std::span<const double> h, std::span<GaussianSums> out) override {
    const auto store = [&](std::size_t k, const double* sums, double) {
      out[k] = {sums[0], sums[1]};
    };
    return sweep_with(kernels_.sweep, 2, h, out.size(), store);
  }

  Status sweep_slopes(std::span<const double> h, std::span<GaussianSlopes> out) override {
    const auto store = [&](std::size_t k, const double* sums, double unit) {
      out[k] = {{sums[0], sums[1]}, sums[2] * unit * unit, sums[3] * unit * unit};
    };
    return sweep_with(kernels_.slopes, 4, h, out.size(), store);
  }

  Status full(std::span<const double> a, GaussianSums* out) override {
    double shrink = 1;
    if (Status s = transform_by(a, &shrink); !s.ok()) return s;
    const double scale = scale_of(shrink);
    double totals[2] = {};
    const auto kernel = [&](const PointRectangle& pairs, double* sums) {
      kernels_.sweep(pairs, {&scale, 1}, sums);
    };
    if (Status s = sum_over_pairs(scale, 1, kernel, totals); !s.ok()) return s;
    *out = {totals[0], totals[1]};
    return Status::success();
  }

  Status full_scatter(std::span<const double> a, double once, double twice, GaussianSums* out,
                      std::span<double> scatter) override {
    if (Status s = check_scatter(static_cast<int>(d_), once, twice, scatter.size()); !s.ok()) {
      return s;
    }
    double shrink = 1;
    if (Status s = transform_by(a, &shrink); !s.ok()) return s;
    const double scale = scale_of(shrink);
    // Of weights like 2 c4/n^2 the products with small e would be denormal in single precision.
    const double largest = std::max(std::fabs(once), std::fabs(twice));
    const double divisor = largest > 0 ? largest : 1;
    double totals[2 + kMaxDimensions * (kMaxDimensions + 1) / 2] = {};
    const auto kernel = [&](const PointRectangle& pairs, double* sums) {
      kernels_.scatter(pairs, scale, once / divisor, twice / divisor, sums);
    };
    const std::size_t width = 2 + d_ * (d_ + 1) / 2;
    if (Status s = sum_over_pairs(scale, 1, kernel, {totals, width}); !s.ok()) return s;
    *out = {totals[0], totals[1]};
    const double* lower = totals + 2;
    for (std::size_t k = 0; k < d_; ++k) {
      for (std::size_t l = 0; l <= k; ++l, ++lower) {
        scatter[k * d_ + l] = scatter[l * d_ + k] = *lower * divisor / shrink / shrink;
      }
    }
    return Status::success();
  }

 private:
  std::size_t tiles() const { return (n_ + kGaussianRows - 1) / kGaussianRows; }
  std::size_t column_tiles() const { return (n_ + kGaussianColumns - 1) / kGaussianColumns; }

  // Calls store(k, sums, unit): out of `width` sums over y = x/unit for h[k].
  template <class Store>
  Status sweep_with(GaussianKernels::Sweep sums_of, std::size_t width, std::span<const double> h,
                    std::size_t results, const Store& store) {
    if (Status s = check_sweep(h, results); !s.ok()) return s;
    return guarded([&] {
      const double narrowest = *std::min_element(h.begin(), h.end());
      const double unit = std::max(narrowest, span_ / kGaussianSpan);
      const auto divide = [&](const double* x, double* y) {
        for (std::size_t k = 0; k < d_; ++k) y[k] = x[k] / unit;
      };
      if (Status s = transform(divide); !s.ok()) return s;
      std::vector<double> scales;
      std::vector<double> totals;
      for (std::size_t begin = 0; begin < h.size(); begin += kMostBandwidths) {
        const std::span<const double> part =
            h.subspan(begin, std::min(kMostBandwidths, h.size() - begin));
        scales.clear();
        for (const double v : part) scales.push_back(scale_of(v / unit));
        totals.assign(width * part.size(), 0);
        const auto kernel = [&](const PointRectangle& pairs, double* sums) {
          sums_of(pairs, scales, sums);
        };
        const double widest = *std::min_element(scales.begin(), scales.end());
        if (Status s = sum_over_pairs(widest, part.size(), kernel, totals); !s.ok()) return s;
        for (std::size_t k = 0; k < part.size(); ++k) {
          store(begin + k, totals.data() + width * k, unit);
        }
      }
      return Status::success();
    });
  }

  // y = *shrink A x, *shrink <= 1.
  Status transform_by(std::span<const double> a, double* shrink) {
    if (Status s = check_full(static_cast<int>(d_), a); !s.ok()) return s;
    double largest = 0;  // of |A x|, at most
    for (std::size_t k = 0; k < d_; ++k) {
      double row = 0;
      for (std::size_t l = 0; l <= k; ++l) row += std::fabs(a[k * d_ + l]) * span_;
      largest = std::max(largest, row);
    }
    if (!std::isfinite(largest)) {
      return Status::error(Code::invalid_argument, "the matrix is too large for these points");
    }
    // A power of two, so that it rounds nothing.
    const double factor =
        largest > kGaussianSpan ? std::exp2(std::floor(std::log2(kGaussianSpan / largest))) : 1;
    *shrink = factor;
    return transform([&, factor](const double* x, double* y) {
      for (std::size_t k = 0; k < d_; ++k) {
        double sum = 0;
        for (std::size_t l = 0; l <= k; ++l) sum += a[k * d_ + l] * x[l];
        y[k] = sum * factor;
      }
    });
  }

  // Fills y_, coordinate by coordinate, with what map(x, y) makes of each point, and the boxes of
  // its tiles. Nothing is added up: ordered_sum lends its threads and its polls.
  template <class Map>
  Status transform(const Map& map) {
    const auto work = [&](std::int64_t item, double*) {
      const auto t = static_cast<std::size_t>(item);
      double* low = low_.data() + t * d_;
      double* high = high_.data() + t * d_;
      std::fill(low, low + d_, std::numeric_limits<double>::infinity());
      std::fill(high, high + d_, -std::numeric_limits<double>::infinity());
      const std::size_t begin = t * kGaussianRows;
      for (std::size_t i = begin; i < std::min(n_, begin + kGaussianRows); ++i) {
        double y[kMaxDimensions];
        map(x_.data() + i * d_, y);
        for (std::size_t k = 0; k < d_; ++k) {
          y_[k * n_ + i] = y[k];
          low[k] = std::min(low[k], y[k]);
          high[k] = std::max(high[k], y[k]);
        }
      }
    };
    // By reference, so that nothing is allocated.
    return ordered_sum(control_, static_cast<std::int64_t>(tiles()), work, {});
  }

  // kernel(pairs, sums): adds its totals.size() sums over the pairs. widest: the least scale of
  // those kernels, of which there are `bandwidths`.
  template <class Kernel>
  Status sum_over_pairs(double widest, std::size_t bandwidths, const Kernel& kernel,
                        std::span<double> totals) {
    const double reach = kGaussianReach / widest;
    const auto work = [&](std::int64_t item, double* sums) {
      const auto after = std::upper_bound(first_item_.begin(), first_item_.end(), item);
      const auto rows = static_cast<std::size_t>(after - first_item_.begin()) - 1;
      const std::size_t columns =
          rows / kTilesPerColumn + static_cast<std::size_t>(item - first_item_[rows]);
      double centre[kMaxDimensions];
      if (centre_between(rows, columns, centre) > reach) return;
      const std::size_t row = rows * kGaussianRows;
      const std::size_t column = columns * kGaussianColumns;
      kernel({{y_.data() + row, n_, std::min(kGaussianRows, n_ - row)},
              {y_.data() + column, n_, std::min(kGaussianColumns, n_ - column)},
              static_cast<std::ptrdiff_t>(row) - static_cast<std::ptrdiff_t>(column),
              centre,
              d_},
             sums);
    };
    return ordered_sum(
        control_, first_item_.back(), work, totals,
        pairs_of(static_cast<std::int64_t>(n_), static_cast<std::int64_t>(bandwidths)));
  }

  // The squared distance of two tiles' boxes, and in `centre` the middle of the gap between them
  // or, coordinate by coordinate, of what they share.
  double centre_between(std::size_t row_tile, std::size_t column_tile, double* centre) const {
    const std::size_t begin = column_tile * kTilesPerColumn;
    const std::size_t end = std::min(begin + kTilesPerColumn, tiles());
    double distance = 0;
    for (std::size_t k = 0; k < d_; ++k) {
      double low = low_[begin * d_ + k];
      double high = high_[begin * d_ + k];
      for (std::size_t t = begin + 1; t < end; ++t) {
        low = std::min(low, low_[t * d_ + k]);
        high = std::max(high, high_[t * d_ + k]);
      }
      const double inner_low = std::max(low, low_[row_tile * d_ + k]);
      const double inner_high = std::min(high, high_[row_tile * d_ + k]);
      const double gap = std::max(inner_low - inner_high, 0.0);
      distance += gap * gap;
      centre[k] = (inner_low + inner_high) / 2;
    }
    return distance;
  }

  std::size_t d_;
  std::size_t n_;
  Control control_;
  GaussianKernels kernels_;
  double span_ = 0;                 // the largest coordinate
  std::vector<double> x_;           // n x d, centred, in compact order
  std::vector<double> y_;           // d x n, transformed
  std::vector<double> low_, high_;  // of y_, d a tile of rows
  // Tile t of rows has items first_item_[t] .. first_item_[t + 1] - 1: with the tile of columns
  // that it is part of, then with those after it.
  std::vector<std::int64_t> first_item_;
};

}  // namespace

Status make_tiled_gaussian_sums(std::span<const double> points, int d, std::int64_t target,
                                Precision precision, const Control& control,
                                std::unique_ptr<GaussianPairSums>* out) {
  auto sums =
      std::make_unique<TiledSums>(points, static_cast<std::size_t>(d), target, precision, control);
  if (Status s = sums->take(points); !s.ok()) return s;
  *out = std::move(sums);
  return Status::success();
}

}  // namespace kde
