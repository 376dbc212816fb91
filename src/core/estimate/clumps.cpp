// See clumps.h.
#include "core/estimate/clumps.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

namespace kde {

namespace {

constexpr std::size_t kReach = 20;
// Of a clump's values, seen more than once.
constexpr double kRepeated = 0.2;
// Kinds to either side that say how often one is seen, and how many times as often a heap is.
constexpr int kKindsBeside = 5;
constexpr double kHeaped = 2;
// Times that every kind comes, at least: one that comes once more than others is no heap.
constexpr double kLeastTurns = 3;
// Of a lattice whose points have numbers.
constexpr double kMostPoints = 0x1p52;
constexpr std::size_t kPollEvery = 1 << 16;  // a few milliseconds

// log of Chernoff's bound on P(X >= c), X Poisson with mean e < c.
double log_tail(double c, double e) { return c * (1 + std::log(e / c)) - e; }

// log of Chernoff's bound on P(X >= c), X binomial of m with chance p < c/m.
double log_binomial_tail(double c, double m, double p) {
  const double share = c / m;
  const double rest = share < 1 ? (1 - share) * std::log((1 - share) / (1 - p)) : 0;
  return -m * (share * std::log(share / p) + rest);
}

struct Window {
  double values;    // distinct ones
  double repeated;  // of them, seen more than once
  double weight;
  double points;  // of the lattice; infinite off a lattice

  bool clumped() const {
    const double expected = std::isinf(points) ? weight : points * -std::expm1(-weight / points);
    return values < kClumped * expected && weight > kClumpRepeats * values &&
           kRepeated * values < repeated;
  }
};

// The windows about the distinct values.
class Windows {
 public:
  Windows(std::span<const WeightedValue> distinct, double step)
      : distinct_(distinct), step_(step), below_(distinct.size() + 1) {
    for (std::size_t i = 0; i < distinct.size(); ++i) {
      const double c = distinct[i].weight;
      below_[i + 1] = below_[i] + Sums{1, c > 1 ? 1.0 : 0.0, c};
    }
  }

  Window about(std::size_t i) const { return of(below_, i); }
  // Less the values that are heavy.
  Window without(const std::vector<bool>& heavy, std::size_t i) {
    if (heavy_below_.empty()) {
      heavy_below_.resize(below_.size());
      for (std::size_t j = 0; j < heavy.size(); ++j)
        heavy_below_[j + 1] =
            heavy_below_[j] + (heavy[j] ? Sums{1, 1, distinct_[j].weight} : Sums());
    }
    const Window all = about(i), heavies = of(heavy_below_, i);
    return {all.values - heavies.values, all.repeated - heavies.repeated,
            all.weight - heavies.weight, all.points - heavies.values};
  }

 private:
  struct Sums {
    double values = 0, repeated = 0, weight = 0;
    Sums operator+(const Sums& b) const {
      return {values + b.values, repeated + b.repeated, weight + b.weight};
    }
  };

  Window of(const std::vector<Sums>& below, std::size_t i) const {
    const std::size_t first = i > kReach ? i - kReach : 0;
    const std::size_t last = std::min(distinct_.size() - 1, i + kReach);
    const Sums &a = below[first], &b = below[last + 1];
    return {b.values - a.values, b.repeated - a.repeated, b.weight - a.weight,
            step_ > 0 ? (distinct_[last].value - distinct_[first].value) / step_ + 1
                      : std::numeric_limits<double>::infinity()};
  }

  std::span<const WeightedValue> distinct_;
  double step_;
  std::vector<Sums> below_, heavy_below_;
};

// Marks the repeated values of the kinds that are heaped, among those not marked yet.
void mark_heaps(std::span<const WeightedValue> distinct, double step, int period,
                std::vector<bool>* atom) {
  const std::size_t n = distinct.size();
  const double points = (distinct[n - 1].value - distinct[0].value) / step;
  if (!(points >= kLeastTurns * period && points < kMostPoints)) return;
  const auto kind_of = [&](std::size_t i) {
    const double k = std::round((distinct[i].value - distinct[0].value) / step);
    return static_cast<std::size_t>(k) % static_cast<std::size_t>(period);
  };
  std::vector<double> seen(static_cast<std::size_t>(period), 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (!(*atom)[i]) seen[kind_of(i)] += distinct[i].weight;
  }
  // So that all periods together have that rate.
  const double level = std::log(kFalsePositives / (std::size(kPeriods) * seen.size()));
  const int reach = std::min(kKindsBeside, (period - 1) / 2);
  std::vector<bool> heaped(seen.size());
  for (int r = 0; r < period; ++r) {
    double below = 0, above = 0;
    for (int d = 1; d <= reach; ++d) {
      above += seen[static_cast<std::size_t>((r + d) % period)];
      below += seen[static_cast<std::size_t>((r + period - d) % period)];
    }
    const double beside = 2 * std::max(below, above);
    const double count = seen[static_cast<std::size_t>(r)];
    heaped[static_cast<std::size_t>(r)] =
        count > kHeaped * beside / (2 * reach) &&
        log_binomial_tail(count, count + beside, 1.0 / (2 * reach + 1)) < level;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (distinct[i].weight > 1 && heaped[kind_of(i)]) (*atom)[i] = true;
  }
}

}  // namespace

std::vector<std::size_t> find_clumps(std::span<const WeightedValue> distinct, double step,
                                     std::size_t limit, const Control& control) {
  const std::size_t n = distinct.size();
  Windows windows(distinct, step);
  const double level = std::log(kFalsePositives / static_cast<double>(std::max<std::size_t>(n, 1)));

  const auto stands_out = [level](double c, double e) { return c > e && log_tail(c, e) < level; };
  std::vector<bool> atom(n), heavy(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (i % kPollEvery == 0 && control.stop_requested()) return {};
    const Window w = windows.about(i);
    const double count = distinct[i].weight, others = w.weight - count;
    heavy[i] = w.values > 1 && stands_out(count, others / (w.values - 1));
    atom[i] = stands_out(count, std::max(others / w.points, kLeastExpected));
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (i % kPollEvery == 0 && control.stop_requested()) return {};
    if (windows.without(heavy, i).clumped()) atom[i] = true;
  }
  for (const int period : kPeriods) {
    if (step > 0 && n > 1) mark_heaps(distinct, step, period, &atom);
  }
  std::vector<std::size_t> atoms;
  for (std::size_t i = 0; i < n; ++i) {
    if (atom[i]) atoms.push_back(i);
  }
  if (atoms.size() > limit) {
    std::nth_element(atoms.begin(), atoms.begin() + static_cast<std::ptrdiff_t>(limit), atoms.end(),
                     [&](std::size_t a, std::size_t b) {
                       return distinct[a].weight > distinct[b].weight ||
                              (distinct[a].weight == distinct[b].weight && a < b);
                     });
    atoms.resize(limit);
    std::sort(atoms.begin(), atoms.end());
  }
  return atoms;
}

}  // namespace kde
