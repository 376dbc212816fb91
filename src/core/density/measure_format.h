// The stored form of measures, beside the density of their column.
//
//   offset  what
//   0       a density of one column (histogram.h, word_format.h), Header::measures > 0
//   ...     each measure, 8-byte aligned:
//             MeasureHeader
//             its parts, in the order of MeasurePart: densities of x of their own, without
//             measures, of its rows weighted by what they hold
//             the effects of its means over ranges (range_effects.h), if kMeasureEffects
//
// A part is a distribution function of x, so it has a bound for its own error (Header::error, of
// its weights), and is exact where it fits as it is. With P, A, B, Q what the parts have in a range
// of x, P being the density's own count where there is no such part,
//
//   COUNT(y)          scale P
//   SUM(y)            scale (origin P + unit (A - B))
//   AVG(y)            origin + unit (A - B) / P
//   VAR_POP(y)        unit^2 Q / P - (unit (A - B) / P)^2
//
// About an origin near the mean AVG is known better than SUM, and signs take care of themselves:
// what is above it adds, what is below takes away. unit is 10^-d where all y are decimal fractions
// of d digits: the parts then have whole numbers, which are stored exactly.
#pragma once

#include "core/density/bytes.h"
#include "core/density/histogram_view.h"
#include "core/density/range_effects.h"
#include "core/density/word_format.h"
#include "core/status.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace kde {

// Values are whole multiples of 10^-decimals, up to kDecimals of them, or not as far as known.
inline constexpr int kDecimals = 6, kNoDecimals = 7;

enum class MeasurePart : std::uint8_t { rows = 0, above = 1, below = 2, squares = 3 };
inline constexpr int kMeasureParts = 4;
// Of MeasureHeader::parts: effects follow them.
inline constexpr int kMeasureEffects = 1 << kMeasureParts;

struct MeasureHeader {
  std::uint32_t bytes;  // with its parts; a multiple of 8
  ValueType value_type;
  std::uint8_t parts;     // bit p: MeasurePart p is there; kMeasureEffects
  std::uint8_t decimals;  // of y; kNoDecimals: any number
  std::uint8_t nulls;     // 1: some y are NULL where x is not
  double rows;            // of the table, whose x and y are not NULL
  double origin;
  double unit;                      // > 0
  double scale;                     // > 0: rows of the table for a row of the parts
  double min, max, mean, variance;  // of the y read, divisor n
  // The standard error of `mean` as that of all the table's rows: 0 where every row was read.
  double mean_error;
  // How far a sum of y - origin below any x may be off, beside the parts' own errors.
  double slack;
  // The variance of AVG(y) over a range that holds the share p of the rows, over that of as many
  // independent draws, by scale (Header::count_variance).
  float mean_variance[kErrorScales];

  bool has(MeasurePart part) const { return (parts >> static_cast<int>(part) & 1) != 0; }
};
static_assert(sizeof(MeasureHeader) == 8 + 10 * sizeof(double) + kErrorScales * sizeof(float));

// Read access; holds pointers into the bytes.
class MeasureView {
 public:
  // density: validated, 8-byte aligned; k in [0, Header::measures). cuts: as of BlockSums.
  MeasureView(const Header* density, int k, LastCuts* cuts = nullptr);

  const MeasureHeader& header() const { return *header_; }
  // Of a part that is there.
  DensityView part(MeasurePart p) const {
    return DensityView(part_[static_cast<int>(p)], {nullptr, nullptr, cuts_});
  }
  // Of its means; null: none are known by range.
  const RangeEffectsHeader* effects() const { return effects_; }
  // The next one begins here.
  const char* end() const { return reinterpret_cast<const char*>(header_) + header_->bytes; }

 private:
  void open(const char* at);

  const MeasureHeader* header_;
  const Header* part_[kMeasureParts];
  const RangeEffectsHeader* effects_;
  LastCuts* cuts_;
};

// Bytes of a density of one column with its measures, whose first `available` bytes are given; 0
// where it cannot be known from them, or they do not fit together.
std::size_t measured_size(const void* bytes, std::size_t available);
inline constexpr std::size_t kMostMeasuredBytes =
    kMostColumnBytes + kMaxMeasures * (sizeof(MeasureHeader) + kMeasureParts * kMostListBytes);

inline constexpr std::size_t kLeastMeasureBytes =
    sizeof(MeasureHeader) + kMeasureParts * kLeastHistogramBytes;
// Of x and one measure.
inline constexpr std::size_t kLeastMeasuredBytes = kLeastHistogramBytes + kLeastMeasureBytes;

// Of the bytes for x and one measure those for x: half, if that leaves enough. What x does not take
// is the measure's.
inline std::size_t bytes_for_column(std::size_t budget) {
  return std::min(budget / 2, budget - kLeastMeasureBytes) / 8 * 8;
}

// The rules above, of a density of one column with its words and measures, if it has some, in bytes
// of unknown origin. Errors: invalid_format. May throw std::bad_alloc.
Status validate_measured(const void* bytes, std::size_t size);

}  // namespace kde
