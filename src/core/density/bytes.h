// The stored form of one density, of any kind, as those build it who make densities: PostgreSQL's
// value of the type `kde`, but for the varlena word, which is 0.
#pragma once

#include "core/room.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kde {

struct Header;

// size() bytes, 8-byte aligned as views need them; the rest of the last word is 0.
class DensityBytes {
 public:
  DensityBytes() = default;
  // All 0. Throws std::bad_alloc.
  explicit DensityBytes(std::size_t size)
      : words_((size + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t)), size_(size) {}

  std::size_t size() const { return size_; }
  std::size_t whole_words() const { return words_.size() * sizeof(std::uint64_t); }  // in bytes
  char* data() { return reinterpret_cast<char*>(words_.data()); }
  const char* data() const { return reinterpret_cast<const char*>(words_.data()); }
  // Of one column (see Kind).
  Header& header() { return *reinterpret_cast<Header*>(words_.data()); }
  const Header& header() const { return *reinterpret_cast<const Header*>(words_.data()); }

  bool operator==(const DensityBytes&) const = default;

 private:
  std::vector<std::uint64_t> words_;
  std::size_t size_ = 0;
};

}  // namespace kde
