// The forms of histogram_kernel.h, and the cells they are summed over.
#include "core/integrate/histogram_kernel.h"

#include "core/first_true.h"
#include "core/kernel/normal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kde::histogram {

namespace {

// Beyond it, in bandwidths, nothing of a point is left.
constexpr double kReach = 8.5;
constexpr double kNarrow = 1.0 / 32;
constexpr double kSeriesRadius = 1;
constexpr double kLargest = std::numeric_limits<double>::max();

// How far from 0 the rows are: on a lattice half a step beyond the outer values.
double extent(const Header& h) {
  return std::max({std::fabs(h.min), std::fabs(h.max), h.lattice_step / 2});
}

// A_3 ... A_-5 at z, whose index is 3 - k.
struct Primitives {
  double a3, a2, a1, a0, d1, d2, d3, d4, d5;  // d1 = A_-1 = phi, d2 = phi', ...

  explicit Primitives(double z) {
    d1 = z > -kReach && z < kReach ? normal_pdf(z) : 0;
    a0 = z >= kReach ? 1 : z <= -kReach ? 0 : normal_cdf(z);
    a1 = z * a0 + d1;
    a2 = ((z * z + 1) * a0 + z * d1) / 2;
    a3 = ((z * z * z + 3 * z) * a0 + (z * z + 2) * d1) / 6;
    d2 = -z * d1;
    d3 = (z * z - 1) * d1;
    d4 = -(z * z * z - 3 * z) * d1;
    d5 = (z * z * z * z - 6 * z * z + 3) * d1;
  }
};

// Of a smoothed cell up to t, lengths in units of h: its density, F, int F and int int F.
struct Smoothed {
  double density, f0, f1, f2;
};

// lower, upper: (t - a)/h and (t - b)/h; width: (b - a)/h.
Smoothed smooth_cell(double lower, double upper, double width) {
  if (width <= kNarrow) {
    const Primitives p(upper + width / 2);
    const double e2 = width * width / 24;
    const double e4 = width * width * width * width / 1920;
    return {p.d1 + e2 * p.d3 + e4 * p.d5, p.a0 + e2 * p.d2 + e4 * p.d4,
            p.a1 + e2 * p.d1 + e4 * p.d3, p.a2 + e2 * p.a0 + e4 * p.d2};
  }
  const Primitives a(lower);
  const Primitives b(upper);
  return {(a.a0 - b.a0) / width, (a.a1 - b.a1) / width, (a.a2 - b.a2) / width,
          (a.a3 - b.a3) / width};
}

// A block's rows smoothed up to z bandwidths from its middle, as Smoothed, times its rows.
Smoothed smooth_block(const BlockSeries& s, double z) {
  const Primitives p(z);
  // A_2, A_1, A_0, A_-1, ...: derivatives by Hermite's recurrence, with the sign (-1)^j of the
  // series.
  double term[kSeriesOrder + 4] = {p.a2, -p.a1, p.a0};
  double before = 0;
  double he = 1;
  for (int i = 0; i <= kSeriesOrder; ++i) {
    term[3 + i] = -he * p.d1;
    const double next = z * he - i * before;
    before = he;
    he = next;
  }
  double sum[4] = {};  // of A_2, -A_1, A_0, -A_-1
  for (int j = 0; j <= kSeriesOrder; ++j) {
    for (int k = 0; k < 4; ++k) sum[k] += s.moment[j] * term[j + k];
  }
  return {-sum[3], sum[2], -sum[1], sum[0]};
}

// t - a in bandwidths, where the difference itself may overflow.
double bandwidths(double t, double a, double h) {
  const double d = t - a;
  return std::isfinite(d) ? d / h : t / h - a / h;
}

// Where the rows of a range of cells begin or end: between lattice points.
double edge(const DensityView& d, std::int64_t key) {
  const Header& h = d.header();
  if (h.lattice_step > 0)
    return h.lattice_offset + (static_cast<double>(key) + 0.5) * h.lattice_step;
  return d.value(key);
}

// Calls use(a, b, rows) for every stretch [a, b] of rows, points with a = b, that reaches into
// [from, to], or for all of a block use_block(series); may call them for others. Returns the rows
// it skipped below `from`.
template <typename Use, typename UseBlock>
double each_near(const DensityView& d, double from, double to, Use use, UseBlock use_block) {
  double skipped = 0;
  int atom = d.atoms_below(from, false);
  double before = atom > 0 ? d.atom_cumulative_rows(atom - 1) : 0;
  skipped += before;
  for (; atom < d.atoms() && d.atom_value(atom) <= to; ++atom) {
    use(d.atom_value(atom), d.atom_value(atom), d.atom_cumulative_rows(atom) - before);
    before = d.atom_cumulative_rows(atom);
  }
  // The last block that begins below `from`: all before it end there.
  int block =
      first_true(1, d.blocks(), [&](int b) { return !(edge(d, d.block(b).first_key) <= from); }) -
      1;
  if (block < d.blocks()) skipped += d.rows_below(block);
  const double unit = d.header().row_unit;
  for (; block < d.blocks() && d.value(d.block(block).first_key) <= to; ++block) {
    const BlockSeries* series = d.sums().series;
    if (series != nullptr && series[block].radius <= kSeriesRadius) {
      use_block(series[block]);
      continue;
    }
    CellReader reader = d.cells(block);
    StoredCell cell;
    while (reader.next(&cell)) {
      if (cell.units == 0) continue;
      const double rows = static_cast<double>(cell.units) * unit;
      if (cell.point) {
        use(d.value(cell.key), d.value(cell.key), rows);
      } else {
        use(edge(d, cell.begin), edge(d, cell.key), rows);
      }
    }
  }
  return skipped;
}

// The density at t, in rows per bandwidth.
double rows_per_bandwidth(const DensityView& d, double h, double t) {
  double rows = 0;
  const auto of_cell = [&](double a, double b, double n) {
    const double lower = bandwidths(t, a, h);
    const double upper = bandwidths(t, b, h);
    if (upper < kReach && lower > -kReach)
      rows += n * std::max(smooth_cell(lower, upper, bandwidths(b, a, h)).density, 0.0);
  };
  const auto of_block = [&](const BlockSeries& s) {
    const double z = bandwidths(t, s.middle, h);
    if (std::fabs(z) - s.radius < kReach) rows += std::max(smooth_block(s, z).density, 0.0);
  };
  each_near(d, t - kReach * h, t + kReach * h, of_cell, of_block);
  return rows;
}

// Rows, and moments about a centre, in a scaled unit.
struct Sums {
  double m0 = 0, m1 = 0, m2 = 0;
};

}  // namespace

double acting_bandwidth(const Header& h) {
  return h.bandwidth > 0x1p-40 * extent(h) ? h.bandwidth : 0;
}

bool has_series(const DensityView& d) {
  return (d.header().flags & kBounded) == 0 && acting_bandwidth(d.header()) > 0;
}

BlockSeries series_of(const DensityView& d, int b) {
  const double h = acting_bandwidth(d.header());
  const double unit = d.header().row_unit;
  BlockSeries out = {};
  double begin = std::numeric_limits<double>::infinity();
  double end = -begin;
  // Where its rows lie, and then their moments.
  for (const bool hull : {true, false}) {
    CellReader reader = d.cells(b);
    StoredCell cell;
    while (reader.next(&cell)) {
      if (cell.units == 0) continue;
      const double to = cell.point ? d.value(cell.key) : edge(d, cell.key);
      const double from = cell.point ? to : edge(d, cell.begin);
      if (hull) {
        begin = std::min(begin, from);
        end = std::max(end, to);
        continue;
      }
      // The mean of u^j/j! between u and v is sum_i u^i v^(j-i) / (j+1)!.
      const double u = bandwidths(from, out.middle, h);
      const double v = bandwidths(to, out.middle, h);
      double power = 1;
      double mean = 1;
      double share = static_cast<double>(cell.units) * unit;
      for (int j = 0; j <= kSeriesOrder; ++j) {
        share /= j + 1;
        out.moment[j] += share * mean;
        power *= u;
        mean = mean * v + power;
      }
    }
    if (!(begin <= end)) return out;
    out.middle = std::midpoint(begin, end);
    out.radius = bandwidths(end, out.middle, h);
    if (!(out.radius <= kSeriesRadius)) return out;
  }
  return out;
}

double kernel_least(const Header& header, double h) {
  return std::max(header.min - header.lattice_step / 2 - kReach * h, -kLargest);
}

double kernel_greatest(const Header& header, double h) {
  return std::min(header.max + header.lattice_step / 2 + kReach * h, kLargest);
}

double kernel_rows_below(const DensityView& d, double h, double t) {
  double rows = 0;
  const auto of_cell = [&](double a, double b, double n) {
    const double lower = bandwidths(t, a, h);
    const double upper = bandwidths(t, b, h);
    if (upper >= kReach) {
      rows += n;
    } else if (lower > -kReach) {
      rows += n * std::clamp(smooth_cell(lower, upper, bandwidths(b, a, h)).f0, 0.0, 1.0);
    }
  };
  const auto of_block = [&](const BlockSeries& s) {
    const double z = bandwidths(t, s.middle, h);
    if (z - s.radius >= kReach) {
      rows += s.moment[0];
    } else if (z + s.radius > -kReach) {
      rows += std::clamp(smooth_block(s, z).f0, 0.0, s.moment[0]);
    }
  };
  const double skipped = each_near(d, t - kReach * h, t + kReach * h, of_cell, of_block);
  return skipped + rows;
}

double kernel_rows_density(const DensityView& d, double h, double t) {
  return rows_per_bandwidth(d, h, t) / h;
}

void kernel_moments(const DensityView& d, double h, const Range& r, RangeMoments* out) {
  const Header& header = d.header();
  const bool low_open = r.lower_unbounded || !std::isfinite(r.lower);
  const bool high_open = r.upper_unbounded || !std::isfinite(r.upper);
  const double low = low_open ? kernel_least(header, h) : r.lower;
  const double high = high_open ? kernel_greatest(header, h) : r.upper;
  // Where the rows of the range are.
  const double begin = std::clamp(low, kernel_least(header, h), kernel_greatest(header, h));
  const double end = std::clamp(high, begin, std::max(begin, kernel_greatest(header, h)));
  // In units in which no square overflows or vanishes.
  const double largest = std::max({std::fabs(begin), std::fabs(end), h});
  const double scale = std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1000, 1000));
  const double centre = begin * scale / 2 + end * scale / 2;
  const double hs = h * scale;
  Sums sum;
  // Up to t, about the centre, as shares of the cell's rows.
  const auto up_to = [&](double t, double a, double b) -> Sums {
    const double lower = bandwidths(t, a, h);
    const double upper = bandwidths(t, b, h);
    if (lower <= -kReach) return {};
    const double width = bandwidths(b, a, h);
    if (upper >= kReach) {
      const double middle = a * scale / 2 + b * scale / 2 - centre;
      return {1, middle, middle * middle + hs * hs * (width * width / 12 + 1)};
    }
    const Smoothed s = smooth_cell(lower, upper, width);
    const double at = t * scale - centre;
    return {s.f0, at * s.f0 - hs * s.f1, at * at * s.f0 - 2 * at * hs * s.f1 + 2 * hs * hs * s.f2};
  };
  const auto block_up_to = [&](double t, const BlockSeries& block) -> Sums {
    const double z = bandwidths(t, block.middle, h);
    if (z + block.radius <= -kReach) return {};
    if (z - block.radius >= kReach) {
      const double middle = block.middle * scale - centre;
      const double m0 = block.moment[0];
      const double m1 = hs * block.moment[1];
      return {m0, middle * m0 + m1,
              middle * (middle * m0 + 2 * m1) + hs * hs * (2 * block.moment[2] + m0)};
    }
    const Smoothed s = smooth_block(block, z);
    const double at = t * scale - centre;
    return {s.f0, at * s.f0 - hs * s.f1, at * at * s.f0 - 2 * at * hs * s.f1 + 2 * hs * hs * s.f2};
  };
  const auto add = [&sum](double rows, const Sums& over, const Sums& under) {
    sum.m0 += rows * std::max(over.m0 - under.m0, 0.0);
    sum.m1 += rows * (over.m1 - under.m1);
    sum.m2 += rows * (over.m2 - under.m2);
  };
  each_near(
      d, begin - kReach * h, end + kReach * h,
      [&](double a, double b, double rows) { add(rows, up_to(end, a, b), up_to(begin, a, b)); },
      [&](const BlockSeries& s) { add(1, block_up_to(end, s), block_up_to(begin, s)); });
  if (!(sum.m0 > 0)) {
    out->mean = std::midpoint(begin, end);
    out->variance = 0;
    return;
  }
  // The data's spread, not the kernel's. With s = h^2 the kernel's variance, smoothing adds
  // s to the second moment of what lies within the range, less what the kernel carries across its
  // ends; to first order
  //   s ( rows - [(x - mean) f(x)] between the ends ),
  // which is s rows for the whole line and 0 where f is flat.
  const double from = begin * scale - centre;
  const double to = end * scale - centre;
  const double mean = std::clamp(sum.m1 / sum.m0, from, to);
  const double f_low = low_open ? 0 : rows_per_bandwidth(d, h, begin) / hs;
  const double f_high = high_open ? 0 : rows_per_bandwidth(d, h, end) / hs;
  const double share =
      std::clamp(sum.m0 - ((to - mean) * f_high - (from - mean) * f_low), 0.0, sum.m0);
  const double half = (to - from) / 2;
  const double variance =
      std::clamp(sum.m2 / sum.m0 - mean * mean - hs * hs * share / sum.m0, 0.0, half * half);
  out->mean = std::clamp((centre + mean) / scale, begin, end);
  out->variance = variance / scale / scale;
}

double kernel_quantile(const DensityView& d, double h, double rows, double guess) {
  double low = kernel_least(d.header(), h);
  double high = kernel_greatest(d.header(), h);
  if (!(rows > 0)) return low;
  double x = std::clamp(guess, low, high);
  // Newton's method within a bracket.
  for (int i = 0; i < 100; ++i) {
    const double off = kernel_rows_below(d, h, x) - rows;
    (off < 0 ? low : high) = x;
    double next = x - off / kernel_rows_density(d, h, x);
    if (!(next > low && next < high)) next = std::midpoint(low, high);
    const double tolerance = 1e-14 * std::fabs(x) + 1e-14 * h;
    const bool done = std::fabs(next - x) <= tolerance || next == x;
    x = next;
    if (!done) continue;
    // Kernels may reach beyond double precision: then some rows are below the first number, or not
    // below the last.
    if (x - low <= 2 * tolerance && low == kernel_least(d.header(), h)) return low;
    return high - x <= 2 * tolerance ? high : x;
  }
  return x;
}

}  // namespace kde::histogram
