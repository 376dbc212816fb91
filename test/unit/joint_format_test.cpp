// The stored form of joint densities: what is written is what is read; blocks hold near neighbours;
// each rule, broken once, is seen; damaged bytes are refused or harmless.
#include "core/density/joint_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/density/histogram_view.h"
#include "joint_answers.h"
#include "joint_fixture.h"

namespace kde {
namespace {

using joints::Axes;
using joints::Bytes;
using joints::encode;
using joints::parts;

constexpr Axes kAllAxes[] = {Axes::normal_scores, Axes::linear, Axes::correlated};

// A point: what is stored to the last bit, values and coordinates that are not finite; and what
// is rounded, weight and coordinates.
struct Point {
  std::vector<double> exact, rounded;
  bool operator<(const Point& other) const { return exact < other.exact; }
};

std::vector<Point> points_of(const JointParts& p) {
  std::vector<Point> out;
  const std::size_t columns = p.column.size();
  for (std::size_t i = 0; i < p.coordinate.size() / columns; ++i) {
    Point point;
    for (std::size_t k = 0; k < columns; ++k) {
      const std::size_t at = i * columns + k;
      if (std::fabs(p.coordinate[at]) > kFarthest) {
        point.exact.push_back(p.coordinate[at]);
        continue;
      }
      const JointColumn& c = p.column[k];
      const auto* marginal = reinterpret_cast<const Header*>(p.marginal[k].data());
      if (p.value.empty()) {
        point.exact.push_back(c.center + c.bandwidth * p.coordinate[at]);
      } else if ((c.flags & kLatticeValues) != 0) {
        point.exact.push_back(marginal->lattice_offset + p.value[at] * marginal->lattice_step);
      } else {
        point.exact.push_back(c.value_center + c.value_unit * std::bit_cast<float>(p.value[at]));
      }
      point.rounded.push_back(p.coordinate[at]);
    }
    if (!p.weight.empty()) point.rounded.push_back(p.weight[i]);
    out.push_back(point);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Point> points_of(const JointView& d) {
  std::vector<Point> out;
  for (std::size_t i = 0; i < d.header().points; ++i) {
    const std::size_t b = i / kJointBlock;
    const int at = static_cast<int>(i % kJointBlock);
    Point point;
    for (int k = 0; k < d.columns(); ++k) {
      const float t = d.coordinate(b, k, at);
      const bool finite = std::fabs(t) <= kFarthest;
      point.exact.push_back(finite ? d.value(b, k, at) : t);
      if (finite) point.rounded.push_back(t);
    }
    if (d.has_weights()) point.rounded.push_back(d.weight(b, at));
    out.push_back(point);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Coordinates lie in [-4, 4], weights in [0, 3]: half a code is at most that. Without values
// nothing is rounded.
void expect_same_points(const JointView& d, const JointParts& p) {
  const double half = p.value.empty() ? 0 : 8.0 / kFirstSpecial / 2 * 1.01;
  const std::vector<Point> is = points_of(d);
  const std::vector<Point> wanted = points_of(p);
  ASSERT_EQ(is.size(), wanted.size());
  for (std::size_t i = 0; i < is.size(); ++i) {
    ASSERT_EQ(is[i].exact, wanted[i].exact);
    ASSERT_EQ(is[i].rounded.size(), wanted[i].rounded.size());
    for (std::size_t j = 0; j < is[i].rounded.size(); ++j)
      ASSERT_NEAR(is[i].rounded[j], wanted[i].rounded[j], half);
  }
}

TEST(JointFormat, ReadsWhatWasWritten) {
  for (const Axes axes : kAllAxes) {
    for (const int columns : {2, 3, 16}) {
      for (const std::size_t n : {std::size_t{2}, std::size_t{64}, std::size_t{65},
                                  std::size_t{128}, std::size_t{1000}}) {
        const JointParts p = parts(columns, n, axes);
        const Bytes b = encode(p);
        const JointView d = b.view();
        SCOPED_TRACE(testing::Message() << columns << " columns, " << n << " points");
        ASSERT_EQ(d.columns(), columns);
        ASSERT_EQ(d.header().points, n);
        EXPECT_EQ(d.blocks(), (n + 63) / 64);
        EXPECT_EQ(d.header().rows, p.header.rows);
        EXPECT_EQ(d.header().flags, p.header.flags);
        expect_same_points(d, p);
        EXPECT_EQ(joint_size(b.data(), b.size()), b.size());
        EXPECT_TRUE(joint_fits(b.data(), b.size()));
        EXPECT_TRUE(validate(b.data(), b.size()).ok());
        for (int k = 0; k < columns; ++k) {
          const auto at = static_cast<std::size_t>(k);
          EXPECT_EQ(d.column(k).bandwidth, p.column[at].bandwidth);
          EXPECT_EQ(std::vector(d.heavy(k).begin(), d.heavy(k).end()), p.heavy[at]);
          EXPECT_EQ(std::memcmp(d.marginal(k), p.marginal[at].data(), p.marginal[at].size()), 0);
        }
      }
    }
  }
}

// Of three bytes a float has 16 bits of its digits, rounded; bounds are rounded alike.
TEST(JointFormat, FloatsOfThreeBytes) {
  JointParts p = parts(2, 200, Axes::normal_scores);
  for (JointColumn& c : p.column) c.value_bytes = 3;
  const Bytes b = encode(p);
  const JointView d = b.view();
  std::vector<double> is;
  std::vector<double> wanted;
  for (std::size_t i = 0; i < 200; ++i) {
    const auto at = static_cast<int>(i % kJointBlock);
    if (std::fabs(d.coordinate(i / kJointBlock, 0, at)) <= kFarthest)
      is.push_back(d.value(i / kJointBlock, 0, at));
    if (std::fabs(p.coordinate[2 * i]) <= kFarthest) {
      const double x = 3 + 0.5 * std::bit_cast<float>(p.value[2 * i]);
      wanted.push_back(3 + 0.5 * raw_number(p.column[0], x));
      EXPECT_NEAR(wanted.back(), x, 0.5 * 4 * raw_slack(3));
    }
  }
  std::sort(is.begin(), is.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(is, wanted);
}

// What two bytes or three cannot tell is as far as they can.
TEST(JointFormat, LatticeValuesTooFarAreClamped) {
  for (const int bytes : {2, 3}) {
    JointParts p = parts(3, 70, Axes::normal_scores);
    p.column[2].value_bytes = static_cast<std::uint8_t>(bytes);
    const auto* marginal = reinterpret_cast<const Header*>(p.marginal[2].data());
    const std::int32_t origin = packed_origin(p.column[2], *marginal);
    p.value[2] = origin + most_packed(bytes) + 1;
    p.value[5] = origin - most_packed(bytes);
    const Bytes b = encode(p);
    std::int32_t least = 0;
    std::int32_t most = 0;
    for (int i = 0; i < kJointBlock; ++i) {
      for (std::size_t block : {0, 1}) {
        least = std::min(least, b.view().raw_value(block, 2, i));
        most = std::max(most, b.view().raw_value(block, 2, i));
      }
    }
    EXPECT_EQ(most, origin + most_packed(bytes));
    EXPECT_EQ(least, origin - most_packed(bytes));
  }
}

TEST(JointFormat, CorrelationsAreThoseBelowTheDiagonal) {
  JointParts p = parts(4, 10, Axes::correlated);
  p.correlation = {0.1, 0.2, 0.3, -0.4, 0.25, -0.15};
  const Bytes b = encode(p);
  EXPECT_EQ(b.view().correlation(1, 0), 0.1);
  EXPECT_EQ(b.view().correlation(0, 2), 0.2);
  EXPECT_EQ(b.view().correlation(2, 1), 0.3);
  EXPECT_EQ(b.view().correlation(0, 3), -0.4);
  EXPECT_EQ(b.view().correlation(3, 2), -0.15);
  EXPECT_EQ(b.view().correlation(2, 2), 1);
  EXPECT_EQ(encode(parts(4, 10, Axes::linear)).view().correlation(3, 1), 0);
}

// Fractions of blocks that a box of a quarter of each side's range meets: of random blocks nearly
// all; of a k-d tree's, of 2 dimensions and 64 blocks (8 x 8 of them), at most the 3 x 3 or 4 x 4
// which touch it.
TEST(JointFormat, BlocksHoldNeighbours) {
  const Bytes b = encode(parts(2, 64 * 64, Axes::linear));
  const JointView d = b.view();
  int met = 0;
  for (std::size_t i = 0; i < d.blocks(); ++i) {
    bool meets = true;
    for (int k = 0; k < 2; ++k) meets = meets && d.least(i, k) < 1 && d.greatest(i, k) > -1;
    met += meets ? 1 : 0;
  }
  EXPECT_LE(met, 16);
  EXPECT_GE(met, 4);  // there are 256 points in it
}

// A point without a value in some column widens few blocks: those that are not finite lie together.
TEST(JointFormat, ValuesThatAreNotFiniteLieTogether) {
  JointParts p = parts(2, 64 * 64, Axes::linear);
  for (std::size_t i = 0; i < 4096; i += 64) p.coordinate[2 * i] = kNowhere;
  const Bytes b = encode(p);
  int blocks = 0;
  for (std::size_t i = 0; i < b.view().blocks(); ++i)
    blocks += b.view().greatest(i, 0) == kNowhere ? 1 : 0;
  // 64 of them along a side of at most 8 blocks, and what is split before that side.
  EXPECT_LE(blocks, 16);
}

TEST(JointFormat, TheSamePartsGiveTheSameBytes) {
  const JointParts p = parts(3, 500, Axes::normal_scores);
  EXPECT_EQ(encode(p), encode(p));
}

// A draft holds the same points as the density, in the order in which they were given.
TEST(JointFormat, DraftsKeepTheirOrder) {
  JointParts p = joints::parts(3, 200, joints::Axes::normal_scores);
  const joints::Bytes whole = joints::encode(p);
  p.draft = true;
  const joints::Bytes draft = joints::encode(p);
  ASSERT_EQ(draft.size(), whole.size());
  EXPECT_TRUE(draft.validate().ok());
  const JointView view = draft.view();
  for (std::size_t i = 0; i < 200; ++i) {
    const std::size_t b = i / kJointBlock;
    const int at = static_cast<int>(i % kJointBlock);
    for (int k = 0; k < 3; ++k) {
      const float given = p.coordinate[3 * i + static_cast<std::size_t>(k)];
      // A step of the block's codes, which reach from -4 to 4 at most.
      const float extent = std::fabs(given) > kFarthest ? 0 : 8;
      EXPECT_NEAR(view.coordinate(b, k, at), given, extent / 0xffff) << i << " " << k;
    }
  }
}

TEST(JointFormat, RefusesPartsOfUnequalLength) {
  DensityBytes bytes;
  const std::vector<std::function<void(JointParts&)>> breaks = {
      [](JointParts& p) { p.coordinate.pop_back(); }, [](JointParts& p) { p.weight.pop_back(); },
      [](JointParts& p) { p.value.pop_back(); },      [](JointParts& p) { p.heavy.pop_back(); },
      [](JointParts& p) { p.marginal.pop_back(); },   [](JointParts& p) { p.column.resize(1); },
      [](JointParts& p) { p.column.resize(17); },     [](JointParts& p) { p.correlation = {0.5}; },
  };
  for (const auto& damage : breaks) {
    JointParts p = parts(3, 100, Axes::normal_scores);
    damage(p);
    EXPECT_EQ(encode_joint(p, &bytes).code, Code::internal) << &damage - breaks.data();
  }
  JointParts p = parts(2, 100, Axes::linear);
  p.coordinate[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(encode_joint(p, &bytes).code, Code::invalid_format);
  p = parts(2, 100, Axes::normal_scores);
  p.coordinate[7] = 9.1e5F;
  EXPECT_EQ(encode_joint(p, &bytes).code, Code::invalid_format);
  p = parts(2, 100, Axes::linear);
  p.coordinate.resize(2 * (kMaxJointBytes / 8), 0.0F);
  EXPECT_EQ(encode_joint(p, &bytes).code, Code::too_large);
}

TEST(JointFormat, MethodNames) {
  for (int i = 0; i < kJointMethods; ++i) {
    JointMethod method{};
    ASSERT_TRUE(parse_joint_method(joint_method_name(static_cast<JointMethod>(i)), &method));
    EXPECT_EQ(static_cast<int>(method), i);
  }
  JointMethod method{};
  EXPECT_FALSE(parse_joint_method("plugin", &method));
  EXPECT_FALSE(parse_joint_method("", &method));
}

struct Rule {
  const char* name;
  Axes axes;
  std::function<void(Bytes&)> damage;
};

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Header& marginal_of(Bytes& b, int k) { return Bytes::at(b.view().marginal(k)); }
// Of a density without values.
float& coordinate_of(Bytes& b, std::size_t block, int k, int i) {
  return Bytes::at(reinterpret_cast<const float*>(b.view().coordinate_words(block, k)) + i);
}
// The base of a block's packed coordinates, the unit of its weights.
float& base_of(Bytes& b, int k) {
  return Bytes::at(reinterpret_cast<const float*>(b.view().coordinate_words(0, k)));
}
float& unit_of(Bytes& b) {
  return Bytes::at(reinterpret_cast<const float*>(b.view().weight_words(0)));
}

TEST(JointFormat, RefusesEachBrokenRule) {
  constexpr Axes kScores = Axes::normal_scores;
  constexpr Axes kLinear = Axes::linear;
  constexpr Axes kCorr = Axes::correlated;
  const std::vector<Rule> rules = {
      {"version", kScores, [](Bytes& b) { b.header().version = 9; }},
      {"kind", kScores, [](Bytes& b) { b.header().kind = Kind::one_column; }},
      {"one column", kScores, [](Bytes& b) { b.header().columns = 1; }},
      {"17 columns", kScores, [](Bytes& b) { b.header().columns = 17; }},
      {"columns", kScores, [](Bytes& b) { b.header().columns = 4; }},
      {"flags", kScores, [](Bytes& b) { b.header().flags |= 32; }},
      {"contrasts of no blocks", kScores, [](Bytes& b) { b.header().flags &= ~kContrasts; }},
      {"contrasts without their number", kScores, [](Bytes& b) { b.header().contrasts = 0; }},
      {"contrasts beyond them", kScores, [](Bytes& b) { b.header().contrasts = 2; }},
      {"contrasts of more than all rows", kScores,
       [](Bytes& b) { Bytes::at(&b.view().balance()[0]) = 1e30F; }},
      {"filling in a contrast", kScores,
       [](Bytes& b) {
         Bytes::at(b.view().contrast_words(b.view().blocks() - 1) + kJointBlock / 4 - 1) = 1U << 24;
       }},
      {"no weights", kScores, [](Bytes& b) { b.header().flags &= ~kWeights; }},
      {"no values", kScores, [](Bytes& b) { b.header().flags &= ~kValues; }},
      {"correlated", kScores, [](Bytes& b) { b.header().flags |= kCorrelated; }},
      {"method", kScores, [](Bytes& b) { b.header().method = static_cast<JointMethod>(7); }},
      {"reserved", kScores, [](Bytes& b) { b.header().reserved[0] = 1; }},
      {"points", kScores, [](Bytes& b) { b.header().points += 64; }},
      {"one point more than there are", kScores, [](Bytes& b) { b.header().points += 1; }},
      {"one point", kScores, [](Bytes& b) { b.header().points = 1; }},
      {"many points", kScores, [](Bytes& b) { b.header().points = 0xffffffffu; }},
      {"rows", kScores, [](Bytes& b) { b.header().rows *= 1.001; }},
      {"rows NaN", kLinear, [](Bytes& b) { b.header().rows = kNan; }},
      {"number of rows", kLinear, [](Bytes& b) { b.header().rows = 0; }},
      // Products with what is that small, or that large, are no numbers.
      {"number of rows", kLinear, [](Bytes& b) { b.header().rows = 1e-300; }},
      {"number of rows", kLinear, [](Bytes& b) { b.header().rows = 1e300; }},
      {"rows infinite", kLinear, [](Bytes& b) { b.header().rows = kInf; }},
      {"sample rows", kScores, [](Bytes& b) { b.header().sample_rows -= 1; }},
      {"sample rows huge", kScores, [](Bytes& b) { b.header().sample_rows = 1e30; }},
      {"own rows negative", kScores, [](Bytes& b) { b.header().own_rows = -1; }},
      {"own rows", kLinear, [](Bytes& b) { b.header().own_rows = 3.001; }},
      {"sampling variance", kScores, [](Bytes& b) { b.header().sampling_variance = -1; }},
      {"rows variance", kScores, [](Bytes& b) { b.header().rows_variance = kNan; }},
      {"reading variance", kScores, [](Bytes& b) { b.header().reading_variance = kInf; }},
      {"effect of counts", kScores,
       [](Bytes& b) { Bytes::at(&b.view().count_effect(1, 0)[7]) = -1; }},
      {"effect of means", kScores,
       [](Bytes& b) { Bytes::at(&b.view().mean_effect(1, true)[0]) = INFINITY; }},
      {"count error", kScores,
       [](Bytes& b) { b.header().count_error[7] = -std::numeric_limits<float>::infinity(); }},
      {"mean error", kScores, [](Bytes& b) { b.header().mean_error[0] = -1; }},

      {"type", kScores, [](Bytes& b) { b.column(1).value_type = static_cast<ValueType>(10); }},
      {"type of the marginal", kScores, [](Bytes& b) { b.column(1).value_type = ValueType::date; }},
      {"column flags", kScores, [](Bytes& b) { b.column(1).flags |= 4; }},
      {"lattice values without a lattice", kScores,
       [](Bytes& b) { b.column(1).flags |= kLatticeValues; }},
      {"lattice values without values", kLinear,
       [](Bytes& b) { b.column(1).flags |= kLatticeValues; }},
      {"normal scores without values", kLinear,
       [](Bytes& b) {
         b.column(0).flags |= kNormalScores;
         b.column(0).bandwidth = 0.5;
       }},
      {"column's reserved", kScores, [](Bytes& b) { b.column(1).reserved = 1; }},
      {"column's other reserved", kScores, [](Bytes& b) { b.column(1).reserved2 = 1; }},
      {"heavy", kScores, [](Bytes& b) { b.column(1).heavy = 2; }},
      {"many heavy", kScores, [](Bytes& b) { b.column(1).heavy = 0x40000000u; }},
      {"heavy on a linear axis", kScores, [](Bytes& b) { b.column(1).flags &= ~kNormalScores; }},
      {"marginal's bytes", kScores, [](Bytes& b) { b.column(1).marginal_bytes += 8; }},
      {"bytes between marginals", kScores,
       [](Bytes& b) {
         b.column(0).marginal_bytes += 8;
         b.column(1).marginal_bytes -= 8;
       }},
      {"marginal of no bytes", kScores, [](Bytes& b) { b.column(1).marginal_bytes = 0; }},
      {"marginal of odd bytes", kScores, [](Bytes& b) { b.column(1).marginal_bytes += 4; }},
      {"center of normal scores", kScores, [](Bytes& b) { b.column(0).center = 1; }},
      {"center", kLinear, [](Bytes& b) { b.column(0).center = kInf; }},
      {"bandwidth", kLinear, [](Bytes& b) { b.column(0).bandwidth = 0; }},
      {"bandwidth NaN", kLinear, [](Bytes& b) { b.column(0).bandwidth = kNan; }},
      {"bandwidth of scores", kScores, [](Bytes& b) { b.column(0).bandwidth = 1.5; }},
      {"small bandwidth of scores", kScores, [](Bytes& b) { b.column(0).bandwidth = 1e-5; }},
      {"unit", kScores, [](Bytes& b) { b.column(0).value_unit = 0; }},
      {"unit infinite", kScores, [](Bytes& b) { b.column(0).value_unit = kInf; }},
      {"value center", kScores, [](Bytes& b) { b.column(0).value_center = kNan; }},
      {"unit out of range", kScores, [](Bytes& b) { b.column(0).value_unit = 1e308; }},

      {"heavy values equal", kScores, [](Bytes& b) { Bytes::at(b.view().heavy(1).data()) = 0; }},
      {"heavy value NaN", kScores,
       [](Bytes& b) { Bytes::at(b.view().heavy(1).data() + 2) = kNan; }},
      {"marginal", kScores, [](Bytes& b) { marginal_of(b, 2).max = -1e9; }},
      {"marginal's length word", kScores, [](Bytes& b) { marginal_of(b, 2).varlena = 4; }},
      {"kind of marginal", kScores, [](Bytes& b) { marginal_of(b, 2).kind = Kind{1}; }},

      {"coordinate NaN", kScores,
       [](Bytes& b) { base_of(b, 1) = std::numeric_limits<float>::quiet_NaN(); }},
      {"packed coordinate too far", kScores, [](Bytes& b) { base_of(b, 1) = 9.1e5F; }},
      {"coordinate too far", kLinear, [](Bytes& b) { coordinate_of(b, 0, 1, 5) = 9.1e5F; }},
      {"coordinate out of its box", kLinear, [](Bytes& b) { coordinate_of(b, 0, 1, 5) = 8; }},
      {"box too wide", kLinear, [](Bytes& b) { Bytes::at(b.view().box(0, 0)) -= 1; }},
      {"filling", kLinear, [](Bytes& b) { coordinate_of(b, 1, 1, 63) = 0; }},
      {"weight of filling", kScores,
       [](Bytes& b) { Bytes::at(b.view().weight_words(1) + 32) |= 1U << 16; }},
      {"weight NaN", kScores,
       [](Bytes& b) { unit_of(b) = std::numeric_limits<float>::quiet_NaN(); }},
      {"weight negative", kScores, [](Bytes& b) { unit_of(b) = -unit_of(b); }},
      {"weights", kScores, [](Bytes& b) { unit_of(b) *= 1.01F; }},
      {"value", kScores, [](Bytes& b) { Bytes::at(b.view().value_words(0, 0)) |= 0x7f80; }},
      {"value of filling", kScores,
       [](Bytes& b) { Bytes::at(b.view().value_words(1, 0) + 31) |= 1U << 16; }},
      {"bytes of values", kScores, [](Bytes& b) { b.column(0).value_bytes = 5; }},
      {"two bytes of a float", kScores, [](Bytes& b) { b.column(0).value_bytes = 2; }},
      {"no bytes of values", kScores, [](Bytes& b) { b.column(0).value_bytes = 0; }},
      {"bytes without values", kLinear, [](Bytes& b) { b.column(0).value_bytes = 4; }},

      {"correlation", kCorr,
       [](Bytes& b) { Bytes::at(reinterpret_cast<double*>(&b.column(3))) = 1.5; }},
      {"correlation NaN", kCorr,
       [](Bytes& b) { Bytes::at(reinterpret_cast<double*>(&b.column(3)) + 1) = kNan; }},
      // 0.5, 0.5, -0.51: their matrix has a negative eigenvalue.
      {"not positive definite", kCorr,
       [](Bytes& b) { Bytes::at(reinterpret_cast<double*>(&b.column(3)) + 2) = -0.51; }},
      {"normal scores with correlated kernels", kCorr,
       [](Bytes& b) {
         b.column(0).flags |= kNormalScores;
         b.column(0).center = 0;
         b.column(0).bandwidth = 0.5;
       }},

      {"8 bytes more", kScores, [](Bytes& b) { fitted::resize(&b, b.size() + 8); }},
      {"4 bytes less", kScores, [](Bytes& b) { fitted::resize(&b, b.size() - 4); }},
  };
  std::map<Axes, Bytes> valid;
  for (const Axes axes : kAllAxes) {
    valid[axes] = encode(parts(3, 100, axes));
    ASSERT_TRUE(valid[axes].validate().ok());
  }
  for (const Rule& rule : rules) {
    Bytes b = valid[rule.axes];
    rule.damage(b);
    EXPECT_EQ(b.validate().code, Code::invalid_format) << rule.name;
  }
}

// What reads rely on is that joint_fits() says the parts are within the bytes; the sanitizer looks.
TEST(JointFormat, EveryBitOfTheHeadersFlipped) {
  for (const Axes axes : kAllAxes) {
    const Bytes valid = encode(parts(2, 70, axes));
    const std::size_t bits = (sizeof(JointHeader) + 2 * sizeof(JointColumn)) * 8;
    for (std::size_t bit = 32; bit < bits; ++bit) {
      Bytes b = valid;
      fitted::words(&b)[bit / 64] ^= std::uint64_t{1} << bit % 64;
      const bool ok = b.validate().ok();
      const bool fits = joint_fits(b.data(), b.size());
      ASSERT_TRUE(fits || !ok) << bit;
      if (!fits) continue;
      const JointView d = b.view();
      const char* insane = ok && bit % 5 == 0 ? joints::insane_answer(d, 4) : nullptr;
      EXPECT_EQ(insane, nullptr) << insane << ": bit " << bit;
      double sum = 0;
      for (std::size_t i = 0; i < d.blocks(); ++i) {
        for (int k = 0; k < d.columns(); ++k) sum += d.value(i, k, 63) + d.greatest(i, k);
      }
      for (int k = 0; k < d.columns(); ++k) sum += static_cast<double>(d.heavy(k).size());
      EXPECT_TRUE(sum == sum || !ok || d.header().points % kJointBlock != 0);
    }
  }
}

// Names are looked up by them.
TEST(JointFormat, UnknownEnumerationsDoNotFit) {
  const Bytes valid = encode(parts(3, 70, Axes::normal_scores));
  ASSERT_TRUE(joint_fits(valid.data(), valid.size()));
  Bytes method = valid;
  method.header().method = static_cast<JointMethod>(kJointMethods);
  EXPECT_FALSE(joint_fits(method.data(), method.size()));
  for (int k = 0; k < 3; ++k) {
    Bytes type = valid;
    type.column(k).value_type = static_cast<ValueType>(kValueTypes);
    EXPECT_FALSE(joint_fits(type.data(), type.size())) << k;
  }
}

TEST(JointFormat, EveryTruncationIsRefused) {
  const Bytes b = encode(parts(2, 70, Axes::normal_scores));
  for (std::size_t n = 0; n < b.size(); ++n) {
    ASSERT_NE(validate_joint(b.data(), n).code, Code::ok) << n;
    ASSERT_FALSE(joint_fits(b.data(), n)) << n;
    if (n < 1000) {
      EXPECT_FALSE(validate(b.data(), n).ok());
    }
  }
}

}  // namespace
}  // namespace kde
