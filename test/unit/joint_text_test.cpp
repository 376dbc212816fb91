// The text form of joint densities: every bit comes back, reading is strict; base64 by the vectors
// of RFC 4648 (section 10), as far as they are whole numbers.
#include "core/density/joint_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/density/text.h"
#include "core/density/base64.h"
#include "joint_fixture.h"

namespace kde {
namespace {

using joints::Axes;
using joints::Bytes;
using joints::encode;
using joints::parts;

std::string text_of(const Bytes& b) {
  std::string text;
  EXPECT_TRUE(to_text(b.view(), &text).ok());
  return text;
}

Status read(const std::string& text) {
  DensityBytes bytes;
  return from_text(text, &bytes);
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Base64, KnownValues) {
  const std::vector<std::uint32_t> numbers = {0x666f6f62, 0x61726261, 0x7a717578};  // foobarbazqux
  const std::vector<std::string> texts = {"", "Zm9vYg==", "Zm9vYmFyYmE=", "Zm9vYmFyYmF6cXV4"};
  for (std::size_t n = 0; n < texts.size(); ++n) {
    std::string out;
    write_base64(numbers.data(), n, &out);
    EXPECT_EQ(out, texts[n]);
    EXPECT_EQ(base64_length(n), out.size());
    std::vector<std::uint32_t> back(3, 7);
    ASSERT_TRUE(read_base64(out, back.data(), n));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(back[i], i < n ? numbers[i] : 7);
  }
}

TEST(Base64, ReadsOnlyWhatIsWritten) {
  std::uint32_t numbers[2];
  EXPECT_TRUE(read_base64("Zm9vYg==", numbers, 1));
  for (const char* text : {"Zm9vYh==", "Zm9vYg=A", "Zm9vYg", "Zm9vY===", "Zm9v=g==", "Zm9vY-==",
                           "Zm9vYg==Zm9v", "Zm9vY\xc3==", "", "Zm9vYgA="})
    EXPECT_FALSE(read_base64(text, numbers, 1)) << text;
  EXPECT_FALSE(read_base64("Zm9vYmFyYmF=", numbers, 2));
}

TEST(JointText, RoundTripsToTheSameBytes) {
  for (const Axes axes : {Axes::normal_scores, Axes::linear, Axes::correlated}) {
    for (const int columns : {2, 5, 16}) {
      for (const std::size_t n :
           {std::size_t{2}, std::size_t{64}, std::size_t{65}, std::size_t{300}}) {
        JointParts p = parts(columns, n, axes);
        p.header.count_error[3] = 0.1F;
        p.header.rows += axes == Axes::normal_scores ? 0 : 1e-7;
        p.column[1].value_center = -0.0;
        p.column[1].value_unit = 5e-324;
        const Bytes b = encode(p);
        DensityBytes bytes;
        const Status s = from_text(text_of(b), &bytes);
        ASSERT_TRUE(s.ok()) << s.message;
        EXPECT_EQ(bytes, b);
      }
    }
  }
}

TEST(JointText, ReadsAsDocumented) {
  const std::string text = text_of(encode(parts(2, 100, Axes::correlated)));
  EXPECT_EQ(
      text.rfind(
          "kde/2 kind=joint method=lscv_matrix flags=3 points=100 rows=300 "
          "sample_rows=100 own_rows=0 sampling_variance=0.75 reading_variance=0 rows_variance=0 "
          "count_error=[0,0,0,0,0,0,0,0] mean_error=[0,0,0,0,0,0,0,0] columns=2 "
          "column=1 type=double_precision flags=0 value_bytes=0 center=0 bandwidth=2 "
          "value_center=0 value_unit=2 heavy=[] marginal=(kde/2 kernel=gaussian ",
          0),
      0u)
      << text.substr(0, 600);
  EXPECT_NE(text.find(" correlation=[0.5] effects="), std::string::npos);
  EXPECT_EQ(text.substr(text.size() - 17), " weights= values=");
}

TEST(JointText, StrictReading) {
  const std::string text = text_of(encode(parts(2, 65, Axes::normal_scores)));
  ASSERT_TRUE(read(text).ok());
  EXPECT_TRUE(read("\n " + text + " \t").ok());
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"kde/2", "kde/1"},
      {"kind=joint", "kind=joined"},
      {"method=auto", "method=plugin"},
      {"method=auto", "method="},
      {" flags=13", " flags=15"},
      {" flags=13", " flags=9"},
      {" flags=13", " flags=5"},
      {" flags=13", ""},
      {"points=65", "points=64"},
      {"points=65", "points=4000000000"},
      {"points=65", "points=1"},
      {"points=65", "points=-65"},
      {"columns=2", "columns=3"},
      {"columns=2", "columns=1"},
      {"columns=2", "columns=17"},
      {"columns=2 column=1", "columns=2 column=2"},
      {"type=double_precision", "type=date"},
      {"type=double_precision", "type=money"},
      {"bandwidth=0.25", "bandwidth=nan"},
      {"heavy=[-1.5,0,40]", "heavy=[0,-1.5,40]"},
      {"heavy=[-1.5,0,40]", "heavy=[-1.5,0,40"},
      {"heavy=[-1.5,0,40]", "heavy=[-1.5,,40]"},
      {"marginal=(kde/2 ", "marginal=kde/2 "},
      {"marginal=(kde/2", "marginal=(kde/2 kind=joint"},
      {"marginal=(kde/2", "marginal=(kde/1"},
      {") column=2", " column=2"},
      {"correlation=[]", "correlation=[0.5]"},
      {" coordinates=", " coordinates=AAAA"},
      {" weights=", " weights=AA"},
      {" values=", " values= "},
      {" weights=", " weight="},
  };
  for (const auto& [from, to] : changes) {
    const Status s = read(with(text, from, to));
    EXPECT_EQ(s.code, Code::invalid_format) << from << " -> " << to;
  }
  EXPECT_FALSE(read(text + "AAAA").ok());
  EXPECT_FALSE(read(text + " x").ok());
  EXPECT_NE(std::string(read(with(text, "points=65", "points=x")).message).find("\"points\""),
            std::string::npos);
}

// A marginal of another kind or version is refused.
TEST(JointText, RefusesMarginalsOfAnotherKind) {
  const std::string text = text_of(encode(parts(2, 65, Axes::linear)));
  const std::size_t begin = text.find("(kde/2");
  const std::size_t end = text.find(" column=2");
  ASSERT_LT(begin, end);
  ASSERT_LT(end, text.size());
  const auto with_marginal = [&](const std::string& marginal) {
    return read(text.substr(0, begin) + "(" + marginal + ")" + text.substr(end)).code;
  };
  const std::string own = text.substr(begin + 1, end - begin - 2);
  EXPECT_EQ(with_marginal(own), Code::ok);
  EXPECT_EQ(with_marginal("kde/1" + own.substr(5)), Code::invalid_format);
  EXPECT_EQ(with_marginal(text), Code::invalid_format);
  EXPECT_EQ(with_marginal(""), Code::invalid_format);
}

TEST(JointText, EveryTruncationIsRejected) {
  const std::string text = text_of(encode(parts(2, 3, Axes::normal_scores)));
  for (std::size_t n = 0; n < text.size(); ++n) ASSERT_FALSE(read(text.substr(0, n)).ok()) << n;
}

}  // namespace
}  // namespace kde
