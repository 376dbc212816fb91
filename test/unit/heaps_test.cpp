// estimate/heaps.h: planted heaping is found with its period, smooth columns have none, and the
// factors put the mass where the heaps are without moving it along the line.
#include "core/estimate/heaps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.h"
#include "distinct.h"
#include "samples.h"

namespace kde {
namespace {

// Points first .. first + n - 1 in units of the step, without observations.
Cells empty_lattice(std::int64_t first, std::int64_t n) {
  Line line;
  line.low = static_cast<double>(first) - 0.5;
  line.high = static_cast<double>(first + n) - 0.5;
  return lattice_cells(line, static_cast<double>(first), 1, first, first + n - 1);
}

struct Heaping {
  double share;
  int period;
};

// Counts of values with a bell shape over the cells, of which some are rounded to multiples.
std::vector<double> draw(const Cells& cells, int n, std::uint64_t seed,
                         const std::vector<Heaping>& heaping = {}) {
  Random random(seed);
  std::vector<double> counts(cells.size(), 0);
  const double size = static_cast<double>(cells.size());
  for (double z : samples::normal(n, seed + 1000)) {
    double x = std::round(static_cast<double>(cells.first_point) + size / 2 + size / 7 * z);
    const double u = random.uniform();
    double below = 0;
    for (const Heaping& h : heaping) {
      if (u >= below && u < below + h.share) x = h.period * std::round(x / h.period);
      below += h.share;
    }
    const double at = std::clamp(x - static_cast<double>(cells.first_point), 0.0, size - 1);
    ++counts[static_cast<std::size_t>(at)];
  }
  return counts;
}

// What the bell shape of draw() expects in each cell, n in all.
std::vector<double> bell(const Cells& cells, int n) {
  std::vector<double> out;
  const double size = static_cast<double>(cells.size());
  const auto below = [&](double i) {
    return 0.5 * std::erfc(-(i - 0.5 - size / 2) / (size / 7) / std::sqrt(2.0));
  };
  for (double i = 0; i < size; ++i)
    out.push_back(n * (below(i + 1) - below(i)) / (below(size) - below(0)));
  return out;
}

// The observations on multiples of the period over those that the bell expects there.
double excess(const Cells& cells, const std::vector<double>& counts,
              const std::vector<double>& expected, int period) {
  double seen = 0, due = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if ((cells.first_point + static_cast<std::int64_t>(i)) % period != 0) continue;
    seen += counts[i];
    due += expected[i];
  }
  return seen / due;
}

TEST(Heaps, FindsThePeriodWhereverTheLatticeBegins) {
  for (std::int64_t first : {0, 3, -497, 1000007}) {
    for (int period : {10, 50}) {
      SCOPED_TRACE(testing::Message() << first << ", every " << period);
      const Cells cells = empty_lattice(first, 1000);
      const std::vector<double> counts = draw(cells, 5000, 7, {{0.3, period}});
      const std::vector<double> expected = bell(cells, 5000);
      const HeapPattern pattern = find_heaps(cells, counts, expected);
      ASSERT_EQ(pattern.periods, std::vector<int>{period});
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const bool heap = (first + static_cast<std::int64_t>(i)) % period == 0;
        // 0.7 + 0.3 period of what is expected there, and 0.7 elsewhere. Of 5000 0.7/50 = 70
        // observations a residue the standard error is 12 %, and the largest of 50 is 3 of those.
        if (heap) {
          ASSERT_NEAR(pattern.factor[i], excess(cells, counts, expected, period), 0.1 * period);
          ASSERT_GT(pattern.factor[i], 0.25 * period);
        } else {
          ASSERT_NEAR(pattern.factor[i], 0.7, 0.7 * 0.12 * 4);
        }
      }
      const HeapPattern again = fit_heaps(cells, counts, expected, pattern.periods);
      EXPECT_EQ(again.factor, pattern.factor);
      EXPECT_EQ(again.periods, pattern.periods);
    }
  }
}

// Tens and, among them, fifties: the multiples of 50 stand out from the other tens.
TEST(Heaps, TwoPeriodsTogether) {
  const Cells cells = empty_lattice(0, 1000);
  const std::vector<double> counts = draw(cells, 20000, 3, {{0.2, 10}, {0.2, 50}});
  const HeapPattern pattern = find_heaps(cells, counts, bell(cells, 20000));
  ASSERT_FALSE(pattern.periods.empty());
  EXPECT_NE(std::find(pattern.periods.begin(), pattern.periods.end(), 50), pattern.periods.end());
  EXPECT_NEAR(pattern.factor[500], 0.6 + 0.2 * 10 + 0.2 * 50, 2);
  EXPECT_NEAR(pattern.factor[510], 0.6 + 0.2 * 10, 0.6);
  EXPECT_NEAR(pattern.factor[511], 0.6, 0.3);
}

// On smooth data with the true density known, twice a period's gain in log-likelihood is about
// chi-squared with P - 1 degrees of freedom, and Schwarz's penalty asks it to exceed
// (P - 1) log n. With n = 5000: 0.0035 for P = 2, 2e-4 for 3 (exp(-log n)), and by Chernoff's bound
// (log n e^(1 - log n))^((P-1)/2) below 4e-4 for all longer ones: a rate of 0.4 %. In 300 samples
// 1.2 are expected, and more than 6 with a probability of 3e-4 (Poisson).
TEST(Heaps, NoneOnSmoothData) {
  const Cells cells = empty_lattice(-300, 1000);
  const std::vector<double> expected = bell(cells, 5000);
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const HeapPattern pattern = find_heaps(cells, draw(cells, 5000, seed), expected);
    found += pattern.periods.empty() ? 0 : 1;
    EXPECT_EQ(pattern.factor.empty(), pattern.periods.empty());
  }
  EXPECT_LE(found, 6);
}

// Fewer than three repetitions are no pattern.
TEST(Heaps, APeriodIsSeenThreeTimes) {
  for (std::int64_t size : {29, 30}) {
    const Cells cells = empty_lattice(0, size);
    std::vector<double> counts(cells.size(), 10), flat(cells.size(), 1);
    for (std::size_t i = 0; i < counts.size(); i += 10) counts[i] = 1000;
    double total = samples::total(counts);
    for (double& f : flat) f = total / static_cast<double>(size);
    const HeapPattern pattern = find_heaps(cells, counts, flat);
    const bool ten =
        std::find(pattern.periods.begin(), pattern.periods.end(), 10) != pattern.periods.end();
    EXPECT_EQ(ten, size == 30);
  }
}

// By hand: a factor of 4 at every third point, whose smooth version is (4 + 0.7 + 0.7)/3 = 1.8. The
// product keeps each period's mass, and places without a smooth factor are left alone.
TEST(Heaps, FactorsKeepTheMassOfEachPeriod) {
  std::vector<double> smooth(30), factor(30), smooth_factor(30, 1.8);
  for (std::size_t i = 0; i < 30; ++i) {
    smooth[i] = 5 + static_cast<double>(i / 3);
    factor[i] = i % 3 == 0 ? 4 : 0.7;
  }
  const std::vector<double> out = apply_heaps(smooth, factor, smooth_factor);
  for (std::size_t i = 0; i < 30; i += 3) {
    EXPECT_NEAR(out[i] + out[i + 1] + out[i + 2], 3 * smooth[i], 1e-12);
    EXPECT_NEAR(out[i], smooth[i] * 4 / 1.8, 1e-12);
    EXPECT_NEAR(out[i + 1], smooth[i] * 0.7 / 1.8, 1e-12);
  }
  smooth_factor.assign(30, 0);
  EXPECT_EQ(apply_heaps(smooth, factor, smooth_factor), smooth);
}

}  // namespace
}  // namespace kde
