// The mean of one column given the value of another: a curve through a joint density.
//
// Local linear regression (J. Fan, JASA 87, 1992): a line through the points' values of the target
// y, weighted by their rows and by the density's own kernel in the coordinates t of the other
// column, and its height at t_0. With W_i = rows_i phi(t_i - t_0), S_r = sum W_i (t_i - t_0)^r,
//
//   m(t_0) = sum l_i y_i,    l_i = W_i (S_2 - (t_i - t_0) S_1)/(S_0 S_2 - S_1^2).
//
// Its variance is sigma^2 sum l_i^2, sigma^2 being the residuals' about the line, W-weighted, with
// two degrees of freedom less than the n_e = S_0^2/sum W_i^2 points that speak; times the density's
// sampling and reading variances: the interval is about the curve that all rows of the table would
// give with this bandwidth. Points that all have one value do not tell sigma, nor do few of a heavy
// tail: they are joined by points of the column's own variance, as those of a box are.
//
// k changed rows widen it by what they may have done where they do most, to either side. A row of
// weight w and residual e at u that comes or goes moves the height at t_0 by
//
//   l e/(1 + h),  -l e/(1 - h),    l = w (1/S_0 - (u - m) m/V),  h = w (1/S_0 + (u - m)^2/V),
//
// m = S_1/S_0 and V = S_2 - S_1 m (R. D. Cook, Technometrics 19, 1977), k at one place as one of k
// times the weight: what they had and have is as in answer/changed_rows.h.
#pragma once

#include "core/answer/column_evidence.h"
#include "core/density/joint_format.h"

namespace kde {

// target, on: different columns. x: of `on`; not NaN.
// The estimate lies within the target's [min, max], the interval too unless rows changed. All NaN
// where no point with a finite target is within the kernel's reach of x. One pass over the points;
// no allocation.
Interval conditional_mean(const JointView& density, int target, int on, double x,
                          const IntervalOptions& options);

}  // namespace kde
