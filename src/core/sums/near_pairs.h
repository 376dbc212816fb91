// Internal to src/core/sums: the sum over pairs taken directly, over those within reach alone, for
// bandwidths so narrow that a grid would have more nodes than there are such pairs.
#pragma once

#include <cstdint>
#include <span>

#include "core/control.h"
#include "core/room.h"
#include "core/status.h"

namespace kde {

// K^(r)(z) = He_r(z) phi(z) for even r, 0 <= r <= 10 (Hermite polynomials by their recurrence,
// Abramowitz & Stegun 22.7.14).
double gaussian_derivative(int r, double z);

// Pairs i < j with x_j - x_i <= kReach g, or a number above `limit` once there are more.
// x: ascending.
std::int64_t count_near_pairs(std::span<const double> x, double g, std::int64_t limit);

// *sum = sum over the pairs i < j within kReach g of w_i w_j K^(r)((x_i - x_j)/g), x ascending.
// Errors: cancelled, out_of_memory.
Status sum_near_pairs(std::span<const double> x, std::span<const double> weights, int r, double g,
                      const Control& control, double* sum);

}  // namespace kde
