// The rule of ranges.h.
#include "ranges.h"

#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace kde::accuracy {

std::vector<Question> make_questions(const std::vector<double>& sorted, const RangeRule& rule,
                                     std::uint64_t seed) {
  Random random(seed);
  const double n = static_cast<double>(sorted.size());
  std::vector<Question> questions;
  std::set<std::pair<double, double>> distinct;
  for (int i = 0; i < rule.attempts && static_cast<int>(questions.size()) < rule.ranges; ++i) {
    const std::size_t lower_rank = random.below(sorted.size());
    const double asked = rule.lowest * std::pow(rule.highest / rule.lowest, random.uniform());
    const double lower_jitter = rule.jitter * (2 * random.uniform() - 1);
    const double upper_jitter = rule.jitter * (2 * random.uniform() - 1);
    const std::size_t rows = std::max<std::size_t>(std::llround(asked * n), 1);
    const std::size_t upper_rank = lower_rank + rows - 1;
    if (upper_rank >= sorted.size()) continue;
    const double width = sorted[upper_rank] - sorted[lower_rank];
    double lower = sorted[lower_rank] + lower_jitter * width;
    double upper = sorted[upper_rank] + upper_jitter * width;
    if (rule.grid > 0) {
      lower = rule.grid * std::round(lower / rule.grid);
      upper = rule.grid * std::round(upper / rule.grid);
    }
    Question question;
    question.range = closed_range(lower, upper);
    question.truth = slice_of(sorted, question.range);
    question.fraction = static_cast<double>(question.truth.rows) / n;
    if (question.fraction < rule.lowest || question.fraction > rule.highest) continue;
    distinct.emplace(lower, upper);
    questions.push_back(question);
  }
  if (static_cast<int>(distinct.size()) < rule.least_distinct) questions.clear();
  return questions;
}

}  // namespace kde::accuracy
