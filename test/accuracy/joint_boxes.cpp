// The rule of joint_boxes.h.
#include "joint_boxes.h"

#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde::accuracy {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The distinct values of a column and their places in rank space, both ascending.
struct Ranks {
  std::vector<double> value, place;
  std::vector<double> place_of_row;  // NaN where NULL
};

Ranks ranks_of(const RowSet& rows, int column) {
  std::vector<double> sorted;
  for (std::size_t i = 0; i < rows.rows; ++i)
    if (!rows.is_null(i, column)) sorted.push_back(rows.row(i)[column]);
  std::sort(sorted.begin(), sorted.end());
  const double n = static_cast<double>(sorted.size());
  Ranks ranks;
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t last = first;
    while (last < sorted.size() && sorted[last] == sorted[first]) ++last;
    ranks.value.push_back(sorted[first]);
    ranks.place.push_back(static_cast<double>(first + last) / 2 / n);
    first = last;
  }
  for (std::size_t i = 0; i < rows.rows; ++i) {
    const auto at = std::lower_bound(ranks.value.begin(), ranks.value.end(), rows.row(i)[column]);
    ranks.place_of_row.push_back(rows.is_null(i, column) ? NAN
                                                         : ranks.place[at - ranks.value.begin()]);
  }
  return ranks;
}

// The values whose places are within `size` aspects of the centre; it is one of them.
Range values_within(const Ranks& ranks, double centre, double aspect, double size) {
  double lower = kInfinity;
  double upper = -kInfinity;
  for (std::size_t i = 0; i < ranks.place.size(); ++i) {
    if (std::fabs(ranks.place[i] - centre) / aspect > size) continue;
    lower = std::min(lower, ranks.value[i]);
    upper = std::max(upper, ranks.value[i]);
  }
  return closed_range(lower, upper);
}

bool has_null(const std::vector<Ranks>& ranks, std::size_t row) {
  return std::any_of(ranks.begin(), ranks.end(),
                     [&](const Ranks& r) { return std::isnan(r.place_of_row[row]); });
}

// The size of the smallest box of that shape that holds `count` rows.
double size_for(const std::vector<Ranks>& ranks, std::size_t centre,
                const std::vector<double>& aspect, std::size_t count) {
  const std::size_t rows = ranks.front().place_of_row.size();
  std::vector<double> distance(rows, kInfinity);
  for (std::size_t i = 0; i < rows; ++i) {
    if (has_null(ranks, i)) continue;
    double farthest = 0;
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      const std::vector<double>& place = ranks[k].place_of_row;
      farthest = std::max(farthest, std::fabs(place[i] - place[centre]) / aspect[k]);
    }
    distance[i] = farthest;
  }
  const auto nth = distance.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(distance.begin(), nth, distance.end());
  return *nth;
}

}  // namespace

std::vector<BoxQuestion> make_boxes(const RowSet& rows, const std::vector<int>& columns,
                                    const BoxRule& rule, std::uint64_t seed) {
  Random random(seed);
  const double n = static_cast<double>(rows.rows);
  std::vector<Ranks> ranks;
  for (const int column : columns) ranks.push_back(ranks_of(rows, column));
  std::vector<BoxQuestion> questions;
  for (int i = 0; i < rule.attempts && static_cast<int>(questions.size()) < rule.boxes; ++i) {
    const std::size_t centre = random.below(rows.rows);
    const double asked = rule.lowest * std::pow(rule.highest / rule.lowest, random.uniform());
    std::vector<double> aspect;
    for (std::size_t k = 0; k < columns.size(); ++k)
      aspect.push_back(std::exp(rule.aspect * (2 * random.uniform() - 1)));
    if (has_null(ranks, centre)) continue;
    const auto count = static_cast<std::size_t>(std::max(std::llround(asked * n), 1LL));
    const double size = size_for(ranks, centre, aspect, count);
    if (size == kInfinity) continue;  // so many rows have no NULL
    BoxQuestion question;
    question.box.column = columns;
    for (std::size_t k = 0; k < columns.size(); ++k)
      question.box.range.push_back(
          values_within(ranks[k], ranks[k].place_of_row[centre], aspect[k], size));
    question.truth = totals_of(rows, question.box);
    question.fraction = static_cast<double>(question.truth.rows) / n;
    if (question.fraction < rule.lowest || question.fraction > rule.highest) continue;
    questions.push_back(std::move(question));
  }
  return questions;
}

}  // namespace kde::accuracy
