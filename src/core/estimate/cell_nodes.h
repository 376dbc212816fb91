// The cells' masses as a source of knots (node_source.h): the nodes are the cells' edges, at which
// the distribution function is known; between two edges it is nearly straight. The density at an
// edge is the harmonic mean of the two cells' densities (F. N. Fritsch & J. Butland, SIAM J. Sci.
// Stat. Comput. 5(2), 1984), which keeps the cubics monotone.
#pragma once

#include "core/estimate/cells.h"
#include "core/estimate/node_source.h"
#include "core/room.h"

#include <span>
#include <vector>

namespace kde {

class CellNodes final : public NodeSource {
 public:
  // shares: per cell, >= 0, with a positive total, which becomes 1; cells without width must have
  // none. |edge| <= 1. Edges that a stored position cannot tell apart become one.
  CellNodes(const Cells& cells, std::span<const double> shares);

  std::int64_t nodes() const override { return static_cast<std::int64_t>(position_.size()); }
  double position(std::int64_t q) const override { return position_[static_cast<std::size_t>(q)]; }
  Value value(std::int64_t q) const override { return value_[static_cast<std::size_t>(q)]; }
  Moments moments(std::int64_t q) const override { return moments_[static_cast<std::size_t>(q)]; }
  // The largest share of cells that became one because they are too narrow to be told apart.
  double merged() const { return merged_; }
  int test_stride() const override { return 1; }
  bool has_corners() const override { return true; }

 private:
  std::vector<double> position_;
  std::vector<Value> value_;
  std::vector<Moments> moments_;  // less those at u = 0
  double merged_ = 0;
};

}  // namespace kde
