// Cells by key, with their rows and what measures have in them. Where many are neighbours, between ends
// one after another, a window of these is an array; all others are in a hash table, open-addressed with
// linear probing (D. E. Knuth, The Art of Computer Programming, vol. 3, section 6.4), at most three
// quarters full. So the cells of rows that are near each other lie side by side.
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
  static constexpr std::size_t kMostWindow = std::size_t{1} << 18;

  // A slot is a key, the rows, and of each measure rows, sum and squares.
  explicit GridTable(int measures = 0) : stride_(2 + 3 * static_cast<std::size_t>(measures)) {}

  std::size_t stride() const { return stride_; }
  std::size_t size() const { return size_; }
  // First those of the window, by key.
  std::size_t slots() const { return window_ + capacity_; }
  std::size_t window() const { return window_; }
  std::size_t hashed() const { return hashed_; }  // keys that are beyond it
  std::int64_t first() const { return first_; }   // key of the window's first slot
  double* slot(std::size_t i) const { return slots_ + i * stride_; }
  bool is_used(std::size_t i) const { return std::bit_cast<std::int64_t>(slot(i)[0]) != 0; }
  std::int64_t key_at(std::size_t i) const {
    return std::bit_cast<std::int64_t>(slot(i)[0]) ^ kNoKey;
  }

  // Where a key is, or is to be; there is a slot.
  std::size_t slot_of(std::int64_t key) const {
    std::size_t i = first_slot_of(key);
    if (i < window_) return i;
    while (is_used(i) && key_at(i) != key) i = window_ + ((i - window_ + 1) & (capacity_ - 1));
    return i;
  }
  void prefetch(std::int64_t key) const {
    const double* at = slot(first_slot_of(key));
    __builtin_prefetch(at);
    __builtin_prefetch(at + stride_ - 1);
  }
  // Makes slot_of() that of a new key, with nothing in it; there is room.
  void put(std::size_t at, std::int64_t key) {
    slot(at)[0] = std::bit_cast<double>(key ^ kNoKey);
    ++size_;
    hashed_ += at < window_ ? 0 : 1;
  }
  // Adds what a slot has, but its key; there is room.
  void add(std::int64_t key, const double* from) {
    const std::size_t at = slot_of(key);
    if (!is_used(at)) put(at, key);
    double* to = slot(at);
    for (std::size_t i = 1; i < stride_; ++i) to[i] += from[i];
  }

  // Whether one more key than there is room for. It grows by make_room() alone.
  bool is_full() const { return capacity_for(size_ + 1) > room_; }
  // For one more key. Errors, as of all that follow: out_of_memory; it must not be used further.
  Status make_room(const Memory& memory) {
    room_ = std::max(room_, capacity_for(size_ + 1));
    return reserve(memory, hashed_ + 1);
  }
  // Of a table that has none: as another's, with so many keys beyond its window.
  Status begin(const Memory& memory, std::size_t hashed, std::int64_t first, std::size_t window);
  // For so many keys beyond the window. Keys that come in the order of another table's slots fill a
  // smaller one from its front, where all are searched for one after another.
  Status reserve(const Memory& memory, std::size_t hashed);
  Status reserve_like(const Memory& memory, const GridTable& other) {
    room_ = std::max(room_, capacity_for(other.size_));
    return reserve(memory, other.hashed_);
  }
  // The same cells under other keys, where those of several may be one, and with another window.
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
  // The slot of the window, or else where the search begins. The window's are odd.
  std::size_t first_slot_of(std::int64_t key) const {
    const auto place = static_cast<std::size_t>(
        std::rotr(static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(first_), 1));
    return place < window_ ? place : window_ + (hash_of(key) & (capacity_ - 1));
  }
  Status rebuild(const Memory& memory, std::size_t capacity, std::int64_t first,
                 std::size_t window);
  void choose_window(std::int64_t* first, std::size_t* window) const;

  std::size_t stride_;
  std::size_t size_ = 0, hashed_ = 0;  // of these beyond the window
  std::size_t room_ = 0;               // 0 or a power of 2, as if all were hashed
  std::size_t capacity_ = 0;           // of what is hashed: a power of 2, or 0
  std::int64_t first_ = 0;
  std::size_t window_ = 0;
  double* slots_ = nullptr;
};

}  // namespace kde
