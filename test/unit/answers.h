// What every answer of every valid density obeys, however odd the density: no NaN that has no
// right to be, no crash, counts between 0 and all, moments within their range. Variance and pdf may
// overflow to infinity where the column's own scale does.
#pragma once

#include "core/integrate/integrate.h"
#include "core/answer/word_evidence.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "fitted.h"

namespace kde::fitted {

// The first rule broken, or null. For the tests and the fuzzers alike. Draws `ranges` ranges.
inline const char* insane_answer(const DensityView& d, int ranges) {
  const Header& h = d.header();
  Random random(5);
  std::vector<double> points = {-kInf,
                                kInf,
                                kNan,
                                0,
                                h.min,
                                h.max,
                                h.mean,
                                -std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::max(),
                                5e-324};
  if (d.atoms() > 0) points.push_back(d.atom_value(d.atoms() / 2));
  if (d.blocks() > 0) {
    // Cells' ends and a place between two of them.
    for (int i : {0, d.blocks() / 2, d.blocks() - 1})
      points.push_back(d.value(d.block(i).first_key));
    const double first = points[points.size() - 3];
    points.push_back(first + (points.back() - first) * random.uniform());
  }
  const double tolerance = 1e-9 * h.rows;
  double before = 0;
  for (int i = 0; i <= 8; ++i) {
    const double q = i / 8.0;
    const double x = quantile(d, q);
    if (std::isnan(x) && h.rows > 0 && h.nans <= 0) return "quantile is NaN without NaN rows";
    if (!std::isnan(x) && i > 0 && x < before) return "quantiles fall";
    if (std::isfinite(x) && (h.flags & kBounded) != 0 && (x < h.min || x > h.max))
      return "a quantile is outside [min, max]";
    if (!std::isnan(x)) before = x;
    if (i % 4 == 0) points.push_back(x);
  }
  for (double x : points) {
    if (!(pdf(d, x) >= 0)) return "pdf is negative or NaN";
    const double c = cdf(d, x);
    if (!(c >= 0 && c <= 1)) return "cdf is outside [0, 1]";
  }
  for (int i = 0; i < ranges; ++i) {
    Range r;
    r.lower = points[random.below(points.size())];
    r.upper = points[random.below(points.size())];
    r.lower_unbounded = random.below(8) == 0;
    r.upper_unbounded = random.below(8) == 0;
    r.lower_inclusive = random.below(2) == 0;
    r.upper_inclusive = random.below(2) == 0;
    const double c = count(d, r);
    const RangeMoments m = moments(d, r);
    if (!(c >= 0 && c <= h.rows + tolerance)) return "count is outside [0, rows]";
    if (m.count != c) return "count and moments().count differ";
    if (!(m.finite >= 0 && m.nans >= 0 && m.negative_infinities >= 0 && m.positive_infinities >= 0))
      return "a count of moments() is negative or NaN";
    if (!(std::fabs(m.finite + m.nans + m.negative_infinities + m.positive_infinities - c) <=
          tolerance))
      return "the counts of moments() do not add up";
    if (m.finite > 0) {
      if (!std::isfinite(m.mean)) return "mean is not finite";
      if (!(m.variance >= 0)) return "variance is negative or NaN";
      const bool whole_line = r.lower_unbounded && r.upper_unbounded;
      if (!whole_line && (h.flags & kBounded) != 0 && (m.mean < h.min || m.mean > h.max))
        return "mean is outside [min, max]";
    }
  }
  return nullptr;
}

// The same of a category's words.
inline const char* insane_words(const DensityView& d) {
  if (d.header().words == 0) return nullptr;
  const WordsView words(&d.header());
  for (std::uint32_t rank = 0; rank < words.words(); ++rank) {
    if (words.find(words.word(rank)) != rank) return "a word is not found";
    const WordSet set = {{&rank, 1}, rank % 2 == 0 ? 0.0 : 1.0};
    const Interval i = interval_of(Wanted::count, d, words, set, {});
    if (!(i.estimate >= 0 && std::isfinite(i.estimate))) return "a word's count is negative";
    if (!(i.lower >= 0 && i.lower <= i.estimate && i.estimate <= i.upper))
      return "a word's interval is out of order";
  }
  return nullptr;
}

inline void expect_sane_answers(const DensityView& d, int ranges) {
  const char* insane = insane_answer(d, ranges);
  EXPECT_EQ(insane, nullptr) << insane;
}

}  // namespace kde::fitted
