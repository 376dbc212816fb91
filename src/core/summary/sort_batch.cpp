// The sort of a summary's batches: a few thousand values, over and over.
//
// It is the radix sort of sort.cpp on fewer digits: on the kPrefix bits that begin where the values
// differ at all, which put nearly every value of a batch in its place. Runs of equal prefixes, if
// they are out of order, are sorted by comparisons. (Highway's vectorised quicksort is faster, but
// in a shared library whose loading costs a backend's first query 3 ms.)
#include "core/summary/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace kde {
namespace {

constexpr int kDigitBits = 10;
constexpr int kDigits = 3;
constexpr int kPrefix = kDigits * kDigitBits;
constexpr std::size_t kDigitValues = std::size_t{1} << kDigitBits;
// Up to here sorting by comparisons is as fast.
constexpr std::size_t kFew = 128;

// Integers that ascend with the doubles, and back.
std::uint64_t ascending_bits(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto sign = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> 63);
  return bits ^ (sign | std::uint64_t{1} << 63);
}
double value_of(std::uint64_t ascending) {
  const std::uint64_t positive = ascending >> 63;
  return std::bit_cast<double>(ascending ^ ((positive - 1) | std::uint64_t{1} << 63));
}

}  // namespace

void sort_batch(std::span<double> values, std::span<double> scratch) noexcept {
  if (std::is_sorted(values.begin(), values.end())) return;
  const std::size_t n = values.size();
  if (n <= kFew) {
    std::sort(values.begin(), values.end());
    return;
  }
  // In both arrays doubles stand for integers of the same bits.
  const std::uint64_t first = ascending_bits(values[0]);
  std::uint64_t differences = 0;
  for (double& x : values) {
    const std::uint64_t bits = ascending_bits(x);
    differences |= bits ^ first;
    x = std::bit_cast<double>(bits);
  }
  const int shift = std::max(64 - std::countl_zero(differences) - kPrefix, 0);
  const auto digit = [shift](double x, int k) {
    return (std::bit_cast<std::uint64_t>(x) >> (shift + k * kDigitBits)) & (kDigitValues - 1);
  };

  std::array<std::array<std::uint32_t, kDigitValues>, kDigits> places{};
  for (double x : values)
    for (int k = 0; k < kDigits; ++k) ++places[static_cast<std::size_t>(k)][digit(x, k)];
  double* from = values.data();
  double* to = scratch.data();
  for (int k = 0; k < kDigits; ++k) {
    auto& place = places[static_cast<std::size_t>(k)];
    if (place[digit(from[0], k)] == n) continue;  // all have the same
    std::uint32_t next = 0;
    for (std::uint32_t& here : place) {
      const std::uint32_t count = here;
      here = next;
      next += count;
    }
    for (std::size_t i = 0; i < n; ++i) to[place[digit(from[i], k)]++] = from[i];
    std::swap(from, to);
  }
  for (std::size_t i = 0; i < n; ++i) values[i] = value_of(std::bit_cast<std::uint64_t>(from[i]));
  if (shift == 0) return;

  const auto prefix = [shift](double x) { return ascending_bits(x) >> shift; };
  for (std::size_t i = 1; i < n; ++i) {
    if (!(values[i] < values[i - 1])) continue;
    std::size_t begin = i - 1;
    std::size_t end = i + 1;
    while (begin > 0 && prefix(values[begin - 1]) == prefix(values[i])) --begin;
    while (end < n && prefix(values[end]) == prefix(values[i])) ++end;
    std::sort(values.begin() + static_cast<std::ptrdiff_t>(begin),
              values.begin() + static_cast<std::ptrdiff_t>(end));
    i = end - 1;
  }
}

}  // namespace kde
