// The duels of block_choice.h: within a stretch blocks of equal chances, so one draw does for all.
#include "core/sampling/block_choice.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace kde {

void choose_blocks(std::uint64_t total, std::span<std::uint64_t> chosen, Random* random) {
  const std::uint64_t wanted = chosen.size();
  const std::uint64_t origin = random->below(total);
  // Chances in parts of `total`: of a block `wanted`, of a stretch `total`. `left` is what the
  // stretches so far left over of a block's chance.
  std::uint64_t next = 0;
  std::uint64_t carried = 0;
  std::uint64_t left = 0;
  for (std::uint64_t& block : chosen) {
    // Whole blocks compete with what was carried, each by its chance.
    const std::uint64_t whole = (total - left) / wanted;
    const std::uint64_t chance = left + whole * wanted;
    const std::uint64_t r = random->below(chance);
    const std::uint64_t winner = r < left ? carried : next + (r - left) / wanted;
    next += whole;
    if (chance == total) {
      block = winner;
      left = 0;
      continue;
    }
    // The block that lies across the end: one of the two is taken, the other carried.
    const std::uint64_t across = next++;
    const bool takes_winner = random->below(2 * total - chance - wanted) < total - wanted;
    block = takes_winner ? winner : across;
    carried = takes_winner ? across : winner;
    left = chance + wanted - total;
  }
  for (std::uint64_t& block : chosen) block = (origin + block) % total;
  // In order but for the place where the circle closes.
  std::sort(chosen.begin(), chosen.end());
}

}  // namespace kde
