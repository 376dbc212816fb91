// What the requests of core/device/wire.h ask for, read from their bodies and checked: what comes
// out of here a Device can be given.
//
// Errors of all: invalid_argument.
#pragma once

#include <span>
#include <vector>

#include "core/device/wire.h"
#include "core/room.h"
#include "core/status.h"

namespace kde::service {

// Points of one sample, most: beyond them a pass over the pairs takes hours on any card.
inline constexpr std::int64_t kMaxPoints = std::int64_t{1} << 28;

// n >= 2, 1 <= d <= 16; too many points are `too_large`.
Status read_load(std::span<const char> body, wire::Load* out);

// d: of the sample loaded before. Bodies are as long as their type allows (stream.h).
Status read_derivative(std::span<const char> body, int d, wire::Derivative* out);
Status read_sweep(std::span<const char> body, wire::Sweep* out, std::vector<double>* h);
Status read_full(std::span<const char> body, int d, wire::Full* out, std::vector<double>* a);
Status read_density(std::span<const char> body, int d, wire::Density* out, std::vector<double>* a);

bool all_finite(std::span<const double> numbers);

}  // namespace kde::service
