// Writing and reading range_effects.h.
#include "core/density/range_effects.h"

#include "core/density/checks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace kde {

namespace {

// Parts of an octave, and of 1, that are stored.
constexpr double kOfOctave = 8, kOfOne = 7;
constexpr int kMostCode = 127, kMiddle = 8;

std::int8_t code_of(double ratio) {
  const double code = std::nearbyint(kOfOctave * std::log2(ratio));
  return static_cast<std::int8_t>(std::clamp(code, -double{kMostCode}, double{kMostCode}));
}
double ratio_of(std::int8_t code) { return code == 0 ? 1 : std::exp2(code / kOfOctave); }

int sevenths(double correlation) {
  return static_cast<int>(std::nearbyint(kOfOne * std::clamp(correlation, -1.0, 1.0)));
}

// Bytes one after the other.
class Writer {
 public:
  Writer(std::size_t cells, std::uint8_t flags) : bytes_(effects_bytes(cells, flags)) {
    RangeEffectsHeader header{};
    header.bytes = static_cast<std::uint32_t>(bytes_.size());
    header.cells = static_cast<std::uint8_t>(cells);
    header.flags = flags;
    put(header);
  }

  template <typename T>
  void put(T x) {
    std::memcpy(bytes_.data() + at_, &x, sizeof x);
    at_ += sizeof x;
  }
  void put_ratios(const std::vector<double>& ratios) {
    for (const double r : ratios) put(code_of(r));
  }
  void put_means(const MeanEffects& means) {
    put_ratios(means.ratio);
    const std::vector<double>& c = means.correlation;
    for (std::size_t i = 0; i < c.size(); i += 2) {
      const int above = i + 1 < c.size() ? sevenths(c[i + 1]) + kMiddle : 0;
      put(static_cast<std::uint8_t>(sevenths(c[i]) + kMiddle + 16 * above));
    }
  }
  std::vector<char> take() { return std::move(bytes_); }

 private:
  std::vector<char> bytes_;
  std::size_t at_ = 0;
};

}  // namespace

std::size_t effects_bytes(std::size_t cells, std::uint8_t flags) {
  std::size_t bytes = sizeof(RangeEffectsHeader);
  if (flags == 0 || flags > (kEffectsOfCounts | kEffectsOfMeans)) return 0;
  if ((flags & kEffectsOfCounts) != 0)
    bytes += (cells - 1) * (sizeof(double) + sizeof(float)) + effect_pairs(cells) + cells;
  if ((flags & kEffectsOfMeans) != 0) bytes += effect_pairs(cells) + correlation_bytes(cells);
  return aligned(bytes);
}

std::vector<char> store_effects(const CountEffects& effects) {
  const bool means = !effects.own.ratio.empty();
  Writer writer(effects.cells(),
                static_cast<std::uint8_t>(kEffectsOfCounts | (means ? kEffectsOfMeans : 0)));
  for (const double x : effects.end) writer.put(x);
  for (const double p : effects.through) writer.put(static_cast<float>(p));
  writer.put_ratios(effects.ratio);
  for (const double r : effects.within) writer.put(std::isnan(r) ? kOneValue : code_of(r));
  if (means) writer.put_means(effects.own);
  return writer.take();
}

std::vector<char> store_effects(const MeanEffects& effects, std::size_t cells) {
  Writer writer(cells, kEffectsOfMeans);
  writer.put_means(effects);
  return writer.take();
}

RangeEffects::RangeEffects(const RangeEffectsHeader* header) : cells_(header->cells) {
  const char* at = reinterpret_cast<const char*>(header + 1);
  const std::size_t pairs = effect_pairs(cells_);
  if ((header->flags & kEffectsOfCounts) != 0) {
    end_ = reinterpret_cast<const double*>(at);
    through_ = reinterpret_cast<const float*>(end_ + (cells_ - 1));
    count_ = reinterpret_cast<const std::int8_t*>(through_ + (cells_ - 1));
    within_ = count_ + pairs;
    at = reinterpret_cast<const char*>(within_ + cells_);
  }
  if ((header->flags & kEffectsOfMeans) == 0) return;
  mean_ = reinterpret_cast<const std::int8_t*>(at);
  correlation_ = reinterpret_cast<const std::uint8_t*>(mean_ + pairs);
}

EffectPlace::End RangeEffects::place_of(const Header& list, double x) const {
  const double* const last = end_ + (cells_ - 1);
  const auto at = static_cast<std::size_t>(std::lower_bound(end_, last, x) - end_);
  if (at + 1 < cells_ && x == end_[at]) return {at, 1};
  if (within_[at] == kOneValue) return {at, at + 1 == cells_ && x >= list.max ? 1.0 : 0.0};
  const double low = at == 0 ? list.min : end_[at - 1];
  const double high = at + 1 == cells_ ? list.max : end_[at];
  if (!(x > low) || !(high > low)) return {at, x > low ? 1.0 : 0.0};
  if (x >= high) return {at, 1};
  return {at, std::min((x / 2 - low / 2) / (high / 2 - low / 2), 1.0)};
}

// The mean of what the pairs of ends about the range have, by how near they are.
template <typename Of>
double RangeEffects::between_pairs(const EffectPlace& place, const Of& of) const {
  const EffectPlace::End low = place.low, high = place.high;
  if (low.at >= high.at) return of(low.at, low.at + 1);
  double sum = 0, all = 0;
  for (const bool next_low : {false, true}) {
    for (const bool next_high : {false, true}) {
      const double weight = (next_low ? low.t : 1 - low.t) * (next_high ? high.t : 1 - high.t);
      const std::size_t i = low.at + (next_low ? 1 : 0), j = high.at + (next_high ? 1 : 0);
      if (!(weight > 0) || i >= j) continue;
      sum += weight * of(i, j);
      all += weight;
    }
  }
  return all > 0 ? sum / all : of(high.at, high.at + 1);
}

double RangeEffects::mean_ratio(const EffectPlace& place) const {
  return between_pairs(
      place, [this](std::size_t i, std::size_t j) { return ratio_of(mean_[effect_pair(i, j)]); });
}

double RangeEffects::correlation(const EffectPlace& place) const {
  return between_pairs(place, [this](std::size_t i, std::size_t j) {
    const std::size_t pair = effect_pair(i, j);
    const int code = correlation_[pair / 2] >> (pair % 2 == 0 ? 0 : 4) & 15;
    return (code - kMiddle) / kOfOne;
  });
}

double usual_variance(const Header& list, Shape shape, double p) {
  if (p > 0.5 && shape != Shape::two_ends)
    shape = shape == Shape::below ? Shape::above : Shape::below;
  return ratio_at(list.count_variance[static_cast<int>(shape)], p);
}

double not_too_sure(const Header& list, double usual, double ratio) {
  // With the finite population's correction; the estimate's own is not that exact.
  constexpr double kOfIndependent = 0.9;
  const double rows = list.finite_rows();
  const double read = rows > 0 ? std::min(list.sample_rows / rows, 1.0) : 1;
  const double least = kOfIndependent * (1 - read);
  return usual * ratio < least ? std::min(1.0, least / usual) : ratio;
}

namespace {

// A variance with what is known of the range, and without.
struct Pair {
  double own = 0, usual = 0;

  void add(double weight, const Pair& other) {
    own += weight * other.own;
    usual += weight * other.usual;
  }
};

}  // namespace

double RangeEffects::count_ratio(const Header& list, const EffectPlace& place, double p) const {
  const auto [low, high] = place;
  const auto share = [this](std::size_t i, std::size_t j) { return through(j) - through(i); };
  const auto code = [this](std::size_t i, std::size_t j) { return count_[effect_pair(i, j)]; };
  const auto within = [this](std::size_t c) {
    return within_[c] == kOneValue ? 1 : ratio_of(within_[c]);
  };
  if (low.at >= high.at) {
    const double t = std::clamp(p / share(low.at, low.at + 1), 0.0, 1.0);
    return t * ratio_of(code(low.at, low.at + 1)) + (1 - t) * within(low.at);
  }
  const auto variance = [&](std::size_t i, std::size_t j) -> Pair {
    if (i >= j || (i == 0 && j == cells_)) return {};
    const double q = share(i, j);
    const Shape shape = i == 0 ? Shape::below : j == cells_ ? Shape::above : Shape::two_ends;
    const double usual = q * (1 - q) * usual_variance(list, shape, q);
    return {usual * ratio_of(code(i, j)), usual};
  };
  Pair sum;
  for (const bool next_low : {false, true}) {
    for (const bool next_high : {false, true}) {
      const double weight = (next_low ? low.t : 1 - low.t) * (next_high ? high.t : 1 - high.t);
      if (weight > 0)
        sum.add(weight, variance(low.at + (next_low ? 1 : 0), high.at + (next_high ? 1 : 0)));
    }
  }
  for (const EffectPlace::End& end : {low, high}) {
    const double part = end.t * (1 - end.t);
    if (!(part > 0)) continue;
    sum.add(-part, variance(end.at, end.at + 1));
    const double q = share(end.at, end.at + 1);
    const double usual = q * usual_variance(list, Shape::two_ends, q);
    sum.add(part, {usual * within(end.at), usual});
  }
  return sum.usual > 0 && sum.own > 0 ? sum.own / sum.usual : 1;
}

}  // namespace kde
