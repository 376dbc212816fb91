// The contingency table of design_effect.h, a block at a time.
#include "core/sampling/design_effect.h"

#include "core/sampling/sort.h"

#include <algorithm>
#include <cstddef>

namespace kde {

namespace {

// The least value of every class but the first: each of few distinct values is a class of its own,
// many are cut into classes of about as many rows; equal values stay together.
std::vector<double> class_bounds(const std::vector<double>& sorted) {
  std::vector<double> bounds;
  const auto next_value = [&sorted](std::size_t i) {
    return static_cast<std::size_t>(std::upper_bound(sorted.begin(), sorted.end(), sorted[i]) -
                                    sorted.begin());
  };
  for (std::size_t i = next_value(0); i < sorted.size(); i = next_value(i)) {
    bounds.push_back(sorted[i]);
    if (bounds.size() == kDesignClasses) break;
  }
  if (bounds.size() < kDesignClasses) return bounds;

  // A value that fills more than one class's share leaves the others to the rest of the rows.
  bounds.clear();
  std::size_t first = 0;  // row the class starts at
  while (bounds.size() + 1 < kDesignClasses) {
    const std::size_t share = (sorted.size() - first) / (kDesignClasses - bounds.size());
    std::size_t end = first + std::max<std::size_t>(share, 1);
    if (end < sorted.size() && sorted[end] == sorted[end - 1]) end = next_value(end);
    if (end >= sorted.size()) break;
    bounds.push_back(sorted[end]);
    first = end;
  }
  return bounds;
}

}  // namespace

bool estimate_design_effect(const std::vector<double>& values,
                            const std::vector<std::uint32_t>& blocks, const Control& control,
                            double* effect) {
  *effect = 1;
  if (values.empty()) return true;
  std::vector<double> keys = values;
  if (!sort_values(&keys, control)) return false;
  const std::vector<double> bounds = class_bounds(keys);
  if (bounds.empty()) return true;

  // Rows by block, and by class within it: the two as one number, which a double holds exactly.
  double class_rows[kDesignClasses] = {};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto k = std::upper_bound(bounds.begin(), bounds.end(), values[i]) - bounds.begin();
    ++class_rows[k];
    keys[i] = static_cast<double>(std::uint64_t{blocks[i]} * kDesignClasses +
                                  static_cast<std::uint64_t>(k));
  }
  if (!sort_values(&keys, control)) return false;

  double sum = 0;      // of n_bk^2 / n_k
  double squares = 0;  // of n_b^2
  for (std::size_t begin = 0; begin < keys.size();) {
    const std::uint64_t block = static_cast<std::uint64_t>(keys[begin]) / kDesignClasses;
    double rows[kDesignClasses] = {};
    std::size_t end = begin;
    for (; end < keys.size(); ++end) {
      const auto key = static_cast<std::uint64_t>(keys[end]);
      if (key / kDesignClasses != block) break;
      ++rows[key % kDesignClasses];
    }
    const double block_rows = static_cast<double>(end - begin);
    for (int k = 0; k < kDesignClasses; ++k) {
      if (rows[k] > 0) sum += rows[k] * rows[k] / class_rows[k];
    }
    squares += block_rows * block_rows;
    begin = end;
  }
  const double n = static_cast<double>(values.size());
  const double mean_block = squares / n;
  if (!(mean_block < n)) return true;  // one block
  const double classes_less_one = static_cast<double>(bounds.size());
  *effect = std::max((sum - mean_block) / (classes_less_one * (1 - mean_block / n)), 1.0);
  return true;
}

}  // namespace kde
