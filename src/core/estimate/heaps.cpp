// See heaps.h.
#include "core/estimate/heaps.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

std::size_t residue(const Cells& cells, std::size_t i, int period) {
  const std::int64_t r = (cells.first_point + static_cast<std::int64_t>(i)) % period;
  return static_cast<std::size_t>(r < 0 ? r + period : r);
}

struct Pattern {
  double evidence = 0;
  std::vector<double> factor;  // by residue
};

Pattern pattern(const Cells& cells, std::span<const double> counts,
                std::span<const double> expected, int period) {
  Pattern p;
  std::vector<double> seen(static_cast<std::size_t>(period), 0.0);
  std::vector<double> due(static_cast<std::size_t>(period), 0.0);
  std::size_t r = residue(cells, 0, period);
  double total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    seen[r] += counts[i];
    due[r] += expected[i];
    total += counts[i];
    if (++r == seen.size()) r = 0;
  }
  for (std::size_t j = 0; j < seen.size(); ++j) {
    const double f = (seen[j] + 0.5) / (due[j] + 0.5);
    p.factor.push_back(f);
    p.evidence += seen[j] * std::log(f);
  }
  p.evidence -= 0.5 * (period - 1) * std::log(std::max(total, 1.0));
  return p;
}

// Multiplies the pattern into factor and expected.
void multiply(const Cells& cells, const Pattern& p, std::vector<double>* factor,
              std::vector<double>* expected) {
  const int period = static_cast<int>(p.factor.size());
  std::size_t r = residue(cells, 0, period);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    (*factor)[i] *= p.factor[r];
    (*expected)[i] *= p.factor[r];
    if (++r == p.factor.size()) r = 0;
  }
}

}  // namespace

HeapPattern find_heaps(const Cells& cells, std::span<const double> counts,
                       std::span<const double> smooth) {
  HeapPattern out;
  std::vector<double> expected(smooth.begin(), smooth.end());
  std::vector<double> factor(cells.size(), 1);
  while (static_cast<int>(out.periods.size()) < kMaxPatterns) {
    Pattern best;
    // Three repetitions at least: with fewer, a pattern is no different from the density's own
    // shape.
    const int longest = std::min<int>(kMaxPeriod, static_cast<int>(cells.size() / 3));
    for (int period = 2; period <= longest; ++period) {
      Pattern p = pattern(cells, counts, expected, period);
      if (p.evidence > best.evidence) best = std::move(p);
    }
    if (best.factor.empty()) break;
    multiply(cells, best, &factor, &expected);
    out.periods.push_back(static_cast<int>(best.factor.size()));
  }
  if (!out.periods.empty()) out.factor = std::move(factor);
  return out;
}

HeapPattern fit_heaps(const Cells& cells, std::span<const double> counts,
                      std::span<const double> smooth, std::span<const int> periods) {
  HeapPattern out;
  std::vector<double> expected(smooth.begin(), smooth.end());
  out.factor.assign(cells.size(), 1);
  for (int period : periods) {
    multiply(cells, pattern(cells, counts, expected, period), &out.factor, &expected);
    out.periods.push_back(period);
  }
  return out;
}

std::vector<double> apply_heaps(std::span<const double> smooth, std::span<const double> factor,
                                std::span<const double> smooth_factor) {
  std::vector<double> out(smooth.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = smooth_factor[i] > 0 ? smooth[i] * factor[i] / smooth_factor[i] : smooth[i];
  return out;
}

}  // namespace kde
