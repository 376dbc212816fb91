// See scale.h.
#include "core/picture/scale.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kde {

namespace {

constexpr double kUnits[] = {1e12, 1e9, 1e6, 1e3};
constexpr char kUnitNames[] = {'T', 'G', 'M', 'k'};

// Beyond, steps and what they are multiplied by leave double precision: such heights are cut off,
// or not to be seen.
double within_doubles(double most) { return most > 0 ? std::clamp(most, 1e-290, 1e290) : most; }

}  // namespace

double round_up(double x) {
  if (!(x > 0) || !std::isfinite(x)) return 1;
  const double ten = std::pow(10.0, std::floor(std::log10(x)));
  // But for the last digits: 0.3/0.1 is above 3.
  for (const double size : {1.0, 2.0, 5.0})
    if (x <= size * ten * (1 + 1e-9)) return size * ten;
  return 10 * ten;
}

Scale scale_of(double most, int ticks) {
  Scale best;
  most = within_doubles(most);
  if (!(most > 0)) return best;
  best.top = INFINITY;
  for (int n = std::max(ticks - 2, 1); n <= ticks + 1; ++n) {
    const double step = round_up(most / n);
    const double top = step * std::ceil(most / step * (1 - 1e-9));
    // Of as tight ones that with more ticks.
    if (top <= best.top * (1 + 1e-9)) best = {step, top};
  }
  return best;
}

RowScale row_scale_of(double most, int rows) {
  RowScale best;
  most = within_doubles(most);
  best.top = INFINITY;
  const int least = rows > 5 ? 2 : 1;
  for (int each = least; each <= std::max(std::min(rows, 5), least); ++each) {
    const double step = round_up(most > 0 ? most * each / rows : 1);
    const double top = step * rows / each;
    // Of as tight ones that with fewer ticks, but not too few.
    constexpr int kFewer = 3;
    if (top < best.top * (1 - 1e-9) || (each <= kFewer && top <= best.top * (1 + 1e-9)))
      best = {step, top, each};
  }
  return best;
}

std::string short_number(double x) {
  char digits[32];
  if (std::fabs(x) >= 1e15 || (x != 0 && std::fabs(x) < 1e-3)) {
    snprintf(digits, sizeof digits, "%.1e", x);
    // 5.0e-07: the mantissa without a zero.
    std::string out(digits);
    const std::size_t zero = out.find(".0e");
    if (zero != std::string::npos) out.erase(zero, 2);
    return out;
  }
  for (int i = 0; i < 4; ++i) {
    if (std::fabs(x) < kUnits[i]) continue;
    snprintf(digits, sizeof digits, "%.4g%c", x / kUnits[i], kUnitNames[i]);
    return digits;
  }
  snprintf(digits, sizeof digits, "%.3g", x);
  return digits;
}

}  // namespace kde
