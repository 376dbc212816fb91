// Answers from a stored density: counts, moments, quantiles, density at a point.
//
// One scalar double path over the stored bytes, no allocation: the same density gives the same
// answer everywhere. Ranges are exact on atoms and on a lattice (the lattice points inside
// the range count, each with the mass of its cell of width lattice_step); elsewhere the
// smooth part is a continuous distribution and open and closed bounds are the same.
//
// Order of values: -infinity < finite < +infinity < NaN, as PostgreSQL sorts them.
#pragma once

#include "core/density/format.h"

namespace kde {

// A range of x. An unbounded side has no limit at all: above, it includes +infinity and NaN.
struct Range {
  double lower = 0, upper = 0;
  bool lower_unbounded = true, upper_unbounded = true;
  bool lower_inclusive = true, upper_inclusive = true;
  bool empty = false;
};

struct RangeMoments {
  double count = 0;     // rows, >= 0
  double mean = 0;      // of the finite rows in the range; within the range
  double variance = 0;  // of the finite rows, divisor n; the kernel's own spread taken out
  double finite = 0;    // rows of `count` that are finite
  double nans = 0, negative_infinities = 0, positive_infinities = 0;  // the others
};

// Rows in the range; monotone as the range grows, the whole line gives header().rows.
// Within 1e-5 header().rows of the kernel sum over the sample, or twice header().error where that
// is more (a sample that spans so many scales that its knots do not fit in kMaxBytes).
double count(const DensityView& density, const Range& range);

// Count, mean and variance in one pass. With both sides unbounded (bounded densities: when
// [min, max] is inside the range) mean and variance are the totals of all rows read.
// The sum over the range is mean * finite.
RangeMoments moments(const DensityView& density, const Range& range);

// The density at x, per unit of x, of a non-null row: smooth part, plus atoms spread over their
// lattice steps or, where there is no lattice, by the kernel where a bandwidth is known (atoms
// without either have none). 0 at infinities and NaN. Within
// 1e-3 of its maximum of the kernel sum over the sample; where that has more corners than fit in
// kMaxBytes less, and not beside the jumps of a uniform kernel's.
double pdf(const DensityView& density, double x);

// The fraction of the non-null rows that are <= x.
double cdf(const DensityView& density, double x);

// The smallest x with cdf(x) >= q (on smooth parts, where cdf(x) = q); q in [0, 1]. Bounded
// densities: within [min, max], and a lattice point on a lattice.
double quantile(const DensityView& density, double q);

}  // namespace kde
