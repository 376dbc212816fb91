// Cells by key, with their rows and what measures have in them: a hash table, open-addressed with
// linear probing (D. E. Knuth, The Art of Computer Programming, vol. 3, section 6.4), at most three
// quarters full.
//
// It owns no memory and has no destructor: its array comes from a Memory (summary/memory.h).
#pragma once

#include "core/function_ref.h"
#include "core/status.h"
#include "core/summary/memory.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace kde {

class GridTable {
 public:
  // A slot is a key, the rows, and of each measure rows, sum and squares.
  explicit GridTable(int measures = 0) : stride_(2 + 3 * static_cast<std::size_t>(measures)) {}

  std::size_t stride() const { return stride_; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  double* slot(std::size_t i) const { return slots_ + i * stride_; }
  bool is_used(std::size_t i) const { return std::bit_cast<std::int64_t>(slot(i)[0]) != 0; }
  std::int64_t key_at(std::size_t i) const {
    return std::bit_cast<std::int64_t>(slot(i)[0]) ^ kNoKey;
  }

  // Where a key is, or is to be.
  std::size_t slot_of(std::int64_t key) const {
    const std::size_t mask = capacity_ - 1;
    std::size_t i = hash_of(key) & mask;
    while (is_used(i) && key_at(i) != key) i = (i + 1) & mask;
    return i;
  }
  void prefetch(std::int64_t key) const {
    const double* at = slot(hash_of(key) & (capacity_ - 1));
    __builtin_prefetch(at);
    __builtin_prefetch(at + stride_ - 1);
  }
  // Makes slot_of() that of a new key, with nothing in it; there is room.
  void put(std::size_t at, std::int64_t key) {
    slot(at)[0] = std::bit_cast<double>(key ^ kNoKey);
    ++size_;
  }
  // Adds what a slot has, but its key; there is room.
  void add(std::int64_t key, const double* from) {
    const std::size_t at = slot_of(key);
    if (!is_used(at)) put(at, key);
    double* to = slot(at);
    for (std::size_t i = 1; i < stride_; ++i) to[i] += from[i];
  }

  // Whether one more key takes more memory.
  bool is_full() const { return capacity_for(size_ + 1) > capacity_; }
  // For one more key. Errors, as of all that follow: out_of_memory; it is then as it was.
  Status make_room(const Memory& memory) { return reserve(memory, size_ + 1); }
  // For so many keys. Keys that come in the order of another table's slots fill a smaller one from its
  // front, where all are searched for one after another.
  Status reserve(const Memory& memory, std::size_t size);
  // The same cells under other keys, where those of several may be one.
  Status map(const Memory& memory, FunctionRef<std::int64_t(std::int64_t)> key);
  void release(const Memory& memory);

 private:
  // Of no cell.
  static constexpr std::int64_t kNoKey = std::numeric_limits<std::int64_t>::min();

  static constexpr std::size_t kFirstCapacity = 16;

  static std::size_t capacity_for(std::size_t size) {
    return std::max(kFirstCapacity, std::bit_ceil((4 * size + 2) / 3));
  }
  static std::size_t hash_of(std::int64_t key) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
    const std::uint64_t mixed = static_cast<std::uint64_t>(key) * kOdd;
    return static_cast<std::size_t>((mixed ^ mixed >> 32) * kOdd >> 32);
  }
  template <typename Key>
  Status rebuild(const Memory& memory, std::size_t capacity, const Key& key);

  std::size_t stride_;
  std::size_t size_ = 0, capacity_ = 0;  // capacity: a power of 2, or 0
  double* slots_ = nullptr;
};

}  // namespace kde
