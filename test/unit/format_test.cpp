// The stored bytes: packing, layout, and validate() against one corrupted field at a time and
// against random damage.
#include "core/density/format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "answers.h"
#include "core/density/text.h"
#include "fitted.h"

namespace kde {
namespace {

using fitted::Fitted;
using fitted::kInf;
using fitted::kNan;

// A density with everything: 3 atoms of 10 rows each, 70 smooth rows spread evenly over u in
// [-0.5, 0.5] in 20 cells (two blocks), 4 NaN, 2 and 1 infinities.
DensityParts everything() {
  DensityParts p;
  Header& h = p.header;
  h.kernel = Kernel::gaussian;
  h.flags = kBounded;
  h.value_type = ValueType::numeric;
  h.method = Method::plugin;
  h.exponent = 3;
  h.rows = 107;
  h.nulls = 5;
  h.nans = 4;
  h.negative_infinities = 2;
  h.positive_infinities = 1;
  h.sample_rows = 100;
  h.bandwidth = 0.25;
  h.origin = 10;
  h.lattice_step = 0.5;
  h.lattice_offset = 0.25;
  h.min = 6;
  h.max = 14;
  h.mean = 10.5;
  h.variance = 2;
  h.smooth_rows = 70;
  h.error = 1e-6;
  p.atom_value = {6, 7.5, 13};
  p.atom_rows = {10, 20, 30};
  constexpr int kCells = 20;
  for (int i = 0; i <= kCells; ++i) {
    p.knot_u.push_back(truncate_position(-0.5 + i / double{kCells}));
    p.knot_mass.push_back(static_cast<std::uint32_t>(kMassOne / double{kCells} * i));
    p.knot_slope.push_back(0xf000);
  }
  p.knot_mass.back() = kMassOne;
  h.slope_unit = 1 / unpack_slope(0xf000);
  p.block_moment = {1e-9f, -1e-9f, 2e-9f, 0};
  return p;
}

struct Bytes {
  std::vector<std::uint64_t> words;
  std::size_t size = 0;
  Header& header() { return *reinterpret_cast<Header*>(words.data()); }
};

Bytes encoded(const DensityParts& p) {
  Bytes b;
  const Status s = encode(p, &b.words, &b.size);
  EXPECT_TRUE(s.ok()) << s.message;
  return b;
}

TEST(Slope, PackingIsMonotoneAndPrecise) {
  // Every packed value comes back, in ascending order.
  double before = -1;
  for (unsigned v = 0; v <= 0xffff; ++v) {
    const double x = unpack_slope(static_cast<std::uint16_t>(v));
    ASSERT_GT(x, before);
    ASSERT_EQ(pack_slope(x), v);
    // Just below, it is the one before: packing rounds down.
    if (v > 0) {
      ASSERT_EQ(pack_slope(std::nextafter(x, 0)), v - 1);
    }
    before = x;
  }
  EXPECT_EQ(before, kMaxPackedSlope);
  // 11 bits of mantissa below the leading one.
  Random random(1);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::exp2(11 + 30 * random.uniform());
    if (x > kMaxPackedSlope) continue;
    const double y = unpack_slope(pack_slope(x));
    ASSERT_LE(y, x);
    ASSERT_LE(x - y, 0x1p-11 * x);
  }
  EXPECT_EQ(pack_slope(0), 0);
  EXPECT_EQ(pack_slope(-1), 0);
  EXPECT_EQ(pack_slope(kNan), 0);
  EXPECT_EQ(pack_slope(kInf), 0xffff);
}

TEST(Position, TruncatesTowardsZero) {
  Random random(2);
  for (int i = 0; i < 10000; ++i) {
    const double u = 2 * random.uniform() - 1;
    const double t = truncate_position(u);
    ASSERT_LE(std::fabs(t), std::fabs(u));
    ASSERT_LE(std::fabs(t - u), 0x1p-36 * std::fabs(u));
    ASSERT_EQ(truncate_position(t), t);
  }
  EXPECT_FALSE(std::signbit(truncate_position(-0.0)));
  EXPECT_FALSE(std::signbit(truncate_position(-1e-320)));
}

TEST(Format, PartsComeBack) {
  const DensityParts p = everything();
  Bytes b = encoded(p);
  EXPECT_EQ(b.size, density_size(3, 21));
  const DensityView d(b.words.data());
  ASSERT_EQ(d.atoms(), 3);
  ASSERT_EQ(d.knots(), 21);
  EXPECT_EQ(d.blocks(), 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(d.atom_value(i), p.atom_value[static_cast<std::size_t>(i)]);
    EXPECT_EQ(d.atom_cumulative_rows(i), p.atom_rows[static_cast<std::size_t>(i)]);
  }
  for (int i = 0; i < 21; ++i) {
    const auto k = static_cast<std::size_t>(i);
    EXPECT_EQ(d.knot_u(i), p.knot_u[k]);
    EXPECT_EQ(d.knot_mass_raw(i), p.knot_mass[k]);
    EXPECT_EQ(d.knot_slope_raw(i), p.knot_slope[k]);
  }
  EXPECT_EQ(d.block_moment(0, 1), 1e-9f);
  EXPECT_EQ(d.block_moment(0, 2), -1e-9f);
  EXPECT_EQ(d.block_moment(1, 1), 2e-9f);
  EXPECT_EQ(d.to_u(14), 0.5);
  EXPECT_EQ(d.to_x(0.5), 14);
  EXPECT_EQ(d.header().finite_rows(), 100);
  // PostgreSQL's word is no part of the density.
  b.header().varlena = 12345;
  EXPECT_TRUE(validate(b.words.data(), b.size).ok());
}

TEST(Format, SizesFill16KB) {
  for (std::size_t atoms : {0, 1, 100, 500}) {
    const std::size_t knots = max_knots(atoms);
    EXPECT_LE(density_size(atoms, knots), kMaxBytes);
    EXPECT_GT(density_size(atoms, knots + 1), kMaxBytes);
  }
  EXPECT_GE(density_size(500, 0), sizeof(Header) + 8000);
  DensityParts p = everything();
  for (int i = 0; i < 1024; ++i) {
    p.atom_value.push_back(13 + i * 1e-4);
    p.atom_rows.push_back(31 + i);
  }
  Bytes b;
  EXPECT_EQ(encode(p, &b.words, &b.size).code, Code::invalid_format);
}

TEST(Format, UnequalPartsAreADefect) {
  for (int which = 0; which < 4; ++which) {
    DensityParts p = everything();
    if (which == 0) p.atom_rows.pop_back();
    if (which == 1) p.knot_mass.pop_back();
    if (which == 2) p.knot_slope.push_back(0);
    if (which == 3) p.block_moment.push_back(0);
    Bytes b;
    EXPECT_EQ(encode(p, &b.words, &b.size).code, Code::internal) << which;
  }
}

TEST(Validate, RejectsEachCorruptedField) {
  const Bytes good = encoded(everything());
  ASSERT_TRUE(validate(good.words.data(), good.size).ok());
  struct Corruption {
    const char* what;
    std::function<void(Header&)> apply;
  };
  std::vector<Corruption> corruptions = {
      {"version 0", [](Header& h) { h.version = 0; }},
      {"version 2", [](Header& h) { h.version = kFormatVersion + 1; }},
      {"kind 0", [](Header& h) { h.kind = Kind{0}; }},
      {"kind 2", [](Header& h) { h.kind = Kind{2}; }},
      {"kernel", [](Header& h) { h.kernel = Kernel{kKernels}; }},
      {"flags 128", [](Header& h) { h.flags |= 128; }},
      {"flags 16", [](Header& h) { h.flags |= 16; }},
      {"flags 32", [](Header& h) { h.flags |= 32; }},
      {"lattice atoms, not packed", [](Header& h) { h.flags |= kLatticeAtoms; }},
      {"value type", [](Header& h) { h.value_type = ValueType{kValueTypes}; }},
      {"method automatic", [](Header& h) { h.method = Method::automatic; }},
      {"method 77", [](Header& h) { h.method = Method{77}; }},
      {"reserved", [](Header& h) { h.reserved = 1; }},
      {"exponent large", [](Header& h) { h.exponent = 1101; }},
      {"exponent small", [](Header& h) { h.exponent = -1101; }},
      {"atoms less", [](Header& h) { --h.atoms; }},
      {"atoms more", [](Header& h) { ++h.atoms; }},
      {"atoms 2^32 - 1", [](Header& h) { h.atoms = UINT32_MAX; }},
      {"knots less", [](Header& h) { --h.knots; }},
      {"knots more", [](Header& h) { ++h.knots; }},
      {"knots 0", [](Header& h) { h.knots = 0; }},
      {"knots 1", [](Header& h) { h.knots = 1; }},
      {"knots 2^31", [](Header& h) { h.knots = 1u << 31; }},
      {"rows do not add up", [](Header& h) { h.rows = 108; }},
      {"smooth rows do not add up", [](Header& h) { h.smooth_rows = 69; }},
      {"NaN rows do not add up", [](Header& h) { h.nans = 5; }},
      {"infinities do not add up", [](Header& h) { h.negative_infinities = 0; }},
      {"special values exceed", [](Header& h) { h.positive_infinities = 1000; }},
      {"mean below min", [](Header& h) { h.mean = 5.99; }},
      {"mean above max", [](Header& h) { h.mean = 14.01; }},
      {"min above max", [](Header& h) { h.min = 15; }},
      {"error above 1", [](Header& h) { h.error = 1.5; }},
      {"slope unit 0", [](Header& h) { h.slope_unit = 0; }},
      {"slope unit too large", [](Header& h) { h.slope_unit *= 4; }},
      {"an atom above max", [](Header& h) { h.max = 12; }},
      {"an atom below min", [](Header& h) { h.min = 6.5; }},
      {"knots beyond DBL_MAX", [](Header& h) { h.exponent = 1100; }},
  };
  constexpr double Header::*kCounts[] = {&Header::rows,
                                         &Header::nulls,
                                         &Header::nans,
                                         &Header::negative_infinities,
                                         &Header::positive_infinities,
                                         &Header::sample_rows,
                                         &Header::bandwidth,
                                         &Header::lattice_step,
                                         &Header::smooth_rows,
                                         &Header::slope_unit,
                                         &Header::error,
                                         &Header::lattice_scale,
                                         &Header::sampling_variance};
  int i = 0;
  std::vector<std::string> names;
  names.reserve(200);
  for (auto member : kCounts) {
    for (double bad : {-1.0, -1e-300, kNan, kInf, -kInf}) {
      names.push_back("count " + std::to_string(i) + " = " + std::to_string(bad));
      corruptions.push_back({names.back().c_str(), [member, bad](Header& h) { h.*member = bad; }});
    }
    ++i;
  }
  constexpr double Header::*kPositions[] = {&Header::origin, &Header::lattice_offset, &Header::min,
                                            &Header::max, &Header::mean};
  for (auto member : kPositions) {
    for (double bad : {kNan, kInf, -kInf}) {
      names.push_back("position " + std::to_string(i) + " = " + std::to_string(bad));
      corruptions.push_back({names.back().c_str(), [member, bad](Header& h) { h.*member = bad; }});
    }
    ++i;
  }
  constexpr float kBadRatios[] = {-1, -1e-30F, static_cast<float>(kNan), static_cast<float>(kInf)};
  for (int k = 0; k < kErrorScales; ++k) {
    for (float bad : kBadRatios) {
      corruptions.push_back({"count_error", [k, bad](Header& h) { h.count_error[k] = bad; }});
      corruptions.push_back({"mean_error", [k, bad](Header& h) { h.mean_error[k] = bad; }});
    }
  }
  corruptions.push_back({"lattice scale too small", [](Header& h) { h.lattice_scale = 1.9; }});
  corruptions.push_back({"lattice scale too large", [](Header& h) { h.lattice_scale = 2e15; }});
  // The lattice's step is 0.5, its offset 0.25: only multiples of 4 make both whole.
  for (double bad : {-4.0, 5e-324, 0.5, 2.0, 6.0, 4e15, kNan, kInf}) {
    names.push_back("lattice scale " + std::to_string(bad));
    corruptions.push_back({names.back().c_str(), [bad](Header& h) { h.lattice_scale = bad; }});
  }
  corruptions.push_back({"variance NaN", [](Header& h) { h.variance = kNan; }});
  corruptions.push_back({"variance negative", [](Header& h) { h.variance = -1e-300; }});
  for (const Corruption& c : corruptions) {
    Bytes b = good;
    c.apply(b.header());
    const Status s = validate(b.words.data(), b.size);
    EXPECT_EQ(s.code, Code::invalid_format) << c.what;
    EXPECT_NE(s.message[0], '\0') << c.what;
  }
}

TEST(Validate, RejectsCorruptedAtomsAndKnots) {
  struct Corruption {
    const char* what;
    std::function<void(DensityParts&)> apply;
  };
  const std::vector<Corruption> corruptions = {
      {"atoms equal", [](DensityParts& p) { p.atom_value[1] = 6; }},
      {"atoms descending", [](DensityParts& p) { std::swap(p.atom_value[1], p.atom_value[2]); }},
      {"atom NaN", [](DensityParts& p) { p.atom_value[1] = kNan; }},
      {"atom infinite", [](DensityParts& p) { p.atom_value[2] = kInf; }},
      {"atom without rows", [](DensityParts& p) { p.atom_rows[0] = 0; }},
      {"atom rows fall", [](DensityParts& p) { p.atom_rows[1] = 5; }},
      {"atom rows equal", [](DensityParts& p) { p.atom_rows[1] = 10; }},
      {"atom rows NaN", [](DensityParts& p) { p.atom_rows[1] = kNan; }},
      {"last atom's rows infinite", [](DensityParts& p) { p.atom_rows[2] = kInf; }},
      {"atom rows off", [](DensityParts& p) { p.atom_rows[2] = 31; }},
      {"knot NaN", [](DensityParts& p) { p.knot_u[4] = kNan; }},
      {"knot infinite", [](DensityParts& p) { p.knot_u.back() = kInf; }},
      {"knot beyond 1", [](DensityParts& p) { p.knot_u.back() = 1 + 0x1p-30; }},
      {"knot beyond -1", [](DensityParts& p) { p.knot_u[0] = -1.5; }},
      // Text has no place for the sign, and a density one form.
      {"knot at minus zero",
       [](DensityParts& p) { *std::lower_bound(p.knot_u.begin(), p.knot_u.end(), 0.0) = -0.0; }},
      {"knots equal", [](DensityParts& p) { p.knot_u[4] = p.knot_u[3]; }},
      {"knots descending", [](DensityParts& p) { std::swap(p.knot_u[3], p.knot_u[4]); }},
      {"first mass", [](DensityParts& p) { p.knot_mass[0] = 1; }},
      {"last mass", [](DensityParts& p) { --p.knot_mass.back(); }},
      {"masses fall", [](DensityParts& p) { std::swap(p.knot_mass[3], p.knot_mass[5]); }},
      // Three times the secant, the steepest, is 2 exponents up and half a mantissa: 0xfc00.
      {"slope too steep", [](DensityParts& p) { p.knot_slope[7] = 0xfd00; }},
      {"first slope too steep", [](DensityParts& p) { p.knot_slope[0] = 0xfd00; }},
      {"last slope too steep", [](DensityParts& p) { p.knot_slope.back() = 0xfd00; }},
      {"moment NaN",
       [](DensityParts& p) { p.block_moment[1] = std::numeric_limits<float>::quiet_NaN(); }},
      {"moment infinite",
       [](DensityParts& p) { p.block_moment[2] = std::numeric_limits<float>::infinity(); }},
      {"smooth rows without knots",
       [](DensityParts& p) {
         p.knot_u.clear();
         p.knot_mass.clear();
         p.knot_slope.clear();
         p.block_moment.clear();
       }},
  };
  for (const Corruption& c : corruptions) {
    DensityParts p = everything();
    c.apply(p);
    Bytes b;
    EXPECT_EQ(encode(p, &b.words, &b.size).code, Code::invalid_format) << c.what;
  }
  // A steep slope within the limit is allowed: 2.9 times the secant.
  DensityParts p = everything();
  p.knot_slope[7] = pack_slope(2.9 * unpack_slope(0xf000));
  Bytes b;
  EXPECT_TRUE(encode(p, &b.words, &b.size).ok());
}

// Three points of a lattice of halves from 6.25 on, packed, beside everything()'s smooth part.
DensityParts packed() {
  DensityParts p = everything();
  p.header.flags |= kLatticeAtoms | kCorrected;
  p.header.lattice_offset = 6.25;
  p.header.lattice_scale = 100;
  p.atom_value = {6.25, 7.75, 12.75};
  p.header.sampling_variance = 0.75;
  for (int i = 0; i < kErrorScales; ++i) {
    p.header.count_error[i] = 0.5F + 0.0625F * static_cast<float>(i);
    p.header.mean_error[i] = 1.5F - 0.0625F * static_cast<float>(i);
  }
  return p;
}

TEST(Format, PackedAtomsTakeHalfTheSpace) {
  const DensityParts p = packed();
  const Bytes b = encoded(p);
  EXPECT_EQ(b.size, density_size(3, 21, true));
  EXPECT_EQ(density_size(3, 21), b.size + 3 * 8);
  const DensityView d(b.words.data());
  const std::uint32_t points[] = {0, 3, 13};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(d.atom_point_raw(i), points[i]);
    EXPECT_EQ(d.atom_value(i), p.atom_value[static_cast<std::size_t>(i)]);
    // Of 30 rows, to half a unit of 2^-32.
    EXPECT_NEAR(d.atom_cumulative_rows(i), p.atom_rows[static_cast<std::size_t>(i)], 30 * 0x1p-32);
  }
  EXPECT_EQ(d.atom_cumulative_rows(2), 30);
  for (std::size_t atoms : {1, 1000, 1900}) {
    const std::size_t knots = max_knots(atoms, true);
    EXPECT_LE(density_size(atoms, knots, true), kMaxBytes);
    EXPECT_GT(density_size(atoms, knots + 1, true), kMaxBytes);
  }
  // The most that a lattice alone may have.
  EXPECT_LE(density_size(1900, 0, true), kMaxBytes);
}

// A point of the lattice need not be the decimal that offset + k step rounds to; with the scale it
// is.
TEST(Format, PackedPointsAreDecimalLiterals) {
  DensityParts p = packed();
  p.header.lattice_step = 0.01;
  p.header.lattice_offset = 6.01;
  p.atom_value.clear();
  p.atom_rows.clear();
  int inexact = 0;
  for (int i = 0; i < 300; ++i) {
    p.atom_value.push_back((601 + i) / 100.0);
    p.atom_rows.push_back((i + 1) / 10.0);
    inexact += 6.01 + i * 0.01 != p.atom_value.back() ? 1 : 0;
  }
  EXPECT_GT(inexact, 10);
  const Bytes b = encoded(p);
  const DensityView d(b.words.data());
  for (int i = 0; i < 300; ++i)
    ASSERT_EQ(d.atom_value(i), p.atom_value[static_cast<std::size_t>(i)]);
}

TEST(Validate, RejectsWhatCannotBePacked) {
  struct Corruption {
    const char* what;
    std::function<void(DensityParts&)> apply;
  };
  const Corruption corruptions[] = {
      {"no lattice", [](DensityParts& p) { p.header.lattice_step = 0; }},
      {"scale that moves points", [](DensityParts& p) { p.header.lattice_scale = 2.16; }},
      {"below the offset", [](DensityParts& p) { p.header.lattice_offset = 6.75; }},
      {"beyond 32 bits", [](DensityParts& p) { p.header.lattice_step = 1e-9; }},
      {"two atoms of one point", [](DensityParts& p) { p.atom_value[1] = 6.26; }},
      {"NaN", [](DensityParts& p) { p.atom_value[1] = kNan; }},
      {"infinite", [](DensityParts& p) { p.atom_value[2] = kInf; }},
      {"rows fall", [](DensityParts& p) { p.atom_rows[0] = 25; }},
      {"rows off", [](DensityParts& p) { p.atom_rows[2] = 29; }},
      {"rows off by little", [](DensityParts& p) { p.atom_rows[2] *= 1 - 1e-6; }},
      {"rows above all", [](DensityParts& p) { p.atom_rows[2] = 31; }},
      {"rows above all, then all", [](DensityParts& p) { p.atom_rows[1] = 1e300; }},
      {"infinite rows", [](DensityParts& p) { p.atom_rows[2] = kInf; }},
      {"negative rows", [](DensityParts& p) { p.atom_rows[0] = -5; }},
      {"no number of rows", [](DensityParts& p) { p.atom_rows[0] = kNan; }},
      {"nor in the middle", [](DensityParts& p) { p.atom_rows[1] = kNan; }},
      {"nor at the end", [](DensityParts& p) { p.atom_rows[2] = kNan; }},
      {"descending", [](DensityParts& p) { std::swap(p.atom_value[0], p.atom_value[1]); }},
      {"beyond max", [](DensityParts& p) { p.atom_value[2] = 14.25; }},
  };
  for (const Corruption& c : corruptions) {
    DensityParts p = packed();
    c.apply(p);
    Bytes b;
    EXPECT_EQ(encode(p, &b.words, &b.size).code, Code::invalid_format) << c.what;
  }
  // A value beside its point is stored as the point; a point without rows is allowed.
  DensityParts p = packed();
  p.atom_value[1] = 7.8;
  p.atom_rows[1] = p.atom_rows[0];
  const Bytes b = encoded(p);
  EXPECT_EQ(DensityView(b.words.data()).atom_value(1), 7.75);
}

// The words of packed atoms, one at a time.
TEST(Validate, RejectsCorruptedPackedAtoms) {
  const Bytes good = encoded(packed());
  const auto with_word = [&good](std::size_t word, std::uint32_t value) {
    Bytes b = good;
    std::memcpy(reinterpret_cast<char*>(b.words.data()) + sizeof(Header) + 4 * word, &value, 4);
    return validate(b.words.data(), b.size).code;
  };
  EXPECT_EQ(with_word(1, 4), Code::ok);
  EXPECT_EQ(with_word(4, kMassOne - 1), Code::ok);
  for (const auto& [word, value] :
       std::initializer_list<std::pair<std::size_t, std::uint32_t>>{{0, 3},
                                                                    {0, 5},
                                                                    {1, 0},
                                                                    {1, 13},
                                                                    {1, UINT32_MAX},
                                                                    {2, 16},
                                                                    {2, 3},
                                                                    {2, UINT32_MAX},
                                                                    {3, kMassOne},
                                                                    {4, 0},
                                                                    {5, 0},
                                                                    {5, kMassOne - 1000}})
    EXPECT_EQ(with_word(word, value), Code::invalid_format) << word << " = " << value;
}

TEST(Validate, RejectsEveryWrongLength) {
  const Bytes good = encoded(everything());
  // In an exact allocation, so that a sanitizer sees any read beyond `size`.
  for (std::size_t size = 0; size < good.size; ++size) {
    void* exact = std::malloc(std::max<std::size_t>(size, 1));
    std::memcpy(exact, good.words.data(), size);
    EXPECT_EQ(validate(exact, size).code, Code::invalid_format) << size;
    std::free(exact);
  }
  std::vector<std::uint64_t> longer = good.words;
  longer.resize(4096);
  for (std::size_t size :
       {good.size + 1, good.size + 8, kMaxBytes, kMaxBytes + 1, std::size_t{32768}})
    EXPECT_EQ(validate(longer.data(), size).code, Code::invalid_format) << size;
}

// Fields that are each legal but whose combination drives intermediate results out of range.
TEST(Validate, ExtremeButLegalFieldsGiveNoNan) {
  const std::vector<std::function<void(DensityParts&)>> extremes = {
      [](DensityParts& p) { p.header.bandwidth = std::numeric_limits<double>::max(); },
      [](DensityParts& p) { p.header.bandwidth = 5e-324; },
      [](DensityParts& p) { p.header.lattice_step = 5e-324; },
      [](DensityParts& p) { p.header.lattice_step = std::numeric_limits<double>::max(); },
      [](DensityParts& p) { p.header.lattice_offset = -std::numeric_limits<double>::max(); },
      [](DensityParts& p) { p.header.exponent = -1100; },
      [](DensityParts& p) { p.header.exponent = 1000; },
      [](DensityParts& p) {
        p.header.exponent = -1100;
        p.header.bandwidth = 1e308;
      },
      [](DensityParts& p) { p.header.origin = 1e308; },
      [](DensityParts& p) { p.header.variance = kInf; },
      [](DensityParts& p) {  // atoms only, far from the origin
        p.knot_u.clear();
        p.knot_mass.clear();
        p.knot_slope.clear();
        p.block_moment.clear();
        p.header.smooth_rows = 0;
        p.header.rows = 37;
        p.header.exponent = -1100;
        p.header.origin = 1e300;
      },
      [](DensityParts& p) {  // cells of subnormal width
        for (std::size_t i = 0; i < p.knot_u.size(); ++i)
          p.knot_u[i] = static_cast<double>(i) * 0x1p-1058;
        p.header.slope_unit = std::numeric_limits<double>::max();
      },
      [](DensityParts& p) {
        p.block_moment = {std::numeric_limits<float>::max(), std::numeric_limits<float>::max(),
                          -std::numeric_limits<float>::max(), -std::numeric_limits<float>::max()};
      },
  };
  for (std::size_t i = 0; i < extremes.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "case " << i);
    DensityParts p = everything();
    extremes[i](p);
    Bytes b;
    const Status s = encode(p, &b.words, &b.size);
    if (s.ok()) fitted::expect_sane_answers(DensityView(b.words.data()), 40);
  }
}

// Damage of every kind: what validate() lets pass must still answer sanely, and its text form must
// read back to the same bytes.
TEST(Validate, RandomDamageIsRejectedOrHarmless) {
  std::vector<Bytes> originals = {encoded(everything()), encoded(packed())};
  const std::vector<double> z = samples::normal(300, 1);
  for (Method method : {Method::automatic, Method::silverman}) {
    const Fitted f = fitted::fit(z, method);
    originals.push_back({f.words, f.size});
  }
  std::vector<double> whole = z;
  for (double& v : whole) v = std::round(20 * v);
  FitOptions sampled;
  sampled.rows_per_row_read = 3;
  for (const std::vector<double>& x : {z, whole}) {
    const Fitted f = fitted::fit(fitted::sample_of(x), sampled);
    originals.push_back({f.words, f.size});
  }
  ASSERT_TRUE(originals.back().header().lattice_atoms());
  const Fitted atoms = fitted::fit(std::vector<double>(50, 2.5));
  originals.push_back({atoms.words, atoms.size});
  Random random(77);
  int accepted = 0;
  constexpr int kMutants = 20000;
  for (int i = 0; i < kMutants && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(testing::Message() << "mutant " << i);
    const Bytes& original = originals[random.below(originals.size())];
    Bytes b = original;
    auto* bytes = reinterpret_cast<unsigned char*>(b.words.data());
    const std::uint64_t mutations = 1 + random.below(3);
    for (std::uint64_t k = 0; k < mutations; ++k) {
      // Half the damage in the header, where most of the rules are.
      const std::size_t reach = random.below(2) == 0 ? sizeof(Header) : b.size;
      const std::size_t at = random.below(reach);
      switch (random.below(4)) {
        case 0:
          bytes[at] ^= static_cast<unsigned char>(1u << random.below(8));
          break;
        case 1:
          bytes[at] = static_cast<unsigned char>(random.below(256));
          break;
        case 2: {  // an interesting double in the place of one
          constexpr double kValues[] = {0,      1,     -1,    1e308, -1e308, 5e-324,
                                        1e-308, 1e300, 1e-17, 4e15,  1e5};
          const double v = kValues[random.below(std::size(kValues))];
          std::memcpy(bytes + std::min(at / 8 * 8, b.size - 8), &v, sizeof v);
          break;
        }
        default: {  // a word from elsewhere
          const std::size_t from = random.below(b.size / 8);
          b.words[at / 8] = b.words[from];
        }
      }
    }
    // As everything that reads a density from outside does.
    if (random.below(8) == 0) b.size = random.below(b.size + 9);
    b.words.resize((b.size + 7) / 8);
    if (b.words.empty()) b.words.resize(1);
    if (!validate(b.words.data(), b.size).ok()) continue;
    ++accepted;
    const DensityView d(b.words.data());
    if (const char* insane = fitted::insane_answer(d, 6)) {
      std::string text;
      ASSERT_TRUE(to_text(d, &text).ok());
      FAIL() << insane << ": " << text;
    }
    std::string text;
    ASSERT_TRUE(to_text(d, &text).ok());
    Bytes back;
    const Status s = from_text(text, &back.words, &back.size);
    ASSERT_TRUE(s.ok()) << s.message << "\n" << text.substr(0, 600);
    ASSERT_EQ(back.size, b.size);
    b.header().varlena = 0;
    ASSERT_EQ(std::memcmp(back.words.data(), b.words.data(), b.size), 0) << text.substr(0, 1500);
  }
  // Both outcomes must have been seen for the test to mean anything.
  EXPECT_GT(accepted, kMutants / 50);
  EXPECT_LT(accepted, kMutants - kMutants / 50);
}

}  // namespace
}  // namespace kde
