// The merging levels of compactor.h.
#include "core/sampling/compactor.h"

#include <algorithm>
#include <cmath>

namespace kde {

void Compactor::add(double x) {
  if (levels_.empty()) levels_.emplace_back();
  std::vector<double>& values = levels_[0].values;
  values.push_back(x);
  if (values.size() < capacity_) return;
  std::sort(values.begin(), values.end());
  merge_up(0);
}

// The level's values are in order.
void Compactor::merge_up(std::size_t level) {
  if (level + 1 == levels_.size()) levels_.emplace_back();
  Level& from = levels_[level];
  Level& to = levels_[level + 1];
  const auto old = static_cast<std::ptrdiff_t>(to.values.size());
  const std::size_t pairs = from.values.size() / 2;
  to.values.reserve(to.values.size() + pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    const bool upper = (i % 2 == 1) != from.upper_first;
    to.values.push_back(from.values[2 * i + (upper ? 1 : 0)]);
  }
  from.upper_first = !from.upper_first;
  // Of an odd number the largest waits for the next merge.
  from.values.erase(from.values.begin(),
                    from.values.begin() + static_cast<std::ptrdiff_t>(2 * pairs));
  // Both parts are in order already.
  std::inplace_merge(to.values.begin(), to.values.begin() + old, to.values.end());
  if (to.values.size() >= capacity_) merge_up(level + 1);
}

std::vector<WeightedValue> Compactor::sorted() const {
  std::size_t n = 0;
  for (const Level& level : levels_) n += level.values.size();
  const auto lower = [](const WeightedValue& a, const WeightedValue& b) {
    return a.value < b.value;
  };
  std::vector<WeightedValue> all;
  all.reserve(n);
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    const auto old = static_cast<std::ptrdiff_t>(all.size());
    for (double x : levels_[k].values) all.push_back({x, std::ldexp(1.0, static_cast<int>(k))});
    // All levels but the lowest are in order.
    if (k == 0) std::sort(all.begin(), all.end(), lower);
    std::inplace_merge(all.begin(), all.begin() + old, all.end(), lower);
  }
  return all;
}

double Compactor::rank_error() const {
  if (levels_.size() < 2) return 0;
  return static_cast<double>(levels_.size() - 1) / static_cast<double>(capacity_);
}

}  // namespace kde
