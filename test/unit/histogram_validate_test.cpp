// Bytes of unknown origin as a histogram: one rule broken at a time, every bit flipped, and random
// damage. What is let pass must answer sanely (answers.h).
#include "core/density/histogram_view.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "answers.h"
#include "histogram_fixture.h"
#include "round_trip.h"

namespace kde {
namespace {

using histograms::Bytes;
using histograms::encode;
using histograms::mixture;
using histograms::Parts;

TEST(HistogramValidate, AcceptsWhatIsWellFormed) {
  for (const bool lattice : {false, true}) {
    for (const int n : {1, 2, 30, 200}) {
      Parts p = mixture(n, lattice);
      p.key_bits = lattice ? 12 : 63;
      for (const bool by_kind : {false, true}) {
        p.by_kind = by_kind;
        const Bytes b = encode(p);
        const Status s = b.validate();
        EXPECT_TRUE(s.ok()) << s.message << " " << n << lattice << by_kind;
        EXPECT_EQ(histogram_size(b.data(), b.size()), b.size());
        fitted::expect_sane_answers(b.view(), 200);
      }
    }
  }
}

TEST(HistogramValidate, NoRows) {
  Parts p;
  p.header = histograms::plain_header();
  p.header.nulls = 3;
  const Bytes b = encode(p);
  EXPECT_EQ(b.size(), sizeof(Header));
  EXPECT_TRUE(b.validate().ok());
  fitted::expect_sane_answers(b.view(), 100);
}

TEST(HistogramValidate, RefusesEachBrokenRule) {
  const double inf = std::numeric_limits<double>::infinity();
  using Break = std::function<void(Bytes&)>;
  const std::vector<std::pair<const char*, Break>> rules = {
      {"version", [](Bytes& b) { b.header().version = 9; }},
      {"flags", [](Bytes& b) { b.header().flags |= 16; }},
      {"unit", [](Bytes& b) { b.header().row_unit = 0; }},
      {"other unit", [](Bytes& b) { b.header().row_unit = 1.001; }},
      {"cells' rows", [](Bytes& b) { b.header().cell_rows += 1; }},
      {"rows", [](Bytes& b) { b.header().rows += 1; }},
      {"atoms", [](Bytes& b) { b.header().atoms -= 1; }},
      {"blocks", [](Bytes& b) { b.header().blocks += 1; }},
      {"many blocks", [](Bytes& b) { b.header().blocks = 0x80000000u; }},
      {"lattice too fine", [](Bytes& b) { b.header().lattice_step = 1e-300; }},
      {"a lattice that the keys are not of", [](Bytes& b) { b.header().lattice_step = 1; }},
      {"max", [](Bytes& b) { b.header().max = b.header().mean = b.header().min; }},
      {"first key", [](Bytes& b) { b.block(1).first_key = b.block(0).first_key; }},
      {"least key", [](Bytes& b) { b.block(0).first_key = INT64_MIN; }},
      {"first rows", [](Bytes& b) { b.block(0).rows_below = 1; }},
      {"rows below", [](Bytes& b) { b.block(1).rows_below += 1; }},
      {"rows below NaN", [](Bytes& b) { b.block(1).rows_below = fitted::kNan; }},
      {"rows below infinite", [inf](Bytes& b) { b.block(1).rows_below = inf; }},
      {"word", [](Bytes& b) { b.block(1).word += 1; }},
      {"far word", [](Bytes& b) { b.block(1).word = 0xffff; }},
      {"cells", [](Bytes& b) { b.block(1).last_cell = 64; }},
      {"shift", [](Bytes& b) { b.block(1).key_shift = 63; }},
      {"a shift beyond the keys", [](Bytes& b) { b.block(1).key_shift = 40; }},
      {"key bits", [](Bytes& b) { b.block(1).key_bits = 64; }},
      {"rows bits", [](Bytes& b) { b.block(1).rows_bits = 54; }},
      {"kinds", [](Bytes& b) { b.block(1).kinds = static_cast<CellKinds>(3); }},
      {"rows shift", [](Bytes& b) { b.block(1).rows_shift = 1; }},
      {"padding", [](Bytes& b) { fitted::words(&b)[b.size() / 8 - 1] |= std::uint64_t{1} << 63; }},
      {"one word more", [](Bytes& b) { fitted::resize(&b, b.size() + 8); }},
      {"one word less", [](Bytes& b) { fitted::resize(&b, b.size() - 8); }},
      {"one byte less", [](Bytes& b) { fitted::resize(&b, b.size() - 1); }},
  };
  Parts p = mixture(40, false);
  p.cells_a_block = 7;
  ASSERT_TRUE(encode(p).validate().ok());
  for (const auto& [name, damage] : rules) {
    Bytes b = encode(p);
    damage(b);
    EXPECT_EQ(b.validate().code, Code::invalid_format) << name;
  }
}

TEST(HistogramValidate, RefusesCellsOfNoMeaning) {
  const auto code_of = [](std::vector<HistogramCell> cells, double max) {
    Parts p;
    p.header = histograms::plain_header();
    p.header.min = -5;
    p.header.max = max;
    p.cells = std::move(cells);
    return encode(p).validate().code;
  };
  EXPECT_EQ(code_of({{-5, 1, true}, {-1, 2, false}, {0, 2, false}, {3, 4, false}}, 3), Code::ok);
  // Both signs; no width; a point at the range's end is allowed.
  EXPECT_EQ(code_of({{-5, 1, true}, {-1, 2, false}, {3, 4, false}}, 3), Code::invalid_format);
  EXPECT_EQ(code_of({{-5, 1, true}, {-1, 2, false}, {-1, 4, false}}, 3), Code::invalid_format);
  EXPECT_EQ(code_of({{-5, 1, true}, {-1, 2, false}, {-1, 4, true}}, 3), Code::ok);
}

// Every bit of valid values: refused, or answers as a density does and comes back over the wire.
TEST(HistogramValidate, EveryBitFlipped) {
  for (const bool lattice : {false, true}) {
    Parts p = mixture(20, lattice);
    p.cells_a_block = 8;
    if (lattice) {
      p.key_bits = 6;
      p.rows_bits = 7;
    }
    p.header.bandwidth = lattice ? 0 : 1.5;
    if (!lattice) p.header.flags = kEveryRowRead;
    const Bytes valid = encode(p);
    ASSERT_TRUE(valid.validate().ok());
    int passed = 0;
    for (std::size_t bit = 32; bit < valid.size() * 8; ++bit) {
      Bytes b = valid;
      fitted::words(&b)[bit / 64] ^= std::uint64_t{1} << bit % 64;
      // What keeps reads inside the bytes must not rely on validate().
      const std::size_t size = histogram_size(b.data(), b.size());
      EXPECT_LE(size, kMostListBytes);
      if (!b.validate().ok()) continue;
      ++passed;
      const char* insane = fitted::insane_answer(b.view(), 4);
      ASSERT_EQ(insane, nullptr) << insane << ": bit " << bit << " lattice " << lattice;
      if (bit % 7 != 0) continue;
      ASSERT_STREQ(round_trip(b), nullptr);
    }
    EXPECT_GT(passed, 100);
  }
}

// Words replaced at random in a shape that stays: keys and rows of every size.
TEST(HistogramValidate, RandomDamage) {
  Random random(17);
  const Bytes valid = encode(mixture(20, false));
  int passed = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes b = valid;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
      std::uint64_t& word = fitted::words(&b)[3 + random.below(b.size() / 8 - 3)];
      switch (random.below(3)) {
        case 0:
          word = random.below(UINT64_MAX);
          break;
        case 1:
          word ^= random.below(0x10000);
          break;
        default:
          word = std::bit_cast<std::uint64_t>(
              std::ldexp(1.0, 1023 - 40 * static_cast<int>(random.below(50))));
      }
    }
    if (!b.validate().ok()) continue;
    ++passed;
    const char* insane = fitted::insane_answer(b.view(), 4);
    ASSERT_EQ(insane, nullptr) << insane << " in trial " << i;
  }
  EXPECT_GT(passed, 100);
}

}  // namespace
}  // namespace kde
