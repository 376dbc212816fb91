// Blocks of points, begun at the first point of a cell, are the items of work. A block owns the
// nodes from its first cell up to the next block's; what its splines add beyond that is kept apart
// and added afterwards in the order of the blocks.
#include "core/sums/spread.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/sums/ordered_sum.h"
#include "core/sums/spline.h"

namespace kde {
namespace {

constexpr std::size_t kBlockPoints = 16384;

// Goes through the points in ascending order and says where each lies.
class Walk {
 public:
  Walk(const GapLayout& layout, std::size_t point) : layout_(layout), inverse_(1 / layout.step) {
    const auto after =
        std::upper_bound(layout.parts.begin(), layout.parts.end(), point,
                         [](std::size_t p, const Stretch& stretch) { return p < stretch.first; });
    part_ = static_cast<std::size_t>(after - layout.parts.begin()) - 1;
    load();
  }

  void advance_to(std::size_t point) {
    while (point >= next_) {
      ++part_;
      load();
    }
  }

  // Of a point of the current stretch.
  std::int64_t cell(double x, double* tau) const {
    const double position = (x - origin_) * inverse_;
    const auto whole = static_cast<std::int64_t>(position);  // position >= 0
    *tau = position - static_cast<double>(whole) - 0.5;
    return cell_ + whole;
  }

 private:
  void load() {
    origin_ = layout_.parts[part_].origin;
    cell_ = layout_.parts[part_].cell;
    next_ = part_ + 1 < layout_.parts.size() ? layout_.parts[part_ + 1].first : SIZE_MAX;
  }

  const GapLayout& layout_;
  double inverse_;
  std::size_t part_;
  double origin_ = 0;
  std::int64_t cell_ = 0;
  std::size_t next_ = 0;  // first point of the next stretch
};

std::int64_t cell_of(std::span<const double> x, const GapLayout& layout, std::size_t point) {
  double tau = 0;
  return Walk(layout, point).cell(x[point], &tau);
}

struct Block {
  std::size_t first;  // point
  std::int64_t cell;  // of that point; no earlier point lies in it
};

std::vector<Block> cut_into_blocks(std::span<const double> x, const GapLayout& layout) {
  std::vector<Block> blocks;
  for (std::size_t point = 0; point < x.size(); point += kBlockPoints) {
    const std::int64_t cell = cell_of(x, layout, point);
    if (!blocks.empty() && cell == blocks.back().cell) continue;  // a cell with many points
    // Back to the first point of the cell.
    std::size_t low = blocks.empty() ? 0 : blocks.back().first;
    std::size_t high = point;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (cell_of(x, layout, middle) < cell) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    blocks.push_back({low, cell});
  }
  return blocks;
}

using Nodes = std::array<double, kSplineOrder>;

}  // namespace

Status spread(std::span<const double> x, std::span<const double> weights, const GapLayout& layout,
              const Control& control, std::span<double> grid) {
  const SplinePieces pieces = spline_pieces();
  const std::vector<Block> blocks = cut_into_blocks(x, layout);
  const auto size = static_cast<std::int64_t>(grid.size());
  // What a block adds from the next block's first cell on: kSplineOrder - 1 nodes at most.
  std::vector<Nodes> beyond(blocks.size(), Nodes{});

  const auto work = [&](std::int64_t item, double*) {
    const auto b = static_cast<std::size_t>(item);
    const bool last = b + 1 == blocks.size();
    const std::size_t end = last ? x.size() : blocks[b + 1].first;
    const std::int64_t border = last ? size : blocks[b + 1].cell;

    double moments[kSplineOrder] = {};
    const auto put = [&](std::int64_t cell) {
      for (int j = 0; j < kSplineOrder; ++j) {
        double value = 0;
        for (int q = 0; q < kSplineOrder; ++q) value += pieces.node[j][q] * moments[q];
        if (cell + j < border) {
          grid[static_cast<std::size_t>(cell + j)] += value;
        } else {
          beyond[b][static_cast<std::size_t>(cell + j - border)] += value;
        }
      }
    };

    Walk walk(layout, blocks[b].first);
    std::int64_t current = blocks[b].cell;
    for (std::size_t i = blocks[b].first; i < end; ++i) {
      walk.advance_to(i);
      double tau = 0;
      const std::int64_t cell = walk.cell(x[i], &tau);
      if (cell != current) {
        put(current);
        std::fill(std::begin(moments), std::end(moments), 0.0);
        current = cell;
      }
      double term = weights[i];
      for (double& moment : moments) {
        moment += term;
        term *= tau;
      }
    }
    put(current);
  };

  if (Status s = ordered_sum(control, static_cast<std::int64_t>(blocks.size()), work, {}); !s.ok())
    return s;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::int64_t border = b + 1 == blocks.size() ? size : blocks[b + 1].cell;
    for (int j = 0; j < kSplineOrder; ++j) {
      grid[static_cast<std::size_t>((border + j) % size)] += beyond[b][static_cast<std::size_t>(j)];
    }
  }
  return Status::success();
}

}  // namespace kde
