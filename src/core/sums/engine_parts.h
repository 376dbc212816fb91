// What the engines are assembled from; nothing but them includes this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/control.h"
#include "core/status.h"
#include "core/sums/pair_sums.h"

namespace kde {

// The engine of reference.cpp. x: as make_pair_sums, already checked. May throw std::bad_alloc.
std::unique_ptr<PairSums> make_reference_sums(std::span<const double> x, const Control& control);

// The engine of tiled.cpp over the kernels of `target`, which must be one of simd_targets().
// sorted: two or more finite values in ascending order. May throw std::bad_alloc.
std::unique_ptr<PairSums> make_tiled_sums(std::vector<double> sorted, std::int64_t target,
                                          Precision precision, const Control& control);

// The engine of tied.cpp, for values that repeat; otherwise as make_tiled_sums.
std::unique_ptr<PairSums> make_tied_sums(const std::vector<double>& sorted, std::int64_t target,
                                         const Control& control);

// The points of one tile are at most this many; the kernels keep a tile's copy on the stack.
inline constexpr std::size_t kTilePoints = 512;

// Pairs farther apart than this many g may be left out of the sum of K^(r): beyond it |K^(r)|
// falls, and is less than 1e-19 of its peak |K^(r)(0)|. So of the sum over n points no more is
// dropped than n^2/2 times
//
//   r                      0        2        4        6        8        10
//   |K^(r)(reach)|    4.6e-25  5.0e-23  5.3e-21  5.4e-19  3.6e-19  3.7e-17
//   reach                10.5     10.5     10.5     10.5       11       11
//
// kReach is what the grid of the spectral engine takes for every r, for its own bound (spectral.h).
inline constexpr double kReach = 10.5;
constexpr double kernel_reach(int r) { return r <= 6 ? kReach : 11; }

// The vector code for one instruction set and one word length. Every function returns the sum of
// K^(r)((x - y)/g) without its constant factor 1/sqrt(2 pi), accumulated in double; g > 0.
struct DerivativeKernels {
  // Over pairs of one point of `low` and one of `high`. Each holds 1 .. kTilePoints values in
  // ascending order and no value of `low` is above one of `high`.
  using Cross = double (*)(std::span<const double> low, std::span<const double> high, double g);
  // Over the unordered pairs within `points`, 1 .. kTilePoints values in ascending order.
  using Triangle = double (*)(std::span<const double> points, double g);

  // sum over k of weights[k] times the term of (points[k] - x), always in double. points: finite;
  // weights: as many, finite.
  using Row = double (*)(double x, std::span<const double> points, std::span<const double> weights,
                         double g);

  Cross cross;
  Triangle triangle;
  Row weighted_row;
};

// r: as is_derivative_order; target is one of simd_targets(). Safe from any thread.
DerivativeKernels derivative_kernels(std::int64_t target, Precision precision, int r);

}  // namespace kde
