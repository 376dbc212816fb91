// Categories beside numbers in joint densities: exact where every row is stored, else the slow sum
// over the points and honest intervals, of values that are kept, are not, or were not met. Seeds
// are fixed; questions of one sample are not independent, so that a bound of a pooled share is that
// of one question a sample: three standard deviations of it.
#include "core/joint/fit_joint.h"
#include "core/joint/joint_moments.h"
#include "core/joint/box_evidence.h"

#include "core/kernel/normal.h"
#include "core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "joint_answers.h"
#include "joint_fixture.h"
#include "joint_rows.h"
#include "round_trip.h"

namespace kde {
namespace {

using joint_rows::closed;
using joint_rows::normal;

constexpr int kNull = -1;
constexpr std::size_t kRowsOfABlock = 100;

struct Row {
  double x, y;
  int word;  // kNull: none
};
using Table = std::vector<Row>;
constexpr int kX = 0, kWord = 1, kY = 2;  // columns

std::string text_of(int word) { return "w(" + std::to_string(word) + ")"; }

// Word w has about 1/(w + 1) of the rows of the first.
int zipf(Random* random, int words) {
  return static_cast<int>(std::exp(random->uniform() * std::log(words + 1.0))) - 1;
}

struct Fit {
  JointSample sample;
  DensityBytes bytes;
  Status status;
  JointFitReport report;

  JointView view() const { return JointView(bytes.data()); }
};

struct Reading {
  std::int64_t sample_rows = 4000;
  std::size_t blocks = 0;  // read; 0: all
  std::size_t words_bytes = kWordsBytes;
  JointMethod method = JointMethod::automatic;
  int label = kNull;  // kept whether a row read has it or not, as those of an enum are
};

Fit fit(const Table& t, const Reading& how, std::uint64_t seed = 3) {
  Fit f;
  JointSampler sampler({.columns = 3,
                        .sample_rows = how.sample_rows,
                        .seed = seed,
                        .categories = 1 << kWord,
                        .words_bytes = how.words_bytes});
  const std::size_t blocks = t.size() / kRowsOfABlock;
  const std::size_t read = how.blocks == 0 ? blocks : how.blocks;
  const std::size_t stratum = blocks / read;
  Random random(100 + seed);
  std::map<int, std::uint32_t> numbers;
  std::vector<int> word_of = {0};
  for (std::size_t s = 0; s < read; ++s) {
    const std::size_t block = s * stratum + random.below(stratum);
    EXPECT_TRUE(sampler.begin_block().ok());
    for (std::size_t i = block * kRowsOfABlock; i < (block + 1) * kRowsOfABlock; ++i) {
      double values[3] = {t[i].x, 0, t[i].y};
      if (t[i].word != kNull) {
        const auto [at, fresh] =
            numbers.try_emplace(t[i].word, static_cast<std::uint32_t>(numbers.size() + 1));
        if (fresh) word_of.push_back(t[i].word);
        values[kWord] = at->second;
      }
      EXPECT_TRUE(sampler.add(values, t[i].word == kNull ? 1 << kWord : 0).ok());
    }
  }
  Words* words = sampler.words(kWord);
  EXPECT_TRUE(words->rank().ok());
  bool full = false;
  for (std::size_t i = 0; i < words->distinct() && !full; ++i) {
    const std::uint32_t number = words->number(i);
    EXPECT_TRUE(words->keep(number, text_of(word_of[number]), 0, &full).ok());
  }
  if (how.label != kNull && !numbers.contains(how.label)) {
    EXPECT_TRUE(words->keep(0, text_of(how.label), 0, &full).ok());
  }
  EXPECT_TRUE(words->end_keeping().ok());
  EXPECT_TRUE(sampler.finish(&f.sample).ok());
  JointFitOptions options;
  options.method = how.method;
  options.value_type[kX] = options.value_type[kY] = ValueType::float8;
  options.value_type[kWord] = ValueType::category;
  options.every_row_read = read == blocks;
  options.rows_per_row_read = static_cast<double>(stratum);
  options.share_of_blocks = 1 / options.rows_per_row_read;
  int column;
  f.status = fit_joint(f.sample, options, {}, &f.bytes, &f.report, &column);
  return f;
}

// A range of x and a set of words; or no such condition.
struct Question {
  Range x;
  std::vector<int> words;
  bool any_word = false;

  bool holds(const Row& r) const {
    if (!joint_rows::holds(x, r.x) || r.word == kNull) return false;
    return any_word || std::find(words.begin(), words.end(), r.word) != words.end();
  }
};

struct Box {
  std::vector<std::uint32_t> ranks;
  WordSet set;
  BoxSide side[2];

  Box(const JointView& d, const Question& q) {
    double unknown = 0;
    const WordsView words = d.words(kWord);
    for (const int word : q.words) {
      const std::int64_t rank = words.find(text_of(word));
      if (rank < 0)
        ++unknown;
      else
        ranks.push_back(static_cast<std::uint32_t>(rank));
    }
    std::sort(ranks.begin(), ranks.end());
    set = {ranks, unknown};
    side[0] = {kX, q.x};
    side[1] = {kWord, {}, q.any_word ? nullptr : &set};
  }
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;
  std::span<const BoxSide> sides() const { return side; }
};

struct Truth {
  double count = 0, sum = 0;
  double mean() const { return sum / count; }
};

Truth truth_of(const Table& t, const Question& q) {
  Truth out;
  for (const Row& r : t) {
    if (!q.holds(r)) continue;
    ++out.count;
    out.sum += r.y;
  }
  return out;
}

// x and y are what the word is, so that densities over all words are those of none.
Table dependent(std::size_t n, int words, bool nulls, std::uint64_t seed) {
  Random random(seed);
  Table t(n);
  for (Row& r : t) {
    r.word = zipf(&random, words);
    r.x = std::nearbyint(10 * (r.word % 5) + 4 * normal(&random));
    r.y = 100 + 10 * (r.word % 7) + 3 * normal(&random) + r.x;
    if (nulls && random.below(10) == 0) r.word = kNull;
  }
  return t;
}

Question ask(Random* random, int words) {
  Question q;
  q.x = closed(std::nearbyint(-10 + 40 * random->uniform()), 0);
  q.x.upper = q.x.lower + std::nearbyint(25 * random->uniform());
  q.x.lower_unbounded = random->below(5) == 0;
  q.any_word = random->below(8) == 0;
  for (std::uint64_t i = 0, n = 1 + random->below(3); i < n && !q.any_word; ++i) {
    const int word = zipf(random, words);
    if (std::find(q.words.begin(), q.words.end(), word) == q.words.end()) q.words.push_back(word);
  }
  return q;
}

TEST(JointWords, AreExactWhereEveryRowIsStored) {
  const Table t = dependent(3000, 20, true, 1);
  const Fit f = fit(t, {});
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  ASSERT_EQ(f.view().header().points, t.size());
  Random random(2);
  for (int i = 0; i < 300; ++i) {
    const Question q = ask(&random, 22);
    const Box box(f.view(), q);
    const Truth truth = truth_of(t, q);
    const JointMoments m = joint_moments(f.view(), box.sides(), kY);
    const Interval count = interval_of(Wanted::count, f.view(), box.sides(), m, {});
    ASSERT_NEAR(m.count, truth.count, 1e-6) << i;
    ASSERT_NEAR(count.lower, truth.count, 1e-6);
    ASSERT_NEAR(count.upper, truth.count, 1e-6);
    if (truth.count > 0) {
      ASSERT_NEAR(m.mean, truth.mean(), 1e-4);
    }
  }
}

// A range of a word that is not there, an IN of nothing, and any word but NULL.
TEST(JointWords, SetsMayBeEmptyOrAll) {
  const Table t = dependent(3000, 20, true, 1);
  const Fit f = fit(t, {});
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  const JointView d = f.view();
  Question q;
  EXPECT_EQ(joint_moments(d, Box(d, q).sides(), -1).count, 0);
  q.words = {12345};
  const Box unmet(d, q);
  const JointMoments m = joint_moments(d, unmet.sides(), -1);
  EXPECT_EQ(m.count, 0);
  EXPECT_EQ(interval_of(Wanted::count, d, unmet.sides(), m, {}).upper, 0);
  q.any_word = true;
  const JointMoments all = joint_moments(d, Box(d, q).sides(), -1);
  EXPECT_NEAR(all.count, truth_of(t, q).count, 1e-6);
  EXPECT_LT(all.count, static_cast<double>(t.size()));
}

double phi(double x) { return normal_cdf(x); }

// Point by point, as integrate.h has it.
Truth slow_sum(const JointView& d, const Question& q, double unknown) {
  Truth out;
  const WordsView words = d.words(kWord);
  const AxisRange range = axis_of(d, kX).range(q.x);
  for (std::size_t b = 0; b < d.blocks(); ++b) {
    for (int i = 0;
         i < kJointBlock && b * kJointBlock + static_cast<std::size_t>(i) < d.header().points;
         ++i) {
      const float rank = d.coordinate(b, kWord, i);
      double share = rank == kNowhere ? 0 : 1;
      if (share > 0 && !q.any_word) {
        share = 0;
        for (const int word : q.words) {
          if (static_cast<double>(words.find(text_of(word))) == double{rank}) share = 1;
        }
        if (rank == static_cast<float>(words.words()) && words.others() > 0)
          share = std::min(unknown / words.others(), 1.0);
      }
      const double t = d.coordinate(b, kX, i);
      const double p = phi(range.kernel_upper - t) - phi(range.kernel_lower - t);
      const bool in = joint_rows::holds(q.x, d.value(b, kX, i));
      const double rows = share * (d.header().own_rows * in + d.weight(b, i) * std::max(p, 0.0));
      out.count += rows;
      out.sum += rows * d.value(b, kY, i);
    }
  }
  return out;
}

TEST(JointWords, AreTheSlowSumOverThePoints) {
  const Table t = dependent(20000, 60, true, 4);
  for (const std::size_t words_bytes : {kWordsBytes, std::size_t{500}}) {
    const Fit f = fit(t, {.sample_rows = 3001, .blocks = 100, .words_bytes = words_bytes});
    ASSERT_TRUE(f.status.ok()) << f.status.message;
    const JointView d = f.view();
    ASSERT_EQ(d.words(kWord).others() > 0, words_bytes == 500);
    // So that counting the points tells nothing of the kernels.
    const_cast<JointHeader&>(d.header()).sampling_variance = 1e6;
    Random random(5);
    for (int i = 0; i < 200; ++i) {
      Question q = ask(&random, 62);
      q.x.upper_unbounded = false;
      const Box box(d, q);
      const JointMoments m = joint_moments(d, box.sides(), kY);
      const Truth slow = slow_sum(d, q, box.set.unknown);
      ASSERT_NEAR(m.count, slow.count, 1e-6 * d.header().rows) << i;
      if (slow.count > 1) {
        ASSERT_NEAR(m.mean, slow.mean(), 1e-3) << i;
      }
    }
  }
}

// By themselves they are their own density's, and their shares those of all rows.
TEST(JointWords, AloneAreTheirOwnDensity) {
  const Table t = dependent(20000, 20, true, 6);
  const Fit f = fit(t, {.sample_rows = 2000});
  const JointView d = f.view();
  Question q;
  q.x.lower_unbounded = q.x.upper_unbounded = true;
  q.words = {0, 3};
  const Box box(d, q);
  const JointMoments m = joint_moments(d, box.sides(), kY);
  const Interval count = interval_of(Wanted::count, d, box.sides(), m, {});
  const double truth = truth_of(t, q).count;
  EXPECT_TRUE(m.count_is_marginal);
  EXPECT_NEAR(m.count, truth, 1e-6 * truth);
  EXPECT_NEAR(count.upper - count.lower, 0, 1e-6 * truth);
  // Weights are raked to them.
  double rows = 0;
  const auto rank = static_cast<float>(d.words(kWord).find(text_of(0)));
  for (std::size_t b = 0; b < d.blocks(); ++b) {
    for (int i = 0; i < kJointBlock; ++i) {
      if (d.coordinate(b, kWord, i) == rank) rows += d.header().own_rows + d.weight(b, i);
    }
  }
  q.words = {0};
  EXPECT_NEAR(rows, truth_of(t, q).count, 0.01 * truth);
}

// ---- intervals

struct Held {
  double count = 0, mean = 0, counts = 0, means = 0;
  double most_width = 0;
};

constexpr int kSeeds = 20;
// Of kSeeds samples, each of one question: 0.95 less three standard deviations.
const double kLeastCoverage = 0.95 - 3 * std::sqrt(0.95 * 0.05 / kSeeds);

Held held_by(const Table& t, const std::vector<Question>& questions, const Reading& how) {
  Held out;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Fit f = fit(t, how, seed);
    EXPECT_TRUE(f.status.ok()) << f.status.message;
    const JointView d = f.view();
    for (const Question& q : questions) {
      const Truth truth = truth_of(t, q);
      const Box box(d, q);
      const JointMoments m = joint_moments(d, box.sides(), kY);
      const Interval count = interval_of(Wanted::count, d, box.sides(), m, {});
      out.count += count.lower <= truth.count && truth.count <= count.upper;
      ++out.counts;
      out.most_width = std::max(out.most_width, (count.upper - count.lower) / truth.count);
      if (!(truth.count > 0 && m.finite > 0)) continue;
      const Interval mean = interval_of(Wanted::mean, d, box.sides(), m, {});
      out.mean += mean.lower <= truth.mean() && truth.mean() <= mean.upper;
      ++out.means;
    }
  }
  out.count /= out.counts;
  out.mean /= std::max(out.means, 1.0);
  ::testing::Test::RecordProperty("count", std::to_string(out.count));
  ::testing::Test::RecordProperty("mean", std::to_string(out.mean));
  return out;
}

std::vector<Question> some_questions(int words, int n) {
  Random random(7);
  std::vector<Question> out;
  while (static_cast<int>(out.size()) < n) {
    Question q = ask(&random, words);
    if (!q.any_word) out.push_back(q);
  }
  return out;
}

TEST(JointWords, HoldTheTruthWhereNumbersDependOnThem) {
  const Held held = held_by(dependent(40000, 8, false, 8), some_questions(8, 40),
                            {.sample_rows = 1500, .blocks = 50});
  EXPECT_GE(held.count, kLeastCoverage);
  EXPECT_GE(held.mean, kLeastCoverage);
}

TEST(JointWords, HoldTheTruthOfManyRareOnes) {
  const Held held = held_by(dependent(40000, 2000, false, 9), some_questions(2000, 60),
                            {.sample_rows = 1500, .blocks = 50});
  EXPECT_GE(held.count, kLeastCoverage);
  EXPECT_GE(held.mean, kLeastCoverage);
}

// With most of them left out.
TEST(JointWords, HoldTheTruthOfThoseThatAreNotKept) {
  const Held held = held_by(dependent(40000, 300, false, 10), some_questions(300, 60),
                            {.sample_rows = 1500, .blocks = 50, .words_bytes = 500});
  EXPECT_GE(held.count, kLeastCoverage);
  EXPECT_GE(held.mean, kLeastCoverage);
}

// Rows of a word lie together: the table was loaded word by word, by blocks, or mixed but for two.
Table together(bool by_blocks) {
  Table t = dependent(40000, 12, false, 11);
  std::stable_sort(t.begin(), t.end(), [](const Row& a, const Row& b) { return a.word < b.word; });
  if (!by_blocks) return t;
  // Blocks in an order of their own.
  const std::size_t blocks = t.size() / kRowsOfABlock;
  std::vector<std::size_t> order(blocks);
  for (std::size_t i = 0; i < blocks; ++i) order[i] = i;
  Random random(12);
  for (std::size_t i = blocks; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  Table out;
  for (const std::size_t b : order)
    out.insert(out.end(), t.begin() + static_cast<std::ptrdiff_t>(b * kRowsOfABlock),
               t.begin() + static_cast<std::ptrdiff_t>((b + 1) * kRowsOfABlock));
  return out;
}

TEST(JointWords, HoldTheTruthOfATableInTheirOrder) {
  const Held held =
      held_by(together(false), some_questions(12, 40), {.sample_rows = 1500, .blocks = 50});
  EXPECT_GE(held.count, kLeastCoverage);
  EXPECT_GE(held.mean, kLeastCoverage);
}

TEST(JointWords, HoldTheTruthWhereTheyLieTogether) {
  const Held held =
      held_by(together(true), some_questions(12, 40), {.sample_rows = 1500, .blocks = 50});
  EXPECT_GE(held.count, kLeastCoverage);
  EXPECT_GE(held.mean, kLeastCoverage);
}

// Of a word that lies in runs of blocks among others that are mixed, its own spread is what counts.
TEST(JointWords, HoldTheTruthOfTheOneThatLiesTogether) {
  Table t = dependent(40000, 8, false, 13);
  Random random(14);
  for (std::size_t b = 0; b < t.size() / kRowsOfABlock; ++b) {
    if (random.below(5) != 0) continue;
    for (std::size_t i = 0; i < kRowsOfABlock; ++i) t[b * kRowsOfABlock + i].word = 50;
  }
  Question q;
  q.x = closed(0, 15);
  q.words = {50};
  Question most = q;
  most.x = closed(-10, 100);
  const Held held = held_by(t, {q, most}, {.sample_rows = 1500, .blocks = 50});
  EXPECT_GE(held.count, kLeastCoverage);
}

// One that no block read has is 0 and up to what such a sample may miss, one that is not there too.
TEST(JointWords, AreNotThereForCertainOnlyWhereEveryRowWasRead) {
  Table t = dependent(40000, 8, false, 15);
  for (std::size_t i = 0; i < 60; ++i) t[20000 + i].word = 77;
  Question q;
  q.x = closed(-100, 100);
  q.words = {77};
  const double z = normal_central_quantile(0.95);
  int unmet = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Fit f = fit(t, {.sample_rows = 1500, .blocks = 50}, seed);
    const JointView d = f.view();
    const Box box(d, q);
    if (box.set.unknown == 0) continue;
    ++unmet;
    const JointMoments m = joint_moments(d, box.sides(), -1);
    const Interval count = interval_of(Wanted::count, d, box.sides(), m, {});
    EXPECT_EQ(count.estimate, 0);
    EXPECT_EQ(count.lower, 0);
    EXPECT_GE(count.upper, 60);
    // A block for each that a sample misses.
    EXPECT_LT(count.upper, 1.01 * z * z * kRowsOfABlock * 8);
  }
  EXPECT_GT(unmet, kSeeds / 2);
}

// Nor of an enum's label, which is kept without rows.
TEST(JointWords, LabelsThatWereNotMetMayBeThere) {
  Table t = dependent(40000, 8, false, 15);
  for (std::size_t i = 0; i < 400; ++i) t[20000 + i].word = 77;
  const double z = normal_central_quantile(0.95);
  int unmet = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Fit f = fit(t, {.sample_rows = 1500, .blocks = 50, .label = 77}, seed);
    const JointView d = f.view();
    Question q;
    q.x = closed(-100, 100);
    q.words = {77};
    const Box box(d, q);
    ASSERT_EQ(box.set.unknown, 0);
    JointMoments m = joint_moments(d, box.sides(), -1);
    if (m.count > 0) continue;
    ++unmet;
    const double upper = interval_of(Wanted::count, d, box.sides(), m, {}).upper;
    EXPECT_GE(upper, 400);
    EXPECT_LT(upper, 1.01 * z * z * kRowsOfABlock * 8);
    // Beside one that was met, too.
    q.words = {0, 77};
    const Box both(d, q);
    m = joint_moments(d, both.sides(), kX);
    const Interval count = interval_of(Wanted::count, d, both.sides(), m, {});
    EXPECT_GE(count.upper, m.count + 400);
    EXPECT_LT(interval_of(Wanted::mean, d, both.sides(), m, {}).lower, m.mean);
  }
  EXPECT_GT(unmet, kSeeds / 8);
}

// Nor where all that was read is NULL, of a word that lies together elsewhere.
TEST(JointWords, MayBeThereWhereAllThatWasReadIsNull) {
  Table t = dependent(40000, 8, false, 15);
  for (Row& r : t) r.word = kNull;
  for (std::size_t i = 0; i < 60; ++i) t[20000 + i].word = 77;
  const double z = normal_central_quantile(0.95);
  int unmet = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Fit f = fit(t, {.sample_rows = 1500, .blocks = 50}, seed);
    ASSERT_TRUE(f.status.ok()) << f.status.message;
    const JointView d = f.view();
    for (const bool any : {false, true}) {
      for (const Range x : {closed(-100, 100), Range()}) {
        Question q;
        q.x = x;
        q.words = {77};
        q.any_word = any;
        const Box box(d, q);
        if (d.marginal(kWord)->rows > 0) continue;
        ++unmet;
        const JointMoments m = joint_moments(d, box.sides(), -1);
        const Interval count = interval_of(Wanted::count, d, box.sides(), m, {});
        EXPECT_EQ(count.estimate, 0);
        EXPECT_GE(count.upper, 60);
        EXPECT_LT(count.upper, 1.01 * z * z * kRowsOfABlock * 8);
      }
    }
  }
  EXPECT_GT(unmet, 4 * kSeeds / 2);
}

// Nor a number's rows: of n = 2,000 draws without one, from a table eight times as large, there may
// be z^2 v/(1 + z^2 v) of all rows, v = (1 - 1/8)/n (E. B. Wilson, JASA 22 (1927) 209).
TEST(JointWords, NumbersMayBeThereWhereAllThatWasReadIsNull) {
  JointSampler sampler({.columns = 2, .sample_rows = 2000, .seed = 3});
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    if (i % 100 == 0) {
      ASSERT_TRUE(sampler.begin_block().ok());
    }
    const double values[2] = {normal(&random), 0};
    ASSERT_TRUE(sampler.add(values, 1 << 1).ok());
  }
  JointSample sample;
  ASSERT_TRUE(sampler.finish(&sample).ok());
  JointFitOptions options;
  options.value_type[0] = options.value_type[1] = ValueType::float8;
  options.every_row_read = false;
  options.rows_per_row_read = 8;
  options.share_of_blocks = 1. / 8;
  DensityBytes bytes;
  JointFitReport report;
  int column;
  const Status s = fit_joint(sample, options, {}, &bytes, &report, &column);
  ASSERT_TRUE(s.ok()) << s.message;
  const JointView d(bytes.data());
  const BoxSide sides[] = {{1, Range()}};
  const JointMoments m = joint_moments(d, sides, -1);
  const Interval count = interval_of(Wanted::count, d, sides, m, {});
  const double z = normal_central_quantile(0.95);
  EXPECT_EQ(count.estimate, 0);
  const double most = z * z * (1 - 1. / 8) / 2000;
  EXPECT_NEAR(count.upper, most / (1 + most) * 16000, 0.01);
}

// ---- what is stored

TEST(JointWords, SurviveTheWire) {
  for (const std::size_t words_bytes : {kWordsBytes, std::size_t{500}}) {
    const Fit f = fit(dependent(5000, 60, true, 16),
                      {.sample_rows = 1000, .blocks = 25, .words_bytes = words_bytes});
    EXPECT_STREQ(round_trip(f.bytes), nullptr);
    EXPECT_EQ(joints::insane_answer(f.view(), 300), nullptr);
  }
}

struct Damaged {
  DensityBytes bytes;
  explicit Damaged(const Fit& f) : bytes(f.bytes) {}
  JointColumn& column() {
    return reinterpret_cast<JointColumn*>(bytes.data() + sizeof(JointHeader))[kWord];
  }
  std::uint32_t* ranks() {
    return const_cast<std::uint32_t*>(JointView(bytes.data()).coordinate_words(0, kWord));
  }
  std::string why() {
    write_boxes(bytes.data());
    const Status s = validate_joint(bytes.data(), bytes.size());
    return s.ok() ? "" : s.message;
  }
};

TEST(JointWords, DamageIsRefused) {
  const Fit f = fit(dependent(5000, 10, false, 17), {.sample_rows = 1000, .blocks = 25});
  ASSERT_EQ(Damaged(f).why(), "");
  Damaged beyond(f);
  beyond.ranks()[2] = (beyond.ranks()[2] & 0xffff0000) | 5000;  // a rank of no word
  EXPECT_NE(beyond.why().find("none of the category's"), std::string::npos) << beyond.why();
  Damaged between(f);
  const float half = 0.5F;
  std::memcpy(between.ranks() + 1, &half, sizeof half);
  between.ranks()[2] |= 1;
  EXPECT_NE(between.why().find("none of the category's"), std::string::npos) << between.why();
  Damaged infinite(f);
  infinite.ranks()[2] = (infinite.ranks()[2] & 0xffff0000) | kFirstSpecial;
  EXPECT_NE(infinite.why(), "");
  Damaged scores(f);
  scores.column().flags = kNormalScores;
  EXPECT_NE(scores.why(), "");
  Damaged number(f);
  number.column().value_type = ValueType::float8;
  EXPECT_NE(number.why(), "");
  EXPECT_FALSE(joint_fits(number.bytes.data(), number.bytes.size()));
  Damaged wordless(f);
  const_cast<Header*>(JointView(wordless.bytes.data()).marginal(kWord))->words = 0;
  EXPECT_NE(wordless.why(), "");
  EXPECT_FALSE(joint_fits(wordless.bytes.data(), wordless.bytes.size()));
}

// What is read of bytes that nobody validated stays within them.
TEST(JointWords, EveryBitOfTheFrontFlipped) {
  const joints::Bytes original = joints::encode(joints::mixed_parts(3, 70));
  const std::size_t front = static_cast<std::size_t>(
      reinterpret_cast<const char*>(&original.view().count_effect(0, 1)) - original.data());
  int valid = 0, fitting = 0;
  for (std::size_t bit = 0; bit < 8 * front; bit += 3) {
    joints::Bytes b = original;
    b.data()[bit / 8] = static_cast<char>(b.data()[bit / 8] ^ 1 << bit % 8);
    const bool fits = joint_fits(b.data(), b.size());
    if (fits) {
      ++fitting;
      ASSERT_EQ(b.view().words(1).find("no such"), -1);
    }
    if (!b.validate().ok()) continue;
    ++valid;
    ASSERT_TRUE(fits) << bit;
    const char* insane = joints::insane_answer(b.view(), 4);
    ASSERT_EQ(insane, nullptr) << bit << ": " << insane;
  }
  EXPECT_GT(fitting, valid);
  EXPECT_GT(valid, 0);
  for (std::size_t size = 0; size < original.size(); size += 7) {
    ASSERT_FALSE(joint_fits(original.data(), size));
    ASSERT_FALSE(validate_joint(original.data(), size).ok());
  }
}

TEST(JointWords, NeedANumberAndMethodAuto) {
  const Table t = dependent(2000, 10, false, 18);
  const Fit f = fit(t, {.method = JointMethod::normal_reference});
  EXPECT_EQ(f.status.code, Code::invalid_argument);
}

// NULL in every row is a category too.
TEST(JointWords, MayBeNullThroughout) {
  Table t = dependent(2000, 10, false, 19);
  for (Row& r : t) r.word = kNull;
  const Fit f = fit(t, {.sample_rows = 500});
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  Question q;
  q.x = closed(-100, 100);
  q.any_word = true;
  EXPECT_EQ(joint_moments(f.view(), Box(f.view(), q).sides(), -1).count, 0);
}

}  // namespace
}  // namespace kde
