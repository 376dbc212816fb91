// Internal to src/core/fit: what the fits of a sample and of an aggregate do alike.
#pragma once

#include "core/density/histogram.h"
#include "core/summary/summary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace kde {

// Rows that are no finite values, and all that is known of these in total.
inline void describe_totals(const SummaryTotals& t, const Summary::Specials& s, double rows,
                            double scale, Header* h) {
  h->nulls = s.nulls * scale;
  h->nans = s.nans * scale;
  h->negative_infinities = s.negative_infinities * scale;
  h->positive_infinities = s.positive_infinities * scale;
  h->rows = rows;
  h->known_below = -std::numeric_limits<double>::infinity();
  h->known_above = std::numeric_limits<double>::infinity();
  if (t.count() == 0) {
    h->leave_specials_alone();
    return;
  }
  h->min = t.min();
  h->max = t.max();
  h->mean = t.mean();
  h->variance = t.variance();
}

// The values at which cells end, each once.
inline std::vector<WeightedValue> ends_of(std::span<const HistogramCell> cells) {
  std::vector<WeightedValue> out;
  out.reserve(cells.size());
  for (const HistogramCell& c : cells) {
    if (out.empty() || out.back().value < c.value) {
      out.push_back({c.value, c.rows});
    } else {
      out.back().weight += c.rows;
    }
  }
  return out;
}

// Where a summary joined some cells, one is heavy that has more than so many times the rows of its
// neighbours' median.
inline constexpr double kHeavy = 4;

// Of the cells to either side of the i-th. rows: of a number of them.
template <typename Rows>
double median_beside(std::size_t i, std::size_t cells, const Rows& rows) {
  constexpr std::size_t kNeighbours = 10;  // to either side
  std::vector<double> near;
  const std::size_t end = std::min(i + kNeighbours + 1, cells);
  for (std::size_t j = i - std::min(i, kNeighbours); j < end; ++j)
    if (j != i) near.push_back(rows(j));
  const auto middle = near.begin() + static_cast<std::ptrdiff_t>(near.size() / 2);
  std::nth_element(near.begin(), middle, near.end());
  return *middle;
}

}  // namespace kde
