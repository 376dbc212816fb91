// The stored form of what ranges of a column have of their own (sampling/range_variance.h): how much
// the variance of their counts and means differs from what the header says of their shape and share.
//
//   offset  what
//   0       RangeEffectsHeader          K cells
//   ...     double   end[K - 1]         ascending: the i-th cell is what is beyond the one before,
//                                       up to and with this; the last is open
//   ...     float    through[K - 1]     share of the rows up to each end
//   ...     int8     count[K (K + 1)/2] of the pair (i, j) of ends, 0 <= i < j <= K, at j (j - 1)/2 + i:
//                                       8 times log2 of the ratio of the variances
//   ...     int8     within[K]          the same of ranges within a cell; kOneValue: it has one value
//   ...     int8     mean[K (K + 1)/2]  the same of means
//   ...     uint8    correlation[...]   of the count's and the mean's errors, in sevenths: 4 bits a
//                                       pair, 8 more, the even one's below
//   ...     0 up to a multiple of 8 bytes
//
// The first four are there by kEffectsOfCounts, and of a list of rows always; the other two by
// kEffectsOfMeans: of a list those of x itself, of a measure its own and nothing else, over the cells of
// its column's list. Between two ends variances are those of a line that goes straight from one to the
// other, and of a share t of a cell's rows t (1 - t) times what ranges within it have.
#pragma once

#include "core/density/format.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kde {

inline constexpr int kMostEffectCells = 50;
inline constexpr std::uint8_t kEffectsOfCounts = 1, kEffectsOfMeans = 2;
inline constexpr std::int8_t kOneValue = -128;

struct RangeEffectsHeader {
  std::uint32_t bytes;  // with what follows; a multiple of 8
  std::uint8_t cells;
  std::uint8_t flags;
  std::uint16_t reserved;  // 0
};
static_assert(sizeof(RangeEffectsHeader) == 8);

// 0 of flags that there are none of.
std::size_t effects_bytes(std::size_t cells, std::uint8_t flags);
// Of counts; else 0.
inline std::size_t effect_ends(const RangeEffectsHeader& e) {
  return (e.flags & kEffectsOfCounts) != 0 ? e.cells - std::size_t{1} : 0;
}

inline constexpr std::size_t effect_pairs(std::size_t cells) { return cells * (cells + 1) / 2; }
inline constexpr std::size_t correlation_bytes(std::size_t cells) {
  return (effect_pairs(cells) + 1) / 2;
}
inline constexpr std::size_t effect_pair(std::size_t i, std::size_t j) {
  return j * (j - 1) / 2 + i;
}

// The ratios and correlations that there are, before they are stored: all by pair.
struct MeanEffects {
  std::vector<double> ratio, correlation;
};
struct CountEffects {
  std::vector<double> end, through;
  std::vector<double> ratio;
  std::vector<double> within;  // by cell; NaN: it has one value
  MeanEffects own;             // or none

  std::size_t cells() const { return within.size(); }
};
std::vector<char> store_effects(const CountEffects& effects);
std::vector<char> store_effects(const MeanEffects& effects, std::size_t cells);

// Where a range lies among the cells: its ends, each in cell `at`, the share `t` of which is below.
struct EffectPlace {
  struct End {
    std::size_t at;
    double t;
  };
  End low, high;
  bool is_within() const { return low.at == high.at; }
};

// Of a list's or a measure's; holds pointers into the bytes.
class RangeEffects {
 public:
  explicit RangeEffects(const RangeEffectsHeader* header);

  bool has_means() const { return mean_ != nullptr; }
  // By a list's, of counts: of the rows beyond `below` up to and with `through`.
  EffectPlace place(const Header& list, double below, double through) const {
    return {place_of(list, below), place_of(list, through)};
  }
  // The variance of the count of the range, which has the share p of the rows, over what the list's
  // header says.
  double count_ratio(const Header& list, const EffectPlace& place, double p) const;
  // has_means(): the same of a mean.
  double mean_ratio(const EffectPlace& place) const;
  double correlation(const EffectPlace& place) const;

 private:
  EffectPlace::End place_of(const Header& list, double x) const;
  double through(std::size_t i) const { return i == 0 ? 0 : i == cells_ ? 1 : through_[i - 1]; }
  template <typename Of>
  double between_pairs(const EffectPlace& place, const Of& of) const;

  std::size_t cells_;
  const double* end_ = nullptr;
  const float* through_ = nullptr;
  const std::int8_t* count_ = nullptr;
  const std::int8_t* within_ = nullptr;
  const std::int8_t* mean_ = nullptr;
  const std::uint8_t* correlation_ = nullptr;
};

// What the header says of a count of the share p, times sample_rows: what a range open to one side
// leaves out is open to the other, and off by as much.
double usual_variance(const Header& list, Shape shape, double p);

// What of a ratio is believed below 1, of a variance that usually is so much: within a cell it is not
// known how narrow a range may be to be as sure, but no count of independent rows is surer.
double not_too_sure(const Header& list, double usual, double ratio);

// The rules above. Errors: invalid_format.
Status validate_count_effects(const Header& list, const RangeEffectsHeader& effects);
Status validate_mean_effects(const RangeEffectsHeader* of_list, const RangeEffectsHeader* measure);

}  // namespace kde
