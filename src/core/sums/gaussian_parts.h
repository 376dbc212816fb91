// Internal to src/core/sums: what the engines of gaussian_sums.h are assembled from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/control.h"
#include "core/status.h"
#include "core/sums/gaussian_sums.h"

namespace kde {

// The engine of gaussian_reference.cpp. points: as make_gaussian_sums, already checked. May throw
// std::bad_alloc.
std::unique_ptr<GaussianPairSums> make_reference_gaussian_sums(std::span<const double> points,
                                                               int d, const Control& control);

// The engine of gaussian_line.cpp, here the owner of its sums. May throw std::bad_alloc.
std::unique_ptr<GaussianPairSums> make_owning_line_sums(std::unique_ptr<PairSums> sums);

// The engine of gaussian_tiled.cpp over the kernels of `target`, one of simd_targets(). Errors:
// cancelled. May throw std::bad_alloc.
Status make_tiled_gaussian_sums(std::span<const double> points, int d, std::int64_t target,
                                Precision precision, const Control& control,
                                std::unique_ptr<GaussianPairSums>* out);

// What every engine refuses: a sweep without bandwidths, with as many results as that, or with a
// bandwidth that is not positive and finite; a matrix that is not d x d, finite and lower
// triangular; a scatter of another size than d x d.
Status check_sweep(std::span<const double> h, std::size_t results);
Status check_full(int d, std::span<const double> a);
Status check_scatter(int d, double once, double twice, std::size_t scatter);

// ---- the vector code ---------------------------------------------------------------------------

// Work is cut into rectangles of pairs of so many points by so many; the kernels keep copies of
// them on the stack.
inline constexpr std::size_t kGaussianRows = 64;
inline constexpr std::size_t kGaussianColumns = 256;

// Terms e below 2^-kGaussianReach are left out: at most 2^-63 n^2 = 1.1e-19 n^2 in all. So e^2 >=
// 2^-124 is a normal number in single precision as well.
inline constexpr double kGaussianReach = 62;

// No coordinate of a PointTile is larger, so that no square overflows in single precision.
inline constexpr double kGaussianSpan = 1e12;

// Coordinate k of point i is coordinates[k * stride + i].
struct PointTile {
  const double* coordinates;
  std::size_t stride;
  std::size_t count;
};

// Row i makes a pair with every column j > i + first. `centre`, d coordinates, is subtracted from
// both in double before they are rounded: best between them.
struct PointRectangle {
  PointTile rows;     // 1 .. kGaussianRows
  PointTile columns;  // 1 .. kGaussianColumns
  std::ptrdiff_t first;
  const double* centre;
  std::size_t d;
};

// The vector code for one instruction set and one word length; sums are accumulated in double.
struct GaussianKernels {
  // For scales[k], 1e-35 to 1e30: out[2 k] += sum e, out[2 k + 1] += sum e^2, e = 2^(-s scales[k])
  // with s the squared distance.
  using Sweep = void (*)(const PointRectangle& pairs, std::span<const double> scales, double* out);
  // Four a scale: sum e, sum e^2, sum S e, sum S e^2 with S = s.
  using Slopes = Sweep;
  // out[0] += sum e, out[1] += sum e^2, and from out[2] on the lower triangle, d (d + 1)/2 numbers
  // row by row, of sum (once e + twice e^2) y y', y the difference of two points.
  using Scatter = void (*)(const PointRectangle& pairs, double scale, double once, double twice,
                           double* out);
  // out[i] += sum over the columns of 2^(-s scale), 0 where s scale is `reach` or more.
  using AtRows = void (*)(const PointRectangle& pairs, double scale, double reach, double* out);
  Sweep sweep;
  Slopes slopes;
  Scatter scatter;
  AtRows at_rows;  // rows and columns are different points: `first` is -kGaussianRows
};

// target is one of simd_targets(). Safe from any thread.
GaussianKernels gaussian_kernels(std::int64_t target, Precision precision);

}  // namespace kde
