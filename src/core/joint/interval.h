// Confidence intervals for the answers of integrate.h: those of core/integrate/interval.h, with a
// joint density's two sources of error: its points are a sample of the rows that were read, and
// these of the table. Formulas in interval.cpp.
#pragma once

#include "core/integrate/interval.h"
#include "core/joint/integrate.h"
#include "core/room.h"

namespace kde {

// m: of joint_moments. Estimates are the moments' own.
Interval joint_count_interval(const JointView& density, const JointMoments& m,
                              const IntervalOptions& options);
// NaN where there are no finite rows. [least, most]: where the target's values must lie, the
// target's bounds among the sides, or infinite ones.
Interval joint_sum_interval(const JointView& density, const JointMoments& m, double least,
                            double most, const IntervalOptions& options);
Interval joint_mean_interval(const JointView& density, const JointMoments& m, double least,
                             double most, const IntervalOptions& options);
Interval joint_variance_interval(const JointView& density, const JointMoments& m,
                                 const IntervalOptions& options);

}  // namespace kde
