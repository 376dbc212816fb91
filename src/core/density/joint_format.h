// The stored form of a joint density of 2 to 16 columns: Kind::joint.
//
// A sample of the table's rows, each a point; a kernel around each of them; the density of every
// column by itself (its marginal), added up from all rows that were read. What a box counts is
//
//   sum_i own_rows [t_i in box] + w_i P(t_i + e in box),   e ~ N(0, P),   P a correlation matrix,
//
// over the points' coordinates t, which are in units of the kernel's bandwidth on axes of two
// kinds (axis.h): linear, t = (x - center)/bandwidth, for the methods by name, whose answers are
// the plain kernel sum (own_rows is 0, all w_i are equal); or the normal scores of the column's
// marginal, for automatic (P is the unit matrix).
//
// A column of value_type category has no such axis: t is the rank of its value among the words of
// its marginal (word_format.h), which for those that are not kept is the number of words, and its
// kernel the indicator, whose smoothing is none: J. Aitchison & C. Aitken, Biometrika 63 (1976),
// beside numbers Q. Li & J. Racine, J. Multivariate Analysis 86 (2003). Only automatic has such.
//
//   offset  what
//   0       JointHeader
//   ...     JointColumn column[columns]
//   ...     double  correlation[columns (columns - 1)/2]   P below its diagonal, row by row; with
//                                                          kCorrelated only
//   ...     double  heavy[...]         heavy values, ascending, column after column (axis.h)
//   ...     marginals, column after column: each a Kind::one_column of marginal_bytes bytes, a
//           multiple of 8; of a category with its words
//   ...     float   effect[...][kErrorScales]   design effects: of counts, of every two columns
//                   in the order of correlation[]; of means of every column, two and two, where it
//                   has no bounds and where it has some
//   ...     float   box[blocks][columns][2]         least and greatest coordinate in the block,
//                                                   filling among them
//   ...     float   coordinate[blocks][columns][kJointBlock]; or with kValues, packed
//   ...     weight[blocks]             with kWeights only, packed
//   ...     value[blocks][columns]     with kValues only, packed: the bits of a float f, the value
//                   being value_center + value_unit f; or with kLatticeValues the number of the
//                   lattice point lattice_offset + k lattice_step (Header::lattice_point of the
//                   marginal). 0 where the value is not finite, and in filling
//   ...     float   balance[kMostContrasts]         with kContrasts only, as what follows: of each
//                   contrast the points' rows with their signs
//   ...     contrast[blocks]           packed
//
// Points lie in blocks of kJointBlock in an order in which neighbours are near. The last block is
// filled up with points of no weight that lie nowhere (kNowhere in every column). Numbers have the
// machine's byte order; on the wire (wire.h) the network's.
//
// Packed numbers lie in 32-bit words: two of 16 bits in one, word i having those of points i and
// i + 32, in its lower and its upper half; four of 8 bits in one, of points i, i + 16, i + 32 and
// i + 48.
//
//   coordinate  float base, float step, 32 words of codes: base + step code, or one of kSpecial for
//               the codes from kFirstSpecial on. Neighbours differ by little: so does base + step
//               code from what it stands for. Of a category base is whole and step 1.
//   weight      float unit, 32 words of codes: unit code
//   value       the upper 16 bits of each number in 32 words; then of a number of value_bytes 3
//               the lower 8 in 16 words, or of 4 the lower 16 in 32 words. A float loses its last
//               bits. Lattice points of fewer than 4 bytes are counted from value_center, signed.
//   contrast    codes of 8 bits in 16 words: 2 g + 1 of a point that the g-th contrast has with a minus,
//               2 g with a plus (core/joint/contrasts.h); in filling 0
#pragma once

#include "core/density/format.h"
#include "core/density/word_format.h"
#include "core/status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kde {

inline constexpr int kMaxColumns = 16;
inline constexpr int kJointBlock = 64;
// A joint density is at most that large; its sample is thinned to a budget of the caller's.
inline constexpr std::size_t kMaxJointBytes = std::size_t{64} << 20;
// Heavy values of a column, each with a share of 1/256 of the rows or more.
inline constexpr std::uint32_t kMaxHeavy = 256;
// Bandwidths of normal scores are at least that, so that coordinates are at most kFarthest.
inline constexpr double kLeastScoreBandwidth = 1e-4;
// The least eigenvalue of P.
inline constexpr double kLeastEigenvalue = 1e-12;

// Coordinates of what is not a finite value, beyond those of any that is. Of a row whose value is
// NULL, and of filling, kNowhere: no bound on the column holds there.
inline constexpr float kFarthest = 9e5F;  // no finite value's coordinate is farther from 0
inline constexpr float kNegativeInfinity = -1e6F;
inline constexpr float kPositiveInfinity = 1e6F;
inline constexpr float kNotANumber = 2e6F;
inline constexpr float kNowhere = 4e6F;

enum class JointMethod : std::uint8_t {
  automatic = 0,  // normal scores, product kernel, calibrated weights
  lscv = 1,
  lscv_matrix = 2,
  lscv_diagonal = 3,
  plugin_product = 4,
  normal_reference = 5,
  scott = 6,
};
inline constexpr int kJointMethods = 7;

enum JointFlags : std::uint8_t {
  kJointEveryRowRead = 1,  // marginals and totals are exact
  kCorrelated = 2,         // P is not the unit matrix
  kWeights = 4,            // else every point's weight is (rows - own_rows points)/points
  kValues = 8,             // else value = center + bandwidth coordinate; all axes are then linear
  kContrasts = 16,         // the blocks that rows were read by are told; with kValues only
};
// Of 8 bits with a sign.
inline constexpr int kMostContrasts = 128;

// Codes of packed coordinates that are not finite, in the order of kSpecial.
inline constexpr std::uint32_t kFirstSpecial = 0xfffc;
inline constexpr float kSpecial[] = {kNegativeInfinity, kPositiveInfinity, kNotANumber, kNowhere};

enum JointColumnFlags : std::uint8_t {
  kNormalScores = 1,   // of its axis; else linear, or a category's
  kLatticeValues = 2,  // value[] holds lattice points
};

struct JointHeader {
  std::uint32_t varlena;  // PostgreSQL's length word; no part of the density
  std::uint8_t version;   // kFormatVersion
  Kind kind;              // joint
  std::uint8_t columns;   // 2 .. kMaxColumns
  std::uint8_t flags;
  JointMethod method;
  std::uint8_t contrasts;    // 1 .. kMostContrasts with kContrasts, else 0
  std::uint8_t reserved[2];  // 0
  std::uint32_t points;      // >= 2
  double rows;               // rows the density stands for, with NULL or without: [1, 2^62]
  double sample_rows;        // rows of the sample that the bandwidth was chosen from, >= points
  double own_rows;           // rows that each point stands for by itself: [0, rows/points]
  // A count of the fraction p of the rows that were read by the points among them has the variance
  //   rows^2 p (1 - p) sampling_variance / points,
  // and that of the table's by the rows that were read the same with reading_variance, as if these
  // had come one by one: times the design effect of sampling by blocks, and of its strata. 0 where
  // nothing was sampled.
  double sampling_variance, reading_variance;
  double rows_variance;  // of the number of rows itself, over its square, as Header's
  // The mean squared error of this density's counts and means over boxes that hold the fraction
  // 4^-(i + 1) of the rows, divided by the raw sample's variance; measured when it was built.
  float count_error[kErrorScales];
  float mean_error[kErrorScales];

  std::size_t blocks() const { return (points + std::size_t{kJointBlock} - 1) / kJointBlock; }
};
static_assert(sizeof(JointHeader) == 16 + 6 * sizeof(double) + 2 * kErrorScales * sizeof(float));

struct JointColumn {
  ValueType value_type;
  std::uint8_t flags;
  // With kValues 2 (of lattice values alone), 3 or 4; else, and of a category, 0.
  std::uint8_t value_bytes;
  std::uint8_t reserved;  // 0
  std::uint32_t heavy;    // number of heavy values; 0 on linear axes
  std::uint32_t marginal_bytes;
  std::uint32_t reserved2;  // 0
  double center;            // of a linear axis; else 0
  // Of a linear axis in units of x, > 0; else of normal scores, in [kLeastScoreBandwidth, 1].
  double bandwidth;
  double value_center, value_unit;  // unit > 0

  bool is_category() const { return value_type == ValueType::category; }
};
static_assert(sizeof(JointColumn) == 16 + 4 * sizeof(double));

// The float f that is stored of a finite value x: whoever stores or compares values rounds so. What
// is farther than a float of that unit tells is as far as one can be. f is off by at most
// raw_slack() of itself.
inline constexpr double kMostRaw = 1e38;
constexpr double raw_slack(int value_bytes) { return value_bytes == 3 ? 0x1p-16 : 0x1p-24; }
float raw_number(const JointColumn& c, double x);
// Of a number of so many bytes, the largest.
constexpr std::int32_t most_packed(int bytes) { return 0x7fffffff >> (32 - 8 * bytes); }
// The number of the lattice point from which lattice values are counted; 0 of four bytes, and of
// others than lattice values.
std::int32_t packed_origin(const JointColumn& c, const Header& marginal);

// What columns take, added up.
struct JointSizes {
  std::size_t heavy = 0;  // values
  std::size_t marginal_bytes = 0;
  std::size_t value_bytes = 0;  // JointColumn's

  void add(const JointColumn& c) {
    heavy += c.heavy;
    marginal_bytes += c.marginal_bytes;
    value_bytes += c.value_bytes;
  }
};

// Bytes of a joint density of that shape.
std::size_t joint_size(const JointHeader& header, const JointSizes& sizes);

// Read access. Holds pointers into the bytes; trivially copyable.
class JointView {
 public:
  // bytes: 8-byte aligned, validated (or built by this library).
  explicit JointView(const void* bytes);

  const JointHeader& header() const { return *header_; }
  int columns() const { return header_->columns; }
  std::size_t blocks() const { return header_->blocks(); }
  const JointColumn& column(int k) const { return column_[k]; }
  bool correlated() const { return (header_->flags & kCorrelated) != 0; }
  bool has_weights() const { return weight_ != nullptr; }
  // Rows that a point's kernel spreads, where there are no weights.
  double equal_weight() const {
    const double rows = header_->rows - header_->own_rows * header_->points;
    return rows > 0 ? rows / header_->points : 0;
  }
  // P_jk.
  double correlation(int j, int k) const {
    if (j == k) return 1;
    if (!correlated()) return 0;
    const int r = j > k ? j : k, c = j > k ? k : j;
    return correlation_[r * (r - 1) / 2 + c];
  }
  // Design effects by scale (ratio_at): of counts in boxes on two columns, of means of a column.
  using Scales = float[kErrorScales];
  const Scales& count_effect(int j, int k) const {
    const int r = j > k ? j : k, c = j > k ? k : j;
    return effect_[r * (r - 1) / 2 + c];
  }
  const Scales& mean_effect(int k, bool bounded) const {
    return effect_[columns() * (columns() - 1) / 2 + 2 * k + (bounded ? 1 : 0)];
  }
  std::span<const double> heavy(int k) const { return {heavy_[k], column_[k].heavy}; }
  // The column's own density, as a fit of it alone makes it; each of its rows stands for
  // marginal_scale(k) rows of the table.
  const Header* marginal(int k) const { return marginal_[k]; }
  // Of a category.
  WordsView words(int k) const { return WordsView(marginal_[k]); }
  double marginal_scale(int k) const {
    const double read = marginal_[k]->rows + marginal_[k]->nulls;
    return read > 0 ? header_->rows / read : 1;
  }

  int contrasts() const { return header_->contrasts; }
  std::span<const float> balance() const {
    return {balance_, static_cast<std::size_t>(contrasts())};
  }
  const std::uint32_t* contrast_words(std::size_t b) const {
    return contrast_ + b * (kJointBlock / 4);
  }
  // The codes of block b's points, kJointBlock of them; of a density with contrasts.
  void contrasts(std::size_t b, std::uint8_t* out) const;

  bool has_values() const { return value_ != nullptr; }
  // Where block b begins, as stored.
  const std::uint32_t* coordinate_words(std::size_t b, int k) const {
    return coordinate_ + (b * header_->columns + static_cast<std::size_t>(k)) * coordinate_stride_;
  }
  const std::uint32_t* weight_words(std::size_t b) const {
    return weight_ + b * (1 + kJointBlock / 2);
  }
  const std::uint32_t* value_words(std::size_t b, int k) const {
    return value_ + b * value_stride_ + value_offset_[k];
  }
  // Of block b; out: kJointBlock numbers. Raw values of a category are 0.
  void coordinates(std::size_t b, int k, float* out) const;
  void weights(std::size_t b, float* out) const;
  void raw_values(std::size_t b, int k, std::int32_t* out) const;
  // Of its point i.
  float coordinate(std::size_t b, int k, int i) const;
  float weight(std::size_t b, int i) const;
  std::int32_t raw_value(std::size_t b, int k, int i) const;
  const float* box(std::size_t b, int k) const {
    return box_ + 2 * (b * header_->columns + static_cast<std::size_t>(k));
  }
  float least(std::size_t b, int k) const { return box(b, k)[0]; }
  float greatest(std::size_t b, int k) const { return box(b, k)[1]; }
  // The value of a point whose coordinate is finite (at most kFarthest from 0); raw: its
  // raw_value(), without values of no account.
  double value_of(int k, float coordinate, std::int32_t raw) const;
  double value(std::size_t b, int k, int i) const {
    return value_of(k, coordinate(b, k, i), value_ != nullptr ? raw_value(b, k, i) : 0);
  }

 private:
  const JointHeader* header_;
  const JointColumn* column_;
  const double* correlation_ = nullptr;
  const double* heavy_[kMaxColumns] = {};
  const Header* marginal_[kMaxColumns] = {};
  const Scales* effect_ = nullptr;
  const float* box_ = nullptr;
  const std::uint32_t* coordinate_ = nullptr;
  const std::uint32_t* weight_ = nullptr;
  const std::uint32_t* value_ = nullptr;
  const float* balance_ = nullptr;
  const std::uint32_t* contrast_ = nullptr;
  std::size_t coordinate_stride_;  // words
  std::size_t value_stride_ = 0, value_offset_[kMaxColumns] = {};
  std::int32_t value_origin_[kMaxColumns] = {};
};

// The parts of a joint density, to be written by encode_joint().
struct JointParts {
  JointHeader header{};             // version, kind, points, columns are set by it
  std::vector<JointColumn> column;  // heavy, marginal_bytes are set by it
  std::vector<double> correlation;  // as stored
  std::vector<std::vector<double>> heavy;
  std::vector<DensityBytes> marginal;  // each a Kind::one_column
  std::vector<float> effect;           // as stored; none: 0
  // n x columns, row by row; weight: n, or none; value: n x columns, or none.
  std::vector<float> coordinate;
  std::vector<float> weight;
  std::vector<std::int32_t> value;
  std::vector<std::uint8_t> contrast;  // n codes; none without contrasts
  // What is to be asked at once and thrown away: points are near each other in the order they come
  // in, and stay in it; nothing is validated.
  bool draft = false;
};

// Orders the points, cuts them into blocks and writes all parts: the same parts, the same bytes.
// Varlena words are 0, and so are values of coordinates that are not finite. Validates what it
// wrote, but for drafts. Errors: invalid_format, out_of_memory, too_large; internal for parts of
// unequal length.
Status encode_joint(const JointParts& parts, DensityBytes* density) noexcept;

// Bytes of a joint density whose first `available` bytes are given, as far as its header and
// columns tell; 0 where they cannot be one.
std::size_t joint_size(const void* bytes, std::size_t available);

// Whether all parts of a joint density, its marginals' among them, are within its `size` bytes, and
// its enumerations are known: what reads rely on, whatever else the bytes are. Cheap: looks at no
// point.
bool joint_fits(const void* bytes, std::size_t size);

// Every rule of this file, checked on bytes of unknown origin: sizes, enumerations, finite and
// ordered fields, marginals that are valid histograms of the column's type, P positive definite,
// coordinates finite or one of the four, of a category ranks that it has or kNowhere, boxes that
// are their blocks', values that are finite, weights >= 0 that add up to what own_rows leaves of
// the rows (to 1e-5 of them), filling. bytes: 8-byte aligned. Errors: invalid_format with what is
// wrong; cancelled.
Status validate_joint(const void* bytes, std::size_t size, const Control& control = {}) noexcept;

const char* joint_method_name(JointMethod method);  // "auto", "lscv", "lscv_matrix", ...
bool parse_joint_method(const char* name, JointMethod* method);
const char* joint_method_list();  // "auto, lscv, ... and scott", for messages

// ---- where the parts lie

// Offsets in bytes from the header. Parts that are absent have the next one's offset.
struct JointLayout {
  std::size_t column, correlation, heavy, marginal, effect, box, coordinate, weight, value, balance,
      contrast, size;
};

// Numbers of effect[].
inline std::size_t joint_effects(std::size_t columns) {
  return (columns * (columns - 1) / 2 + 2 * columns) * std::size_t{kErrorScales};
}

// Points and columns are at most so many that nothing overflows: 2^32 points of kMaxColumns.
JointLayout joint_layout(const JointHeader& header, const JointSizes& sizes);

// Fills in box[] of a density whose other parts are there.
void write_boxes(void* bytes);

}  // namespace kde
