// A stream of values kept as weighted values in bounded memory, whatever its length.
//
// Level k holds values of weight 2^k. A level that is full is sorted and each pair of neighbours
// replaced by its mean, with twice the weight, one level up. A pair is an interval that contains
// no other value of its level, so of all the pairs of one merge at most one moves weight across a
// given point, and that one half its weight: one of the c values of a level. With L levels above
// the lowest, the distribution function of what is kept differs from the stream's by at most L/c
// at any point (worst case, attained: every merge erring the same way), and the sum of the
// values is kept but for rounding. Smoothing by a kernel
// that is wide against the distance of neighbours makes the difference far smaller.
// The idea: Munro & Paterson (1980); Manku, Rajagopalan & Lindsay (SIGMOD 1998), with means in
// the place of every second value, so that first moments stay.
#pragma once

#include "core/room.h"

#include <cstddef>
#include <vector>

namespace kde {

struct WeightedValue {
  double value;
  double weight;
};

class Compactor {
 public:
  // capacity: values a level holds, even and >= 2. Memory: at most 8 (L + 1) capacity bytes.
  explicit Compactor(std::size_t capacity) : capacity_(capacity) {}

  void add(double x);

  // All levels as one list in ascending order of value. The weights sum to the values added.
  std::vector<WeightedValue> sorted() const;

  // The bound L/c above, 0 as long as nothing was merged.
  double rank_error() const;

 private:
  void merge_up(std::size_t level);

  std::size_t capacity_;
  std::vector<std::vector<double>> levels_;
};

}  // namespace kde
