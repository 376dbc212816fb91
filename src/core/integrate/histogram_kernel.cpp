// The closed forms of histogram_kernel.h, and the cells they are summed over.
#include "core/integrate/histogram_kernel.h"

#include "core/estimate/normal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kde::histogram {

namespace {

constexpr double kReach = 8.5;
constexpr double kNarrow = 1.0 / 32;
constexpr double kLargest = std::numeric_limits<double>::max();

// How far from 0 the rows reach: on a lattice half a step beyond the outer values.
double reach(const Header& h) {
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

// Where the rows of a range of cells begin or end: between lattice points.
double edge(const HistogramView& d, std::int64_t key) {
  const Header& h = d.header();
  if (h.lattice_step > 0)
    return h.lattice_offset + (static_cast<double>(key) + 0.5) * h.lattice_step;
  return d.value(key);
}

// Calls use(a, b, rows) for every stretch [a, b] of rows, points with a = b, that reaches into
// [from, to]; may call it for others. Returns the rows it skipped below `from`.
template <typename Use>
double each_near(const HistogramView& d, double from, double to, Use use) {
  double skipped = 0;
  int atom = 0;
  for (int end = d.atoms(); atom < end;) {
    const int middle = atom + (end - atom) / 2;
    if (d.atom_value(middle) < from) {
      atom = middle + 1;
    } else {
      end = middle;
    }
  }
  double before = atom > 0 ? d.atom_cumulative_rows(atom - 1) : 0;
  skipped += before;
  for (; atom < d.atoms() && d.atom_value(atom) <= to; ++atom) {
    use(d.atom_value(atom), d.atom_value(atom), d.atom_cumulative_rows(atom) - before);
    before = d.atom_cumulative_rows(atom);
  }
  // The last block that begins below `from`: all before it end there.
  int block = 0;
  for (int end = d.blocks(); end - block > 1;) {
    const int middle = block + (end - block) / 2;
    (edge(d, d.block(middle).first_key) <= from ? block : end) = middle;
  }
  if (block < d.blocks()) skipped += d.rows_below(block);
  const double unit = d.header().slope_unit;
  for (; block < d.blocks() && d.value(d.block(block).first_key) <= to; ++block) {
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
double rows_per_bandwidth(const HistogramView& d, double h, double t) {
  double rows = 0;
  each_near(d, t - kReach * h, t + kReach * h, [&](double a, double b, double n) {
    const double lower = (t - a) / h;
    const double upper = (t - b) / h;
    if (upper < kReach && lower > -kReach)
      rows += n * std::max(smooth_cell(lower, upper, (b - a) / h).density, 0.0);
  });
  return rows;
}

// Rows, and moments about a centre, in a scaled unit.
struct Sums {
  double m0 = 0, m1 = 0, m2 = 0;
};

}  // namespace

double acting_bandwidth(const Header& h) {
  return h.bandwidth > 0x1p-40 * reach(h) ? h.bandwidth : 0;
}

double kernel_least(const Header& header, double h) {
  return std::max(header.min - header.lattice_step / 2 - kReach * h, -kLargest);
}

double kernel_greatest(const Header& header, double h) {
  return std::min(header.max + header.lattice_step / 2 + kReach * h, kLargest);
}

double kernel_rows_below(const HistogramView& d, double h, double t) {
  double rows = 0;
  const double skipped =
      each_near(d, t - kReach * h, t + kReach * h, [&](double a, double b, double n) {
        const double lower = (t - a) / h;
        const double upper = (t - b) / h;
        if (upper >= kReach) {
          rows += n;
        } else if (lower > -kReach) {
          rows += n * std::clamp(smooth_cell(lower, upper, (b - a) / h).f0, 0.0, 1.0);
        }
      });
  return skipped + rows;
}

double kernel_rows_density(const HistogramView& d, double h, double t) {
  return rows_per_bandwidth(d, h, t) / h;
}

void kernel_moments(const HistogramView& d, double h, const Range& r, RangeMoments* out) {
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
    const double lower = (t - a) / h;
    const double upper = (t - b) / h;
    if (lower <= -kReach) return {};
    const double width = (b - a) / h;
    if (upper >= kReach) {
      const double middle = a * scale / 2 + b * scale / 2 - centre;
      return {1, middle, middle * middle + hs * hs * (width * width / 12 + 1)};
    }
    const Smoothed s = smooth_cell(lower, upper, width);
    const double at = t * scale - centre;
    return {s.f0, at * s.f0 - hs * s.f1, at * at * s.f0 - 2 * at * hs * s.f1 + 2 * hs * hs * s.f2};
  };
  each_near(d, begin - kReach * h, end + kReach * h, [&](double a, double b, double rows) {
    const Sums over = up_to(end, a, b);
    const Sums under = up_to(begin, a, b);
    sum.m0 += rows * std::max(over.m0 - under.m0, 0.0);
    sum.m1 += rows * (over.m1 - under.m1);
    sum.m2 += rows * (over.m2 - under.m2);
  });
  if (!(sum.m0 > 0)) {
    out->mean = std::midpoint(begin, end);
    out->variance = 0;
    return;
  }
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

double kernel_quantile(const HistogramView& d, double h, double rows, double guess) {
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
    const bool done = std::fabs(next - x) <= 1e-14 * (std::fabs(x) + h) || next == x;
    x = next;
    if (done) break;
  }
  return x;
}

}  // namespace kde::histogram
