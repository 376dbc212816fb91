// Exact counts of a column's distinct values, as long as they are few.
#pragma once

#include "core/room.h"

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kde {

class ByteReader;  // saved_bytes.h
class ByteWriter;

class DistinctCounts {
 public:
  // Gives up, and frees its memory, at the first value beyond `limit` distinct ones.
  explicit DistinctCounts(std::size_t limit) : limit_(limit) {}

  void add(double x) {
    if (overflowed_) return;
    if (x == last_ && last_count_ != nullptr) {
      ++*last_count_;
      return;
    }
    std::int64_t& count = counts_[x + 0.0];  // -0 and 0 are one value
    if (++count == 1 && counts_.size() > limit_) {
      overflowed_ = true;
      last_count_ = nullptr;
      std::unordered_map<double, std::int64_t>().swap(counts_);
      return;
    }
    last_ = x;
    last_count_ = &count;  // a node's address survives rehashing
  }

  bool overflowed() const { return overflowed_; }

  // (value, count) in ascending order of value; empty after an overflow.
  std::vector<std::pair<double, std::int64_t>> sorted() const;

  // As those of Compactor. Of `count` values, from min to max.
  void save(ByteWriter* out) const;
  const char* load(ByteReader* in, std::int64_t count, double min, double max);

 private:
  std::size_t limit_;
  bool overflowed_ = false;
  std::unordered_map<double, std::int64_t> counts_;
  double last_ = 0;
  std::int64_t* last_count_ = nullptr;
};

}  // namespace kde
