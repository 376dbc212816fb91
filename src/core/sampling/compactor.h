// A stream of values kept as weighted values in bounded memory, whatever its length.
//
// Level k holds values of weight 2^k. A level that is full is sorted and one of each pair of
// neighbours goes one level up, with twice the weight: the lower and the upper in turn. A pair is
// an interval that contains no other value of its level, so of all the pairs of one merge at most
// one moves weight across a given point, and that one half its weight: one of the c values of a
// level. With L levels above the lowest, the distribution function of what is kept differs from the
// stream's by at most L/c at any point (worst case: every merge erring the same way). Taking turns,
// the errors of neighbouring pairs cancel under a kernel that is wide against their distance.
// Only values of the stream are kept: means of neighbours would put light values between the points
// of a lattice, beside which each point looks heavy. The idea: Munro & Paterson (1980); Manku,
// Rajagopalan & Lindsay (SIGMOD 1998).
#pragma once

#include "core/room.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kde {

class ByteReader;  // saved_bytes.h
class ByteWriter;

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

  // What load() of a compactor of the same capacity goes on from as if it had never stopped.
  // Throws std::bad_alloc.
  void save(ByteWriter* out) const;
  // Null, or what is wrong with the bytes: they must hold `count` values, each within [min, max].
  // The compactor is fit for nothing after an error. Throws std::bad_alloc.
  const char* load(ByteReader* in, std::int64_t count, double min, double max);

 private:
  struct Level {
    std::vector<double> values;  // in ascending order, but on the lowest level
    bool upper_first = false;    // which of the next merge's first pair goes up
  };

  void merge_up(std::size_t level);

  std::size_t capacity_;
  std::vector<Level> levels_;
};

}  // namespace kde
