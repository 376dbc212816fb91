// What the functions of DeviceSample (device.h) refuse, whoever computes them: arguments without
// meaning, and spans whose sizes do not fit each other. Errors of all: invalid_argument.
#pragma once

#include <cstddef>
#include <span>

#include "core/status.h"

namespace kde {

// Of points and queries the shape alone; that they are finite is for others to see.
Status check_device_points(std::size_t values, int d);

// For a sample in d dimensions.
Status check_device_derivative(int d, int r, double g);
Status check_device_sweep(std::span<const double> h, bool slopes, std::size_t results);
Status check_device_full(int d, std::span<const double> a, std::size_t results);
Status check_device_scatter(int d, std::span<const double> a, double once, double twice,
                            std::size_t results);
Status check_device_density(int d, std::span<const double> a, std::size_t queries,
                            std::size_t results);

}  // namespace kde
