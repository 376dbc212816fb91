// The axis of heights: from 0, with ticks at multiples of 1, 2 or 5 times a power of ten.
#pragma once

#include "core/room.h"

#include <string>

namespace kde {

// The least of 1, 2, 5 times a power of ten that is not below x > 0; 1 of 0.
double round_up(double x);

// Ticks at k step; 0 <= k step <= top. most >= 0: what is to be shown.
struct Scale {
  double step = 1, top = 1;
};
// With about so many ticks, and as little as may be above `most`.
Scale scale_of(double most, int ticks);

// A scale of `rows` rows of characters, >= 1, each as high: a tick every `rows_a_tick` of them.
struct RowScale {
  double step = 1, top = 1;
  int rows_a_tick = 1;
};
RowScale row_scale_of(double most, int rows);

// In at most six characters: "0", "0.05", "250", "1.5k", "20M", "5e-07".
std::string short_number(double x);

}  // namespace kde
