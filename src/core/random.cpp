// The Mersenne Twister's recurrence: degree 312, shift 156, 31 bits of a word's lower part.
#include "core/random.h"

namespace kde {

Random::Random(std::uint64_t seed) {
  state_[0] = seed;
  for (int i = 1; i < kWords; ++i) {
    const std::uint64_t last = state_[i - 1];
    state_[i] = 6364136223846793005u * (last ^ last >> 62) + static_cast<std::uint64_t>(i);
  }
}

void Random::twist() {
  constexpr int kShift = 156;
  constexpr std::uint64_t kLower = 0x7fffffff;
  for (int i = 0; i < kWords; ++i) {
    const std::uint64_t y = (state_[i] & ~kLower) | (state_[(i + 1) % kWords] & kLower);
    const std::uint64_t odd = (y & 1) != 0 ? 0xb5026f5aa96619e9 : 0;
    state_[i] = state_[(i + kShift) % kWords] ^ y >> 1 ^ odd;
  }
  at_ = 0;
}

}  // namespace kde
