// See cell_nodes.h.
#include "core/estimate/cell_nodes.h"

#include "core/density/format.h"

#include <algorithm>

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
  moments_.push_back({0, 0});
  double mass = 0;
  Moments below;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double share = shares[i] / total;
    mass += share;
    below.first += share * cells.centre[i];
    below.second += share * cells.centre[i] * cells.centre[i];
    const double edge = cells.edge[i + 1];
    const bool last = i + 1 == shares.size();
    if (truncate_position(edge) - truncate_position(position_.back()) < kNarrowest) {
      if (position_.size() == 1 || !last) continue;
      position_.pop_back();  // the last edge takes the place of one beside it
      value_.pop_back();
      moments_.pop_back();
    }
    position_.push_back(edge);
    value_.push_back({last ? 1 : std::min(mass, 1.0), 0});
    moments_.push_back(below);
  }
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
