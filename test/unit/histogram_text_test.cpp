// The text form of histograms: exact round trips, and strict reading.
#include "core/density/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "histogram_fixture.h"

namespace kde {
namespace {

using histograms::Bytes;
using histograms::encode;
using histograms::mixture;
using histograms::Parts;

std::string text_of(const Bytes& b) {
  std::string text;
  EXPECT_TRUE(to_text(b.view(), &text).ok());
  return text;
}

Status read(const std::string& text) {
  DensityBytes bytes;
  const std::vector<char> exact(text.begin(), text.end());
  return from_text({exact.data(), exact.size()}, &bytes);
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// 1 row at 1, 5 above up to 4, 6 at 6; lattice of whole numbers.
Parts small() {
  Parts p;
  p.header = histograms::plain_header();
  p.header.lattice_step = 1;
  p.cells = {{1, 1, true}, {4, 5, false}, {6, 6, true}};
  p.atoms = {{2, 9, true}};
  p.key_bits = 2;
  p.rows_bits = 3;
  histograms::set_totals(&p);
  return p;
}

TEST(HistogramText, RoundTripsToTheSameBytes) {
  for (const bool lattice : {false, true}) {
    for (const int n : {1, 2, 70}) {
      for (const int a_block : {1, 7, 64}) {
        for (const bool by_kind : {false, true}) {
          Parts p = mixture(n, lattice);
          p.cells_a_block = a_block;
          p.by_kind = by_kind;
          if (lattice) p.key_bits = 7;
          p.rows_bits = 11;
          const Bytes b = encode(p);
          ASSERT_TRUE(b.validate().ok());
          DensityBytes bytes;
          const Status s = from_text(text_of(b), &bytes);
          ASSERT_TRUE(s.ok()) << s.message << text_of(b);
          EXPECT_EQ(bytes, b);
        }
      }
    }
  }
}

TEST(HistogramText, ReadsAsDocumented) {
  const std::string text = text_of(encode(small()));
  EXPECT_EQ(
      text.rfind("kde/2 kernel=gaussian type=double_precision method=plugin flags=3 rows=21 ", 0),
      0u)
      << text;
  EXPECT_NE(text.find(" atoms=[2:9] blocks=[1:0:0:2:0:3:mixed(0@1,3:5,2@6)]"), std::string::npos)
      << text;
  Parts none;
  none.header = histograms::plain_header();
  EXPECT_NE(text_of(encode(none)).find(" atoms=[] blocks=[]"), std::string::npos);
  EXPECT_TRUE(read(text_of(encode(none))).ok());
}

TEST(HistogramText, StrictReading) {
  const std::string text = text_of(encode(small()));
  ASSERT_TRUE(read(text).ok());
  EXPECT_TRUE(read("\n " + text + " \t").ok());
  const std::string cells = "(0@1,3:5,2@6)";
  for (const char* other :
       {"(0@1,3:5,2@7)",  // rows that do not add up
        "(0@1,4:5,2@6)",  // a step of more than 2 bits
        "(0@1,3:5,2@8)",  // rows of more than 3
        "(0@1,3:5,3@6)",  // beyond max
        "(0@1,3:5,2:6,)", "()", "(0@1,3:5 ,2@6)", "(0@1,3:5,2@6", "(0@1,3:5,-1@6)", "(0@1,3;5,2@6)",
        "(0@1,3:5,18446744073709551616@6)", " (0@1,3:5,2@6)"}) {
    EXPECT_EQ(read(with(text, cells, other)).code, Code::invalid_format) << other;
  }
  EXPECT_FALSE(read(with(text, "mixed(", "points(")).ok());
  EXPECT_FALSE(read(with(text, "mixed(", "mix(")).ok());
  EXPECT_FALSE(read(with(text, "mixed(", "(")).ok());
  EXPECT_FALSE(read(with(text, ":2:0:3:mixed", ":64:0:3:mixed")).ok());
  EXPECT_FALSE(read(with(text, ":2:0:3:mixed", ":2:0:54:mixed")).ok());
  EXPECT_FALSE(read(with(text, ":2:0:3:mixed", ":2:51:3:mixed")).ok());
  EXPECT_FALSE(read(with(text, "0:2:0:3:mixed", "63:2:0:3:mixed")).ok());
  EXPECT_FALSE(read(with(text, "kde/2", "kde/1")).ok());
  EXPECT_FALSE(read(with(text, "kde/2", "kde/2 kind=one_column")).ok());
  EXPECT_FALSE(read(with(text, "blocks=", "knots=[] moments=[] blocks=")).ok());
  EXPECT_FALSE(read(text + " knots=[]").ok());
  std::string many = "(0@1";
  for (int i = 0; i < 64; ++i) many += ",0@0";
  EXPECT_FALSE(read(with(text, cells, many + ")")).ok());
  EXPECT_NE(std::string(read(with(text, cells, "()")).message).find("blocks"), std::string::npos);
}

TEST(HistogramText, EveryTruncationIsRejected) {
  const std::string text = text_of(encode(small()));
  for (std::size_t n = 0; n < text.size(); ++n) EXPECT_FALSE(read(text.substr(0, n)).ok()) << n;
}

TEST(HistogramText, LongListsAreRejected) {
  const std::string text = text_of(encode(small()));
  const std::string block = "1:0:0:63:0:53:mixed(";
  std::string cells = "0@0";
  for (int i = 1; i < 64; ++i) cells += ",0@0";
  std::string blocks = block + cells + ")";
  for (int i = 0; i < 40; ++i) blocks += "," + block + cells + ")";
  EXPECT_EQ(read(with(text, "1:0:0:2:0:3:mixed(0@1,3:5,2@6)", blocks)).code, Code::invalid_format);
}

}  // namespace
}  // namespace kde
