// The answers of histogram_integral.h.
#include "core/integrate/histogram_integral.h"

#include "core/first_true.h"
#include "core/integrate/histogram_kernel.h"
#include "core/integrate/last_cuts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kde::histogram {

namespace {

constexpr std::int64_t kLowestKey = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighestKey = std::numeric_limits<std::int64_t>::max();

bool is_bounded(const Header& h) { return (h.flags & kBounded) != 0; }

// The kernel that acts in every answer, 0 for none.
// In lattice steps: the kernel sum of equal rows at lattice points ripples by 2 exp(-2 pi^2 h^2) of
// its mean (Poisson's summation formula), here by 1.4 %; with a narrower kernel it is a comb.
constexpr double kLeastSmoothing = 0.5;

double smoothing(const Header& h) { return is_bounded(h) ? 0 : acting_bandwidth(h); }

// Where values <= x, or < x, end: the last key all of which is among them, and where ranges are
// divided: those that begin before `within`.
struct Cut {
  double x = 0;
  std::int64_t key = 0;
  std::int64_t within = key;
};

Cut cut_at(const Header& h, double x, bool inclusive) {
  if (h.grid_level > 0) {
    // Beyond the column no key is needed.
    const double key_x = std::clamp(x, h.min, h.max);
    const std::int64_t key = grid_key(h, key_x);
    if (x != key_x) return {x, x < h.min ? key - 1 : key + 1};
    if (key % 2 != 0) return {x, key - 1, key};
    return {x, key - (inclusive ? 0 : 1)};
  }
  if (h.lattice_step == 0) return {x, key_of(x) - (inclusive ? 0 : 1)};
  double nearest;
  double k = std::floor((x - h.lattice_offset) / h.lattice_step);
  if (h.is_at_lattice_point(x, &nearest)) {
    k = inclusive ? nearest : nearest - 1;
    x = h.lattice_point(nearest);
  }
  return {x, static_cast<std::int64_t>(std::clamp(k, -0x1p60, 0x1p60))};
}

double rows_of_atoms(const DensityView& d, int atoms) {
  return atoms > 0 ? d.atom_cumulative_rows(atoms - 1) : 0;
}

// The last block that begins at the key or below; -1: none does.
int find_block(const DensityView& d, std::int64_t key) {
  return first_true(0, d.blocks(), [&](int b) { return d.block(b).first_key > key; }) - 1;
}

// The share of a range's rows up to the cut, which is after its begin.
double share_below(const DensityView& d, const StoredCell& cell, const Cut& cut) {
  if (d.header().lattice_step > 0)
    return static_cast<double>(cut.key - cell.begin) / static_cast<double>(cell.key - cell.begin);
  const double begin = d.value(cell.begin);
  const double end = d.value(cell.key);
  if (cut.x >= end) return 1;
  return cut.x > begin ? (cut.x - begin) / (end - begin) : 0;
}

// The first cell that ends beyond the key, of the last block that begins at the key or below, or
// the end of that block. *first: a key from which on it is that. False: no block does.
bool find_cell(const DensityView& d, std::int64_t key, LastCuts::Place* at, std::int64_t* first) {
  const LastCuts* cuts = d.sums().cuts;
  const LastCuts::Place* known = cuts != nullptr ? cuts->before(&d.header(), key) : nullptr;
  if (known != nullptr) {
    *at = *known;
    *first = key;
    if (at->is_end || at->cell.key > key) return true;
    *first = at->cell.key;
    at->units += at->cell.units;
  } else {
    at->block = find_block(d, key);
    if (at->block < 0) return false;
    at->after = d.cells(at->block);
    at->units = 0;
    *first = d.block(at->block).first_key;
  }
  while (!(at->is_end = !at->after.next(&at->cell)) && at->cell.key <= key) {
    at->units += at->cell.units;
    *first = at->cell.key;
  }
  return true;
}

struct Found {
  LastCuts::Place place;
  std::int64_t first = kHighestKey, last = kLowestKey;  // keys for which it is of use
};

// Of the cells alone: rows below the cut never fall as it grows.
LastCuts::End cells_at(const DensityView& d, const Cut& cut, Found* found) {
  LastCuts::Place& at = found->place;
  if (!find_cell(d, cut.key, &at, &found->first)) return {};
  if (at.block + 1 == d.blocks())
    found->last = kHighestKey;
  else
    found->last = std::max(d.block(at.block + 1).first_key, kLowestKey + 1) - 1;
  const double end = d.rows_below(at.block + 1);
  if (at.is_end) return {end, {}};
  const StoredCell& cell = at.cell;
  const double row_unit = d.header().row_unit;
  LastCuts::End out;
  auto within = static_cast<double>(at.units);
  // Between a range's last value and the next cell's begin lies none.
  if (!cell.point && cell.begin < cut.within && cell.units != 0) {
    const double share = share_below(d, cell, cut);
    const double rows = static_cast<double>(cell.units) * row_unit;
    within += share * static_cast<double>(cell.units);
    out.cell = {d.value(cell.begin), d.value(cell.key), std::min(share * rows, rows), rows};
  }
  out.below = std::min(d.rows_below(at.block) + within * row_unit, end);
  return out;
}

double cells_below(const DensityView& d, const Cut& cut) {
  Found unused;
  return cells_at(d, cut, &unused).below;
}

// Of an end between the least and the greatest value.
LastCuts::End end_at(const DensityView& d, double x, bool inclusive) {
  LastCuts* cuts = d.sums().cuts;
  if (cuts != nullptr)
    if (const LastCuts::End* known = cuts->at(&d.header(), x, inclusive)) return *known;
  const Cut cut = cut_at(d.header(), x, inclusive);
  Found found;
  LastCuts::End out = cells_at(d, cut, &found);
  out.below += rows_of_atoms(d, d.atoms_below(cut.x, inclusive));
  if (cuts != nullptr)
    cuts->put(&d.header(), x, inclusive, out, found.place, found.first, found.last);
  return out;
}

// The ends of a range, as its rows lie between them.
double width_of(const DensityView& d, const StoredCell& cell) {
  return cell.point ? 0 : d.value(cell.key) - d.value(cell.begin);
}

// Rows at one value, or even over a stretch, of moments about a centre.
struct Accumulator {
  double centre = 0;
  double m0 = 0, m1 = 0, m2 = 0;
  double begin = std::numeric_limits<double>::infinity();  // the stretches' hull
  double end = -std::numeric_limits<double>::infinity();

  // Of rows between `from` and `to` with that variance, around their middle.
  void add(double rows, double from, double to, double variance) {
    add(rows, from / 2 + to / 2, from, to, variance);
  }
  // Around a mean.
  void add(double rows, double mean, double from, double to, double variance) {
    const double off = mean - centre;
    m0 += rows;
    m1 += rows * off;
    m2 += rows * (off * off + variance);
    begin = std::min(begin, from);
    end = std::max(end, to);
  }

  // m0 > 0. Of the rows, within the hull.
  double mean() const { return std::clamp(m1 / m0, begin - centre, end - centre); }
  double variance() const {
    const double half = (end - begin) / 2;
    return std::clamp(m2 / m0 - mean() * mean(), 0.0, half * half);
  }
};

// log2 of a unit for numbers between x and y in which no square overflows.
int exponent_of(double x, double y) {
  const double largest = std::max(std::fabs(x), std::fabs(y));
  return largest > 0 ? std::clamp(std::ilogb(largest), -1000, 1000) : -1000;
}

// What of a cell is in (low, high].
void add_cell(const DensityView& d, const StoredCell& cell, const Cut& low, const Cut& high,
              double scale, Accumulator* sum) {
  const Header& h = d.header();
  double rows = static_cast<double>(cell.units) * h.row_unit;
  if (!cell.point && h.lattice_step > 0) {
    const std::int64_t first = std::max(cell.begin, low.key);  // the point before the first
    const std::int64_t last = std::min(cell.key, high.key);
    if (last <= first) return;
    const auto points = static_cast<double>(last - first);
    rows *= points / static_cast<double>(cell.key - cell.begin);
    const double step = h.lattice_step * scale;
    sum->add(rows, d.value(first + 1) * scale, d.value(last) * scale,
             step * step * (points * points - 1) / 12);
    return;
  }
  const double end = d.value(cell.key);
  const double begin = cell.point ? end : d.value(cell.begin);
  if (end > begin) {
    const double from = std::max(begin, low.x);
    const double to = std::min(end, high.x);
    if (!(to > from)) return;
    const double width = (to - from) * scale;
    sum->add(rows * ((to - from) / (end - begin)), from * scale, to * scale, width * width / 12);
  } else if (cell.key > low.key && cell.key <= high.key) {
    sum->add(rows, end * scale, end * scale, 0);
  }
}

// All of a block.
void add_block(const DensityView& d, int b, double scale, Accumulator* sum) {
  const double rows = d.rows_below(b + 1) - d.rows_below(b);
  if (!(rows > 0)) return;
  const BlockMoments& m = d.sums().moments[b];
  const double deviation = m.deviation * scale;
  sum->add(rows, m.mean * scale, m.begin * scale, m.end * scale, deviation * deviation);
}

void own_moments(const DensityView& d, const Range& r, RangeMoments* out) {
  const Header& h = d.header();
  // Keys of what lies at min and max may be rounded beyond them.
  const bool rounded = h.lattice_step == 0;
  const bool low_open = r.lower_unbounded || !std::isfinite(r.lower) ||
                        (rounded && (r.lower_inclusive ? r.lower <= h.min : r.lower < h.min));
  const bool high_open = r.upper_unbounded || !std::isfinite(r.upper) ||
                         (rounded && (r.upper_inclusive ? r.upper >= h.max : r.upper > h.max));
  const Cut low = low_open ? Cut{-std::numeric_limits<double>::infinity(), kLowestKey}
                           : cut_at(h, r.lower, !r.lower_inclusive);
  const Cut high = high_open ? Cut{std::numeric_limits<double>::infinity(), kHighestKey}
                             : cut_at(h, r.upper, r.upper_inclusive);
  const double from = std::clamp(low_open ? h.min : r.lower, h.min, h.max);
  const double to = std::clamp(high_open ? h.max : r.upper, from, h.max);
  // None within the range vanishes unless the column's largest value is beyond its square.
  const int exponent = std::max(exponent_of(from, to), exponent_of(h.min, h.max) - 500);
  const double scale = std::ldexp(1.0, -exponent);
  const int first_atom = low_open ? 0 : d.atoms_below(low.x, !r.lower_inclusive);
  const int end_atom = high_open ? d.atoms() : d.atoms_below(high.x, r.upper_inclusive);
  const auto sum_about = [&](double centre) {
    Accumulator sum;
    sum.centre = centre;
    for (int i = first_atom; i < end_atom; ++i) {
      const double v = d.atom_value(i) * scale;
      sum.add(d.atom_cumulative_rows(i) - rows_of_atoms(d, i), v, v, 0);
    }
    for (int b = std::max(find_block(d, low.key), 0);
         b < d.blocks() && d.block(b).first_key <= high.key; ++b) {
      if (d.sums().moments != nullptr && d.block(b).first_key > low.key &&
          d.sums().moments[b].last_key <= high.key) {
        add_block(d, b, scale, &sum);
        continue;
      }
      CellReader reader = d.cells(b);
      StoredCell cell;
      while (reader.next(&cell)) {
        if (cell.units > 0) add_cell(d, cell, low, high, scale, &sum);
      }
    }
    return sum;
  };
  Accumulator sum = sum_about(from * scale / 2 + to * scale / 2);
  if (!(sum.m0 > 0)) {
    // Rows too few for the moments' rounding: the middle of the range is as good as anything.
    out->mean = std::midpoint(from, to);
    out->variance = 0;
    return;
  }
  // Far from the centre beside their spread the rows' mean and variance have lost their digits.
  constexpr double kFar = 16;
  for (int i = 0; i < 2 && sum.mean() * sum.mean() > kFar * sum.variance(); ++i)
    sum = sum_about(sum.centre + sum.mean());
  out->mean = std::clamp((sum.centre + sum.mean()) / scale, from, to);
  out->variance = sum.variance() / scale / scale;
}

// The smallest value by which the cells have `rows`, > 0, and within a range without a lattice,
// where no other value is near enough to be taken for the wanted one, `exact_rows`, which are no
// fewer.
double cells_quantile(const DensityView& d, double rows, double exact_rows) {
  const int b = first_true(0, d.blocks() - 1, [&](int i) { return d.rows_below(i + 1) >= rows; });
  const Header& h = d.header();
  CellReader reader = d.cells(b);
  StoredCell cell;
  StoredCell last;  // with rows
  const double wanted = (rows - d.rows_below(b)) / h.row_unit;
  std::uint64_t units = 0;
  while (reader.next(&cell)) {
    if (cell.units == 0) continue;
    last = cell;
    const auto before = static_cast<double>(units);
    units += cell.units;
    if (static_cast<double>(units) < wanted) continue;
    if (cell.point) break;
    const double share = std::clamp((wanted - before) / static_cast<double>(cell.units), 0.0, 1.0);
    if (h.lattice_step > 0) {
      const auto points = static_cast<double>(cell.key - cell.begin);
      const double k = std::clamp(std::ceil(share * points - 1e-9), 1.0, points);
      return d.value(cell.begin + static_cast<std::int64_t>(k));
    }
    const double begin = d.value(cell.begin);
    const double end = d.value(cell.key);
    const double exact = (exact_rows - d.rows_below(b)) / h.row_unit;
    const double exact_share =
        std::clamp((exact - before) / static_cast<double>(cell.units), 0.0, 1.0);
    return std::min(begin + exact_share * (end - begin), end);
  }
  return d.value(last.key);
}

double own_quantile(const DensityView& d, double rows) {
  const Header& h = d.header();
  // The rank of a value, asked for as a fraction of the rows, must not round to the next value's.
  const double reached = rows - 0x1p-48 * h.rows;
  if (!(reached > 0)) return h.min;
  // The first atom by which the rows are reached.
  const auto below = [&d, &h](double x, bool inclusive) {
    const Cut cut = cut_at(h, x, inclusive);
    return rows_of_atoms(d, d.atoms_below(cut.x, inclusive)) + cells_below(d, cut);
  };
  const int low =
      first_true(0, d.atoms(), [&](int i) { return below(d.atom_value(i), true) >= reached; });
  if (low < d.atoms() && below(d.atom_value(low), false) < reached) return d.atom_value(low);
  if (d.blocks() == 0) return h.max;
  const double before = rows_of_atoms(d, low);
  const double left = reached - before;
  if (low == d.atoms() && left >= h.cell_rows) return h.max;
  // Where the atoms before it reach beyond rounding, the value is the last of theirs.
  const double least = low > 0 ? d.atom_value(low - 1) : h.min;
  const double most = low < d.atoms() ? d.atom_value(low) : h.max;
  return std::clamp(left > 0 ? cells_quantile(d, left, rows - before) : least, least, most);
}

// Without a kernel.
double own_density(const DensityView& d, double x) {
  const Header& h = d.header();
  if (h.lattice_step > 0) {
    // Half a step to either side of a lattice point is its own.
    const double k =
        std::clamp(std::round((x - h.lattice_offset) / h.lattice_step), -0x1p60, 0x1p60);
    const auto key = static_cast<std::int64_t>(k);
    double rows = cells_below(d, {0, key}) - cells_below(d, {0, key - 1});
    const int next = d.atoms_below(x - h.lattice_step / 2, false);
    if (next < d.atoms() && d.atom_value(next) <= x + h.lattice_step / 2)
      rows += d.atom_cumulative_rows(next) - rows_of_atoms(d, next);
    return std::max(rows, 0.0) / h.lattice_step;
  }
  if (x < h.min || x > h.max) return 0;
  const std::int64_t key = h.grid_level > 0 ? grid_key(h, x) : key_of(x);
  for (int b = std::max(find_block(d, key), 0); b < d.blocks(); ++b) {
    CellReader reader = d.cells(b);
    StoredCell cell;
    while (reader.next(&cell)) {
      if (cell.point || cell.key < key) continue;
      const double begin = d.value(cell.begin);
      const double end = d.value(cell.key);
      if (cell.begin > key || !(end > begin)) return 0;
      return static_cast<double>(cell.units) * h.row_unit / (end - begin);
    }
  }
  return 0;
}

}  // namespace

double finite_below(const DensityView& d, double x, bool inclusive) {
  const Header& h = d.header();
  if (const double bandwidth = smoothing(h); bandwidth > 0)
    return kernel_rows_below(d, bandwidth, x);
  if (inclusive ? x < h.min : x <= h.min) return 0;
  // What is stored beyond max stands for it.
  if (inclusive ? x >= h.max : x > h.max) return rows_of_atoms(d, d.atoms()) + h.cell_rows;
  return end_at(d, x, inclusive).below;
}

CutCell cut_cell(const DensityView& d, double x, bool inclusive) {
  const Header& h = d.header();
  if (!(h.rows > 0) || (inclusive ? x < h.min || x >= h.max : x <= h.min || x > h.max)) return {};
  return end_at(d, x, inclusive).cell;
}

double rows_times_width(const DensityView& d, const Range& range) {
  const Header& h = d.header();
  const double low = range.lower_unbounded ? h.min : range.lower;
  const double high = range.upper_unbounded ? h.max : range.upper;
  double sum = 0;
  for (int b = 0; b < d.blocks(); ++b) {
    // Blocks end where the next ones begin, at most.
    if (d.value(d.block(b).first_key) > high) break;
    if (b + 1 < d.blocks() && d.value(d.block(b + 1).first_key) < low) continue;
    if (d.sums().moments != nullptr && d.sums().moments[b].begin >= low &&
        d.sums().moments[b].end <= high) {
      sum += d.sums().moments[b].spread;
      continue;
    }
    CellReader reader = d.cells(b);
    StoredCell cell;
    while (reader.next(&cell)) {
      if (cell.point || cell.units == 0) continue;
      if (d.value(cell.begin) < high && d.value(cell.key) > low)
        sum += static_cast<double>(cell.units) * h.row_unit * width_of(d, cell);
    }
  }
  return sum;
}

void partial_moments(const DensityView& d, const Range& range, RangeMoments* out) {
  if (const double bandwidth = smoothing(d.header()); bandwidth > 0) {
    kernel_moments(d, bandwidth, range, out);
  } else {
    own_moments(d, range, out);
  }
}

bool is_own(const DensityView& d) { return smoothing(d.header()) == 0; }

BlockMoments moments_of(const DensityView& d, int b) {
  // Where its cells lie, and then their sums in a unit for that.
  const Cut low{-std::numeric_limits<double>::infinity(), kLowestKey};
  const Cut high{std::numeric_limits<double>::infinity(), kHighestKey};
  BlockMoments out = {};
  out.last_key = d.block(b).first_key;
  Accumulator sum;
  double scale = 1;
  for (const bool hull : {true, false}) {
    CellReader reader = d.cells(b);
    StoredCell cell;
    while (reader.next(&cell)) {
      out.last_key = cell.key;
      if (hull)
        out.spread += static_cast<double>(cell.units) * d.header().row_unit * width_of(d, cell);
      if (cell.units > 0) add_cell(d, cell, low, high, scale, &sum);
    }
    if (!(sum.m0 > 0)) return out;
    if (!hull) break;
    scale = std::ldexp(1.0, -exponent_of(sum.begin, sum.end));
    Accumulator next;
    next.centre = sum.begin * scale / 2 + sum.end * scale / 2;
    out.begin = sum.begin;
    out.end = sum.end;
    sum = next;
  }
  out.mean = std::clamp((sum.centre + sum.mean()) / scale, out.begin, out.end);
  out.deviation = std::sqrt(sum.variance()) / scale;
  return out;
}

double finite_quantile(const DensityView& d, double rows) {
  const double own = own_quantile(d, rows);
  const double bandwidth = smoothing(d.header());
  return bandwidth > 0 ? kernel_quantile(d, bandwidth, rows, own) : own;
}

double rows_density(const DensityView& d, double x) {
  const Header& h = d.header();
  const double bandwidth = acting_bandwidth(h);
  const bool comb = is_bounded(h) && bandwidth < kLeastSmoothing * h.lattice_step;
  if (bandwidth == 0 || comb) return own_density(d, x);
  if (!is_bounded(h)) return kernel_rows_density(d, bandwidth, x);
  if (x < h.min || x > h.max) return 0;
  return kernel_rows_density(d, bandwidth, x) +
         kernel_rows_density(d, bandwidth, h.min - (x - h.min)) +
         kernel_rows_density(d, bandwidth, h.max + (h.max - x));
}

}  // namespace kde::histogram
