// The integrals of integrate.h over atoms and cells.
#include "core/integrate/integrate.h"

#include "core/density/cell.h"
#include "core/density/histogram_view.h"
#include "core/estimate/kernel.h"
#include "core/integrate/atoms_below.h"
#include "core/integrate/histogram_integral.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace kde {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_histogram(const DensityView& d) { return d.header().kind == Kind::histogram; }
HistogramView histogram_of(const DensityView& d) { return HistogramView(&d.header()); }

Cell cell_at(const DensityView& d, int i) {
  return Cell::hermite(d.knot_u(i), d.knot_u(i + 1), d.knot_mass(i), d.knot_mass(i + 1),
                       d.knot_slope(i), d.knot_slope(i + 1));
}

// The cell that holds u, which lies between the first and the last knot.
int find_cell(const DensityView& d, double u) {
  int low = 0;
  int high = d.knots() - 1;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (d.knot_u(middle) <= u ? low : high) = middle;
  }
  return low;
}

// G(u), for any u.
double smooth_mass(const DensityView& d, double u) {
  if (d.knots() == 0 || !(u > d.knot_u(0))) return 0;
  if (u >= d.knot_u(d.knots() - 1)) return 1;
  const int i = find_cell(d, u);
  const Cell cell = cell_at(d, i);
  // Rounding must not take a cell's end beyond the next one's beginning.
  return std::min(cell.value(cell.local(u)), d.knot_mass(i + 1));
}

// dG/du, 0 outside the knots.
double smooth_slope(const DensityView& d, double u) {
  if (d.knots() == 0 || !(u >= d.knot_u(0)) || !(u <= d.knot_u(d.knots() - 1))) return 0;
  const Cell cell = cell_at(d, find_cell(d, u));
  return cell.slope(cell.local(u));
}

// Where the smooth part is cut to count the values <= x (inclusive) or < x. On a lattice: half a
// step above the last lattice point that counts. A bound within 1e-15 of a lattice point, relative
// to the larger of the bound and the lattice's offset, is that point: decimal fractions are not
// exact in binary.
double smooth_cut(const Header& h, double x, bool inclusive) {
  if (h.lattice_step == 0 || (h.flags & kBounded) == 0 || std::isinf(x)) return x;
  const double steps = (x - h.lattice_offset) / h.lattice_step;
  double k = std::floor(steps);
  const double nearest = std::round(steps);
  const double digits = 1e-15 * std::max(std::fabs(x), std::fabs(h.lattice_offset));
  if (std::fabs(steps - nearest) * h.lattice_step <= digits) k = inclusive ? nearest : nearest - 1;
  return h.lattice_offset + (k + 0.5) * h.lattice_step;
}

// Finite rows <= x (inclusive) or < x; x is finite.
double finite_below(const DensityView& d, double x, bool inclusive) {
  if (is_histogram(d)) return histogram::finite_below(histogram_of(d), x, inclusive);
  const int atoms = atoms_below(d, x, inclusive);
  double rows = atoms > 0 ? d.atom_cumulative_rows(atoms - 1) : 0;
  const Header& h = d.header();
  if (h.smooth_rows > 0)
    rows += h.smooth_rows * smooth_mass(d, d.to_u(smooth_cut(h, x, inclusive)));
  return rows;
}

// Rows <= x (inclusive) or < x in the order -infinity < finite < infinity < NaN.
double rows_below(const DensityView& d, double x, bool inclusive) {
  const Header& h = d.header();
  if (std::isnan(x)) return inclusive ? h.rows : h.rows - h.nans;
  if (x == -kInfinity) return inclusive ? h.negative_infinities : 0;
  const double finite_end = h.rows - h.nans - h.positive_infinities;
  if (x == kInfinity) return inclusive ? h.rows - h.nans : finite_end;
  // To the last bit: rows scaled up from a sample add up to finite_end only but for rounding.
  if ((h.flags & kBounded) != 0 && (inclusive ? x >= h.max : x > h.max)) return finite_end;
  return std::min(h.negative_infinities + finite_below(d, x, inclusive), finite_end);
}

struct Bounds {
  double below_lower, below_upper;  // rows below the range, and below its end
  bool empty;
};

Bounds bounds_of(const DensityView& d, const Range& r) {
  if (r.empty) return {0, 0, true};
  const double lower = r.lower_unbounded ? 0 : rows_below(d, r.lower, !r.lower_inclusive);
  const double upper =
      r.upper_unbounded ? d.header().rows : rows_below(d, r.upper, r.upper_inclusive);
  return {lower, upper, !(upper > lower)};
}

// Whether the range takes in every finite value: then the totals of all rows read answer.
bool is_whole(const Header& h, const Range& r) {
  const bool bounded = (h.flags & kBounded) != 0;
  const bool low = r.lower_unbounded || r.lower == -kInfinity ||
                   (bounded && (r.lower_inclusive ? r.lower <= h.min : r.lower < h.min));
  const bool high = r.upper_unbounded || r.upper == kInfinity || std::isnan(r.upper) ||
                    (bounded && (r.upper_inclusive ? r.upper >= h.max : r.upper > h.max));
  return low && high;
}

// Moments in u about `center`, in rows.
struct Accumulator {
  double center;
  StretchMoments sum;

  void add(const StretchMoments& m, double rows) {
    sum.m0 += rows * m.m0;
    sum.m1 += rows * m.m1;
    sum.m2 += rows * m.m2;
  }
};

// What the cubics of block `b` miss between u = from and u = to. With E the kernel sum less the
// cubics, 0 at the block's ends, the block's moments about its middle m are -integral E du and
// -2 integral (u - m) E du: so they are spread by width, as if E were constant. Spread by mass,
// what one wide cell towards an outlier misses would end up where the rows are.
StretchMoments missed(const DensityView& d, int b, double from, double to, double center) {
  const double u0 = d.knot_u(b * kBlockCells);
  const double u1 = d.knot_u(std::min((b + 1) * kBlockCells, d.cells()));
  const double share = std::min((to - from) / (u1 - u0), 1.0);
  const double m1 = d.block_moment(b, 1);
  const double m2 = d.block_moment(b, 2);
  // The second comes from the odd part of E: the cube of the width.
  return {0, m1 * share, (from + to - 2 * center) * m1 * share + m2 * share * share * share};
}

// The smooth part between u = a and u = b (a < b, both between the outer knots).
void add_smooth(const DensityView& d, double a, double b, Accumulator* total) {
  const double rows = d.header().smooth_rows;
  const int first = find_cell(d, a);
  const int last = find_cell(d, b);
  double block_from = a;
  for (int i = first; i <= last; ++i) {
    const Cell cell = cell_at(d, i);
    const double s0 = i == first ? cell.local(a) : 0;
    const double s1 = i == last ? cell.local(b) : 1;
    total->add(cell.moments(s0, s1, total->center), rows);
    // At the end of a block (or of the stretch): its share of what the cubics miss.
    if (i == last || (i + 1) % kBlockCells == 0) {
      const double block_to = i == last ? b : d.knot_u(i + 1);
      total->add(missed(d, i / kBlockCells, block_from, block_to, total->center), rows);
      block_from = block_to;
    }
  }
}

double clamp_to(double x, double low, double high) {
  return low <= high ? std::clamp(x, low, high) : x;
}

// Mean and variance of the finite rows strictly inside the cuts of the range.
void partial_moments(const DensityView& d, const Range& r, RangeMoments* out) {
  if (is_histogram(d)) {
    histogram::partial_moments(histogram_of(d), r, out);
    return;
  }
  const Header& h = d.header();
  const double low_x = r.lower_unbounded ? -kInfinity : r.lower;
  const double high_x = r.upper_unbounded || std::isnan(r.upper) ? kInfinity : r.upper;
  double low = low_x;
  double high = high_x;
  if ((h.flags & kBounded) != 0) {
    low = std::clamp(low, h.min, h.max);
    high = std::clamp(high, h.min, h.max);
  }
  // Two bounds about one lattice point, which both are taken for, may be in the wrong order.
  if (low > high) std::swap(low, high);
  double a = 0;
  double b = 0;
  // Whether the range ends where there is mass beyond, its own mirror image where it is reflected.
  bool cut_low = true;
  bool cut_high = true;
  if (d.knots() > 0) {
    const double first = d.knot_u(0);
    const double last = d.knot_u(d.knots() - 1);
    a = d.to_u(smooth_cut(h, low_x, !r.lower_inclusive));
    b = d.to_u(smooth_cut(h, high_x, r.upper_inclusive));
    cut_low = (h.flags & kBounded) != 0 || a > first;
    cut_high = (h.flags & kBounded) != 0 || b < last;
    a = std::clamp(a, first, last);
    b = std::clamp(b, first, last);
  }
  const int atom_first = atoms_below(d, low_x, !r.lower_inclusive);
  const int atom_end = atoms_below(d, high_x, r.upper_inclusive);

  Accumulator total{0, {}};
  if (a < b) {
    total.center = a + (b - a) / 2;
  } else if (atom_first < atom_end) {
    total.center = d.to_u(d.atom_value(atom_first));
  }
  double smooth_rows = 0;
  if (a < b) {
    add_smooth(d, a, b, &total);
    smooth_rows = total.sum.m0;
  }
  for (int i = atom_first; i < atom_end; ++i) {
    const double rows = d.atom_cumulative_rows(i) - (i > 0 ? d.atom_cumulative_rows(i - 1) : 0);
    const double v = d.to_u(d.atom_value(i)) - total.center;
    total.add({1, v, v * v}, rows);
  }
  if (!(total.sum.m0 > 0)) {
    // Rows too few for the moments' rounding: the middle of the range is as good as anything.
    out->mean = clamp_to(d.to_x(total.center), low, high);
    out->variance = 0;
    return;
  }
  // Where the range's rows lie: whatever rounding makes of a tail of next to no mass, its moments
  // are within.
  double begin = a < b ? a : kInfinity;
  double end = a < b ? b : -kInfinity;
  if (atom_first < atom_end) {
    begin = std::min(begin, d.to_u(d.atom_value(atom_first)));
    end = std::max(end, d.to_u(d.atom_value(atom_end - 1)));
  }
  const double mean_u =
      std::clamp(total.sum.m1 / total.sum.m0, begin - total.center, end - total.center);

  // The data's spread, not the kernel's. With s = h^2 mu2(K) the kernel's variance, smoothing adds
  // s to the second moment of what lies within the range, less what the kernel carries across its
  // ends; to first order
  //   s ( rows - [(u - mean) f(u)]_a^b ),  which is s for the whole line and 0 where f is flat,
  // at a reflecting end of the support as well.
  double kernel = 0;
  if (smooth_rows > 0 && h.bandwidth > 0 && (h.flags & kCorrected) == 0) {
    const double mean = total.center + mean_u;
    const double f_low = cut_low ? smooth_slope(d, a) : 0;
    const double f_high = cut_high ? smooth_slope(d, b) : 0;
    const double edge_high = (b - mean) * f_high * h.smooth_rows;
    const double edge_low = (a - mean) * f_low * h.smooth_rows;
    const double share = std::clamp(smooth_rows - (edge_high - edge_low), 0.0, smooth_rows);
    const double hu = std::ldexp(h.bandwidth, -h.exponent);
    if (share > 0) kernel = kernel_variance(h.kernel) * hu * hu * share / total.sum.m0;
  }
  const double half_width = (end - begin) / 2;
  const double variance_u = std::clamp(total.sum.m2 / total.sum.m0 - mean_u * mean_u - kernel, 0.0,
                                       half_width * half_width);

  out->mean = clamp_to(d.to_x(total.center + mean_u), low, high);
  out->variance = std::ldexp(variance_u, 2 * h.exponent);
  if (std::isfinite(low) && std::isfinite(high) && low <= high) {
    const double half = (high - low) / 2;
    out->variance = std::min(out->variance, half * half);
  }
}

// The smallest s in [0, 1] at which the cell reaches g, by Newton's method within a bracket.
double invert_cell(const Cell& cell, double g) {
  double low = 0;
  double high = 1;
  double s = 0.5;
  for (int i = 0; i < 100 && high - low > 1e-16; ++i) {
    const double v = cell.value(s);
    (v < g ? low : high) = s;
    const double slope = cell.slope(s) * cell.w;
    double next = slope > 0 ? s - (v - g) / slope : low;
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    if (next == s) break;
    s = next;
  }
  return high;
}

// The smallest u with G(u) >= g.
double smooth_quantile(const DensityView& d, double g) {
  int low = 0;
  int high = d.knots() - 1;
  if (!(g > 0)) return d.knot_u(0);
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (d.knot_mass(middle) < g ? low : high) = middle;
  }
  const Cell cell = cell_at(d, low);
  return cell.u0 + cell.w * invert_cell(cell, g);
}

// The smallest finite x with finite_below(x, inclusive) >= rows.
double finite_quantile(const DensityView& d, double rows) {
  if (is_histogram(d)) return histogram::finite_quantile(histogram_of(d), rows);
  const Header& h = d.header();
  // The rank of a value, asked for as a fraction of the rows, must not round to the next value's.
  const double reached = rows - 0x1p-48 * h.rows;
  // The first atom by which the rows are reached.
  int low = 0;
  int high = d.atoms();
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (finite_below(d, d.atom_value(middle), true) >= reached) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const bool has_atom = low < d.atoms();
  if (has_atom && (h.smooth_rows == 0 || finite_below(d, d.atom_value(low), false) < reached))
    return d.atom_value(low);
  if (h.smooth_rows == 0) return h.max;
  const double before = low > 0 ? d.atom_cumulative_rows(low - 1) : 0;
  const double g = std::min((rows - before) / h.smooth_rows, 1.0);
  // Off a lattice no other value is near enough to be taken for the wanted one.
  const double wanted = h.lattice_step > 0 ? (reached - before) / h.smooth_rows : g;
  double x = d.to_x(smooth_quantile(d, std::min(wanted, 1.0)));
  if ((h.flags & kBounded) != 0) {
    if (h.lattice_step > 0) {
      const double steps = (x - h.lattice_offset) / h.lattice_step;
      x = h.lattice_point(std::ceil(steps - 0.5 - 1e-9));
    }
    x = std::clamp(x, h.min, h.max);
    // The outer knots are min and max but for their last digits.
    if (g <= 0 && low == 0) x = h.min;
    if (g >= 1 && !has_atom) x = h.max;
  }
  return x;
}

}  // namespace

double count(const DensityView& density, const Range& range) {
  const Bounds b = bounds_of(density, range);
  return b.empty ? 0 : b.below_upper - b.below_lower;
}

RangeMoments moments(const DensityView& density, const Range& range) {
  const Header& h = density.header();
  RangeMoments out;
  const Bounds b = bounds_of(density, range);
  if (b.empty) return out;
  out.count = b.below_upper - b.below_lower;
  // The special values lie at both ends of the order: what the range's rows leave of them.
  const double finite_begin = h.negative_infinities;
  const double finite_end = h.rows - h.nans - h.positive_infinities;
  const auto overlap = [&b](double from, double to) {
    return std::max(std::min(b.below_upper, to) - std::max(b.below_lower, from), 0.0);
  };
  out.negative_infinities = overlap(0, finite_begin);
  out.finite = overlap(finite_begin, finite_end);
  out.positive_infinities = overlap(finite_end, finite_end + h.positive_infinities);
  out.nans = overlap(h.rows - h.nans, h.rows);
  if (!(out.finite > 0)) return out;
  if (is_whole(h, range)) {
    out.mean = h.mean;
    out.variance = h.variance;
  } else {
    partial_moments(density, range, &out);
  }
  return out;
}

double pdf(const DensityView& density, double x) {
  const Header& h = density.header();
  if (!std::isfinite(x) || !(h.rows > 0)) return 0;
  if (is_histogram(density)) return histogram::rows_density(histogram_of(density), x) / h.rows;
  double rows = 0;  // per unit of x
  if (h.smooth_rows > 0) {
    double u = density.to_u(x);
    // The outer knots of a bounded density are min and max but for their last digits.
    if ((h.flags & kBounded) != 0 && x >= h.min && x <= h.max)
      u = std::clamp(u, density.knot_u(0), density.knot_u(density.knots() - 1));
    rows = std::ldexp(h.smooth_rows * smooth_slope(density, u), -h.exponent);
  }
  // What automatic stores of a lattice has no kernel to spread it by.
  if (h.lattice_step > 0 &&
      (h.lattice_atoms() || (h.flags & kCorrected) != 0 || h.bandwidth == 0)) {
    // Half a step to either side of a lattice point is its own.
    const int next = atoms_below(density, x - h.lattice_step / 2, false);
    if (next < density.atoms() && density.atom_value(next) <= x + h.lattice_step / 2) {
      const double before = next > 0 ? density.atom_cumulative_rows(next - 1) : 0;
      rows += (density.atom_cumulative_rows(next) - before) / h.lattice_step;
    }
  } else if (h.bandwidth > 0) {
    double previous = 0;
    for (int i = 0; i < density.atoms(); ++i) {
      const double here = density.atom_cumulative_rows(i);
      rows += (here - previous) * kernel_pdf(h.kernel, (x - density.atom_value(i)) / h.bandwidth) /
              h.bandwidth;
      previous = here;
    }
  }
  return rows / h.rows;
}

double cdf(const DensityView& density, double x) {
  const Header& h = density.header();
  if (!(h.rows > 0)) return 0;
  return std::clamp(rows_below(density, x, true) / h.rows, 0.0, 1.0);
}

double quantile(const DensityView& density, double q) {
  const Header& h = density.header();
  const double rows = q * h.rows;
  const double finite_end = h.rows - h.nans - h.positive_infinities;
  // A quantile that rounding puts a hair beyond the finite rows belongs to them.
  const double slack = 1e-12 * h.rows;
  if (h.negative_infinities > 0 && rows <= h.negative_infinities) return -kInfinity;
  if (h.finite_rows() > 0 && rows <= finite_end + slack)
    return finite_quantile(density, std::max(rows - h.negative_infinities, 0.0));
  if (h.positive_infinities > 0 && rows <= h.rows - h.nans + slack) return kInfinity;
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace kde
