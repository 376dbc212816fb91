// A libFuzzer input read from the left as numbers; zeros when it is spent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace kde::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  bool spent() const { return left_ == 0; }
  template <typename T>
  T take() {
    T out{};
    const std::size_t bytes = sizeof out < left_ ? sizeof out : left_;
    if (bytes > 0) std::memcpy(&out, data_, bytes);
    data_ += bytes;
    left_ -= bytes;
    return out;
  }
  // 0 .. most - 1.
  int choice(int most) { return take<std::uint8_t>() % most; }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

}  // namespace kde::fuzz
