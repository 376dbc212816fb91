// A radix sort from the least significant digit on: for each digit in turn the values are moved, in
// the order that the digits before have given them, to where the counts of that digit say. Source:
// D. E. Knuth, The Art of Computer Programming, vol. 3 (1998), section 5.2.5, algorithm R. It takes
// n steps a digit, where sorting by comparisons takes n log n that no processor predicts: a million
// values in a quarter of std::sort's time.
//
// One thread does it: two would have to wait for each other sixteen times, which on a busy machine
// costs more than it gains. (Highway's vectorised quicksort is faster, but in a shared library
// whose loading costs a backend's first query 3 ms.)
#include "core/summary/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kde {
namespace {

// Values between two polls, a fraction of a millisecond.
constexpr std::size_t kBlock = std::size_t{1} << 16;
// So few that comparisons are as fast.
constexpr std::size_t kFew = 1024;

// Integers that ascend with the doubles, and back: those of negative numbers descend, and are
// inverted.
std::uint64_t ascending_bits(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto sign = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> 63);
  return bits ^ (sign | std::uint64_t{1} << 63);
}
double value_of(std::uint64_t ascending) {
  const std::uint64_t positive = ascending >> 63;
  return std::bit_cast<double>(ascending ^ ((positive - 1) | std::uint64_t{1} << 63));
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

// False if control asked to stop. `scratch` has room for as many.
bool sort_by_digits(std::span<double> values, double* scratch, const Control& control) {
  constexpr std::size_t kDigits = 8, kDigitValues = 256;
  const std::size_t n = values.size();
  // In both arrays doubles stand for integers of the same bits.
  const auto digit = [](double x, std::size_t k) {
    return (std::bit_cast<std::uint64_t>(x) >> 8 * k) & (kDigitValues - 1);
  };
  std::array<std::array<std::uint32_t, kDigitValues>, kDigits> places{};
  const auto count = [&](std::size_t i) {
    values[i] = std::bit_cast<double>(ascending_bits(values[i]));
    for (std::size_t k = 0; k < kDigits; ++k) ++places[k][digit(values[i], k)];
  };
  if (!for_each(n, control, count)) return false;
  double* from = values.data();
  double* to = scratch;
  for (std::size_t k = 0; k < kDigits; ++k) {
    auto& place = places[k];
    if (place[digit(from[0], k)] == n) continue;  // all have the same
    std::uint32_t next = 0;
    for (std::uint32_t& here : place) {
      const std::uint32_t in_digit = here;
      here = next;
      next += in_digit;
    }
    const auto move = [&](std::size_t i) { to[place[digit(from[i], k)]++] = from[i]; };
    if (!for_each(n, control, move)) return false;
    std::swap(from, to);
  }
  return for_each(n, control, [&](std::size_t i) {
    values[i] = value_of(std::bit_cast<std::uint64_t>(from[i]));
  });
}

}  // namespace

bool sort_values(std::vector<double>* values, const Control& control) {
  if (std::is_sorted(values->begin(), values->end())) return true;
  if (values->size() <= kFew) {
    std::sort(values->begin(), values->end());
    return true;
  }
  std::vector<double> scratch(values->size());
  return sort_by_digits(*values, scratch.data(), control);
}

}  // namespace kde
