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
