// A distribution function as steps: what is packed, and measured then.
//
// Between two steps the function is linear, from `through` of the one to `below` of the other; at a
// step it jumps from `below` to `through`. x is the value or, on a lattice, the number of the
// lattice point, where only whole x matter. Off a lattice no two neighbours lie on different sides
// of 0: what does is divided there, by width.
#pragma once

#include "core/density/histogram.h"

#include <cstdint>
#include <vector>

namespace kde {

struct Step {
  double x = 0;
  std::int64_t key = 0;
  double below = 0;    // rows < x, but for what a lattice's range has at x itself
  double through = 0;  // rows <= x
};

struct Steps {
  std::vector<Step> list;  // ascending in x
  bool lattice = false;

  double rows() const { return list.empty() ? 0 : list.back().through; }
};

// The largest distance of two distribution functions over all x (of a lattice: its points).
double largest_distance(const Steps& a, const Steps& b);

}  // namespace kde
