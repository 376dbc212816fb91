// See unevenness.h.
#include "core/estimate/unevenness.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace kde {

namespace {

// Standard deviations by which the pairs must exceed those expected.
constexpr double kSure = 4;

}  // namespace

Unevenness find_unevenness(std::span<const HistogramCell> cells, double step,
                           std::span<const double> drawn, std::span<const std::uint32_t> block) {
  double tied = 0, expected = 0, within = 0;
  std::vector<std::uint32_t> blocks;
  std::size_t i = 0;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (cells[c].point || c == 0) {
      while (i < drawn.size() && drawn[i] <= cells[c].value) ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < drawn.size() && drawn[i] <= cells[c].value) {
      // A run of equal values.
      std::size_t end = i + 1;
      while (end < drawn.size() && drawn[end] == drawn[i]) ++end;
      const auto run = static_cast<double>(end - i);
      tied += run * (run - 1) / 2;
      if (!block.empty() && run > 1) {
        blocks.assign(block.begin() + static_cast<std::ptrdiff_t>(i),
                      block.begin() + static_cast<std::ptrdiff_t>(end));
        std::sort(blocks.begin(), blocks.end());
        double same = 1;
        for (std::size_t b = 1; b < blocks.size(); ++b) {
          same = blocks[b] == blocks[b - 1] ? same + 1 : 1;
          tied -= same - 1;
        }
      }
      i = end;
    }
    const auto rows = static_cast<double>(i - begin);
    const double points = std::max(std::round((cells[c].value - cells[c - 1].value) / step), 1.0);
    within += rows;
    expected += rows * std::max(rows - 1, 0.0) / 2 / points;
  }
  Unevenness out;
  if (!(expected > 0) || !(tied > expected + kSure * std::sqrt(expected) + kSure * kSure))
    return out;
  out.excess = tied / expected - 1;
  out.mean = 2 * expected / within;
  return out;
}

}  // namespace kde
