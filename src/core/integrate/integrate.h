// Answers from a stored density: counts, moments, quantiles, density at a point.
//
// One scalar double path over the stored bytes, no allocation: the same density gives the same
// answer everywhere. Counts are the data's, or the estimate's, within header().error of the rows;
// exact at atoms, points and lattice points. Of a density that is not bounded (kBounded) every
// answer is the plain kernel sum's over its cells.
//
// Order of values: -infinity < finite < +infinity < NaN, as PostgreSQL sorts them.
#pragma once

#include "core/density/histogram_view.h"
#include "core/integrate/range.h"

namespace kde {

// Rows in the range; monotone as the range grows, the whole line gives header().rows.
double count(const DensityView& density, const Range& range);

// Count, mean and variance in one pass. With both sides unbounded (bounded densities: when
// [min, max] is inside the range) mean and variance are the totals of all rows read.
// The sum over the range is mean * finite.
RangeMoments moments(const DensityView& density, const Range& range);

// What answers need of each block, added up beforehand, in `memory` of so many bytes (8-byte
// aligned; 0: nothing is needed): a view that has it reads only the cells of blocks that a range
// cuts. Sums of other order round otherwise; of a density that a kernel smooths they are series,
// within 1e-10 of a block's rows.
std::size_t block_sums_size(const DensityView& density);
BlockSums add_up_blocks(const DensityView& density, void* memory);

// The density at x, per unit of x, of a non-null row: the kernel estimate of the cells, where
// bounded reflected at [min, max]; without a bandwidth, and on a lattice that it is narrow beside,
// what lies at the lattice point or in the cell. 0 at infinities and NaN.
double pdf(const DensityView& density, double x);

// The fraction of the non-null rows that are <= x.
double cdf(const DensityView& density, double x);

// The smallest x with cdf(x) >= q; q in [0, 1]. Bounded
// densities: within [min, max], and a lattice point on a lattice.
double quantile(const DensityView& density, double q);

// What a bound cuts of a cell: the only rows whose number below it is not known. x: any; inclusive: values at x lie below it.
CutCell cut_cell(const DensityView& density, double x, bool inclusive);

// Of cells that are not points, within the range: the sum of their rows times their
// widths.
double rows_times_width(const DensityView& density, const Range& range);

// Whether no value can lie in the range, whatever the column holds.
bool is_empty(const Range& range);

// Whether the range takes in every finite value: then the totals of all rows read answer.
bool has_every_finite_value(const Header& header, const Range& range);

}  // namespace kde
