// The form on the wire: every form comes back to the last bit, and nothing else is read.
#include "core/density/wire.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "answers.h"
#include "core/density/names.h"
#include "every_form.h"
#include "fitted.h"
#include "histogram_fixture.h"
#include "joint_answers.h"
#include "round_trip.h"

namespace kde {
namespace {

std::vector<char> wire_of(const DensityBytes& bytes) {
  std::vector<char> wire(bytes.size());
  EXPECT_TRUE(to_wire(bytes.data(), bytes.size(), 6, wire.data()));
  return wire;
}

Status read(const std::vector<char>& wire, DensityBytes* bytes) {
  *bytes = DensityBytes(wire.size());
  std::uint8_t encoding;
  return from_wire(wire.data(), wire.size(), bytes->data(), &encoding);
}

TEST(Wire, EveryFormComesBack) {
  for (const DensityBytes& bytes : every_form()) EXPECT_STREQ(round_trip(bytes), nullptr);
  for (const fitted::Column& column : fitted::columns(400)) {
    SCOPED_TRACE(column.name);
    EXPECT_STREQ(round_trip(fitted::fit(column.x).bytes), nullptr);
    EXPECT_STREQ(round_trip(fitted::fit(column.x, Method::silverman).bytes), nullptr);
  }
  for (const bool lattice : {false, true}) {
    for (const bool by_kind : {false, true}) {
      histograms::Parts p = histograms::mixture(70, lattice);
      p.cells_a_block = 7;
      p.by_kind = by_kind;
      if (lattice) p.key_bits = 7;
      p.rows_bits = 11;
      EXPECT_STREQ(round_trip(histograms::encode(p)), nullptr);
    }
  }
  for (const auto axes :
       {joints::Axes::normal_scores, joints::Axes::linear, joints::Axes::correlated}) {
    for (const int columns : {2, 5, 16})
      for (const std::size_t n : {2, 64, 65, 300})
        EXPECT_STREQ(round_trip(joints::encode(joints::parts(columns, n, axes))), nullptr);
  }
}

TEST(Wire, LiesAsDocumented) {
  const DensityBytes bytes = fitted::fit(std::vector<double>{1, 1, 1}).bytes;
  const std::vector<char> wire = wire_of(bytes);
  ASSERT_EQ(wire.size(), sizeof(Header) + sizeof(HistogramBlock) + 8);
  // Version and encoding; the header up to the number of blocks; rows.
  const unsigned char begin[] = {2, 6, 0, 0, 2, 2, 7, 4, 1,    0, 0, 0, 0, 0, 3, 0xd9,
                                 0, 0, 0, 0, 0, 0, 0, 1, 0x40, 8, 0, 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < sizeof begin; ++i)
    EXPECT_EQ(static_cast<unsigned char>(wire[i]), begin[i]) << i;
  // Its one key: the first end of the grid's units.
  const unsigned char key[] = {0, 0, 0, 0, 0, 0, 0, 2};
  EXPECT_EQ(std::memcmp(wire.data() + sizeof(Header), key, sizeof key), 0);
}

TEST(Wire, IsReadWhereItLies) {
  for (const DensityBytes& bytes : every_form()) {
    DensityBytes in_place = bytes;
    std::memcpy(in_place.data(), wire_of(bytes).data(), bytes.size());
    std::uint8_t encoding;
    EXPECT_TRUE(from_wire(in_place.data(), in_place.size(), in_place.data(), &encoding).ok());
    EXPECT_EQ(encoding, 6);
    EXPECT_EQ(std::memcmp(in_place.data() + 4, bytes.data() + 4, bytes.size() - 4), 0);
  }
}

TEST(Wire, EveryTruncationIsRefused) {
  for (const DensityBytes& bytes : every_form()) {
    const std::vector<char> whole = wire_of(bytes);
    DensityBytes back;
    for (std::size_t n = 0; n < whole.size(); n += 1 + n / 500) {
      const Status s = read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)}, &back);
      ASSERT_EQ(s.code, Code::invalid_format) << n << " of " << whole.size();
      ASSERT_NE(s.message[0], '\0');
    }
    std::vector<char> more = whole;
    more.resize(more.size() + 8);
    EXPECT_EQ(read(more, &back).code, Code::invalid_format);
  }
}

TEST(Wire, DamageIsRefusedOrHarmless) {
  Random random(12);
  int accepted = 0;
  for (std::size_t i = 0; i < 20000; ++i) {
    const DensityBytes& original = every_form()[i % every_form().size()];
    std::vector<char> wire = wire_of(original);
    for (std::uint64_t k = 0; k <= random.below(3); ++k) {
      const std::size_t reach = random.below(2) == 0 ? std::size_t{400} : wire.size();
      wire[random.below(std::min(reach, wire.size()))] = static_cast<char>(random.below(256));
    }
    DensityBytes bytes;
    if (!read(wire, &bytes).ok()) continue;
    ++accepted;
    ASSERT_TRUE(validate(bytes.data(), bytes.size()).ok());
    ASSERT_STREQ(round_trip(bytes), nullptr);
    if (bytes.header().kind == Kind::joint) {
      ASSERT_STREQ(joints::insane_answer(JointView(bytes.data()), 2), nullptr);
    } else {
      ASSERT_STREQ(fitted::insane_answer(DensityView(bytes.data()), 2), nullptr);
    }
  }
  EXPECT_GT(accepted, 200);
}

// Lengths within it that nobody checked: no byte beyond is read or written.
TEST(Wire, WhatDoesNotFitIsNotSent) {
  for (DensityBytes bytes : every_form()) {
    std::vector<char> wire(bytes.size());
    for (std::size_t at = 4; at + 4 <= std::min<std::size_t>(bytes.size(), 4096); at += 4) {
      std::uint32_t old;
      std::memcpy(&old, bytes.data() + at, sizeof old);
      std::memset(bytes.data() + at, 0xff, sizeof old);
      (void)to_wire(bytes.data(), bytes.size(), 0, wire.data());
      std::memcpy(bytes.data() + at, &old, sizeof old);
    }
    bytes.header().atoms += 1;
    EXPECT_EQ(to_wire(bytes.data(), bytes.size(), 0, wire.data()),
              bytes.header().kind == Kind::joint);
  }
}

TEST(Wire, ErrorNamesTheField) {
  DensityBytes bytes = every_form()[0];
  bytes.header().rows = -1;
  DensityBytes back;
  EXPECT_EQ(std::string(read(wire_of(bytes), &back).message).rfind("rows is -1, not in", 0), 0u);
}

TEST(Names, MethodsAreReadAsWritten) {
  for (Method m : {Method::automatic, Method::plugin, Method::silverman}) {
    Method back;
    ASSERT_TRUE(parse_method(method_name(m), &back));
    EXPECT_EQ(back, m);
  }
  Method m;
  EXPECT_FALSE(parse_method("", &m));
  EXPECT_FALSE(parse_method("Plugin", &m));
}

}  // namespace
}  // namespace kde
