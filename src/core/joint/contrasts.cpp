// See contrasts.h.
#include "core/joint/contrasts.h"

#include "core/random.h"

#include <algorithm>
#include <cstddef>

namespace kde {

namespace {

constexpr std::size_t kLeastPairs = 4;

}  // namespace

double count_effect(const ContrastSums& sums, std::span<const float> balance, double p) {
  double variance = 0;
  for (std::size_t g = 0; g < balance.size(); ++g) {
    const double u = sums.rows[g] - p * double{balance[g]};
    variance += u * u;
  }
  const double alone = sums.alone * (1 - p);
  return alone > 0 ? variance / alone : 1;
}

double mean_effect(const ContrastSums& sums, double mean) {
  double variance = 0;
  for (int g = 0; g < kMostContrasts; ++g) {
    const double u = sums.power[g] - mean * sums.valued[g];
    variance += u * u;
  }
  const double(&s)[3] = sums.valued_alone;
  const double alone = s[2] - 2 * mean * s[1] + mean * mean * s[0];
  return alone > 0 ? variance / alone : 1;
}

int make_contrasts(std::span<const std::uint32_t> rows, std::span<const std::uint32_t> row_block,
                   std::size_t blocks, std::uint64_t seed, std::vector<std::uint8_t>* code) {
  code->clear();
  const std::size_t pairs = blocks / 2;
  if (pairs < kLeastPairs) return 0;
  const std::size_t contrasts = std::min<std::size_t>(pairs, kMostContrasts);
  Random random(seed ^ 0x3c6ef372fe94f82bu);
  std::vector<std::uint8_t> of_block(blocks);
  for (std::size_t b = 0; b < blocks; b += 2) {
    // The last one of an odd number is by itself: its residual is about 0, too.
    const std::size_t sign = random.below(2);
    of_block[b] = static_cast<std::uint8_t>(2 * (b / 2 % contrasts) + sign);
    if (b + 1 < blocks) of_block[b + 1] = of_block[b] ^ 1U;
  }
  code->reserve(rows.size());
  for (const std::uint32_t row : rows) code->push_back(of_block[row_block[row]]);
  return static_cast<int>(contrasts);
}

}  // namespace kde
