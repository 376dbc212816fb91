// libFuzzer target: the bandwidth selectors on arrays of any numbers, of one column or up to
// four. What they choose must be a bandwidth: finite and above 0, a matrix positive definite;
// what they refuse must have a reason that lies in the numbers.
#include "core/select/bandwidth_matrix.h"
#include "core/select/line_bandwidth.h"

#include "column_steps.h"
#include "finding.h"
#include "input.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using kde::Code;
using kde::fuzz::fail;
using kde::fuzz::Input;

kde::Engine take_engine(Input* in) {
  kde::Engine engine;
  const int choice = in->choice(3);
  if (choice == 0) engine.kind = kde::Engine::Kind::reference;
  if (choice == 1) engine.precision = kde::Precision::full;
  return engine;
}

kde::LscvDivisor take_divisor(Input* in) {
  return in->choice(2) == 0 ? kde::LscvDivisor::n_squared : kde::LscvDivisor::leave_one_out;
}

std::vector<double> take_values(Input* in, std::size_t most) {
  std::vector<double> x;
  kde::fuzz::take_column(
      in, most, [&](double v) { x.push_back(v); }, [] {}, [] {});
  return x;
}

void expect_refusal(const kde::Status& status) {
  if (status.code != Code::invalid_argument && status.code != Code::degenerate)
    fail(status.message);
}

void check_line(Input* in) {
  kde::LineRequest request;
  request.method = static_cast<kde::Method>(1 + in->choice(kde::kMethods - 1));
  request.divisor = take_divisor(in);
  request.engine = take_engine(in);
  const bool exact = in->choice(2) == 0;
  const std::vector<double> x = take_values(in, exact ? 250 : 700);
  kde::LineBandwidth out;
  const kde::Status status = kde::select_bandwidth(request, x, exact, {}, &out);
  if (!status.ok()) return expect_refusal(status);
  // Of values at either end of double precision it may be beyond it.
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  if (!(out.h > 0) && *high - *low > 1e-300) fail("a bandwidth is not above 0");
  if (std::isfinite(*high - *low) && !std::isfinite(out.h)) fail("a bandwidth is not finite");
}

void check_matrix(Input* in) {
  kde::MatrixRequest request;
  request.method = static_cast<kde::MatrixMethod>(in->choice(8));
  request.divisor = take_divisor(in);
  request.engine = take_engine(in);
  const int d = 1 + in->choice(4);
  std::vector<double> points = take_values(in, 120);
  points.resize(points.size() / static_cast<std::size_t>(d) * static_cast<std::size_t>(d));
  kde::BandwidthMatrix out;
  const kde::Status status = kde::select_bandwidth_matrix(request, points, d, {}, &out);
  if (!status.ok()) return expect_refusal(status);
  // Of points as near as double precision has them L itself may round to nothing.
  if (!out.in_range) return;
  for (int i = 0; i < d; ++i) {
    const auto diagonal = static_cast<std::size_t>(i * d + i);
    if (!(out.factor[diagonal] > 0)) fail("a factor's diagonal is not above 0");
    if (!(out.matrix[diagonal] > 0 && std::isfinite(out.matrix[diagonal])))
      fail("a matrix is said to be in range and is not");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 8) return 0;
  Input in(data, size);
  if (in.choice(2) == 0) {
    check_line(&in);
  } else {
    check_matrix(&in);
  }
  return 0;
}
