// Internal to src/core/sums: what the engines of gaussian_sums.h are assembled from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/control.h"
#include "core/room.h"
#include "core/status.h"
#include "core/sums/gaussian_sums.h"

namespace kde {

// The engine of gaussian_reference.cpp. points: as make_gaussian_sums, already checked. May throw
// std::bad_alloc.
std::unique_ptr<GaussianPairSums> make_reference_gaussian_sums(std::span<const double> points,
                                                               int d, const Control& control);

// The engine of gaussian_line.cpp, here the owner of its sums. May throw std::bad_alloc.
std::unique_ptr<GaussianPairSums> make_owning_line_sums(std::unique_ptr<PairSums> sums);

// What every engine refuses: a sweep without bandwidths, with as many results as that, or with a
// bandwidth that is not positive and finite; a matrix that is not d x d, finite and lower
// triangular; a scatter of another size than d x d.
Status check_sweep(std::span<const double> h, std::size_t results);
Status check_full(int d, std::span<const double> a);
Status check_scatter(int d, double once, double twice, std::size_t scatter);

}  // namespace kde
