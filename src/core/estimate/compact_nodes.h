// The distribution function, density and partial moments of a compact kernel's sum at nodes that
// lie where it has its corners.
//
// Between its breakpoints x_i - h, x_i + h (and x_i, for the triangular kernel) such a sum is
// analytic: a polynomial, or a sine. The nodes are
//
//   a fine grid, h/64 apart for few points and h/16 for many, wherever there is mass;
//   the ends of what has mass, and the breakpoints: of every point where they are few, else of
//   points chosen so that less than 1/kFewBreakpoints (uniform kernel: 1/kManyBreakpoints) of the
//   weight lies between two of them. Where the density jumps from or to 0, or by a heavy point,
//   there are two nodes, 2e-5 h before and behind, so that two cubics that share a slope can turn
//   the corner.
//
// Values at nodes are sums of closed forms (kernel.h) over the points within h. Their error:
//   positions  none: nodes lie at positions that can be stored (truncate_position)
//   merging    more than kExactPoints points are merged where they lie within h/1024 of each other,
//              up to 1/1024 of the weight, at their mean. To first order that changes nothing; what
//              remains is at most max|K'|/2 (1/2048)^2 <= 2e-7 of the merged weight and, where a
//              corner of the distribution function falls among them, 1/1024 1/2 1/4096 = 1.2e-7
// What a monotone cubic through neighbouring nodes misses between them, at most:
//   breakpoints that are no nodes: with a share w of the weight in a cell of width c h, c <= 1/16,
//              w c/16 for the uniform kernel (a corner of F), 1e-6; w c^2/50 for the others
//   pieces     1/384 max|K'''| c^4: 9e-7 for the biweight at c = 1/16, less for the others
//
// A bounded source covers [lower, upper] with the points mirrored at both ends (reflection.h).
#pragma once

#include "core/control.h"
#include "core/density/format.h"
#include "core/estimate/node_source.h"
#include "core/room.h"
#include "core/sampling/compactor.h"
#include "core/status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kde {

class CompactNodes final : public NodeSource {
 public:
  static constexpr std::size_t kExactPoints = 4096;
  static constexpr double kFewBreakpoints = 1024, kManyBreakpoints = 4096;

  // kernel: compact. values: at least one, ascending, weights > 0, |value| + h <= 1. h > 0.
  // Unbounded: the nodes end h beyond the values. Errors: cancelled. Throws std::bad_alloc; memory:
  // 24 bytes a node (at most 2^20, or 9 a value where that is more) and 16 a value.
  static Status unbounded(Kernel kernel, std::span<const WeightedValue> values, double h,
                          const Control& control, CompactNodes* out);
  // All values within [lower, upper], lower < upper, h <= upper - lower.
  static Status bounded(Kernel kernel, std::span<const WeightedValue> values, double h,
                        double lower, double upper, const Control& control, CompactNodes* out);

  std::int64_t nodes() const override { return static_cast<std::int64_t>(position_.size()); }
  double position(std::int64_t q) const override { return position_[static_cast<std::size_t>(q)]; }
  Value value(std::int64_t q) const override { return value_[static_cast<std::size_t>(q)]; }
  Moments moments(std::int64_t q) const override;
  // Each node, but where they are so many that single points do not matter.
  int test_stride() const override;
  bool has_corners() const override { return true; }

 private:
  // An interval on which some point has mass.
  struct Stretch {
    double low, high;
  };

  void merge_points();
  void place_nodes();
  std::vector<Stretch> stretches() const;
  Status compute_values(const Control& control);
  // Sums over the points, unnormalised.
  Moments raw_moments(double t) const;

  Kernel kernel_ = Kernel::epanechnikov;
  double h_ = 1, start_ = 0, end_ = 0;
  double weight_ = 0;
  std::vector<WeightedValue> points_;  // ascending, images included
  std::vector<double> position_;
  std::vector<Value> value_;
  double total_ = 1;  // raw mass between the first node and the last
  Moments base_moments_;
};

}  // namespace kde
