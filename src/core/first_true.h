// Bisection.
#pragma once

#include "core/room.h"

namespace kde {

// The first of begin, ..., end - 1 of which `is` is true, `end` if of none. Of those after it, it
// is true as well.
template <typename Number, typename Is>
Number first_true(Number begin, Number end, const Is& is) {
  while (begin < end) {
    const Number middle = begin + (end - begin) / 2;
    if (is(middle)) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

}  // namespace kde
