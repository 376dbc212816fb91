// Internal to src/core/fit: what the fits of a sample and of every row do alike.
#pragma once

#include "core/density/histogram.h"
#include "core/density/round_ends.h"
#include "core/fit/fit.h"
#include "core/fit/sample_line.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace kde {

// Rows that are no finite values, and all that is known of these in total.
inline void describe_totals(const SummaryTotals& t, const SpecialRows& s, double rows, double scale,
                            Header* h) {
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

// The chain of its cells, which has to be one of the type set, of values that it has ends for.
inline Status describe_chain(const RoundEnds& ends, Header* h) {
  h->chain = ends.chain();
  if (!is_chain_of(h->value_type, h->chain))
    return Status::error(Code::invalid_argument, "the cells are not of the column's type");
  if (is_told(h->value_type, h->chain) && !(std::max(-h->min, h->max) < ends.farthest()))
    return Status::error(Code::out_of_range, "values from %g to %g are no times since 1970", h->min,
                         h->max);
  return Status::success();
}

// What selection and estimation compute in: x = origin + u 2^exponent, |u| about 1 at most.
struct UnitScale {
  double origin = 0;
  int exponent = 0;
  double to_u(double x) const { return std::ldexp(x - origin, -exponent); }
  double to_x(double u) const { return origin + std::ldexp(u, exponent); }
  // A bandwidth in u; two values at both ends of double precision can have one beyond it.
  double bandwidth(double h) const {
    return std::min(std::ldexp(h, exponent), std::numeric_limits<double>::max());
  }
};

// Values in u, ascending, each once, and their rows.
struct WeightedLine {
  std::vector<double> values, weights;
  void add(double u, double rows) {
    if (!values.empty() && values.back() == u) {
      weights.back() += rows;
    } else {
      values.push_back(u);
      weights.push_back(rows);
    }
  }
};

// What a measure's mean may be off by.
inline double finite_error(double error) {
  return std::min(error, std::numeric_limits<double>::max());
}

// A cell is heavy that has more than so many times the rows of its neighbours' median.
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

// The most rows of a cell that is no point: within it nothing is known of them.
double largest_cell(std::span<const HistogramCell> cells);

// At most bandwidth_rows of the rows drawn, ascending, for exact sums over pairs. Throws
// std::bad_alloc.
std::vector<double> draw_rows(const Sample& sample, const FitOptions& options);

// The lattice of a column's type: whole numbers, or decimals of the type's scale.
void place_on_type_lattice(double step, Header* header);
// Whether x is a point of the header's lattice to the last bit.
bool is_lattice_point(const Header& header, double x);

// header: totals are set, min < max; the lattice, the bandwidth and the error of counts within joined
// cells are written here. list: of the sample's cells; rows: divided, of which it takes the cells.
// cells: of the table's rows.
// Errors: cancelled, what the bandwidth's sums report. Throws std::bad_alloc.
Status fit_automatically(const Sample& sample, const GridList& list, const FitOptions& options,
                         const Control& control, SampledRows* rows, Header* header,
                         std::vector<HistogramCell>* cells, FitReport* report);

}  // namespace kde
