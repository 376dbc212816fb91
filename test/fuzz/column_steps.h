// The values of a column from a libFuzzer input: steps, each a byte that says what comes and its
// numbers. Raw doubles reach the ends of double precision; whole numbers, decimals, runs, repeats
// and draws reach the estimates that look for lattices, heaps and atoms.
#pragma once

#include "core/random.h"

#include "input.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace kde::fuzz {

// The value of a column whose type has that step (FitOptions::lattice_step) nearest to x; x where
// there is no step, and beyond 2^53 steps, where every number is as near to a multiple as double
// precision has it. A type's values all keep to its step: what a fit makes of others is no matter.
inline double on_step(double x, double step) {
  if (!(step > 0) || !(std::fabs(x) / step < 0x1p53)) return x;
  // Decimals are the nearest numbers to their multiples, which a product may not be.
  const double per_unit = std::nearbyint(1 / step);
  return step < 1 ? std::nearbyint(x * per_unit) / per_unit : std::nearbyint(x / step) * step;
}

// Feeds at most `rows` values: value(x) for each, null() for each NULL, block() where a new block
// of the table begins.
template <typename Value, typename Null, typename Block>
void take_column(Input* in, std::size_t rows, Value value, Null null, Block block) {
  double last = 0;
  const auto put = [&](double x) {
    if (rows == 0) return;
    --rows;
    value(x);
    last = x;
  };
  while (!in->spent() && rows > 0) {
    switch (in->choice(10)) {
      case 0:
        put(in->take<double>());
        break;
      case 1:
        put(in->take<std::int8_t>());
        break;
      case 2:  // decimals
        put(in->take<std::int16_t>() / std::pow(10.0, in->choice(4)));
        break;
      case 3:
        put(in->take<float>());
        break;
      case 4: {
        const double x = last;
        for (int n = in->choice(40); n > 0; --n) put(x);
        break;
      }
      case 5: {  // a run: the last value and on
        const double step = in->take<float>();
        for (int n = in->choice(40); n > 0; --n) put(last + step);
        break;
      }
      case 6: {  // draws
        const double centre = last;
        const double width = in->take<float>();
        const bool whole = in->choice(2) == 0;
        const bool tail = in->choice(2) == 0;
        Random random(in->take<std::uint8_t>());
        for (int n = in->choice(200); n > 0; --n) {
          const double u = tail ? -std::log(random.uniform()) : random.uniform();
          put(whole ? std::floor(centre + width * u) : centre + width * u);
        }
        break;
      }
      case 7: {
        constexpr double kSpecial[] = {
            std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
            -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::max(),
            -std::numeric_limits<double>::max(),      std::numeric_limits<double>::denorm_min(),
            std::numeric_limits<double>::min(),       -0.0};
        const double x = last;
        put(kSpecial[in->choice(8)]);
        if (!std::isfinite(last)) last = x;
        break;
      }
      case 8:
        null();
        break;
      default:
        block();
    }
  }
}

}  // namespace kde::fuzz
