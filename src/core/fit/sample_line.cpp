// See sample_line.h.
#include "core/fit/sample_line.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

// The lattice's last point before an open range's upper end, or its last at or before the lower one.
double point_before(const Header& h, double x, bool at) {
  if (!(h.lattice_step > 0)) return x;
  const double steps = (x - h.lattice_offset) / h.lattice_step;
  const double nearest = std::nearbyint(steps);
  const bool is_point = std::fabs(steps - nearest) < 1e-9;
  return h.lattice_point(is_point ? nearest - (at ? 0 : 1) : std::floor(steps));
}

class LineOfCells {
 public:
  LineOfCells(const Sample& sample, const Header& lattice, SampledRows* rows)
      : ends_((*sample.cells)->ends()), lattice_(lattice), rows_(*rows) {
    if (sample.thinned) {
      // All that the cells are of.
      known_ = sample.drawn;
      std::sort(known_.begin(), known_.end());
      return;
    }
    for (const std::vector<HistogramCell>* side : {&rows_.below, &rows_.above})
      for (const HistogramCell& c : *side)
        known_.insert(known_.end(), static_cast<std::size_t>(c.rows), c.value);
  }

  void add(const GridEntry& e) {
    if (e.level < 0) {
      if (e.x >= rows_.low && e.x <= rows_.high) rows_.cells.push_back({e.x, e.rows, true});
      return;
    }
    const double low = e.x;
    const double high = ends_.end(e.level, ends_.cell(e.level, e.x) + 1);
    if (high <= rows_.low || low >= rows_.high) return;
    double rows = e.rows;
    if (low < rows_.low) rows -= known_between(low, rows_.low);
    if (high > rows_.high) rows -= known_between(rows_.high, high);
    if (!(rows > 0)) return;
    const double before = low < rows_.low ? point_before(lattice_, rows_.low, false)
                                          : point_before(lattice_, low, true);
    const double last = high > rows_.high ? rows_.high : point_before(lattice_, high, false);
    const bool ahead = rows_.cells.empty() || rows_.cells.back().value < before;
    if (ahead) rows_.cells.push_back({before, 0, false});
    rows_.cells.push_back({last, rows, !(last > rows_.cells.back().value)});
  }

 private:
  // Neither at the one nor at the other.
  double known_between(double low, double high) const {
    const auto first = std::upper_bound(known_.begin(), known_.end(), low);
    return static_cast<double>(std::lower_bound(first, known_.end(), high) - first);
  }

  const RoundEnds& ends_;
  const Header& lattice_;
  SampledRows& rows_;
  std::vector<double> known_;  // ascending
};

}  // namespace

std::vector<WeightedValue> distinct_values(std::vector<double> drawn) {
  std::sort(drawn.begin(), drawn.end());
  std::vector<WeightedValue> out;
  for (const double x : drawn) {
    if (out.empty() || out.back().value < x) out.push_back({x, 0});
    out.back().weight += 1;
  }
  return out;
}

SampledRows divide_rows(const Sample& sample, const GridList& list, std::size_t outermost) {
  SampledRows out;
  out.low = sample.totals.min();
  out.high = sample.totals.max();
  const std::vector<double>&least = sample.least, &greatest = sample.greatest;
  const std::size_t n = std::min(outermost, least.size() - 1);
  if (n > 0 && least[n] < greatest[greatest.size() - 1 - n]) {
    out.low = least[n];
    out.high = greatest[greatest.size() - 1 - n];
    for (const double x : least)
      if (x < out.low) out.below.push_back({x, 1, true});
    for (const double x : greatest)
      if (x > out.high) out.above.push_back({x, 1, true});
  }
  const auto is_between = [&out](double x) { return x >= out.low && x <= out.high; };
  out.seen =
      sample.thinned
          ? static_cast<double>(std::count_if(sample.drawn.begin(), sample.drawn.end(), is_between))
          : sample.sample_rows() - static_cast<double>(out.below.size() + out.above.size());
  // Of those drawn none may lie between.
  if (!(out.seen > 0)) return divide_rows(sample, list, 0);
  out.is_joined = list.finest >= 0 || list.coarsest >= 0;
  if (!out.is_joined) {
    for (const GridEntry& e : list.entries)
      if (is_between(e.x)) out.values.push_back({e.x, e.rows});
    return out;
  }
  std::vector<double> drawn;
  std::copy_if(sample.drawn.begin(), sample.drawn.end(), std::back_inserter(drawn), is_between);
  out.values = distinct_values(std::move(drawn));
  return out;
}

void take_cells(const Sample& sample, const GridList& list, const Header& lattice,
                SampledRows* rows) {
  rows->cells.clear();
  LineOfCells line(sample, lattice, rows);
  for (const GridEntry& e : list.entries) line.add(e);
}

}  // namespace kde
