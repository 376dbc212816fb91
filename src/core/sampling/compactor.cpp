// The merging levels of compactor.h.
#include "core/sampling/compactor.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <cmath>

namespace kde {

void Compactor::add(double x) {
  if (levels_.empty()) levels_.emplace_back();
  levels_[0].push_back(x);
  if (levels_[0].size() >= capacity_) merge_up(0);
}

void Compactor::merge_up(std::size_t level) {
  if (level + 1 == levels_.size()) levels_.emplace_back();
  std::vector<double>& from = levels_[level];
  std::vector<double>& to = levels_[level + 1];
  hwy::Sorter()(from.data(), from.size(), hwy::SortAscending());
  to.reserve(to.size() + from.size() / 2);
  for (std::size_t i = 0; i + 1 < from.size(); i += 2) {
    // Halve before adding: the sum of two finite values may overflow, their mean does not.
    const double a = from[i];
    const double b = from[i + 1];
    to.push_back(a == b ? a : 0.5 * a + 0.5 * b);
  }
  // Of an odd number the largest waits for the next merge.
  from.erase(from.begin(),
             from.begin() + static_cast<std::ptrdiff_t>(from.size() & ~std::size_t{1}));
  if (to.size() >= capacity_) merge_up(level + 1);
}

std::vector<WeightedValue> Compactor::sorted() const {
  std::size_t n = 0;
  for (const auto& level : levels_) n += level.size();
  std::vector<WeightedValue> all;
  all.reserve(n);
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    for (double x : levels_[k]) all.push_back({x, std::ldexp(1.0, static_cast<int>(k))});
  }
  std::sort(all.begin(), all.end(),
            [](const WeightedValue& a, const WeightedValue& b) { return a.value < b.value; });
  return all;
}

double Compactor::rank_error() const {
  if (levels_.size() < 2) return 0;
  return static_cast<double>(levels_.size() - 1) / static_cast<double>(capacity_);
}

}  // namespace kde
