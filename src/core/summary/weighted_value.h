// A value and what it counts for: its rows, or its share of them.
#pragma once

#include "core/room.h"

namespace kde {

struct WeightedValue {
  double value;
  double weight;
};

}  // namespace kde
