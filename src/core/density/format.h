// The stored form of a one-column density: what the SQL type `kde` holds, byte for byte.
//
// A density is a mixture of
//   atoms    values that carry a mass of their own, each with its rows; |u| <= 1 as for knots
//   smooth   a distribution function G on [x_0, x_last], piecewise cubic and monotone: at each knot
//            its position, G and its slope (cubic Hermite; monotone because 0 <= slope <= 3 times
//            the secant on both sides: Fritsch & Carlson, SIAM J. Numer. Anal. 17(2), 1980)
// and of counts of NULL, NaN and the infinities, which are apart. Positions are stored as
// u = (x - origin) * 2^-exponent, |u| <= 1, so that columns of any scale keep their precision.
//
//   offset  what
//   0       Header
//   ...     double    atom_value[atoms]         ascending
//   ...     double    atom_rows[atoms]          cumulative: rows at this and all earlier atoms
//           with kLatticeAtoms, instead of these two:
//           uint32    atom_point[atoms]         number of the lattice point, ascending
//           uint32    atom_mass[atoms]          cumulative, in units of 1/(2^32 - 1) of all atoms'
//                                               rows
//   ...     uint32    knot_mass[knots]          G in units of 1/(2^32 - 1), from 0 to 2^32 - 1
//   ...     uint32    knot_high[knots]          the upper 32 bits of u as a double
//   ...     float     block_moment[2 * blocks]  what the cubic misses of the block's first two
//   moments
//   ...     uint16    knot_low[knots]           the next 16 bits of u; the last 16 are 0
//   ...     uint16    knot_slope[knots]         dG/du in units of slope_unit, as a small float
//
// A block is kBlockCells consecutive cells (a cell lies between two knots). block_moment[2b] and
// [2b+1] are the integrals of (u - m) dG and (u - m)^2 dG over block b, whose middle is m, by the
// kernel sum, less those by the cubic, in the scaled unit u; integration spreads them over the
// block by width.
//
// Twelve bytes a knot and half a byte a cell for the moments keep what a kernel sum of any sample
// needs within 16 KB (kMaxBytes). In memory all numbers have the machine's byte order; the wire
// format (src/pg/type) sends field by field in network order.
#pragma once

#include "core/room.h"
#include "core/status.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace kde {

inline constexpr std::uint8_t kFormatVersion = 1;
inline constexpr std::size_t kMaxBytes = 16384;
inline constexpr int kBlockCells = 16;
inline constexpr std::uint32_t kMassOne = 0xffffffffu;
inline constexpr int kErrorScales = 8;

enum class Kind : std::uint8_t {
  one_column = 1,  // fitted to a sample, or to every row; this file
  histogram = 2,   // added up from every row; histogram.h
  joint = 3,       // of several columns; joint/format.h
};
// See estimate/kernel.h.
enum class Kernel : std::uint8_t {
  gaussian = 0,
  epanechnikov = 1,
  biweight = 2,
  triangular = 3,
  uniform = 4,
  cosine = 5,
};
inline constexpr int kKernels = 6;
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
};
inline constexpr int kValueTypes = 11;

enum Flags : std::uint8_t {
  kBounded = 1,       // no mass outside [min, max] (half a lattice step beyond, on a lattice)
  kEveryRowRead = 2,  // totals are exact
  // The smooth part is a kernel estimate corrected by the sample (estimate/polya_tree.h): moments
  // within a range are the sample's, with no kernel's variance to take out.
  kCorrected = 4,
  kLatticeAtoms = 8,  // atoms are lattice points, in half the space
};

struct Header {
  std::uint32_t varlena;  // PostgreSQL's length word; no part of the density
  std::uint8_t version;
  Kind kind;
  Kernel kernel;
  std::uint8_t flags;
  ValueType value_type;
  Method method;           // resolved: never automatic
  std::uint16_t reserved;  // 0
  std::int32_t exponent;
  std::uint32_t atoms;
  std::uint32_t knots;  // 0 (no smooth part) or >= 2; of a histogram its blocks
  double rows;          // non-null rows the density stands for
  double nulls, nans, negative_infinities, positive_infinities;  // rows
  double sample_rows;                                            // finite values of the sample
  double bandwidth;  // the kernel's, in units of x; 0 if none was selected
  double origin;     // x at u = 0
  double
      lattice_step;  // 0: values lie on no known lattice; else x = lattice_offset + k lattice_step
  double lattice_offset;
  // 0, or what makes the lattice's points whole numbers (a power of ten; 12 for twelfths): the
  // point is then the double nearest to that number's quotient, which offset + k step need not be.
  double lattice_scale;
  double min, max;     // of the finite values read
  double mean;         // of the finite values read
  double variance;     // of the finite values read, divisor n
  double smooth_rows;  // rows of the smooth part
  double slope_unit;   // see knot_slope
  double error;        // largest |G - estimate| seen when the density was built
  // The variance of a count of the fraction p of the rows from the raw sample, divided by that from
  // sample_rows independent draws, rows^2 p (1 - p) / sample_rows: the finite population's
  // correction times the design effect of sampling by blocks. 0 where every row is in the sample.
  double sampling_variance;
  // The mean squared error of this density's counts and means over ranges that hold the fraction
  // 4^-(i + 1) of the rows, divided by the raw sample's variance; measured when it was built.
  float count_error[kErrorScales];
  float mean_error[kErrorScales];

  double finite_rows() const { return rows - nans - negative_infinities - positive_infinities; }
  bool lattice_atoms() const { return (flags & kLatticeAtoms) != 0; }
  double lattice_point(double k) const {
    const double x = lattice_offset + k * lattice_step;
    return lattice_scale > 0 ? std::nearbyint(x * lattice_scale) / lattice_scale : x;
  }
};
static_assert(sizeof(Header) == 24 + 19 * sizeof(double) + 2 * kErrorScales * sizeof(float));

// Whether double precision tells neighbouring points of the lattice apart all over [min, max], half
// steps included; lattice_step > 0.
bool lattice_resolved(const Header& h);

// Whether half a step beyond min and max, where a fit's cells about lattice points end, is a number
// of double precision too.
bool lattice_cells_in_range(const Header& h);

// An unsigned float of 16 bits: 5 bits of exponent, 11 of mantissa; order-preserving.
inline double unpack_slope(std::uint16_t v) {
  const unsigned e = v >> 11;
  const double m = v & 0x7ff;
  return e == 0 ? m : (m + 2048.0) * static_cast<double>(std::uint64_t{1} << (e - 1));
}
// The largest packed value whose unpacked one is <= x; x >= 0.
std::uint16_t pack_slope(double x);
inline constexpr double kMaxPackedSlope = 4095.0 * 1073741824.0;  // unpack_slope(0xffff)

// The largest packable position <= u in magnitude (its last 16 bits cleared); -0 becomes 0.
inline double truncate_position(double u) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(u + 0.0) & ~std::uint64_t{0xffff}) +
         0.0;
}

// Read access to a stored density. Holds pointers into the bytes; trivially copyable. A histogram
// has its header and its atoms here, and no knots: the rest is HistogramView's.
class DensityView {
 public:
  // bytes: 8-byte aligned, validated (or built by this library).
  explicit DensityView(const void* bytes);

  const Header& header() const { return *header_; }
  int atoms() const { return static_cast<int>(header_->atoms); }
  int knots() const { return knots_; }
  int cells() const { return knots() > 0 ? knots() - 1 : 0; }
  int blocks() const { return (cells() + kBlockCells - 1) / kBlockCells; }

  double atom_value(int i) const {
    return atom_point_ != nullptr ? header_->lattice_point(atom_point_[i]) : atom_value_[i];
  }
  double atom_cumulative_rows(int i) const {
    if (atom_point_ == nullptr) return atom_rows_[i];
    return atom_mass_[i] / static_cast<double>(kMassOne) *
           (header_->finite_rows() - header_->smooth_rows);
  }
  // With kLatticeAtoms only.
  std::uint32_t atom_point_raw(int i) const { return atom_point_[i]; }
  std::uint32_t atom_mass_raw(int i) const { return atom_mass_[i]; }
  std::uint32_t knot_mass_raw(int i) const { return knot_mass_[i]; }
  std::uint16_t knot_slope_raw(int i) const { return knot_slope_[i]; }
  double knot_u(int i) const {
    const std::uint64_t bits =
        (std::uint64_t{knot_high_[i]} << 32) | (std::uint64_t{knot_low_[i]} << 16);
    return std::bit_cast<double>(bits);
  }
  double knot_mass(int i) const { return knot_mass_[i] / static_cast<double>(kMassOne); }
  double knot_slope(int i) const { return unpack_slope(knot_slope_[i]) * header_->slope_unit; }
  float block_moment(int b, int order) const { return block_moment_[2 * b + order - 1]; }

  double to_u(double x) const;
  double to_x(double u) const;

 private:
  const Header* header_;
  const double* atom_value_ = nullptr;
  const double* atom_rows_ = nullptr;
  const std::uint32_t* atom_point_ = nullptr;  // null unless the atoms are lattice points
  const std::uint32_t* atom_mass_ = nullptr;
  const std::uint32_t* knot_mass_ = nullptr;
  const std::uint32_t* knot_high_ = nullptr;
  const float* block_moment_ = nullptr;
  const std::uint16_t* knot_low_ = nullptr;
  const std::uint16_t* knot_slope_ = nullptr;
  int knots_;
};

// The parts of a density, to be written by encode().
struct DensityParts {
  Header header{};  // atoms, knots are set by encode()
  // With kLatticeAtoms, values within half a step of their lattice points.
  std::vector<double> atom_value, atom_rows;
  std::vector<double> knot_u;  // truncate_position'ed
  std::vector<std::uint32_t> knot_mass;
  std::vector<std::uint16_t> knot_slope;
  std::vector<float> block_moment;
};

// Bytes a density of that shape takes.
std::size_t density_size(std::size_t atoms, std::size_t knots, bool lattice_atoms = false);

// The most knots that fit in kMaxBytes beside that many atoms.
std::size_t max_knots(std::size_t atoms, bool lattice_atoms = false);

// Writes the parts; `bytes` is sized by it. The varlena word is 0. Validates what it wrote.
// Errors: invalid_format, out_of_memory.
Status encode(const DensityParts& parts, std::vector<std::uint64_t>* words, std::size_t* size);

// Every rule of the density's kind (of this file, histogram.h or joint/format.h), checked on bytes
// of unknown origin: sizes, enumerations, finite and ordered fields, masses from 0 to all, slopes
// that keep G monotone, totals that add up. bytes: 8-byte aligned, size as counted. Errors:
// invalid_format with what is wrong.
Status validate(const void* bytes, std::size_t size);

}  // namespace kde
