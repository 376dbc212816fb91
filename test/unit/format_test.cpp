// The header's rules: validate() against one corrupted field at a time, every wrong length, and
// random damage. Those of the cells: histogram_validate_test.cpp.
#include "core/density/format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "answers.h"
#include "core/answer/column_evidence.h"
#include "fitted.h"
#include "histogram_fixture.h"
#include "round_trip.h"

namespace kde {
namespace {

using fitted::Fitted;
using fitted::kInf;
using fitted::kNan;
using Bytes = histograms::Bytes;

constexpr double kMax = std::numeric_limits<double>::max();

// A density with everything: 3 atoms of 10 rows each, 70 rows in cells of either kind, 4 NaN, 2 and
// 1 infinities; sampled, all but the outermost rows.
Bytes everything() {
  histograms::Parts p;
  Header& h = p.header;
  h.flags = kBounded | kFitted;
  h.value_type = ValueType::numeric;
  h.nulls = 5;
  h.nans = 4;
  h.negative_infinities = 2;
  h.positive_infinities = 1;
  h.bandwidth = 0.25;
  h.lattice_step = 0.5;
  h.lattice_offset = 0.25;
  p.cells = {{6.25, 5, true}, {10.25, 40, false}, {13.75, 25, false}};
  p.atoms = {{6.25, 10, true}, {7.75, 10, true}, {12.75, 10, true}};
  histograms::set_totals(&p);
  h.sample_rows = 20;
  h.error = 1e-6;
  h.rows_variance = 0.01;
  h.end_variance = 0.001;
  h.known_below = 6.5;
  h.known_above = 13.5;
  for (int shape = 0; shape < kShapes; ++shape) {
    for (int i = 0; i < kErrorScales; ++i)
      h.count_variance[shape][i] = 0.5F + 0.0625F * static_cast<float>(i + shape);
  }
  return histograms::encode(p);
}

TEST(Format, PostgresWordIsNoPartOfTheDensity) {
  Bytes b = everything();
  EXPECT_EQ(b.header().finite_rows(), 100);
  b.header().varlena = 12345;
  EXPECT_TRUE(validate(b.data(), b.size()).ok());
}

// A ratio is linear in log p between 4^-1, 4^-2 ... and the same of all but p.
TEST(Format, RatiosBetweenScales) {
  float ratios[kErrorScales];
  for (int i = 0; i < kErrorScales; ++i) ratios[i] = static_cast<float>(i * i);
  EXPECT_EQ(ratio_at(ratios, 0.5), 0);
  EXPECT_EQ(ratio_at(ratios, 0.25), 0);
  EXPECT_EQ(ratio_at(ratios, 0.75), 0);
  EXPECT_EQ(ratio_at(ratios, 0x1p-3), 0.5);
  EXPECT_EQ(ratio_at(ratios, 0x1p-4), 1);
  EXPECT_EQ(ratio_at(ratios, 1 - 0x1p-4), 1);
  EXPECT_EQ(ratio_at(ratios, 0x1p-9), (9 + 16) / 2.0);
  EXPECT_EQ(ratio_at(ratios, 0x1p-16), 49);
  for (const double p : {0x1p-20, 0.0, 1.0}) EXPECT_EQ(ratio_at(ratios, p), 49);
}

TEST(Validate, RejectsEachCorruptedField) {
  const Bytes good = everything();
  const Status valid = validate(good.data(), good.size());
  ASSERT_TRUE(valid.ok()) << valid.message;
  struct Corruption {
    std::string what;
    std::function<void(Header&)> apply;
  };
  std::vector<Corruption> corruptions = {
      {"version 0", [](Header& h) { h.version = 0; }},
      {"version 1", [](Header& h) { h.version = 1; }},
      {"version 3", [](Header& h) { h.version = kFormatVersion + 1; }},
      {"kind 0", [](Header& h) { h.kind = Kind{0}; }},
      {"kind 1", [](Header& h) { h.kind = Kind{1}; }},
      {"kind joint", [](Header& h) { h.kind = Kind::joint; }},
      {"kind 4", [](Header& h) { h.kind = Kind{4}; }},
      {"exact ends of what a kernel smooths",
       [](Header& h) { h.flags = kEveryRowRead | kExactEnds; }},
      {"exact ends of what was not read", [](Header& h) { h.flags = kBounded | kExactEnds; }},
      {"flags 16", [](Header& h) { h.flags |= 16; }},
      {"flags 32", [](Header& h) { h.flags |= 32; }},
      {"flags 64", [](Header& h) { h.flags |= 64; }},
      {"flags 128", [](Header& h) { h.flags |= 128; }},
      {"value type", [](Header& h) { h.value_type = ValueType{kValueTypes}; }},
      {"method automatic", [](Header& h) { h.method = Method::automatic; }},
      {"method 77", [](Header& h) { h.method = Method{77}; }},
      {"atoms less", [](Header& h) { --h.atoms; }},
      {"atoms more", [](Header& h) { ++h.atoms; }},
      {"atoms 2^32 - 1", [](Header& h) { h.atoms = UINT32_MAX; }},
      {"blocks less", [](Header& h) { --h.blocks; }},
      {"blocks more", [](Header& h) { ++h.blocks; }},
      {"blocks 2^31", [](Header& h) { h.blocks = 1u << 31; }},
      {"rows do not add up", [](Header& h) { h.rows = 108; }},
      {"rows of cells do not add up", [](Header& h) { h.cell_rows = 69; }},
      {"NaN rows do not add up", [](Header& h) { h.nans = 5; }},
      {"infinities do not add up", [](Header& h) { h.negative_infinities = 0; }},
      {"special values exceed", [](Header& h) { h.positive_infinities = 1000; }},
      {"half a sample row", [](Header& h) { h.sample_rows = 0.5; }},
      {"mean below min", [](Header& h) { h.mean = 6.24; }},
      {"mean above max", [](Header& h) { h.mean = 13.76; }},
      {"min above max", [](Header& h) { h.min = 15; }},
      {"error above 1", [](Header& h) { h.error = 1.5; }},
      {"row unit 0", [](Header& h) { h.row_unit = 0; }},
      {"row unit too large", [](Header& h) { h.row_unit *= 4; }},
      {"an atom above max", [](Header& h) { h.max = 12.5; }},
      {"an atom below min", [](Header& h) { h.min = 6.5; }},
      {"known below NaN", [](Header& h) { h.known_below = kNan; }},
      {"known above NaN", [](Header& h) { h.known_above = kNan; }},
      {"known rows overlap", [](Header& h) { h.known_below = 13.75; }},
      {"variance NaN", [](Header& h) { h.variance = kNan; }},
      {"variance negative", [](Header& h) { h.variance = -1e-300; }},
      {"lattice too fine", [](Header& h) { h.lattice_step = 1e-300; }},
      {"lattice scale too small", [](Header& h) { h.lattice_scale = 1.9; }},
      {"lattice scale too large", [](Header& h) { h.lattice_scale = 2e15; }},
      {"no chain", [](Header& h) { h.chain = static_cast<Chain>(kChains); }},
      {"a chain of times", [](Header& h) { h.chain = Chain::duration; }},
      {"times that are none",
       [](Header& h) {
         h.chain = Chain::calendar;
         h.min = -1e20;
       }},
      {"grid level", [](Header& h) { h.grid_level = 1; }},
  };
  constexpr double Header::*kCounts[] = {&Header::rows,
                                         &Header::nulls,
                                         &Header::nans,
                                         &Header::negative_infinities,
                                         &Header::positive_infinities,
                                         &Header::sample_rows,
                                         &Header::bandwidth,
                                         &Header::lattice_step,
                                         &Header::cell_rows,
                                         &Header::row_unit,
                                         &Header::error,
                                         &Header::lattice_scale,
                                         &Header::rows_variance,
                                         &Header::end_variance};
  int i = 0;
  for (auto member : kCounts) {
    for (double bad : {-1.0, -1e-300, kNan, kInf, -kInf})
      corruptions.push_back({"count " + std::to_string(i) + " = " + std::to_string(bad),
                             [member, bad](Header& h) { h.*member = bad; }});
    ++i;
  }
  constexpr double Header::*kPositions[] = {&Header::lattice_offset, &Header::min, &Header::max,
                                            &Header::mean};
  for (auto member : kPositions) {
    for (double bad : {kNan, kInf, -kInf})
      corruptions.push_back({"position " + std::to_string(i) + " = " + std::to_string(bad),
                             [member, bad](Header& h) { h.*member = bad; }});
    ++i;
  }
  constexpr float kBadRatios[] = {-1, -1e-30F, static_cast<float>(kNan), static_cast<float>(kInf)};
  for (int shape = 0; shape < kShapes; ++shape) {
    for (int k = 0; k < kErrorScales; ++k) {
      for (float bad : kBadRatios)
        corruptions.push_back(
            {"count_variance", [shape, k, bad](Header& h) { h.count_variance[shape][k] = bad; }});
    }
  }
  // The lattice's step is 0.5, its offset 0.25: only multiples of 4 make both whole.
  for (double bad : {-4.0, 5e-324, 0.5, 2.0, 6.0, 4e15, kNan, kInf})
    corruptions.push_back(
        {"lattice scale " + std::to_string(bad), [bad](Header& h) { h.lattice_scale = bad; }});
  for (const Corruption& c : corruptions) {
    Bytes b = good;
    c.apply(b.header());
    const Status s = validate(b.data(), b.size());
    EXPECT_EQ(s.code, Code::invalid_format) << c.what;
    EXPECT_NE(s.message[0], '\0') << c.what;
  }
}

TEST(Validate, RejectsEveryWrongLength) {
  const Bytes good = everything();
  // In an exact allocation, so that a sanitizer sees any read beyond `size`.
  for (std::size_t size = 0; size < good.size(); ++size) {
    void* exact = std::malloc(std::max<std::size_t>(size, 1));
    std::memcpy(exact, good.data(), size);
    EXPECT_EQ(validate(exact, size).code, Code::invalid_format) << size;
    std::free(exact);
  }
  DensityBytes longer(kMostListBytes + 1);
  std::memcpy(longer.data(), good.data(), good.size());
  for (std::size_t size : {good.size() + 1, good.size() + 8, kMostListBytes, kMostListBytes + 1})
    EXPECT_EQ(validate(longer.data(), size).code, Code::invalid_format) << size;
}

// Whatever a valid density says of how sure it is, its intervals hold the estimate.
const char* odd_interval(const DensityView& d, Random* random) {
  const Header& h = d.header();
  const auto holds = [](const Interval& i) {
    return i.lower <= i.estimate && i.estimate <= i.upper;
  };
  for (int i = 0; i < 8; ++i) {
    Range r = fitted::range(h.min + (h.max / 2 - h.min / 2) * 2 * random->uniform(),
                            h.min + (h.max / 2 - h.min / 2) * 2 * random->uniform());
    r.lower_unbounded = random->below(4) == 0;
    r.upper_unbounded = random->below(4) == 0;
    IntervalOptions options;
    options.changed_rows = random->below(2) == 0 ? 0 : 7;
    if (!holds(interval_of(Wanted::count, d, r, options))) return "a count is outside its interval";
    const Interval sum = interval_of(Wanted::sum, d, r, options);
    if (!std::isnan(sum.estimate) && !holds(sum)) return "a sum is outside its interval";
    const Interval mean = interval_of(Wanted::mean, d, r, options);
    if (!std::isnan(mean.estimate) && !holds(mean)) return "a mean is outside its interval";
    const Interval q = quantile_interval(d, random->uniform(), options);
    if (!std::isnan(q.estimate) && !std::isnan(q.upper) && !holds(q))
      return "a quantile is outside its interval";
  }
  return nullptr;
}

// Fields that are each legal but whose combination drives intermediate results out of range.
TEST(Validate, ExtremeButLegalFieldsGiveNoNan) {
  const std::vector<std::function<void(Header&)>> extremes = {
      [](Header& h) { h.bandwidth = 1e300; },
      [](Header& h) { h.bandwidth = 5e-324; },
      [](Header& h) { h.variance = kInf; },
      [](Header& h) { h.sample_rows = 1; },
      [](Header& h) { h.sample_rows = 0x1p62; },
      [](Header& h) { h.rows_variance = 1e30; },
      [](Header& h) { h.end_variance = 1e30; },
      [](Header& h) { h.error = 1; },
      [](Header& h) { h.known_below = -kInf; },
      [](Header& h) { h.known_above = kInf; },
      [](Header& h) { h.known_below = std::nextafter(h.known_above = h.mean, 0.0); },
      [](Header& h) {
        h.known_below = -kMax;
        h.known_above = kMax;
      },
      [](Header& h) {
        for (auto& scales : h.count_variance)
          std::fill(std::begin(scales), std::end(scales), 1e38F);
      },
      [](Header& h) {
        for (auto& scales : h.count_variance) std::fill(std::begin(scales), std::end(scales), 0.0F);
      },
  };
  Random random(1);
  for (std::size_t i = 0; i < extremes.size(); ++i) {
    for (const bool bounded : {true, false}) {
      SCOPED_TRACE(testing::Message() << "case " << i << " bounded " << bounded);
      Bytes b = everything();
      if (!bounded) b.header().flags &= static_cast<std::uint8_t>(~kBounded);
      extremes[i](b.header());
      ASSERT_TRUE(b.validate().ok()) << b.validate().message;
      fitted::expect_sane_answers(b.view(), 40);
      const char* odd = odd_interval(b.view(), &random);
      EXPECT_EQ(odd, nullptr) << odd;
    }
  }
}

TEST(Validate, QuantilesOfTheWidestBandwidth) {
  for (const double bandwidth : {1.4e308, kMax}) {
    Bytes b = everything();
    b.header().flags &= static_cast<std::uint8_t>(~kBounded);
    b.header().bandwidth = bandwidth;
    ASSERT_TRUE(b.validate().ok());
    fitted::expect_sane_answers(b.view(), 40);
  }
}

bool has_atom_off_the_lattice(const DensityView& d) {
  const Header& h = d.header();
  for (int i = 0; h.lattice_step > 0 && i < d.atoms(); ++i) {
    const double k = std::nearbyint((d.atom_value(i) - h.lattice_offset) / h.lattice_step);
    if (h.lattice_point(k) != d.atom_value(i)) return true;
  }
  return false;
}

// What validate() lets pass, beside points that it makes the atom one of.
TEST(Validate, QuantilesOfAtomsOffTheLattice) {
  for (const double off : {11.25, 11.75, 10.5, std::nextafter(11, 12), 11.000001}) {
    histograms::Parts p;
    p.header.lattice_step = 1;
    p.atoms = {{9, 5, true}, {10, 5, true}, {off, 5, true}, {12, 5, true}, {13, 5, true}};
    histograms::set_totals(&p);
    const Bytes b = histograms::encode(p);
    if (!b.validate().ok()) continue;
    fitted::expect_sane_answers(b.view(), 100);
    double before = 9;
    for (int i = 0; i <= 1000; ++i) {
      const double x = quantile(b.view(), i / 1000.0);
      ASSERT_GE(x, before) << off;
      before = x;
    }
  }
}

// Damage of every kind: what validate() lets pass must still answer sanely, and come back
// over the wire.
TEST(Validate, RandomDamageIsRejectedOrHarmless) {
  std::vector<DensityBytes> originals = {everything()};
  const std::vector<double> z = samples::normal(300, 1);
  for (Method method : {Method::automatic, Method::silverman})
    originals.push_back(fitted::fit(z, method).bytes);
  std::vector<double> whole = z;
  for (double& v : whole) v = std::round(20 * v);
  FitOptions sampled;
  sampled.rows_per_row_read = 3;
  sampled.share_of_blocks = 1.0 / 3;
  for (const std::vector<double>& x : {z, whole})
    originals.push_back(fitted::fit(fitted::sample_of(x), sampled).bytes);
  originals.push_back(fitted::fit(std::vector<double>(50, 2.5)).bytes);
  Random random(77);
  int accepted = 0;
  constexpr int kMutants = 20000;
  for (int i = 0; i < kMutants && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(testing::Message() << "mutant " << i);
    DensityBytes b = originals[random.below(originals.size())];
    auto* bytes = reinterpret_cast<unsigned char*>(b.data());
    const std::uint64_t mutations = 1 + random.below(3);
    for (std::uint64_t k = 0; k < mutations; ++k) {
      // Half the damage in the header, where most of the rules are.
      const std::size_t reach = random.below(2) == 0 ? sizeof(Header) : b.size();
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
          std::memcpy(bytes + std::min(at / 8 * 8, b.size() - 8), &v, sizeof v);
          break;
        }
        default: {  // a word from elsewhere
          const std::size_t from = random.below(b.size() / 8);
          fitted::words(&b)[at / 8] = fitted::words(&b)[from];
        }
      }
    }
    // As everything that reads a density from outside does.
    if (random.below(8) == 0) fitted::resize(&b, random.below(b.size() + 9));
    if (!validate(b.data(), b.size()).ok()) continue;
    ++accepted;
    const DensityView d(b.data());
    if (d.header().bandwidth > 1e300) continue;  // QuantilesOfTheWidestBandwidth
    if (has_atom_off_the_lattice(d)) continue;   // QuantilesOfAtomsOffTheLattice
    ASSERT_STREQ(fitted::insane_answer(d, 6), nullptr);
    const char* odd = odd_interval(d, &random);
    ASSERT_EQ(odd, nullptr) << odd;
    ASSERT_STREQ(round_trip(b), nullptr);
  }
  // Both outcomes must have been seen for the test to mean anything.
  EXPECT_GT(accepted, kMutants / 50);
  EXPECT_LT(accepted, kMutants - kMutants / 50);
}

}  // namespace
}  // namespace kde
