// A Gaussian kernel sum, its integral and its partial moments at the nodes of a fine grid, fast.
//
// The nodes are start + j delta, delta <= h/16. Each sample point is put at its nearest node with
// the moments m_q = sum w eps^q of its distance eps = (x - node)/h, |eps| <= 1/32; a node's value
// is then a Taylor series over the bins within 7h, whose kernel factors depend on the distance in
// nodes alone and are tabulated:
//
//   sum w Phi(z - eps) = m0 Phi(z) - m1 phi(z) + m2/2 phi'(z) - m3/6 phi''(z) + ...
//
// Error: the series ends at eps^3, so at most eps^4/24 max|phi'''| = 5.5e-8 of the mass; the kernel
// ends at 7h, Phi(-7) = 1.3e-12.
// The idea of expanding about box centres: Greengard & Strain, The fast Gauss transform, SIAM J.
// Sci. Stat. Comput. 12(1), 1991.
//
// A bounded grid covers [lower, upper] with the points mirrored at both ends (reflection.h), so
// that no mass is lost and none lies outside.
#pragma once

#include "core/estimate/node_source.h"
#include "core/room.h"
#include "core/sampling/compactor.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kde {

class KernelGrid final : public NodeSource {
 public:
  // A stretch of nodes near enough to some point to matter; between stretches F is constant.
  struct Stretch {
    std::int64_t first, last;  // node numbers, inclusive
    std::int64_t offset;       // position of `first` in the list of all such nodes
  };

  // values: at least one, ascending, weights > 0. h > 0. Unbounded: the grid ends 7h beyond the
  // values. Throws std::bad_alloc; memory: 48 bytes a value or node with points, whichever is less.
  static KernelGrid unbounded(std::span<const WeightedValue> values, double h);
  // All values within [lower, upper], lower < upper, h <= upper - lower.
  static KernelGrid bounded(std::span<const WeightedValue> values, double h, double lower,
                            double upper);

  // The nodes that matter.
  std::int64_t nodes() const override { return nodes_; }
  double position(std::int64_t q) const override;
  Value value(std::int64_t q) const override;
  Moments moments(std::int64_t q) const override;
  int nodes_per_bandwidth() const { return nodes_per_h_; }
  // Half a bandwidth.
  int test_stride() const override { return nodes_per_h_ > 1 ? nodes_per_h_ / 2 : 1; }
  bool has_corners() const override { return false; }

 private:
  struct Bin {
    std::int64_t node;
    double m[4];
    double before;  // mass of all earlier bins
  };
  struct Factors {
    double t[5];  // Phi, phi, phi', phi'', phi''' at one distance
  };
  // Kernel sums at one node over the bins within reach, and the first bin beyond it below.
  struct Sums {
    double below, cdf, pdf;
    std::size_t first;  // index of the first bin within reach
    std::size_t end;
  };

  KernelGrid(double h, double start, double end);
  void fill(std::span<const WeightedValue> values, double start, double end, bool mirrored);
  void find_stretches(std::int64_t last_node);
  std::int64_t node_of(std::int64_t q) const;
  Sums sums_at(std::int64_t node) const;
  Moments raw_moments(std::int64_t node) const;

  double h_, start_, delta_;
  std::int64_t last_node_;
  int reach_;  // 7h in nodes
  int nodes_per_h_;
  std::vector<Factors> factors_;  // for distances -reach_ .. reach_
  std::vector<Bin> bins_;
  std::vector<Stretch> stretches_;
  std::int64_t nodes_ = 0;
  double base_ = 0, total_ = 1;  // raw mass below the first node, and between first and last
  Moments base_moments_;
};

}  // namespace kde
