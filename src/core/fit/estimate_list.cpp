// See estimate_list.h.
#include "core/fit/estimate_list.h"

#include "core/grid/even_cell.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

// Where there are measures, of which no cell tells that they are even, cells have no more of the rows,
// in the tails of those between them and the end.
constexpr double kShare = 1.0 / 4096, kShareOfTail = 1.0 / 64, kLeastOfRow = 0.5;
// A value that has rows of its own is not told from so few beside it, of those of a cell.
constexpr double kFew = 1.0 / 16;
// Cells of the top level from 0 on, at most; farther from it, where no time is, each cell of the
// estimate is a value.
constexpr double kMostOfTop = 65536;
// Rows at one point of a lattice that are not told from those beside it, of all.
constexpr double kNothing = 0x1p-30;

// The estimate without what it has beyond the values: its first and its last cell have that, too.
std::vector<HistogramCell> clip(std::span<const HistogramCell> cells, const Header& h) {
  double low = std::nextafter(h.min, -HUGE_VAL), high = std::nextafter(h.max, HUGE_VAL);
  if (h.lattice_step > 0) {
    const auto point = [&h](double x, int beside) {
      return h.lattice_point(std::nearbyint((x - h.lattice_offset) / h.lattice_step) + beside);
    };
    low = std::min(low, point(h.min, -1));
    high = std::max(high, point(h.max, 1));
  }
  std::vector<HistogramCell> out;
  out.reserve(cells.size());
  double before = 0;
  for (HistogramCell c : cells) {
    if (!c.point && c.value <= low) {
      before += c.rows;
      if (out.empty()) out.push_back({low, 0, false});
      continue;
    }
    if (!c.point && !out.empty() && out.back().value >= high) {
      out.back().rows += c.rows;
      continue;
    }
    c.value = std::min(c.value, high);
    c.rows += before;
    before = 0;
    out.push_back(c);
  }
  return out;
}

// The estimate's rows below any value.
class Distribution {
 public:
  Distribution(std::span<const HistogramCell> cells, const Header& header)
      : cells_(cells), h_(header) {
    through_.reserve(cells.size() + 1);
    points_.reserve(cells.size() + 1);
    through_.push_back(0);
    points_.push_back(0);
    for (const HistogramCell& c : cells) {
      through_.push_back(through_.back() + c.rows);
      points_.push_back(points_.back() + (c.point ? 1 : 0));
    }
    ends_.reserve(cells.size());
    for (const HistogramCell& c : cells) ends_.push_back({below(c.value), through(c.value)});
  }

  double all() const { return through_.back(); }
  std::span<const HistogramCell> cells() const { return cells_; }
  double below(double x) const { return below(x, 0, cells_.size()); }
  double through(double x) const { return through(x, 0, cells_.size()); }
  // Where it is known that first_at(x), and what follows cells that end at x, is within [from, to].
  double below(double x, std::size_t from, std::size_t to) const {
    const std::size_t i = first_at(x, from, to);
    return through_[i] + within(i, x, false);
  }
  double through(double x, std::size_t from, std::size_t to) const {
    const std::size_t i = first_beyond(x, from, to);
    return through_[i] + within(i, x, true);
  }
  // The first cell that ends at x or behind it, and the first behind it.
  std::size_t first_at(double x, std::size_t from, std::size_t to) const {
    const auto begin = cells_.begin();
    return static_cast<std::size_t>(
        std::lower_bound(begin + static_cast<std::ptrdiff_t>(from),
                         begin + static_cast<std::ptrdiff_t>(to), x,
                         [](const HistogramCell& c, double wanted) { return c.value < wanted; }) -
        begin);
  }
  std::size_t first_beyond(double x, std::size_t from, std::size_t to) const {
    const auto begin = cells_.begin();
    return static_cast<std::size_t>(
        std::upper_bound(begin + static_cast<std::ptrdiff_t>(from),
                         begin + static_cast<std::ptrdiff_t>(to), x,
                         [](double wanted, const HistogramCell& c) { return wanted < c.value; }) -
        begin);
  }
  // Of the i-th cell's end.
  double below_end(std::size_t i) const { return ends_[i].below; }
  double through_end(std::size_t i) const { return ends_[i].through; }
  bool has_points(std::size_t first, std::size_t end) const {
    return points_[end] > points_[first];
  }

 private:
  // Of the i-th cell those below x, or at it. On a lattice its last point is its end.
  double within(std::size_t i, double x, bool at) const {
    if (i == cells_.size() || cells_[i].point || i == 0) return 0;
    const double begin = cells_[i - 1].value;
    if (!(x > begin)) return 0;
    return cells_[i].rows * EvenCell(h_, begin, cells_[i].value + h_.lattice_step).share(x, at);
  }

  struct End {
    double below, through;
  };

  std::span<const HistogramCell> cells_;
  const Header& h_;
  std::vector<double> through_;
  std::vector<std::size_t> points_;  // among the first i cells
  std::vector<End> ends_;
};

class Lister {
 public:
  Lister(const Distribution& of, const RoundEnds& ends, const Header& lattice, double off,
         double least, bool has_measures, GridList* out)
      : of_(of),
        ends_(ends),
        lattice_(lattice),
        off_(off),
        least_(least),
        has_measures_(has_measures),
        out_(*out) {}

  void run() {
    const std::span<const HistogramCell> cells = of_.cells();
    const int top = ends_.levels() - 1;
    const double farthest = std::max(std::fabs(cells.front().value), std::fabs(cells.back().value));
    // Beyond the last ends that doubles have no cell begins.
    if (!(farthest < kMostOfTop * ends_.step(top) && std::isfinite(farthest + ends_.step(top))) ||
        std::all_of(cells.begin(), cells.end(),
                    [](const HistogramCell& c) { return c.point || c.rows == 0; })) {
      for (const HistogramCell& c : cells)
        if (c.rows > 0) put_value(c.value, c.rows);
      return;
    }
    const std::int64_t last = ends_.cell(top, cells.back().value);
    for (std::int64_t k = ends_.cell(top, cells.front().value); k <= last; ++k) {
      put_end(ends_.end(top, k), 0, cells.size());
      divide(top, k, 0, cells.size());
    }
    put_end(ends_.end(top, last + 1), 0, cells.size());
    if (!out_.entries.empty()) out_.entries.back().rows += nothing_;
  }

 private:
  void put(double x, double rows, int level) {
    out_.entries.push_back({x, rows + nothing_, level});
    nothing_ = 0;
  }
  void put_value(double x, double rows) { put(x, rows, -1); }

  // What lies at an end; the next has it where that is nothing.
  void put_end(double x, std::size_t from, std::size_t to) {
    const double rows = of_.through(x, from, to) - of_.below(x, from, to);
    if (rows > kNothing * of_.all())
      put_value(x, rows);
    else
      nothing_ += std::max(rows, 0.0);
  }

  void put_cell(int level, double low, double rows) {
    put(low, rows, level);
    out_.finest = out_.finest < 0 ? level : std::min(out_.finest, level);
    out_.coarsest = std::max(out_.coarsest, level);
  }

  // Values within, and `more` rows between them, which the heaviest takes.
  void put_values(std::size_t first, std::size_t end, double more) {
    const std::span<const HistogramCell> cells = of_.cells();
    std::size_t heaviest = out_.entries.size();
    for (std::size_t i = first; i < end; ++i) {
      if (!cells[i].point || !(cells[i].rows > 0)) continue;
      put_value(cells[i].value, cells[i].rows);
      if (cells[i].rows > out_.entries[heaviest].rows) heaviest = out_.entries.size() - 1;
    }
    out_.entries[heaviest].rows += more;
  }

  // But for what it may be off by.
  bool is_even(double low, double high, double before, double rows, std::size_t first,
               std::size_t end) const {
    if (rows <= off_) return true;
    const EvenCell even(lattice_, low, high);
    for (std::size_t i = first; i < end; ++i) {
      const double x = of_.cells()[i].value;
      if (!(std::fabs(of_.below_end(i) - before - rows * even.share(x, false)) <= off_ &&
            std::fabs(of_.through_end(i) - before - rows * even.share(x, true)) <= off_))
        return false;
    }
    return true;
  }

  bool is_finest(int level, double low, double high) const {
    return level == 0 ||
           !(std::max(std::fabs(low), std::fabs(high)) < kMostIndex * ends_.step(level - 1));
  }

  // Those of the estimate's cells that end within are of [from, to).
  void divide(int level, std::int64_t k, std::size_t from, std::size_t to) {
    const double low = ends_.end(level, k);
    const double high = ends_.end(level, k + 1);
    const double before = of_.through(low, from, to);
    const double rows = of_.below(high, from, to) - before;
    if (!(rows > 0)) return;
    const double beyond = std::min(before, of_.all() - before - rows);
    const double most = has_measures_
                            ? std::max(std::min(kShare * of_.all(), kShareOfTail * beyond), least_)
                            : of_.all();
    const std::span<const HistogramCell> cells = of_.cells();
    const std::size_t first = of_.first_beyond(low, from, to);
    const std::size_t end = of_.first_at(high, from, to);
    double at_values = 0;
    if (of_.has_points(first, end))
      for (std::size_t i = first; i < end; ++i)
        if (cells[i].point) at_values += cells[i].rows;
    const double between = rows - at_values;
    if (at_values > 0 && between <= std::min(off_, kFew * at_values)) {
      put_values(first, end, std::max(between, 0.0));
      return;
    }
    const bool is_last = is_finest(level, low, high);
    if (is_last && at_values > 0) {
      put_values(first, end, between);
      return;
    }
    if (is_last || (rows <= most && is_even(low, high, before, rows, first, end))) {
      put_cell(level, low, rows);
      return;
    }
    for (std::int64_t j = ends_.cell(level - 1, low); ends_.end(level - 1, j) < high; ++j) {
      const double begin = ends_.end(level - 1, j);
      if (begin > low) put_end(begin, first, end);
      divide(level - 1, j, first, end);
    }
  }

  const Distribution& of_;
  const RoundEnds& ends_;
  const Header& lattice_;
  double off_, least_;
  bool has_measures_;
  double nothing_ = 0;
  GridList& out_;
};

// How far the list's distribution function is from the estimate's.
double largest_error(const Distribution& of, const RoundEnds& ends, const Header& lattice,
                     const GridList& list) {
  double worst = 0, sum = 0;
  std::size_t next = 0;
  const auto compare = [&](double a, double b) { worst = std::max(worst, std::fabs(a - b)); };
  const std::span<const HistogramCell> cells = of.cells();
  for (const GridEntry& e : list.entries) {
    compare(sum, e.level < 0 ? of.below(e.x) : of.through(e.x));
    if (e.level < 0) {
      sum += e.rows;
      compare(sum, of.through(e.x));
      continue;
    }
    const double high = ends.end(e.level, ends.cell(e.level, e.x) + 1);
    const EvenCell even(lattice, e.x, high);
    for (; next < cells.size() && cells[next].value < high; ++next) {
      if (!(cells[next].value > e.x)) continue;
      const double x = cells[next].value;
      compare(sum + e.rows * even.share(x, false), of.below_end(next));
      compare(sum + e.rows * even.share(x, true), of.through_end(next));
    }
    sum += e.rows;
    compare(sum, of.below(high));
  }
  return worst;
}

// Puts what measures have in the sample's cells into the list's.
class SumsOfCells {
 public:
  SumsOfCells(const RoundEnds& ends, std::size_t measures, const GridList& from, GridList* to)
      : ends_(ends), measures_(measures), from_(from), to_(*to) {
    to_.sums.resize(to_.entries.size() * measures);
  }

  void run() {
    for (std::size_t i = 0; i < from_.entries.size(); ++i) {
      const GridEntry& e = from_.entries[i];
      bool is_within;
      const std::size_t at = place_of(e, &is_within);
      for (std::size_t k = 0; k < measures_; ++k) {
        const MeasureSums& s = from_.sums[i * measures_ + k];
        to_.sums[at * measures_ + k].add(s);
        if (is_within) continue;
        to_.sum_error[k] = std::max(to_.sum_error[k], std::sqrt(s.rows * std::max(s.squares, 0.0)));
        to_.squares_error[k] = std::max(to_.squares_error[k], s.squares);
      }
    }
  }

 private:
  double end_of(const GridEntry& e) const {
    return e.level < 0 ? e.x : ends_.end(e.level, ends_.cell(e.level, e.x) + 1);
  }

  // is_within: no end of the list's cells is within e's, nor between it and where it is put.
  std::size_t place_of(const GridEntry& e, bool* is_within) {
    const std::vector<GridEntry>& to = to_.entries;
    const double high = end_of(e);
    // The last that begins at e or before it.
    while (next_ + 1 < to.size() && to[next_ + 1].x <= e.x) ++next_;
    std::size_t at = next_;
    if (e.level < 0) {
      // Of those that begin there the value comes first.
      if (at > 0 && to[at - 1].x == e.x && to[at - 1].level < 0) --at;
      *is_within = to[at].x == e.x ? to[at].level < 0 : to[at].x < e.x && end_of(to[at]) > e.x;
      return at;
    }
    std::size_t best = at;
    bool is_one = to[at].x <= e.x && to[at].level >= 0 && end_of(to[at]) >= high;
    for (std::size_t i = at + 1; i < to.size() && to[i].x < high; ++i) {
      const bool best_is_in = to[best].x > e.x || end_of(to[best]) > e.x;
      if (!best_is_in || to[i].rows > to[best].rows) best = i;
      is_one = false;
    }
    *is_within = is_one;
    return best;
  }

  const RoundEnds& ends_;
  std::size_t measures_;
  const GridList& from_;
  GridList& to_;
  std::size_t next_ = 0;
};

}  // namespace

GridList list_estimate(std::span<const HistogramCell> cells, const Header& header,
                       const GridCells& counted, const GridList& list, double off) {
  GridList out;
  const std::vector<HistogramCell> within = clip(cells, header);
  const Distribution of(within, header);
  const double row = header.finite_rows() / std::max(header.sample_rows, 1.0);
  Lister(of, counted.ends(), header, off, kLeastOfRow * row, counted.measures() > 0, &out).run();
  out.is_even = true;
  out.error_rows = largest_error(of, counted.ends(), header, out);
  if (counted.measures() > 0)
    SumsOfCells(counted.ends(), static_cast<std::size_t>(counted.measures()), list, &out).run();
  return out;
}

}  // namespace kde
