// See range_codes.h.
#include "core/fit/range_codes.h"

#include "core/density/measure_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kde {

namespace {

Shape shape_of(std::size_t i, std::size_t j, std::size_t cells) {
  return i == 0 ? Shape::below : j == cells ? Shape::above : Shape::two_ends;
}

// f: of a pair, its ends and the share of the rows between them.
template <typename F>
void for_each_pair(const RangeVariance& ranges, const F& f) {
  const std::size_t k = ranges.cells();
  for (std::size_t j = 1; j <= k; ++j)
    for (std::size_t i = 0; i < j; ++i)
      f(effect_pair(i, j), shape_of(i, j, k),
        ranges.through[j - 1] - (i > 0 ? ranges.through[i - 1] : 0));
}

// NaN: as usual.
double ratio_to(double usual, double effect, const VarianceShares& shares) {
  return std::isnan(effect) || !(usual > 0) ? 1 : std::max(shares.of(effect), 0.0) / usual;
}

// Of a mean of x, as column_evidence.h has it.
double usual_of_mean(const Header& list, Shape shape, double p) {
  if (!(p > 0.5)) return usual_variance(list, shape, p);
  double most =
      std::max(usual_variance(list, Shape::below, 0.5), usual_variance(list, Shape::above, 0.5));
  if (list.variance > 0)
    most = std::max(most, list.sample_rows * (list.mean_error / list.variance * list.mean_error));
  return most;
}

template <typename Usual>
MeanEffects effects_of_means(const RangeMeans& means, const RangeVariance& ranges,
                             const VarianceShares& shares, const CountEffects& counts,
                             const Header& list, const Usual& usual) {
  MeanEffects out;
  out.ratio.assign(effect_pairs(ranges.cells()), 1);
  out.correlation.assign(out.ratio.size(), 0);
  if (means.effect.empty()) return out;
  for_each_pair(ranges, [&](std::size_t pair, Shape shape, double p) {
    const double of_mean = usual(shape, p);
    out.ratio[pair] = ratio_to(of_mean, means.effect[pair], shares);
    const double of_count = usual_variance(list, shape, p) * counts.ratio[pair];
    const double both = std::sqrt(of_count * (of_mean * out.ratio[pair]));
    if (both > 0) out.correlation[pair] = shares.blocks * means.correlation[pair] / both;
  });
  return out;
}

// Octaves of a variance, and sevenths of a correlation, by which an end that is left out may have
// its ranges off.
constexpr double kMostLost = 0.2;

// One array by pair, in units of what may be lost.
using ByPair = std::vector<double>;

// How far the pairs of an end are from the middle between those of both its neighbours.
double lost_without(const ByPair& of, std::size_t cells, std::size_t end) {
  const auto at = [&of](std::size_t i, std::size_t j) {
    return of[effect_pair(std::min(i, j), std::max(i, j))];
  };
  double most = 0;
  for (std::size_t other = 0; other <= cells; ++other) {
    if (other + 1 >= end && other <= end + 1) continue;
    const double middle = (at(end - 1, other) + at(end + 1, other)) / 2;
    most = std::max(most, std::fabs(at(end, other) - middle));
  }
  const double both = at(end - 1, end + 1);
  return std::max({most, std::fabs(at(end - 1, end) - both), std::fabs(at(end, end + 1) - both)});
}

void leave_out(ByPair* of, std::size_t cells, std::size_t end) {
  if (of->empty()) return;
  std::size_t to = 0;
  for (std::size_t j = 1; j <= cells; ++j)
    for (std::size_t i = 0; i < j; ++i)
      if (i != end && j != end) (*of)[to++] = (*of)[effect_pair(i, j)];
  of->resize(to);
}

// Copies a density, part after part, with effects behind some of them.
class Inserting {
 public:
  explicit Inserting(std::size_t bytes) : out_(bytes) {}

  char* copy(const void* part, std::size_t bytes) {
    char* to = out_.data() + at_;
    std::memcpy(to, part, bytes);
    at_ += bytes;
    return to;
  }
  char* copy(const std::vector<char>& bytes) { return copy(bytes.data(), bytes.size()); }
  void copy_list(const DensityView& list, const std::vector<char>& effects) {
    auto* h = reinterpret_cast<Header*>(copy(&list.header(), list.bytes()));
    if (effects.empty()) return;
    h->effects = 1;
    copy(effects);
  }
  void copy_measure(const MeasureView& measure, const std::vector<char>& measured,
                    const std::vector<char>& means) {
    const std::size_t begin = at_;
    auto* m = reinterpret_cast<MeasureHeader*>(copy(&measure.header(), sizeof(MeasureHeader)));
    for (int p = 0; p < kMeasureParts; ++p) {
      const auto part = static_cast<MeasurePart>(p);
      if (m->has(part))
        copy_list(measure.part(part), part == MeasurePart::rows ? measured : std::vector<char>());
    }
    if (!means.empty()) {
      m->parts |= kMeasureEffects;
      copy(means);
    }
    m->bytes = static_cast<std::uint32_t>(at_ - begin);
  }
  DensityBytes take() {
    DensityBytes out(at_);
    std::memcpy(out.data(), out_.data(), at_);
    return out;
  }

 private:
  DensityBytes out_;
  std::size_t at_ = 0;
};

}  // namespace

bool StoredEffects::empty() const { return bytes() == 0; }

std::size_t StoredEffects::bytes() const {
  std::size_t out = list.size();
  for (const auto* of : {&measured, &means})
    for (const std::vector<char>& bytes : *of) out += bytes.size();
  return out;
}

CountEffects count_effects(const RangeVariance& ranges, const VarianceShares& shares,
                           const Header& list) {
  CountEffects out;
  out.end = ranges.end;
  out.through.assign(ranges.through.begin(), ranges.through.end() - 1);
  out.ratio.assign(effect_pairs(ranges.cells()), 1);
  for_each_pair(ranges, [&](std::size_t pair, Shape shape, double p) {
    out.ratio[pair] = ratio_to(usual_variance(list, shape, p), ranges.count[pair], shares);
  });
  for (std::size_t c = 0; c < ranges.cells(); ++c) {
    const double p = ranges.through[c] - (c > 0 ? ranges.through[c - 1] : 0);
    const bool one = std::isinf(ranges.within[c]);
    out.within.push_back(
        one ? std::nan("")
            : ratio_to(usual_variance(list, Shape::two_ends, p / 4), ranges.within[c], shares));
  }
  return out;
}

MeanEffects own_effects(const RangeVariance& ranges, const VarianceShares& shares,
                        const CountEffects& counts, const Header& list) {
  return effects_of_means(ranges.own, ranges, shares, counts, list,
                          [&](Shape shape, double p) { return usual_of_mean(list, shape, p); });
}

MeanEffects mean_effects(const RangeMeans& means, const RangeVariance& ranges,
                         const VarianceShares& shares, const float (&usual)[kErrorScales],
                         const CountEffects& counts, const Header& list) {
  return effects_of_means(means, ranges, shares, counts, list, [&](Shape /*shape*/, double p) {
    return p < 1 ? ratio_at(usual, std::min(p, 0.5)) : usual[0];
  });
}

void leave_ends_out(CountEffects* counts, std::vector<MeanEffects>* means) {
  std::vector<MeanEffects*> all = {&counts->own};
  for (MeanEffects& m : *means) all.push_back(&m);
  // Logarithms of ratios, and correlations.
  std::vector<ByPair> octaves = {counts->ratio};
  for (const MeanEffects* m : all)
    if (!m->ratio.empty()) octaves.push_back(m->ratio);
  for (ByPair& of : octaves)
    for (double& x : of) x = std::log2(x);
  for (const MeanEffects* m : all)
    if (!m->ratio.empty()) octaves.push_back(m->correlation);
  const auto within = [&](std::size_t c) {
    return std::isnan(counts->within[c]) ? 0 : std::log2(counts->within[c]);
  };
  const auto lost = [&](std::size_t end) {
    double most = 0;
    for (const ByPair& of : octaves) most = std::max(most, lost_without(of, counts->cells(), end));
    const double whole = octaves[0][effect_pair(end - 1, end + 1)];
    for (const std::size_t c : {end - 1, end}) most = std::max(most, std::fabs(within(c) - whole));
    return most;
  };
  while (counts->cells() > 2) {
    std::size_t best = 0;
    double least = kMostLost;
    for (std::size_t end = 1; end < counts->cells(); ++end) {
      const double by = lost(end);
      if (by < least) {
        least = by;
        best = end;
      }
    }
    if (best == 0) return;
    const std::size_t cells = counts->cells();
    for (ByPair& of : octaves) leave_out(&of, cells, best);
    leave_out(&counts->ratio, cells, best);
    for (MeanEffects* m : all) {
      leave_out(&m->ratio, cells, best);
      leave_out(&m->correlation, cells, best);
    }
    const auto at = static_cast<std::ptrdiff_t>(best) - 1;
    counts->end.erase(counts->end.begin() + at);
    counts->through.erase(counts->through.begin() + at);
    counts->within[best] = std::exp2(std::max(within(best - 1), within(best)));
    counts->within.erase(counts->within.begin() + at);
  }
}

void insert_effects(const StoredEffects& effects, DensityBytes* density) {
  const Header& h = density->header();
  Inserting to(density->size() + effects.bytes());
  to.copy_list(DensityView(&h), effects.list);
  for (int k = 0; k < h.measures; ++k) {
    const auto at = static_cast<std::size_t>(k);
    to.copy_measure(MeasureView(&h, k), effects.measured[at],
                    effects.list.empty() ? std::vector<char>() : effects.means[at]);
  }
  *density = to.take();
}

}  // namespace kde
