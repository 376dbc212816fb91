// The images of reflection.h.
#include "core/estimate/reflection.h"

#include <algorithm>
#include <cmath>

namespace kde {

std::vector<WeightedValue> mirror_images(std::span<const WeightedValue> values, double lower,
                                         double upper, double reach) {
  std::vector<WeightedValue> images;
  const double period = 2 * (upper - lower);
  const double low = lower - reach;
  const double high = upper + reach;
  const int repeats = static_cast<int>(std::ceil(reach / period)) + 1;
  for (const WeightedValue& v : values) {
    for (int k = -repeats; k <= repeats; ++k) {
      const double same = v.value + k * period;
      const double flipped = 2 * lower - v.value + k * period;
      if (k != 0 && same >= low && same <= high) images.push_back({same, v.weight});
      if (flipped >= low && flipped <= high) images.push_back({flipped, v.weight});
    }
  }
  std::sort(images.begin(), images.end(),
            [](const WeightedValue& a, const WeightedValue& b) { return a.value < b.value; });
  return images;
}

}  // namespace kde
