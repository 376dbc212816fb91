// The header of a stored density of one column: what the SQL type `kde` begins with, byte for byte.
// What follows it is its distribution function in cells (histogram.h), whether the density was
// fitted, aggregated or merged; a density of several columns has a header of its own
// (joint_format.h).
//
// In memory all numbers have the machine's byte order; on the wire (wire.h) the network's.
#pragma once

#include "core/control.h"
#include "core/density/bytes.h"
#include "core/status.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace kde {

inline constexpr std::uint8_t kFormatVersion = 2;
// Of one column, and of each measure beside it; of a sample less is enough.
inline constexpr std::size_t kMaxBytes = 16384;
inline constexpr std::size_t kMostListBytes = std::size_t{512} << 10;
// Rows of a density, at most, of whatever weights, and variances over the square of rows: products
// of them stay far from the ends of double precision.
inline constexpr double kMostRows = 1e60, kMostVariance = 1e30;
// Measures of a density of one column, at most.
inline constexpr int kMaxMeasures = 8;

enum class Kind : std::uint8_t {
  one_column = 2,  // histogram.h
  joint = 3,       // density/joint_format.h
};
enum class Method : std::uint8_t {
  automatic = 0,
  plugin = 1,
  silverman = 2,
  normal_reference = 3,
  scott = 4,
  sheather_jones = 5,
  lscv = 6,
  smoothed_cv = 7,
};
inline constexpr int kMethods = 8;

// What a value means to SQL; numbers map to themselves, the rest to seconds.
enum class ValueType : std::uint8_t {
  int2 = 0,
  int4 = 1,
  int8 = 2,
  float4 = 3,
  float8 = 4,
  numeric = 5,
  date = 6,         // seconds since 1970-01-01 00:00, a multiple of 86,400
  timestamp = 7,    // seconds since 1970-01-01 00:00
  timestamptz = 8,  // seconds since 1970-01-01 00:00 UTC
  interval = 9,     // seconds; a month is 30 days, as PostgreSQL compares intervals
  time = 10,        // seconds since midnight, 0 to 86,400
  category = 11,    // ranks of values that are compared for equality alone (word_format.h)
};
inline constexpr int kValueTypes = 12;

// By which steps cells end (round_ends.h).
enum class Chain : std::uint8_t { decimal = 0, calendar = 1, duration = 2, milliseconds = 3 };
inline constexpr int kChains = 4;

enum Flags : std::uint8_t {
  kBounded = 1,       // answers are the cells' own; else the kernel acts in every answer
  kEveryRowRead = 2,  // every row is in it: totals and [min, max] are the table's
  kFitted = 4,        // by a fit; else added up or merged
  // Every row is in a cell of its own: counts at the ends of cells are exact but for Header::error, and
  // off by what a cell holds within one. Else the error bounds them everywhere.
  kExactEnds = 8,
};

// Shapes of ranges: with two ends, or open to one side.
enum class Shape : std::uint8_t { two_ends = 0, above = 1, below = 2 };
inline constexpr int kShapes = 3;
// Shares of the rows: 4^-1, 4^-2, ... 4^-8.
inline constexpr int kErrorScales = 8;

// A ratio known at the scales of the share p, 4^-1 to 4^-8, of ranges that hold the share p or all
// but it: between the scales linear in log p.
inline double ratio_at(const float (&ratios)[kErrorScales], double p) {
  const double scale = -std::log2(std::min(p, 1 - p)) / 2 - 1;  // 4^-(scale + 1)
  if (!(scale > 0)) return ratios[0];
  if (scale >= kErrorScales - 1) return ratios[kErrorScales - 1];
  const int i = static_cast<int>(scale);
  const double t = scale - i;
  return (1 - t) * ratios[i] + t * ratios[i + 1];
}

struct Header {
  std::uint32_t varlena;  // PostgreSQL's length word; no part of the density
  std::uint8_t version;
  Kind kind;
  std::uint8_t flags;
  ValueType value_type;
  Method method;          // resolved: never automatic
  std::uint8_t measures;  // that follow (measure_format.h)
  std::uint8_t grouped;   // 1: groups follow those (group_format.h)
  std::uint8_t words;     // 1: words lie before the measures (word_format.h)
  Chain chain;            // of the value type (round_ends.h)
  std::uint8_t effects;   // 1: those of ranges lie behind the cells (range_effects.h)
  // Off a lattice: 1 more than the grid's level that keys are of; 0: none.
  std::uint16_t grid_level;
  std::uint32_t atoms;
  std::uint32_t blocks;
  double rows;  // non-null rows the density stands for
  double nulls, nans, negative_infinities, positive_infinities;  // rows
  double sample_rows;  // finite rows that its shape was learned from
  double bandwidth;    // the kernel's standard deviation, in units of x; 0 if none was selected
  double
      lattice_step;  // 0: values lie on no known lattice; else x = lattice_offset + k lattice_step
  double lattice_offset;
  // 0, or what makes the lattice's points whole numbers (a power of ten; 12 for twelfths): the
  // point is then the double nearest to that number's quotient, which offset + k step need not be.
  double lattice_scale;
  double min, max;   // of the finite values read
  double mean;       // of the finite values read
  double variance;   // of the finite values read, divisor n
  double cell_rows;  // rows of all cells
  double row_unit;   // the unit of the cells' rows, > 0 if there are blocks
  double error;  // bound for how far a count below any value is from the estimate's, of the rows
  // Of the number of rows itself, where it was estimated from blocks: its variance over its square.
  double rows_variance;
  // What of the variance of a count belongs to each end of a range, whatever the range: of the
  // share of the rows below a value, where the blocks that were read lie in its order.
  double end_variance;
  // The standard error of `mean` as that of all the table's finite values: 0 where every row was
  // read.
  double mean_error;
  // Rows below the one and above the other are known one by one, not sampled; infinite: none are.
  double known_below, known_above;
  // The variance of a count of the share p of the rows, given their number, over that of
  // sample_rows independent draws, rows^2 p (1 - p)/sample_rows: by shape and scale. It has the
  // finite population's correction and the design effect of sampling by blocks. 0: every row is in
  // it.
  float count_variance[kShapes][kErrorScales];

  bool has_exact_ends() const { return (flags & kExactEnds) != 0; }
  double finite_rows() const { return rows - nans - negative_infinities - positive_infinities; }
  // Rows of no finite value: the specials'. Sums of fractions round to some ulps more than their
  // parts, which would be finite rows.
  void leave_specials_alone() {
    rows = nans + negative_infinities + positive_infinities;
    for (int ulps = 0; ulps < 8 && finite_rows() > 0; ++ulps) rows = std::nextafter(rows, 0.0);
  }
  // How far counts of the finite rows may differ by rounding alone.
  double rounding_of_rows() const { return 1e-9 * std::fabs(finite_rows()) + 0x1p-46 * rows; }
  // Whether a bound at x is taken for a point of the lattice, *k, as decimal fractions are not exact
  // in binary: within 1e-15, relative to the larger of it and the offset. lattice_step > 0; *k is the
  // nearest point's number in any case.
  bool is_at_lattice_point(double x, double* k) const {
    const double steps = (x - lattice_offset) / lattice_step;
    *k = std::round(steps);
    return std::fabs(steps - *k) * lattice_step <=
           1e-15 * std::max(std::fabs(x), std::fabs(lattice_offset));
  }
  double lattice_point(double k) const {
    const double x = lattice_offset + k * lattice_step;
    return lattice_scale > 0 ? std::nearbyint(x * lattice_scale) / lattice_scale : x;
  }
};
static_assert(sizeof(Header) == 24 + 22 * sizeof(double) + kShapes * kErrorScales * sizeof(float));

// Whether double precision tells neighbouring points of the lattice apart all over [min, max], half
// steps included; lattice_step > 0.
bool lattice_resolved(const Header& h);

// Every rule of the density's kind (histogram.h or density/joint_format.h), checked on bytes of
// unknown origin: sizes, enumerations, finite and ordered fields, totals that add up. bytes: 8-byte
// aligned, size as counted. Errors: invalid_format with what is wrong; out_of_memory; cancelled.
Status validate(const void* bytes, std::size_t size, const Control& control = {}) noexcept;

}  // namespace kde
