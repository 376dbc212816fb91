// The checks of gaussian_parts.h and pair_sums.h, for the shapes of sums_device.h.

#include "core/sums/sums_device.h"
#include "core/sums/gaussian_derivatives.h"
#include "core/sums/gaussian_parts.h"

namespace kde {
namespace {

Status wrong_size() {
  return Status::error(Code::invalid_argument, "there must be room for each result, and no more");
}

}  // namespace

Status check_device_points(std::size_t values, int d) {
  if (d < 1 || d > kMaxDimensions) {
    return Status::error(Code::invalid_argument, "there must be 1 to %d dimensions",
                         kMaxDimensions);
  }
  const std::size_t size = static_cast<std::size_t>(d);
  if (values % size != 0 || values / size < 2) {
    return Status::error(Code::invalid_argument, "sums over pairs need at least two whole points");
  }
  return Status::success();
}

Status check_device_derivative(int d, int r, double g) {
  if (d != 1) {
    return Status::error(Code::invalid_argument,
                         "derivatives are of samples in one dimension only");
  }
  return check_derivative(r, g);
}

Status check_device_sweep(std::span<const double> h, bool slopes, std::size_t results) {
  if (h.size() > kMaxSweep) {
    return Status::error(Code::invalid_argument, "a sweep has at most %zu bandwidths", kMaxSweep);
  }
  const std::size_t width = slopes ? 4 : 2;
  if (results % width != 0) return wrong_size();
  return check_sweep(h, results / width);
}

Status check_device_full(int d, std::span<const double> a, std::size_t results) {
  return results == 2 ? check_full(d, a) : wrong_size();
}

Status check_device_scatter(int d, std::span<const double> a, double once, double twice,
                            std::size_t results) {
  if (results < 2) return wrong_size();
  if (Status s = check_full(d, a); !s.ok()) return s;
  return check_scatter(d, once, twice, results - 2);
}

Status check_device_density(int d, std::span<const double> a, std::size_t queries,
                            std::size_t results) {
  if (Status s = check_full(d, a); !s.ok()) return s;
  if (results < 1 || results > static_cast<std::size_t>(kMaxQueries)) {
    return Status::error(Code::invalid_argument, "there must be 1 to %lld queries",
                         static_cast<long long>(kMaxQueries));
  }
  return queries == results * static_cast<std::size_t>(d) ? Status::success() : wrong_size();
}

}  // namespace kde
