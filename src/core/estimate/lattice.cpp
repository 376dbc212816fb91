// See lattice.h for the method.
#include "core/estimate/lattice.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace kde {

namespace {

constexpr int kMaxDecimals = 6;
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
  double scale = 1;
  for (int decimals = 0; decimals <= kMaxDecimals; ++decimals, scale *= 10) {
    if (control.stop_requested()) return {};
    std::vector<WholeValue> values = whole_values(distinct, scale, total - enough);
    if (values.size() < 2) continue;
    std::sort(values.begin(), values.end(), [](const WholeValue& a, const WholeValue& b) {
      return a.weight > b.weight || (a.weight == b.weight && a.value < b.value);
    });
    std::int64_t gap = common_gap(values, enough, control);
    if (control.stop_requested()) return {};
    if (gap == 0) return {};  // all but the same number
    // Two values have their distance in common, whatever it is.
    const double others = static_cast<double>(values.size()) - 2;
    if (others * std::log(static_cast<double>(gap)) < -std::log(kChance)) gap = 1;
    return {values.front().value, gap, scale};
  }
  return {};
}

}  // namespace kde
