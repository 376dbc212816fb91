// Numbers as a row of bytes and back, for what is saved on this machine and read on it again: in
// its own byte order, without gaps.
#pragma once

#include "core/room.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace kde {

// Every bit of a finite number, whatever its width here, without padding: the exponent, and the
// mantissa as doubles, each the nearest to what the ones before left.
struct LongParts {
  std::int32_t exponent = 0;
  double mantissa[3] = {};  // 3 x 53 bits hold the 113 of the widest long double

  LongParts() = default;
  explicit LongParts(long double x) {
    int e = 0;
    x = std::frexp(x, &e);
    exponent = e;
    for (double& part : mantissa) {
      part = static_cast<double>(x);
      x -= part;
    }
  }
  long double value() const {
    long double x = 0;
    for (double part : mantissa) x += part;
    return std::ldexp(x, exponent);
  }
  // To the bit: 0 and -0 differ.
  bool same(const LongParts& other) const {
    bool same = exponent == other.exponent;
    for (int i = 0; i < 3; ++i)
      same = same && std::bit_cast<std::uint64_t>(mantissa[i]) ==
                         std::bit_cast<std::uint64_t>(other.mantissa[i]);
    return same;
  }
};

// Throws std::bad_alloc.
class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::uint8_t>* out) : out_(out) {}

  template <typename T>
  void put(const T& x) {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, long double>);
    append(&x, sizeof x);
  }
  template <typename T>
  void put_all(const std::vector<T>& list) {
    static_assert(std::is_arithmetic_v<T>);
    append(list.data(), list.size() * sizeof(T));
  }
  void put_long(long double x) {
    const LongParts parts(x);
    put(parts.exponent);
    for (double part : parts.mantissa) put(part);
  }

 private:
  void append(const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    const std::size_t old = out_->size();
    out_->resize(old + bytes);
    std::memcpy(out_->data() + old, from, bytes);
  }

  std::vector<std::uint8_t>* out_;
};

// Reads zeros beyond the end, and remembers that it did.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : left_(bytes) {}

  template <typename T>
  T take() {
    T x{};
    read(&x, sizeof x);
    return x;
  }
  // False, and nothing is allocated, if so many are not there. Throws std::bad_alloc.
  template <typename T>
  bool take_all(std::uint64_t count, std::vector<T>* list) {
    if (count > left_.size() / sizeof(T)) {
      short_ = true;
      return false;
    }
    list->resize(static_cast<std::size_t>(count));
    read(list->data(), list->size() * sizeof(T));
    return true;
  }
  // Parts that are not those of any number count as missing.
  long double take_long() {
    LongParts parts;
    parts.exponent = take<std::int32_t>();
    for (double& part : parts.mantissa) part = take<double>();
    const long double x = parts.value();
    if (!std::isfinite(x) || !LongParts(x).same(parts)) short_ = true;
    return x;
  }

  // Whether exactly everything was read.
  bool at_end() const { return left_.empty() && !short_; }

 private:
  void read(void* to, std::size_t bytes) {
    if (bytes > left_.size()) {
      short_ = true;
      left_ = {};
      return;
    }
    if (bytes > 0) std::memcpy(to, left_.data(), bytes);
    left_ = left_.subspan(bytes);
  }

  std::span<const std::uint8_t> left_;
  bool short_ = false;
};

}  // namespace kde
