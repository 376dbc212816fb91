// The text form: exact round trips, and strict reading.
#include "core/density/text.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "answers.h"
#include "fitted.h"

namespace kde {
namespace {

using fitted::Fitted;

std::string text_of(const Fitted& f) {
  std::string text;
  EXPECT_TRUE(to_text(f.view(), &text).ok());
  return text;
}

Status read(const std::string& text) {
  DensityBytes bytes;
  // An exact copy, so that a sanitizer sees any read beyond the end.
  const std::vector<char> exact(text.begin(), text.end());
  return from_text({exact.data(), exact.size()}, &bytes);
}

// Three rows, and a kernel that acts in every answer.
Fitted smooth() {
  return fitted::fit(std::vector<double>{1, 2, 3.5}, Method::plugin, 0, Kernel::epanechnikov);
}

// A lattice's points, estimated from a sample.
Fitted sampled_lattice() {
  std::vector<double> x = samples::normal(300, 4);
  for (double& v : x) v = std::round(300 * v) / 10;
  FitOptions options;
  options.rows_per_row_read = 3;
  return fitted::fit(fitted::sample_of(x), options);
}

void expect_round_trip(const Fitted& f) {
  const std::string text = text_of(f);
  DensityBytes bytes;
  const Status s = from_text(text, &bytes);
  ASSERT_TRUE(s.ok()) << s.message;
  EXPECT_EQ(bytes, f.bytes);
}

// `text` with the first `from` replaced by `to`.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Text, RoundTripsToTheSameBytes) {
  for (const fitted::Column& column : fitted::columns(400)) {
    SCOPED_TRACE(column.name);
    expect_round_trip(fitted::fit(column.x));
    expect_round_trip(fitted::fit(column.x, Method::plugin));
    expect_round_trip(fitted::fit(column.x, Method::silverman));
    FitOptions sampled;
    sampled.rows_per_row_read = 7.5;
    expect_round_trip(fitted::fit(fitted::sample_of(column.x), sampled));
  }
  ASSERT_GT(sampled_lattice().view().header().lattice_step, 0);
  expect_round_trip(sampled_lattice());
  // Thinned, so that the outermost rows are known one by one.
  Sampler::Options thinned;
  thinned.sample_rows = 200;
  const Fitted sampled = fitted::fit(fitted::sample_of(samples::normal(1000, 2), thinned));
  ASSERT_TRUE(std::isfinite(sampled.view().header().known_below));
  expect_round_trip(sampled);
  for (int k = 0; k < kKernels; ++k) {
    const Fitted f = fitted::fit(samples::mix(200), Method::plugin, 0, static_cast<Kernel>(k));
    expect_round_trip(f);
    EXPECT_NE(text_of(f).find(kernel_name(static_cast<Kernel>(k))), std::string::npos);
  }
  std::vector<double> x = samples::normal(100, 2);
  for (double scale : {1e300, 1e-300, 1e-310}) {
    std::vector<double> scaled = x;
    for (double& v : scaled) v *= scale;
    SCOPED_TRACE(scale);
    expect_round_trip(fitted::fit(scaled));
  }
  expect_round_trip(fitted::fit(std::vector<double>{1.0 / 3, 1.0 / 3}));
  expect_round_trip(fitted::fit(std::vector<double>{fitted::kNan, fitted::kInf, -fitted::kInf}));
  expect_round_trip(fitted::fit(std::vector<double>(40, -0.1)));
}

TEST(Text, StartsAsDocumented) {
  FitOptions options;
  options.value_type = ValueType::numeric;
  const Fitted f = fitted::fit(fitted::sample_of({1, 1, 1}), options);
  const std::string text = text_of(f);
  EXPECT_EQ(
      text.rfind("kde/2 kernel=gaussian type=numeric method=plugin flags=5 rows=3 nulls=0 ", 0), 0u)
      << text;
  EXPECT_NE(text.find(" atoms=[] blocks=[4607182418800017408:0:0:0:0:2:points(0@3)]"),
            std::string::npos)
      << text;
}

TEST(Text, NamesKernels) {
  const std::string text = text_of(fitted::fit(std::vector<double>{1, 2, 3.5}));
  EXPECT_TRUE(read(with(text, "kernel=gaussian", "kernel=cosine")).ok());
  for (const char* name : {"", "Gaussian", "gaussia", "gaussians", "1", "quartic"})
    EXPECT_EQ(read(with(text, "kernel=gaussian", std::string("kernel=") + name)).code,
              Code::invalid_format)
        << name;
}

TEST(Text, SpaceMattersOnlyBetweenFields) {
  const std::string text = text_of(fitted::fit(std::vector<double>{1, 2, 3.5}));
  EXPECT_TRUE(read("\n\t " + text + " \r\n").ok());
  std::string spaced;
  for (char c : text) spaced += c == ' ' ? std::string(" \n\t ") : std::string(1, c);
  EXPECT_TRUE(read(spaced).ok());
  EXPECT_FALSE(read(with(text, "rows=", "rows= ")).ok());
  EXPECT_FALSE(read(with(text, "rows=", "rows =")).ok());
  EXPECT_FALSE(read(with(text, "kde/2", "kde /2")).ok());
  EXPECT_FALSE(read(with(text, "blocks=[", "blocks=[ ")).ok());
}

TEST(Text, EveryTruncationIsRejected) {
  for (const Fitted& f :
       std::vector<Fitted>{smooth(), sampled_lattice(), fitted::fit(std::vector<double>(9, 4))}) {
    const std::string text = text_of(f);
    for (std::size_t n = 0; n < text.size(); ++n) {
      const Status s = read(text.substr(0, n));
      ASSERT_EQ(s.code, Code::invalid_format) << text.substr(0, n);
      ASSERT_NE(s.message[0], '\0');
    }
  }
}

// Every field in turn left out, doubled, renamed, emptied, or filled with what is no number.
TEST(Text, EveryFieldMustBeThereOnceInOrder) {
  const std::string text = text_of(smooth());
  std::vector<std::string> fields;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    fields.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  ASSERT_GE(fields.size(), 1 + 4 + 20 + 3 + 2u);
  const auto join = [](const std::vector<std::string>& parts) {
    std::string out;
    for (const std::string& p : parts) out += (out.empty() ? "" : " ") + p;
    return out;
  };
  ASSERT_TRUE(read(join(fields)).ok());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& field = fields[i];
    const std::string name = field.substr(0, field.find('='));
    std::vector<std::vector<std::string>> wrong;
    std::vector<std::string> f = fields;
    f.erase(f.begin() + static_cast<std::ptrdiff_t>(i));
    wrong.push_back(f);
    f = fields;
    f.insert(f.begin() + static_cast<std::ptrdiff_t>(i), field);
    wrong.push_back(f);
    if (i + 1 < fields.size()) {
      f = fields;
      std::swap(f[i], f[i + 1]);
      wrong.push_back(f);
    }
    f = fields;
    f.insert(f.begin() + static_cast<std::ptrdiff_t>(i) + 1, "extra=1");
    wrong.push_back(f);
    if (i > 0) {
      for (const char* value : {"", "x", "nan", "-nan", "-1", "+1", "0x10", "1e999", "1,", "[", "]",
                                "[1]", "[nan:1]", "[1:2:3:4]", "[,]"}) {
        // -1 is an honest position, though the rest then may not fit.
        f = fields;
        f[i] = name + "=" + value;
        if (std::string(value) == "-1" && (name == "lattice_offset" || name == "min" ||
                                           name == "known_below" || name == "known_above"))
          continue;
        wrong.push_back(f);
      }
      f = fields;
      f[i] = "x" + field;
      wrong.push_back(f);
    }
    f = fields;
    f[i] += "x";
    wrong.push_back(f);
    f[i] = field + std::string(1, '\0');
    wrong.push_back(f);
    for (const auto& w : wrong) {
      EXPECT_EQ(read(join(w)).code, Code::invalid_format) << "field " << i << ": " << join(w);
    }
  }
}

TEST(Text, HugeCountsAndListsAreRejected) {
  std::string text = text_of(smooth());
  for (const char* rows : {"1e308", "inf", "99999999999999999999999999999999999999999999"})
    EXPECT_EQ(read(with(text, " rows=3", std::string(" rows=") + rows)).code, Code::invalid_format);
  EXPECT_EQ(read(with(text, "flags=6", "flags=256")).code, Code::invalid_format);
  EXPECT_EQ(read(with(text, "flags=6", "flags=262")).code, Code::invalid_format);
  std::string list;
  for (int i = 0; i < 200000; ++i) list += "0:1,";
  EXPECT_EQ(read(with(text, "atoms=[", "atoms=[" + list)).code, Code::invalid_format);
  list.clear();
  for (int i = 0; i < 200000; ++i) list += "0:0:0:1:0:1:points(0@0),";
  EXPECT_EQ(read(with(text, "blocks=[", "blocks=[" + list)).code, Code::invalid_format);
  EXPECT_EQ(read("").code, Code::invalid_format);
  // Another version's form.
  EXPECT_EQ(read("kde/1" + text.substr(5)).code, Code::invalid_format);
  EXPECT_EQ(read("kde/3" + text.substr(5)).code, Code::invalid_format);
}

// The lists of variances have as many numbers as there are scales, each a legal one.
TEST(Text, VariancesAreAllThere) {
  const std::string text = text_of(sampled_lattice());
  for (const char* name : {"two_ends=[", "above=[", "below=["}) {
    const std::size_t begin = text.find(name) + std::strlen(name);
    ASSERT_LT(begin, text.size());
    const std::size_t end = text.find(']', begin);
    std::vector<std::string> ratios;
    for (std::size_t at = begin; at < end;) {
      const std::size_t comma = std::min(text.find(',', at), end);
      ratios.push_back(text.substr(at, comma - at));
      at = comma + 1;
    }
    ASSERT_EQ(ratios.size(), std::size_t{kErrorScales});
    const auto with_ratios = [&](const std::vector<std::string>& r) {
      std::string list;
      for (const std::string& x : r) list += (list.empty() ? "" : ",") + x;
      return read(text.substr(0, begin) + list + text.substr(end)).code;
    };
    EXPECT_EQ(with_ratios(ratios), Code::ok);
    for (std::size_t i = 0; i < ratios.size(); ++i) {
      for (const char* bad : {"-1", "nan", "inf", "1e39", "", "x"}) {
        std::vector<std::string> r = ratios;
        r[i] = bad;
        EXPECT_EQ(with_ratios(r), Code::invalid_format) << name << " " << i << " " << bad;
      }
    }
    std::vector<std::string> r = ratios;
    r.pop_back();
    EXPECT_EQ(with_ratios(r), Code::invalid_format);
    r = ratios;
    r.push_back("1");
    EXPECT_EQ(with_ratios(r), Code::invalid_format);
  }
}

TEST(Text, ErrorNamesTheField) {
  const std::string text = text_of(smooth());
  const Status s = read(with(text, "bandwidth=", "bandwidht="));
  EXPECT_NE(std::strstr(s.message, "\"bandwidth\""), nullptr) << s.message;
}

TEST(Text, DamagedTextIsRejectedOrHarmless) {
  // Of points that a kernel smooths and of a lattice.
  std::vector<double> whole = samples::normal(30, 3);
  for (double& v : whole) v = std::round(4 * v);
  FitOptions sampled;
  sampled.rows_per_row_read = 2;
  const std::string originals[] = {
      text_of(fitted::fit(samples::normal(30, 3), Method::plugin)),
      text_of(fitted::fit(fitted::sample_of(whole), sampled)),
  };
  const char alphabet[] = "0123456789.-+e:,[]= nianfx\0\n\xff";
  Random random(12);
  int accepted = 0;
  for (std::size_t i = 0; i < 20000; ++i) {
    std::string text = originals[i % 2];
    for (std::uint64_t k = 0; k <= random.below(3); ++k) {
      const std::size_t at = random.below(text.size());
      const char c = alphabet[random.below(sizeof alphabet - 1)];
      switch (random.below(3)) {
        case 0:
          text[at] = c;
          break;
        case 1:
          text.insert(at, 1, c);
          break;
        default:
          text.erase(at, 1 + random.below(4));
      }
    }
    DensityBytes bytes;
    if (!from_text(text, &bytes).ok()) continue;
    ++accepted;
    ASSERT_TRUE(validate(bytes.data(), bytes.size()).ok());
    const char* insane = fitted::insane_answer(DensityView(bytes.data()), 4);
    ASSERT_EQ(insane, nullptr) << insane << "\n" << text;
  }
  EXPECT_GT(accepted, 200);
}

TEST(Names, MethodsAndTypes) {
  for (Method m : {Method::automatic, Method::plugin, Method::silverman}) {
    Method back;
    ASSERT_TRUE(parse_method(method_name(m), &back));
    EXPECT_EQ(back, m);
  }
  Method m;
  EXPECT_FALSE(parse_method("", &m));
  EXPECT_FALSE(parse_method("Plugin", &m));
  EXPECT_STREQ(value_type_name(ValueType::interval), "interval");
  EXPECT_STREQ(value_type_name(ValueType::time), "time");
  EXPECT_STREQ(value_type_name(ValueType::float8), "double_precision");
}

}  // namespace
}  // namespace kde
