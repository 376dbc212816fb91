// What a picture of a density shows: which part of its axis, and the heights there.
#pragma once

#include "core/answer/column_evidence.h"

#include <span>

namespace kde {

// The part of the axis that is worth a picture, of a density with finite rows: from the least value
// to the greatest, but where a few far ones would leave the others no room. An end is moved to the
// outer fence, three times the distance of the quartiles beyond them (J. W. Tukey, Exploratory Data
// Analysis, 1977), or as far as leaves out 2 % of the rows, whichever is farther; and only if the
// axis is a third shorter for it. Where all values are one it has no width.
struct AxisSpan {
  double lower, upper;
};
AxisSpan readable_span(const DensityView& density);

// Heights of steps between edges, ascending and finite, one more than there are steps. Steps are
// [edge, next edge), the last is closed.
struct StepValues {
  std::span<double> value, lower, upper;  // as many as there are steps
};
// Rows in each.
void count_steps(const DensityView& density, std::span<const double> edges,
                 const IntervalOptions& options, const StepValues& out);
// Per cent of the non-null rows in each, per `unit` of the axis.
void density_steps(const DensityView& density, std::span<const double> edges, double unit,
                   const IntervalOptions& options, const StepValues& out);
// Per cent of the non-null rows at the step's upper edge or below.
void cumulative_steps(const DensityView& density, std::span<const double> edges,
                      const IntervalOptions& options, const StepValues& out);

// Rows below the span and above it, of the finite ones.
struct RowsBeyond {
  double below, above;
};
RowsBeyond rows_beyond(const DensityView& density, const AxisSpan& span);

}  // namespace kde
