// A sampler that was saved and loaded, at any point of a stream, ends as one that was not; bytes
// that no sampler wrote are refused.
#include "core/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "fitted.h"

namespace kde {
namespace {

using fitted::kInf;
using fitted::kNan;

using Bytes = std::vector<std::uint8_t>;

struct Case {
  const char* name;
  Sampler::Options options;
  int block_rows;  // rows a block; 0: they do not come by block
};

Sampler::Options options(std::int64_t sample_rows, std::size_t capacity = 64) {
  Sampler::Options o;
  o.sample_rows = sample_rows;
  o.bandwidth_rows = 200;
  o.seed = 5;
  o.compactor_capacity = capacity;
  return o;
}

const Case kCases[] = {{"reservoir", options(300), 0},
                       {"reservoir of blocks", options(300), 40},
                       {"never full", options(100000), 0},
                       {"compacted", options(-1), 0},
                       {"compacted, large levels", options(-1, 4096), 0},
                       {"of one row", options(1), 0}};

Bytes saved(const Sampler& sampler) {
  Bytes bytes;
  EXPECT_TRUE(sampler.save(&bytes).ok());
  return bytes;
}

// The column's values, and some that are none.
class Stream {
 public:
  Stream(const std::vector<double>& x, const Case& c) : x_(x), block_rows_(c.block_rows) {}

  void feed(std::size_t from, std::size_t to, Sampler* sampler) const {
    for (std::size_t i = from; i < to; ++i) {
      if (block_rows_ > 0 && i % static_cast<std::size_t>(block_rows_) == 0) sampler->begin_block();
      if (i % 11 == 3) sampler->add_null();
      if (i % 101 == 7) {
        ASSERT_TRUE(sampler->add(i % 2 == 0 ? kNan : kInf).ok());
      }
      if (i % 53 == 9) {
        ASSERT_TRUE(sampler->add(-0.0).ok());
      }
      ASSERT_TRUE(sampler->add(x_[i]).ok());
    }
  }

 private:
  const std::vector<double>& x_;
  int block_rows_;
};

void expect_same_bits(double a, double b) { EXPECT_EQ(std::memcmp(&a, &b, sizeof a), 0); }

void expect_same(const Sample& a, const Sample& b) {
  EXPECT_EQ(a.totals.nulls, b.totals.nulls);
  EXPECT_EQ(a.totals.nans, b.totals.nans);
  EXPECT_EQ(a.totals.negative_infinities, b.totals.negative_infinities);
  EXPECT_EQ(a.totals.positive_infinities, b.totals.positive_infinities);
  EXPECT_EQ(a.totals.finite, b.totals.finite);
  expect_same_bits(a.totals.min, b.totals.min);
  expect_same_bits(a.totals.max, b.totals.max);
  expect_same_bits(a.totals.mean, b.totals.mean);
  expect_same_bits(a.totals.variance, b.totals.variance);
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    expect_same_bits(a.values[i].value, b.values[i].value);
    EXPECT_EQ(a.values[i].weight, b.values[i].weight);
  }
  EXPECT_EQ(a.rank_error, b.rank_error);
  EXPECT_EQ(a.sample_rows, b.sample_rows);
  expect_same_bits(a.design_effect, b.design_effect);
  EXPECT_EQ(a.bandwidth_values, b.bandwidth_values);
  EXPECT_EQ(a.distinct_known, b.distinct_known);
  EXPECT_EQ(a.distinct, b.distinct);
}

Sample finished(Sampler* sampler) {
  Sample out;
  EXPECT_TRUE(sampler->finish(&out).ok());
  return out;
}

TEST(SamplerSave, GoesOnAsIfItHadNeverStopped) {
  for (const fitted::Column& column : fitted::columns(3000)) {
    for (const Case& c : kCases) {
      const Stream stream(column.x, c);
      Sampler whole(c.options);
      stream.feed(0, column.x.size(), &whole);
      const Bytes last = saved(whole);
      const Sample expected = finished(&whole);
      // At the start, before the sample is full, when it just is, between blocks and within.
      for (std::size_t at : {0, 1, 199, 290, 300, 1000, 2959, 2999, 3000}) {
        SCOPED_TRACE(testing::Message() << column.name << ", " << c.name << " at " << at);
        Sampler first(c.options);
        stream.feed(0, at, &first);
        const Bytes bytes = saved(first);
        Sampler second{Sampler::Options{}};
        ASSERT_TRUE(second.load(bytes).ok());
        EXPECT_EQ(saved(second), bytes);
        EXPECT_EQ(second.totals().rows(), first.totals().rows());
        EXPECT_EQ(second.options().seed, c.options.seed);
        stream.feed(at, column.x.size(), &second);
        EXPECT_EQ(saved(second), last);
        expect_same(finished(&second), expected);
      }
    }
  }
}

// Row after row saved and loaded: what only shows at one state in a thousand.
TEST(SamplerSave, AtEveryRow) {
  const std::vector<double> x = samples::normal(700, 1);
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const Stream stream(x, c);
    Sampler whole(c.options);
    stream.feed(0, x.size(), &whole);
    Bytes bytes = saved(Sampler(c.options));
    for (std::size_t i = 0; i < x.size(); ++i) {
      Sampler sampler{Sampler::Options{}};
      ASSERT_TRUE(sampler.load(bytes).ok()) << i;
      stream.feed(i, i + 1, &sampler);
      bytes = saved(sampler);
    }
    EXPECT_EQ(bytes, saved(whole));
  }
}

// The stored density is the same bytes, whatever the method.
TEST(SamplerSave, FitsTheSameDensity) {
  const std::vector<double> x = samples::normal(4000, 2);
  for (std::int64_t rows : {std::int64_t{1500}, std::int64_t{-1}}) {
    for (Method method :
         {Method::automatic, Method::plugin, Method::lscv, Method::sheather_jones,
          Method::smoothed_cv, Method::silverman, Method::normal_reference, Method::scott}) {
      SCOPED_TRACE(testing::Message() << "method " << static_cast<int>(method) << ", " << rows);
      Sampler::Options o = options(rows, 1024);
      Sampler whole(o);
      for (double v : x) ASSERT_TRUE(whole.add(v).ok());
      Sampler first(o);
      for (int i = 0; i < 3000; ++i) ASSERT_TRUE(first.add(x[static_cast<std::size_t>(i)]).ok());
      Sampler second{Sampler::Options{}};
      ASSERT_TRUE(second.load(saved(first)).ok());
      for (int i = 3000; i < 4000; ++i)
        ASSERT_TRUE(second.add(x[static_cast<std::size_t>(i)]).ok());
      FitOptions fit_options;
      fit_options.method = method;
      fit_options.every_row_read = true;
      const fitted::Fitted a = fitted::fit(finished(&whole), fit_options);
      const fitted::Fitted b = fitted::fit(finished(&second), fit_options);
      EXPECT_EQ(a.size, b.size);
      EXPECT_EQ(a.words, b.words);
    }
  }
}

// Squares of huge values exceed a double's range, the sums of tiny ones fall below it.
TEST(SamplerSave, SumsKeepEveryBit) {
  for (double scale : {1e300, 1.7e308, 1e-300, 5e-324, 1.0 / 3}) {
    SCOPED_TRACE(scale);
    const auto value = [scale](int i) { return scale * (1 - 0.37 * (i % 5)); };
    Sampler whole(options(50)), first(options(50)), second{Sampler::Options{}};
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(whole.add(value(i)).ok());
    for (int i = 0; i < 500; ++i) ASSERT_TRUE(first.add(value(i)).ok());
    ASSERT_TRUE(second.load(saved(first)).ok());
    for (int i = 500; i < 1000; ++i) ASSERT_TRUE(second.add(value(i)).ok());
    expect_same(finished(&second), finished(&whole));
  }
}

TEST(SamplerSave, TakesTheBytesItSaysItTakes) {
  Sampler rows(options(1000)), blocks(options(1000));
  for (int i = 0; i < 5000; ++i) {
    if (i % 100 == 0) blocks.begin_block();
    ASSERT_TRUE(rows.add(i).ok() && blocks.add(i).ok());
  }
  const std::size_t head = saved(Sampler(options(1000))).size();
  EXPECT_EQ(saved(rows).size(), head + 8 * 1000);
  EXPECT_EQ(saved(blocks).size(), head + 12 * 1000);
}

Sampler small(const Case& c, int rows = 400) {
  Sampler sampler(c.options);
  const std::vector<double> x = samples::normal(rows, 3);
  Stream(x, c).feed(0, x.size(), &sampler);
  return sampler;
}

TEST(SamplerSave, ShortAndLongBytesAreRefused) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const Bytes bytes = saved(small(c));
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      Sampler sampler{Sampler::Options{}};
      EXPECT_EQ(sampler.load(std::span(bytes).first(n)).code, Code::invalid_format) << n;
    }
    Bytes longer = bytes;
    longer.push_back(0);
    Sampler sampler{Sampler::Options{}};
    EXPECT_EQ(sampler.load(longer).code, Code::invalid_format);
  }
}

// Any byte changed: refused, or a state that goes on, ends, and is saved as it is.
TEST(SamplerSave, DamagedBytesDoNoHarm) {
  for (const Case& c : kCases) {
    const Bytes bytes = saved(small(c));
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (int change : {0x01, 0x80, 0xff}) {
        SCOPED_TRACE(testing::Message() << c.name << ", byte " << at << " ^ " << change);
        Bytes damaged = bytes;
        damaged[at] = static_cast<std::uint8_t>(damaged[at] ^ change);
        Sampler sampler{Sampler::Options{}};
        if (!sampler.load(damaged).ok()) {
          // As it was: empty.
          ASSERT_EQ(sampler.totals().rows(), 0);
          continue;
        }
        ASSERT_EQ(saved(sampler), damaged);
        for (int i = 0; i < 50; ++i) ASSERT_TRUE(sampler.add(i).ok());
        const Sample s = finished(&sampler);
        double weights = 0;
        for (const WeightedValue& v : s.values) {
          ASSERT_TRUE(v.value >= s.totals.min && v.value <= s.totals.max);
          weights += v.weight;
        }
        ASSERT_EQ(weights, static_cast<double>(s.sample_rows));
        ASSERT_GE(s.totals.variance, 0);
      }
    }
  }
}

// What only the totals' agreement with the parts tells.
TEST(SamplerSave, PartsThatDisagreeAreRefused) {
  const Case& c = kCases[0];
  const Bytes bytes = saved(small(c));
  // The layout: magic, version, 4 options, 5 counts, min, max, shift, 2 sums of 4 + 24, block.
  constexpr std::size_t kFinite = 8 + 32 + 32, kMin = kFinite + 8, kMax = kMin + 8;
  constexpr std::size_t kDistinct = kMax + 8 + 8 + 56 + 4;
  const auto with = [&](std::size_t at, auto value) {
    Bytes b = bytes;
    std::memcpy(b.data() + at, &value, sizeof value);
    Sampler sampler{Sampler::Options{}};
    return sampler.load(b);
  };
  const auto read = [&](std::size_t at) {
    double x;
    std::memcpy(&x, bytes.data() + at, sizeof x);
    return x;
  };
  EXPECT_TRUE(with(kMin, read(kMin)).ok());
  EXPECT_FALSE(with(kFinite, std::int64_t{0}).ok());
  EXPECT_FALSE(with(kFinite, std::int64_t{-1}).ok());
  EXPECT_FALSE(with(kMin, read(kMax)).ok());
  EXPECT_FALSE(with(kMax, read(kMin)).ok());
  EXPECT_FALSE(with(kMin, kNan).ok());
  EXPECT_FALSE(with(kMax, kInf).ok());
  EXPECT_FALSE(with(kDistinct, std::uint32_t{1}).ok());
  EXPECT_FALSE(with(8, std::int64_t{0}).ok());            // sample_rows
  EXPECT_FALSE(with(16, std::int64_t{1}).ok());           // bandwidth_rows
  EXPECT_FALSE(with(32, std::uint64_t{65}).ok());         // an odd capacity
  EXPECT_FALSE(with(8, std::int64_t{1} << 40).ok());      // a sample that should hold all
  EXPECT_FALSE(with(0, std::uint32_t{0x6173646b}).ok());  // another byte order
  EXPECT_FALSE(with(4, std::uint32_t{2}).ok());           // another version
}

}  // namespace
}  // namespace kde
