// The ranges are those of device.h; a body must have exactly the numbers that its struct announces.
#include "cuda/server/request.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/sums/sums_device.h"

namespace kde::service {
namespace {

template <typename Struct>
Status read_struct(std::span<const char>* body, Struct* out) {
  if (body->size() < sizeof(Struct)) {
    return Status::error(Code::invalid_argument, "the request is cut short");
  }
  std::memcpy(out, body->data(), sizeof(Struct));
  *body = body->subspan(sizeof(Struct));
  return Status::success();
}

Status read_numbers(std::span<const char> body, std::size_t count, std::vector<double>* out) {
  if (body.size() != count * sizeof(double)) {
    return Status::error(Code::invalid_argument, "%zu numbers must follow, not %zu bytes", count,
                         body.size());
  }
  out->resize(count);
  std::memcpy(out->data(), body.data(), body.size());
  return Status::success();
}

Status check_common(std::int32_t precision, double deadline_ms) {
  if (precision != static_cast<std::int32_t>(Precision::single) &&
      precision != static_cast<std::int32_t>(Precision::full)) {
    return Status::error(Code::invalid_argument, "there is no precision %d", precision);
  }
  if (!std::isfinite(deadline_ms)) {
    return Status::error(Code::invalid_argument, "the deadline must be finite");
  }
  return Status::success();
}

bool is_bandwidth(double h) { return h > 0 && std::isfinite(h); }

Status read_matrix(std::span<const char> body, int d, std::vector<double>* a) {
  const std::size_t size = static_cast<std::size_t>(d);
  const Status read = read_numbers(body, size * size, a);
  if (!read.ok()) return read;
  bool triangular = true;
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t k = row + 1; k < size; ++k) {
      triangular = triangular && (*a)[row * size + k] == 0;
    }
  }
  if (!triangular || !all_finite(*a)) {
    return Status::error(Code::invalid_argument, "the matrix must be finite and lower triangular");
  }
  return Status::success();
}

}  // namespace

bool all_finite(std::span<const double> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double v) { return std::isfinite(v); });
}

Status read_load(std::span<const char> body, wire::Load* out) {
  const Status read = read_struct(&body, out);
  if (!read.ok()) return read;
  if (out->n < 2 || out->d < 1 || out->d > kMaxDimensions) {
    return Status::error(Code::invalid_argument,
                         "a sample has two points or more, in 1 to %d dimensions", kMaxDimensions);
  }
  if (out->n > kMaxPoints) {
    return Status::error(Code::too_large, "a sample of %lld points is too large for a device",
                         static_cast<long long>(out->n));
  }
  return Status::success();
}

Status read_derivative(std::span<const char> body, int d, wire::Derivative* out) {
  Status status = read_struct(&body, out);
  if (status.ok()) status = check_common(out->precision, out->deadline_ms);
  if (!status.ok()) return status;
  if (d != 1) {
    return Status::error(Code::invalid_argument, "derivative sums are of one dimension, not %d", d);
  }
  if (out->r < 0 || out->r > 10 || out->r % 2 != 0) {
    return Status::error(Code::invalid_argument, "r must be 0, 2, 4, 6, 8 or 10, not %d", out->r);
  }
  if (!is_bandwidth(out->g)) {
    return Status::error(Code::invalid_argument, "the bandwidth must be positive and finite");
  }
  return Status::success();
}

Status read_sweep(std::span<const char> body, wire::Sweep* out, std::vector<double>* h) {
  Status status = read_struct(&body, out);
  if (status.ok()) status = check_common(out->precision, out->deadline_ms);
  if (!status.ok()) return status;
  if (out->count < 1 || static_cast<std::size_t>(out->count) > kMaxSweep || out->slopes < 0 ||
      out->slopes > 1) {
    return Status::error(Code::invalid_argument, "a sweep has 1 to %zu bandwidths", kMaxSweep);
  }
  status = read_numbers(body, static_cast<std::size_t>(out->count), h);
  if (status.ok() && !std::all_of(h->begin(), h->end(), is_bandwidth)) {
    return Status::error(Code::invalid_argument, "the bandwidth must be positive and finite");
  }
  return status;
}

Status read_full(std::span<const char> body, int d, wire::Full* out, std::vector<double>* a) {
  Status status = read_struct(&body, out);
  if (status.ok()) status = check_common(out->precision, out->deadline_ms);
  if (!status.ok()) return status;
  if (out->scatter < 0 || out->scatter > 1 || !std::isfinite(out->once) ||
      !std::isfinite(out->twice)) {
    return Status::error(Code::invalid_argument, "the weights must be finite");
  }
  return read_matrix(body, d, a);
}

Status read_density(std::span<const char> body, int d, wire::Density* out, std::vector<double>* a) {
  Status status = read_struct(&body, out);
  if (status.ok()) status = check_common(out->precision, out->deadline_ms);
  if (!status.ok()) return status;
  if (out->m < 1 || out->m > kMaxQueries) {
    return Status::error(Code::invalid_argument, "densities are of 1 to %lld points",
                         static_cast<long long>(kMaxQueries));
  }
  return read_matrix(body, d, a);
}

}  // namespace kde::service
