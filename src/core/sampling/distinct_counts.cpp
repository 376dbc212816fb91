// The sorted view of distinct_counts.h.
#include "core/sampling/distinct_counts.h"

#include <algorithm>

namespace kde {

std::vector<std::pair<double, std::int64_t>> DistinctCounts::sorted() const {
  std::vector<std::pair<double, std::int64_t>> out(counts_.begin(), counts_.end());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace kde
