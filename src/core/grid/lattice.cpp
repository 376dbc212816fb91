// See lattice.h for the method.
#include "core/grid/lattice.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace kde {

namespace {

constexpr int kMaxDecimals = 6;
// Parts of one that are no decimals: thirds, twelfths, minutes of an hour or a day, days of a year.
constexpr int kParts[] = {3,  6,  7,  9,  11, 12,  13,  14,  15,  18,  21,  24,
                          30, 36, 48, 60, 90, 120, 144, 180, 360, 365, 720, 1440};
// n random whole numbers have distances with a common divisor of g or more with a probability of
// about g^-(n - 2), the sum of k^-(n - 1) over k >= g: above this it is taken for chance.
constexpr double kChance = 1e-5;
// However large it is, a whole number is missed by less.
constexpr double kMostRounding = 0x1p-6;
// Whole numbers up to here times ten stay exact.
constexpr double kMaxWhole = 0x1p49;

struct WholeValue {
  std::int64_t value;
  double weight;
};

// x scale, if that is whole but for the rounding of x and of the product.
bool to_whole(double x, double scale, std::int64_t* whole) {
  const double y = x * scale;
  const double nearest = std::nearbyint(y);
  if (!(std::fabs(nearest) <= kMaxWhole)) return false;
  if (std::fabs(y - nearest) > std::min(0x1p-50 * std::fabs(y), kMostRounding)) return false;
  *whole = static_cast<std::int64_t>(nearest);
  return true;
}

// Empty if values of more than the weight `most_off` are not whole.
std::vector<WholeValue> whole_values(std::span<const WeightedValue> distinct, double scale,
                                     double most_off) {
  std::vector<WholeValue> out;
  double off = 0;
  for (const WeightedValue& v : distinct) {
    std::int64_t whole = 0;
    if (to_whole(v.value, scale, &whole)) {
      out.push_back({whole, v.weight});
    } else {
      off += v.weight;
      if (off > most_off) return {};
    }
  }
  return out;
}

double weight_on(std::span<const WholeValue> values, std::int64_t base, std::int64_t gap) {
  double weight = 0;
  for (const WholeValue& v : values) {
    if ((v.value - base) % gap == 0) weight += v.weight;
  }
  return weight;
}

// values: the commonest first.
std::int64_t common_gap(std::span<const WholeValue> values, double enough, const Control& control) {
  const std::int64_t base = values.front().value;
  std::int64_t gap = 0;
  for (const WholeValue& v : values) {
    const std::int64_t narrower = std::gcd(gap, v.value - base);
    if (narrower == gap) continue;
    if (control.stop_requested()) break;
    if (gap != 0 && weight_on(values, base, gap) >= enough) break;
    gap = narrower;
  }
  return gap;
}

// None where values of more than the weight `most_off` are not whole once multiplied by `scale`, or
// where control stops it.
Lattice lattice_of_scale(std::span<const WeightedValue> distinct, double scale, double most_off,
                         double enough, const Control& control, bool* stopped) {
  *stopped = control.stop_requested();
  if (*stopped) return {};
  std::vector<WholeValue> values = whole_values(distinct, scale, most_off);
  if (values.size() < 2) return {};
  std::sort(values.begin(), values.end(), [](const WholeValue& a, const WholeValue& b) {
    return a.weight > b.weight || (a.weight == b.weight && a.value < b.value);
  });
  std::int64_t gap = common_gap(values, enough, control);
  *stopped = control.stop_requested();
  if (*stopped) return {};
  if (gap == 0) return {};  // all but the same number
  // Two values have their distance in common, whatever it is.
  const double others = static_cast<double>(values.size()) - 2;
  if (others * std::log(static_cast<double>(gap)) < -std::log(kChance)) gap = 1;
  return {values.front().value, gap, scale};
}

}  // namespace

std::int64_t Lattice::nearest(double x) const {
  const double k = (x * scale - static_cast<double>(base)) / static_cast<double>(gap);
  // Far off, a point that value() can compute: beyond any other, but within 64 bits.
  const double most = std::min(0x1p52, 0x1p62 / static_cast<double>(gap));
  return static_cast<std::int64_t>(std::nearbyint(std::clamp(k, -most, most)));
}

Lattice find_lattice(std::span<const WeightedValue> distinct, const Control& control) {
  double total = 0;
  for (const WeightedValue& v : distinct) total += v.weight;
  const double enough = kOnLattice * total;
  bool stopped = false;
  double scale = 1;
  for (int decimals = 0; decimals <= kMaxDecimals; ++decimals, scale *= 10) {
    const Lattice found =
        lattice_of_scale(distinct, scale, total - enough, enough, control, &stopped);
    if (found || stopped) return found;
  }
  for (int parts : kParts) {
    const Lattice found =
        lattice_of_scale(distinct, parts, total - enough, enough, control, &stopped);
    if (found || stopped) return found;
  }
  return {};
}

}  // namespace kde
