// Makes the engine of Gaussian sums that a caller asks for, and holds the checks that all share.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/sums/device_sums.h"
#include "core/sums/engine_parts.h"
#include "core/sums/finite.h"
#include "core/sums/gaussian_parts.h"
#include "core/guarded.h"

namespace kde {
Status check_sweep(std::span<const double> h, std::size_t results) {
  if (h.empty() || h.size() != results) {
    return Status::error(Code::invalid_argument,
                         "there must be one or more bandwidths, and a result for each");
  }
  if (!std::all_of(h.begin(), h.end(), [](double v) { return v > 0 && std::isfinite(v); })) {
    return Status::error(Code::invalid_argument, "the bandwidth must be positive and finite");
  }
  return Status::success();
}

Status check_full(int d, std::span<const double> a) {
  const std::size_t size = static_cast<std::size_t>(d);
  if (a.size() != size * size) {
    return Status::error(Code::invalid_argument, "the matrix must be %d by %d", d, d);
  }
  bool triangular = true;
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t k = row + 1; k < size; ++k) triangular = triangular && a[row * size + k] == 0;
  }
  if (!triangular || !all_finite(a)) {
    return Status::error(Code::invalid_argument, "the matrix must be finite and lower triangular");
  }
  return Status::success();
}

Status check_scatter(int d, double once, double twice, std::size_t scatter) {
  const std::size_t size = static_cast<std::size_t>(d);
  if (scatter != size * size) {
    return Status::error(Code::invalid_argument, "the scatter must be %d by %d", d, d);
  }
  if (!std::isfinite(once) || !std::isfinite(twice)) {
    return Status::error(Code::invalid_argument, "the weights must be finite");
  }
  return Status::success();
}

Status make_gaussian_sums(const Engine& engine, std::span<const double> points, int d,
                          const Control& control, std::unique_ptr<GaussianPairSums>* out) {
  if (d < 1 || d > kMaxDimensions) {
    return Status::error(Code::invalid_argument, "there must be 1 to %d dimensions",
                         kMaxDimensions);
  }
  const std::size_t size = static_cast<std::size_t>(d);
  if (points.size() % size != 0 || points.size() / size < 2) {
    return Status::error(Code::invalid_argument, "sums over pairs need at least two whole points");
  }
  if (!all_finite(points)) {
    return Status::error(Code::invalid_argument, "values must be finite");
  }
  return guarded([&] {
    if (engine.kind == Engine::Kind::spectral) {
      if (d != 1) {
        return Status::error(Code::invalid_argument,
                             "the spectral engine has sums in one dimension only");
      }
      std::unique_ptr<PairSums> line;
      if (Status s = make_pair_sums(engine, points, control, &line); !s.ok()) return s;
      *out = make_owning_line_sums(std::move(line));
      return Status::success();
    }
    if (engine.kind == Engine::Kind::reference) {
      *out = make_reference_gaussian_sums(points, d, control);
      return Status::success();
    }
    const std::int64_t target = engine.target == 0 ? best_simd_target() : engine.target;
    if (!is_simd_target(target)) {
      return Status::error(Code::invalid_argument,
                           "this processor or build has no such vector instruction set");
    }
    if (engine.kind == Engine::Kind::device)
      return make_device_gaussian_sums(engine, points, d, control, out);
    return make_tiled_gaussian_sums(points, d, target, engine.precision, control, out);
  });
}

}  // namespace kde
