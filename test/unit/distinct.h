// Values with the number of times each was seen, as the estimate's steps take them.
#pragma once

#include <algorithm>
#include <vector>

#include "core/summary/totals.h"

namespace kde::samples {

// Ascending, no value twice.
inline std::vector<WeightedValue> distinct(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  std::vector<WeightedValue> out;
  for (double v : x) {
    if (out.empty() || out.back().value != v) out.push_back({v, 0});
    ++out.back().weight;
  }
  return out;
}

inline double total_weight(const std::vector<WeightedValue>& values) {
  double sum = 0;
  for (const WeightedValue& v : values) sum += v.weight;
  return sum;
}

inline double total(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum;
}

}  // namespace kde::samples
