// What every answer of every valid joint density obeys, however odd the density: no crash, no count
// below 0 or above all rows, no NaN where there are values, intervals about their estimates.
#pragma once

#include "core/joint/conditional.h"
#include "core/joint/joint_moments.h"
#include "core/joint/box_evidence.h"
#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace kde::joints {

// A place on a column's axis: one of its values or landmarks.
inline double landmark(const JointView& d, int k, Random* random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Header& h = *d.marginal(k);
  const std::size_t block = random->below(d.blocks());
  const int i = static_cast<int>(random->below(kJointBlock));
  switch (random->below(8)) {
    case 0:
      return h.min;
    case 1:
      return h.max;
    case 2:
      return random->below(2) == 0 ? kInfinity : -kInfinity;
    case 3:
      return d.heavy(k).empty() ? h.mean : d.heavy(k)[random->below(d.heavy(k).size())];
    case 4:
      return h.min + (h.max - h.min) * random->uniform();
    default:
      return std::fabs(d.coordinate(block, k, i)) <= kFarthest ? d.value(block, k, i) : h.mean;
  }
}

// Whether the ends enclose the estimate; nothing is known of what is NaN throughout.
inline bool encloses(const Interval& i) {
  return std::isnan(i.estimate) || (i.lower <= i.estimate && i.estimate <= i.upper);
}

// The first rule broken, or null, in that many boxes.
inline const char* insane_answer(const JointView& d, int boxes) {
  Random random(5);
  const double rows = d.header().rows;
  for (int n = 0; n < boxes; ++n) {
    BoxSide sides[3];
    std::uint32_t ranks[3][2];
    WordSet words[3];
    const int most = d.columns() < 3 ? d.columns() : 3;
    const int count = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(most)));
    const int first = static_cast<int>(random.below(static_cast<std::uint64_t>(d.columns())));
    for (int s = 0; s < count; ++s) {
      Range r;
      const int k = (first + s) % d.columns();
      r.lower = landmark(d, k, &random);
      r.upper = landmark(d, k, &random);
      r.lower_unbounded = random.below(6) == 0;
      r.upper_unbounded = random.below(6) == 0;
      r.lower_inclusive = random.below(2) == 0;
      r.upper_inclusive = random.below(2) == 0;
      sides[s] = {k, r};
      if (!d.column(k).is_category() || random.below(5) == 0) continue;
      // Two words next to each other, or fewer, and some that are not kept.
      const std::uint32_t all = d.words(k).words();
      ranks[s][0] = static_cast<std::uint32_t>(random.below(all + std::uint64_t{1}));
      ranks[s][1] = ranks[s][0] + 1;
      const std::size_t there = std::min<std::size_t>(all - ranks[s][0], 2);
      words[s] = {{ranks[s], std::min<std::size_t>(there, random.below(3))},
                  static_cast<double>(random.below(3))};
      sides[s].words = &words[s];
    }
    int target = static_cast<int>(random.below(static_cast<std::uint64_t>(d.columns()) + 1)) - 1;
    if (target >= 0 && d.column(target).is_category()) target = -1;
    const std::span<const BoxSide> box(sides, static_cast<std::size_t>(count));
    const JointMoments m = joint_moments(d, box, target);
    if (!(m.count >= 0 && m.count <= rows * (1 + 1e-4))) return "count is out of range";
    if (!encloses(interval_of(Wanted::count, d, box, m, {})))
      return "a count is outside its interval";
    if (target < 0) continue;
    if (!(m.finite >= 0) || std::isnan(m.nans)) return "rows with values are none";
    if (m.finite > 0 && std::isnan(m.mean)) return "a mean is NaN";
    if (m.finite > 0 && !(m.variance >= 0)) return "a variance is negative or NaN";
    if (std::isfinite(m.mean) && m.finite > 0 &&
        !encloses(interval_of(Wanted::mean, d, box, m, {})))
      return "a mean is outside its interval";
    // Sums and squares may overflow.
    const bool small = std::fabs(d.marginal(target)->min) < 1e100 &&
                       std::fabs(d.marginal(target)->max) < 1e100 && m.variance < 1e200;
    if (small && !encloses(interval_of(Wanted::sum, d, box, m, {})))
      return "a sum is outside its interval";
    if (small && !encloses(interval_of(Wanted::variance, d, box, m, {})))
      return "a variance is outside its interval";
    const int on = (target + 1) % d.columns();
    if (d.column(on).is_category()) continue;
    const Interval c = conditional_mean(d, target, on, landmark(d, on, &random), {});
    const Header& h = *d.marginal(target);
    if (!encloses(c) || c.estimate < h.min || c.estimate > h.max)
      return "a conditional mean is out of range";
  }
  return nullptr;
}

}  // namespace kde::joints
