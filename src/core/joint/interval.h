// Confidence intervals for the answers of integrate.h: those of core/integrate/interval.h, with a
// joint density's two sources of error: its points are a sample of the rows that were read, and
// these of the table. Formulas in interval.cpp.
#pragma once

#include "core/integrate/interval.h"
#include "core/joint/integrate.h"

#include <span>

namespace kde {

// What rows changed may do to an answer about the box; target: of the rows' values, -1: none.
ChangedRows joint_changed_rows(const JointView& density, std::span<const BoxSide> sides, int target,
                               const IntervalOptions& options);

// sides, m: those of joint_moments(), and what it found. Estimates are the moments' own. NaN where
// there are no finite rows (of what one column answers as mean_interval() and sum_interval() say).
Interval joint_count_interval(const JointView& density, std::span<const BoxSide> sides,
                              const JointMoments& m, const IntervalOptions& options);
Interval joint_sum_interval(const JointView& density, std::span<const BoxSide> sides,
                            const JointMoments& m, const IntervalOptions& options);
Interval joint_mean_interval(const JointView& density, std::span<const BoxSide> sides,
                             const JointMoments& m, const IntervalOptions& options);
Interval joint_variance_interval(const JointView& density, std::span<const BoxSide> sides,
                                 const JointMoments& m, const IntervalOptions& options);

}  // namespace kde
