// A Polya tree centred on a smooth estimate: the sample corrects the estimate at every scale, as
// far as the evidence at that scale goes.
//
// The cells of the line are halved again and again, each time at the middle of what the centre
// says they hold. Where the centre puts the share r of a node's mass on the left and x of the
// node's c observations are there, the left share is Beta(a r, a (1 - r)) a priori, so that its
// posterior mean is
//   (x + a r) / (c + a).
// a = infinity keeps the centre's share, a = 0 the sample's. a is unknown: it is one of kStrengths,
// with probabilities that differ from level to level and are estimated from all the nodes of a
// level by maximum a posteriori (EM on the beta-binomial likelihoods); each node's share is the
// mean over its posterior of a. So a scale at which the centre holds everywhere is left alone, one
// at which it fails everywhere (heaps) follows the sample, and a single spike stands out from a
// smooth rest.
//
// A kernel estimate is no better than counts where a node is wide beside its bandwidth: there it
// has the same observations, and its bias. And at the ends of the line it cannot know how the
// density falls off. So nodes of more than kSmoothWidth bandwidths, and those that end where the
// line does, follow the sample: a = kSampleStrength. What lies beyond a point, or in a wide range,
// is then nearly the sample's own count.
//
// The halving starts at several places, and the mean of the trees is taken, so that no boundary of
// a node shows.
//
// Sources: M. Lavine, Some aspects of Polya tree distributions for statistical modelling, Annals of
// Statistics 20(3), 1992; a strength for each node by mixture: L. Ma, Adaptive shrinkage in Polya
// tree type models, Bayesian Analysis 12(3), 2017; shifted partitions: Paddock, Ruggeri, Lavine &
// West, Randomized Polya tree models, Statistica Sinica 13, 2003.
#pragma once

#include "core/control.h"
#include "core/density/format.h"
#include "core/status.h"

#include <span>
#include <vector>

namespace kde {

inline constexpr double kSmoothWidth = 6;
inline constexpr double kSampleStrength = 0.5;

using Effects = float[kErrorScales];

struct PolyaTreeOptions {
  int trees = 8;           // >= 1
  double least_count = 1;  // > 0; a node with fewer observations is not divided
  // The cells' edges, ascending, one more than cells, in bandwidths of the centre; none: the centre
  // is no kernel estimate, and every node is judged by the evidence.
  std::span<const double> edge = {};
  // Null, or the design effects of ranges with two ends by scale (ratio_at of format.h): so many
  // observations count as one, where they are more than one.
  const Effects* effect = nullptr;
};

// counts, centre: one per cell, in order; counts >= 0 with a positive total, centre >= 0 with a
// positive total (it is scaled). *out: the posterior mean of each cell's share, adding up to 1; the
// same bits for any number of threads.
// Errors: cancelled, out_of_memory. Throws std::bad_alloc.
Status polya_tree(std::span<const double> counts, std::span<const double> centre,
                  const PolyaTreeOptions& options, const Control& control,
                  std::vector<double>* out);

// log |Gamma(x)|, x > 0; relative error below 1e-11 (Stirling's series from x = 10 on, below it by
// recurrence: Abramowitz & Stegun 6.1.15 and 6.1.41). Several times as fast as the C library's.
double log_gamma(double x);

}  // namespace kde
