// See cell_nodes.h.
#include "core/estimate/cell_nodes.h"

#include "core/density/format.h"

#include <algorithm>
#include <cstddef>

namespace kde {

namespace {

// Cells of stored densities are at least this wide.
constexpr double kNarrowest = 0x1p-80;

}  // namespace

CellNodes::CellNodes(const Cells& cells, std::span<const double> shares) {
  double total = 0;
  for (double s : shares) total += s;
  position_.push_back(cells.edge.front());
  value_.push_back({0, 0});
  std::vector<Moments> step;  // between a node and the next
  double mass = 0;
  double since = 0;
  int cells_since = 0;
  Moments moments;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double share = shares[i] / total;
    mass += share;
    since += share;
    cells_since += share > 0;
    moments.first += share * cells.centre[i];
    moments.second += share * cells.centre[i] * cells.centre[i];
    const double edge = cells.edge[i + 1];
    const bool last = i + 1 == shares.size();
    if (truncate_position(edge) - truncate_position(position_.back()) < kNarrowest) {
      if (position_.size() == 1 || !last) continue;
      // The last edge takes the place of one beside it.
      position_.pop_back();
      value_.pop_back();
      moments.first += step.back().first;
      moments.second += step.back().second;
      step.pop_back();
    }
    if (cells_since > 1) merged_ = std::max(merged_, since);
    since = 0;
    cells_since = 0;
    position_.push_back(edge);
    value_.push_back({last ? 1 : std::min(mass, 1.0), 0});
    step.push_back(moments);
    moments = {};
  }
  // Outwards from u = 0, where the rows are many and u^2 is little: differences of the moments of
  // two nodes lose no digits to what lies far outside.
  const auto origin = static_cast<std::size_t>(
      std::lower_bound(position_.begin(), position_.end() - 1, 0.0) - position_.begin());
  moments_.resize(position_.size());
  for (std::size_t q = origin; q + 1 < position_.size(); ++q)
    moments_[q + 1] = {moments_[q].first + step[q].first, moments_[q].second + step[q].second};
  for (std::size_t q = origin; q > 0; --q)
    moments_[q - 1] = {moments_[q].first - step[q - 1].first,
                       moments_[q].second - step[q - 1].second};
  for (std::size_t q = 0; q < position_.size(); ++q) {
    const auto density = [this](std::size_t i) {
      return (value_[i + 1].mass - value_[i].mass) / (position_[i + 1] - position_[i]);
    };
    const double left = density(q == 0 ? 0 : q - 1);
    const double right = density(q + 1 == position_.size() ? q - 1 : q);
    value_[q].density = left > 0 && right > 0 ? 2 / (1 / left + 1 / right) : 0;
  }
}

}  // namespace kde
