// The test of atoms.h, run over the distinct values of a sorted sample.
#include "core/estimate/atoms.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

constexpr std::size_t kNeighbours = 20;  // on either side

struct Run {
  double value;
  double weight;
  double background;
  bool atom;
};

std::vector<Run> runs_of(std::span<const WeightedValue> sorted) {
  std::vector<Run> runs;
  for (const WeightedValue& v : sorted) {
    if (runs.empty() || runs.back().value != v.value) runs.push_back({v.value, 0, 0, false});
    runs.back().weight += v.weight;
  }
  return runs;
}

// The median weight of as many neighbours on either side of run i, so that on a slope it is the
// run's own height. Near an end, where that leaves too few, the largest weight of those there are.
// Infinite if it is seen not to be below `most`.
double background(const std::vector<Run>& runs, std::size_t i, double most,
                  std::vector<double>* scratch) {
  const std::size_t nearest_end = std::min(i, runs.size() - 1 - i);
  const bool near_end = nearest_end < kNeighbours / 2;
  const std::size_t reach = near_end ? kNeighbours : std::min(nearest_end, kNeighbours);
  const std::size_t first = i > reach ? i - reach : 0;
  const std::size_t end = std::min(i + reach + 1, runs.size());
  if (!near_end) {
    std::size_t lower = 0;
    for (std::size_t k = first; k < end; ++k) lower += k != i && runs[k].weight < most ? 1 : 0;
    if (lower <= (end - first - 1) / 2) return std::numeric_limits<double>::infinity();
  }
  scratch->clear();
  for (std::size_t k = first; k < end; ++k) {
    if (k != i) scratch->push_back(runs[k].weight);
  }
  if (near_end) return *std::max_element(scratch->begin(), scratch->end());
  const auto middle = scratch->begin() + static_cast<std::ptrdiff_t>(scratch->size() / 2);
  std::nth_element(scratch->begin(), middle, scratch->end());
  return *middle;
}

// log of the Chernoff bound of P(Poisson(b) >= c).
double log_tail(double b, double c) { return c > b ? -b + c * (1 + std::log(b / c)) : 0; }

// log_tail(b, c) >= log_p for every b from here on, b <= c: from ln(c/b) <= c/b - 1 follows
// log_tail(b, c) >= -(c - b)^2/b, and this is where that is log_p.
double least_background(double c, double log_p) {
  const double b = c - log_p / 2 - std::sqrt(-log_p * c + log_p * log_p / 4);
  return b + 1e-9 * c;  // its rounding
}

}  // namespace

AtomSplit split_atoms(std::span<const WeightedValue> sorted, bool lattice, double unit) {
  AtomSplit out;
  std::vector<Run> runs = runs_of(sorted);
  std::vector<std::size_t> found;
  if (runs.size() > kNeighbours) {
    const double threshold = std::log(kFalsePositives / static_cast<double>(runs.size()));
    std::vector<double> scratch;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      // No atom whatever surrounds it, as a higher background explains more; most runs end here.
      const double c = runs[i].weight / unit;
      if (!(log_tail(1, c) < threshold)) continue;
      runs[i].background = background(runs, i, unit * least_background(c, threshold), &scratch);
      const double b = std::max(runs[i].background / unit, 1.0);
      if (log_tail(b, c) < threshold) found.push_back(i);
    }
  }
  if (found.empty()) {
    out.rest.assign(sorted.begin(), sorted.end());
    return out;
  }
  for (std::size_t i : found) runs[i].atom = true;
  for (const Run& run : runs) {
    const double kept = !run.atom ? run.weight : lattice ? run.background : 0;
    if (run.atom) out.atoms.push_back({run.value, run.weight - kept});
    if (kept > 0) out.rest.push_back({run.value, kept});
  }
  return out;
}

}  // namespace kde
