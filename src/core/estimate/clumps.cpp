// See clumps.h.
#include "core/estimate/clumps.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace kde {

namespace {

constexpr std::size_t kReach = 20;
// Of a clump's values, seen more than once.
constexpr double kRepeated = 0.2;
constexpr std::size_t kPollEvery = 1 << 16;  // a few milliseconds

// log of Chernoff's bound on P(X >= c), X Poisson with mean e < c.
double log_tail(double c, double e) { return c * (1 + std::log(e / c)) - e; }

struct Window {
  double values;    // distinct ones
  double repeated;  // of them, seen more than once
  double weight;
  double points;  // of the lattice; infinite off a lattice

  bool clumped() const {
    const double expected = std::isinf(points) ? weight : points * -std::expm1(-weight / points);
    // One heavy value does not make its neighbours a clump.
    return values < kClumped * expected && weight > kClumpRepeats * values &&
           kRepeated * values < repeated;
  }
};

}  // namespace

AtomSplit split_clumps(std::span<const WeightedValue> distinct, double step, std::size_t limit,
                       const Control& control) {
  const std::size_t n = distinct.size();
  std::vector<double> below(n + 1, 0), repeated_below(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    below[i + 1] = below[i] + distinct[i].weight;
    repeated_below[i + 1] = repeated_below[i] + (distinct[i].weight > 1 ? 1 : 0);
  }
  const double level = std::log(kFalsePositives / static_cast<double>(std::max<std::size_t>(n, 1)));

  std::vector<std::size_t> atoms;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % kPollEvery == 0 && control.stop_requested()) return {};
    const std::size_t first = i > kReach ? i - kReach : 0;
    const std::size_t last = std::min(n - 1, i + kReach);
    Window w;
    w.values = static_cast<double>(last - first + 1);
    w.repeated = repeated_below[last + 1] - repeated_below[first];
    w.weight = below[last + 1] - below[first];
    w.points = step > 0 ? (distinct[last].value - distinct[first].value) / step + 1
                        : std::numeric_limits<double>::infinity();
    const double count = distinct[i].weight;
    const double expected = std::max((w.weight - count) / w.points, kLeastExpected);
    if (w.clumped() || (count > expected && log_tail(count, expected) < level)) atoms.push_back(i);
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
  AtomSplit out;
  auto atom = atoms.begin();
  for (std::size_t i = 0; i < n; ++i) {
    if (atom != atoms.end() && *atom == i) {
      out.atoms.push_back(distinct[i]);
      ++atom;
    } else {
      out.rest.push_back(distinct[i]);
    }
  }
  return out;
}

}  // namespace kde
