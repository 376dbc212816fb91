// Words of a category against counting: exact where every row was read and all are kept, within the
// stated bounds where not, honest where rows were sampled, stored and read.
#include "core/fit/words.h"

#include "core/answer/word_evidence.h"
#include "core/integrate/word_drift.h"
#include "core/random.h"
#include "core/sampling/block_choice.h"
#include "round_trip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace kde {
namespace {

struct Row {
  std::uint32_t word;
  double y;
};

constexpr std::size_t kRowsOfABlock = 100;

// By a Zipf law: word w has about 1/(w + 1) of the rows of the first.
std::vector<Row> make_rows(std::size_t n, int words, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<Row> rows;
  for (std::size_t i = 0; i < n; ++i) {
    const auto w =
        static_cast<std::uint32_t>(std::exp(uniform(random) * std::log(words + 1.0))) - 1;
    rows.push_back({w, std::nearbyint(100 * (10 + w % 17 + 3 * normal(random))) / 100});
  }
  return rows;
}

std::string text_of(std::uint32_t word) { return "the \"word\" " + std::to_string(word); }

struct Fitted {
  DensityBytes bytes;
  DensityView density() const { return DensityView(&bytes.header()); }
  WordsView words() const { return WordsView(&bytes.header()); }

  // What is asked for of these words.
  struct Asked {
    std::vector<std::uint32_t> ranks;
    double unknown = 0;
    WordSet set() const { return {ranks, unknown}; }
  };
  Asked ask(std::span<const std::uint32_t> wanted) const {
    Asked out;
    for (const std::uint32_t word : wanted) {
      const std::int64_t rank = words().find(text_of(word));
      if (rank < 0)
        ++out.unknown;
      else
        out.ranks.push_back(static_cast<std::uint32_t>(rank));
    }
    return out;
  }
  Interval count(std::vector<std::uint32_t> wanted, const IntervalOptions& options = {}) const {
    const Asked asked = ask(wanted);
    return interval_of(Wanted::count, density(), words(), asked.set(), options);
  }
  // Of the measure, of those words.
  Interval of(Wanted wanted, const WordSet& set) const {
    return interval_of(wanted, density(), words(), MeasureView(&bytes.header(), 0), set, {});
  }
};

// The density of words that are ranked and kept.
void encode(Words* words, FitOptions options, Fitted* out) {
  Sample sample;
  EXPECT_TRUE(words->finish(&sample, {}).ok());
  options.value_type = ValueType::category;
  options.lattice_step = 1;
  options.as_counted = true;
  FitReport report;
  const Status status = fit_column(sample, options, {}, &out->bytes, &report);
  EXPECT_TRUE(status.ok()) << status.message;
  EXPECT_TRUE(words->append(options, &out->bytes).ok());
  const Status valid = validate(out->bytes.data(), out->bytes.size());
  EXPECT_TRUE(valid.ok()) << valid.message;
}

Fitted fit(const std::vector<Row>& rows, std::span<const std::uint64_t> chosen, int measures = 0,
           std::size_t bytes = kWordsBytes, std::size_t block = kRowsOfABlock) {
  const std::size_t blocks = rows.size() / block;
  Words::Options of;
  of.measures = measures;
  of.most_bytes = bytes;
  Words words(of);
  std::map<std::uint32_t, std::uint32_t> numbers;
  std::vector<std::uint32_t> word_of = {0};
  for (const std::uint64_t b : chosen) {
    EXPECT_TRUE(words.begin_block().ok());
    for (std::size_t i = 0; i < block; ++i) {
      const Row& row = rows[b * block + i];
      const auto [at, fresh] =
          numbers.try_emplace(row.word, static_cast<std::uint32_t>(numbers.size() + 1));
      if (fresh) word_of.push_back(row.word);
      EXPECT_TRUE(
          words.add(at->second, std::span(&row.y, static_cast<std::size_t>(measures))).ok());
    }
  }
  EXPECT_TRUE(words.rank().ok());
  for (std::size_t i = 0; i < words.distinct(); ++i) {
    bool full;
    const std::uint32_t number = words.number(i);
    EXPECT_TRUE(words.keep(number, text_of(word_of[number]), 0, &full).ok());
    if (full) break;
  }
  EXPECT_TRUE(words.end_keeping().ok());
  FitOptions options;
  options.rows_per_row_read = static_cast<double>(blocks) / static_cast<double>(chosen.size());
  options.share_of_blocks = 1 / options.rows_per_row_read;
  options.every_row_read = chosen.size() == blocks;
  for (ValueType& type : options.measure_types) type = ValueType::float8;
  Fitted out;
  encode(&words, options, &out);
  return out;
}

std::vector<std::uint64_t> all_blocks(const std::vector<Row>& rows) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t b = 0; b < rows.size() / kRowsOfABlock; ++b) out.push_back(b);
  return out;
}

struct Truth {
  double count = 0, measured = 0, sum = 0;
};
std::map<std::uint32_t, Truth> truths(const std::vector<Row>& rows) {
  std::map<std::uint32_t, Truth> out;
  for (const Row& r : rows) {
    Truth& truth = out[r.word];
    ++truth.count;
    if (std::isnan(r.y)) continue;
    ++truth.measured;
    truth.sum += r.y;
  }
  return out;
}

bool holds(const Interval& interval, double truth) {
  const double slack = 1e-9 * std::fabs(truth);
  return interval.lower - slack <= truth && truth <= interval.upper + slack;
}

// Of intervals how many hold the truth.
struct Tally {
  double asked = 0, counts = 0, sums = 0, means = 0;

  void add(const Fitted& f, const WordSet& set, const Interval& count, double rows,
           const Truth& truth) {
    ++asked;
    counts += holds(count, rows);
    sums += holds(f.of(Wanted::sum, set), truth.sum);
    means += holds(f.of(Wanted::mean, set), truth.sum / rows);
  }
  void expect(double share, const std::string& what) const {
    testing::Test::RecordProperty(what, std::to_string(counts / asked) + " " +
                                            std::to_string(sums / asked) + " " +
                                            std::to_string(means / asked));
    EXPECT_GE(counts, share * asked) << what;
    EXPECT_GE(sums, share * asked) << what;
    EXPECT_GE(means, share * asked) << what;
  }
};

TEST(Words, AreExactWhereEveryRowWasReadAndAllAreKept) {
  const std::vector<Row> rows = make_rows(200000, 50, 1);
  const Fitted f = fit(rows, all_blocks(rows), 1);
  const auto exact = truths(rows);
  EXPECT_EQ(f.words().words(), exact.size());
  for (const auto& [word, truth] : exact) {
    const Interval count = f.count({word});
    EXPECT_EQ(count.estimate, truth.count);
    EXPECT_EQ(count.lower, truth.count);
    EXPECT_EQ(count.upper, truth.count);
    const std::uint32_t asked[] = {word};
    const auto of = f.ask(asked);
    const Interval sum = f.of(Wanted::sum, of.set());
    EXPECT_NEAR(sum.estimate, truth.sum, 1e-9 * std::fabs(truth.sum));
    EXPECT_TRUE(holds(sum, truth.sum));
    EXPECT_NEAR(sum.upper, sum.lower, 1e-6);
  }
  // One that there is not.
  const Interval none = f.count({1000});
  EXPECT_EQ(none.estimate, 0);
  EXPECT_EQ(none.upper, 0);
  // Several.
  EXPECT_EQ(f.count({0, 3, 7, 1000}).estimate,
            exact.at(0).count + exact.at(3).count + exact.at(7).count);
  EXPECT_EQ(f.count({0, 3, 7, 1000}).upper, f.count({0, 3, 7}).estimate);
  // Rows changed may be any.
  IntervalOptions changed;
  changed.changed_rows = 10;
  EXPECT_EQ(f.count({1000}, changed).upper, 10);
  EXPECT_EQ(f.count({0}, changed).lower, exact.at(0).count - 10);
}

TEST(Words, AreWithinTheirBoundsWhereTheyAreMany) {
  for (const int words : {50, 5000, 500000}) {
    const std::vector<Row> rows = make_rows(1000000, words, 2);
    for (const int measures : {0, 1}) {
      const Fitted f = fit(rows, all_blocks(rows), measures);
      EXPECT_LE(f.bytes.size(),
                kMaxBytes * static_cast<std::size_t>(1 + 4 * measures) + kWordsBytes + 1024);
      const auto exact = truths(rows);
      EXPECT_EQ(f.words().header().distinct, static_cast<double>(exact.size()));
      double kept = 0;
      for (const auto& [word, truth] : exact) {
        const Interval count = f.count({word});
        EXPECT_TRUE(holds(count, truth.count)) << words << " " << word;
        kept += f.words().find(text_of(word)) >= 0 ? truth.count : 0;
        // Kept as they are, as long as no measure takes half of the bytes.
        if (measures == 0 && f.words().find(text_of(word)) >= 0) {
          EXPECT_EQ(count.estimate, truth.count) << words << " " << word;
        }
      }
      EXPECT_GT(kept, words > 5000 ? 600000 : words > 50 ? 900000 : 999999);
    }
  }
}

TEST(Words, OfAllAddUpToTheRows) {
  const std::vector<Row> rows = make_rows(300000, 100000, 3);
  const Fitted f = fit(rows, all_blocks(rows), 0, 4096);
  EXPECT_EQ(count(f.density(), Range()), 300000);
  std::vector<std::uint32_t> all;
  for (const auto& [word, truth] : truths(rows)) all.push_back(word);
  EXPECT_NEAR(f.count(all).estimate, 300000, 1e-6);
  EXPECT_LE(f.count(all).upper, 300000);
}

// Runs of a word: as rows that were loaded together.
std::vector<Row> in_runs(std::vector<Row> rows, std::size_t run, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Row> out;
  while (out.size() < rows.size()) {
    const Row& row = rows[random() % rows.size()];
    const std::size_t n = std::min<std::size_t>(1 + random() % (2 * run), rows.size() - out.size());
    for (std::size_t i = 0; i < n; ++i) out.push_back({row.word, row.y});
  }
  return out;
}

// Half of the rows have no y, in runs.
void lose_runs(std::vector<Row>* rows, std::size_t run, unsigned seed) {
  std::mt19937_64 random(seed);
  for (std::size_t at = 0; at < rows->size();) {
    const std::size_t end = std::min(at + 1 + random() % (2 * run), rows->size());
    if (random() % 2 == 0)
      for (std::size_t i = at; i < end; ++i) (*rows)[i].y = std::nan("");
    at = end;
  }
}

// Of samples of blocks, 95 of 100 intervals are to hold the truth, of values with some rows and of
// lists; the least that so many draws allow with one chance in a thousand is some 91 of 100, as
// intervals of one sample go together.
TEST(Words, HoldTheTruthOfSamplesOfBlocks) {
  for (const int words : {50, 5000, 500000}) {
    for (const std::size_t run : {0, 30, 400}) {
      std::vector<Row> rows = make_rows(400000, words, 4);
      if (run > 0) rows = in_runs(rows, run, 5);
      const auto exact = truths(rows);
      const std::size_t blocks = rows.size() / kRowsOfABlock;
      double asked = 0, held = 0, lists = 0, lists_held = 0, unseen_held = 0, unseen = 0;
      constexpr int kSamples = 30;
      for (int s = 0; s < kSamples; ++s) {
        Random random(static_cast<std::uint64_t>(s) + 100);
        std::vector<std::uint64_t> chosen(blocks / 10);
        choose_blocks(blocks, chosen, &random);
        const Fitted f = fit(rows, chosen);
        std::mt19937_64 some(static_cast<unsigned>(s));
        double not_met = 0;
        for (int i = 0; i < 60; ++i) {
          // A value as rows have it.
          const std::uint32_t word = rows[some() % rows.size()].word;
          ++asked;
          held += holds(f.count({word}), exact.at(word).count);
          std::vector<std::uint32_t> list;
          double truth = 0;
          for (int k = 0; k < 5; ++k) list.push_back(rows[some() % rows.size()].word);
          std::sort(list.begin(), list.end());
          list.erase(std::unique(list.begin(), list.end()), list.end());
          for (const std::uint32_t w : list) truth += exact.at(w).count;
          ++lists;
          lists_held += holds(f.count(list), truth);
        }
        if (f.words().others() == 0) {
          for (const auto& [word, truth] : exact)
            if (f.words().find(text_of(word)) < 0) not_met += truth.count;
          ++unseen;
          unseen_held += not_met <= most_unseen(f.words().header(), 0.95);
        }
      }
      RecordProperty("held_" + std::to_string(words) + "_" + std::to_string(run),
                     std::to_string(held / asked) + " " + std::to_string(lists_held / lists));
      EXPECT_GE(held, 0.91 * asked) << words << " in runs of " << run;
      EXPECT_GE(lists_held, 0.91 * lists) << words << " in runs of " << run;
      EXPECT_GE(unseen_held, 0.8 * unseen) << words << " in runs of " << run;
    }
  }
}

// And are not so wide as to say nothing: of mixed rows no more than twice the binomial's.
TEST(Words, AreNotWiderThanDrawsWhereRowsAreMixed) {
  const std::vector<Row> rows = make_rows(400000, 50, 6);
  Random random(7);
  std::vector<std::uint64_t> chosen(400);
  choose_blocks(rows.size() / kRowsOfABlock, chosen, &random);
  const Fitted f = fit(rows, chosen);
  const auto exact = truths(rows);
  for (std::uint32_t w = 0; w < 50; ++w) {
    const Interval i = f.count({w});
    const double p = exact.at(w).count / static_cast<double>(rows.size());
    const double deviation = std::sqrt(p * (1 - p) * 40000) * 10;
    EXPECT_LT(i.upper - i.lower, 2 * 2 * 1.96 * deviation) << w;
  }
}

// Of rows that are mixed, and of words, and of NULLs, in runs.
TEST(Words, MeasuresHoldTheTruthOfSamples) {
  for (const int words : {20, 200}) {
    for (const std::size_t run : {0, 30, 400}) {
      for (const std::size_t null_run : {0, 30, 1000}) {
        std::vector<Row> rows = make_rows(400000, words, 8);
        if (run > 0) rows = in_runs(rows, run, 5);
        if (null_run > 0) lose_runs(&rows, null_run, 6);
        const auto exact = truths(rows);
        Tally tally;
        for (int s = 0; s < 20; ++s) {
          Random random(static_cast<std::uint64_t>(s) + 7);
          std::vector<std::uint64_t> chosen(400);
          choose_blocks(rows.size() / kRowsOfABlock, chosen, &random);
          const Fitted f = fit(rows, chosen, 1);
          std::mt19937_64 some(static_cast<unsigned>(s));
          for (int i = 0; i < 40; ++i) {
            std::set<std::uint32_t> wanted;
            for (int k = 0; k < 1 + i % 3; ++k) wanted.insert(rows[some() % rows.size()].word);
            const auto of = f.ask(std::vector(wanted.begin(), wanted.end()));
            Truth truth;
            for (const std::uint32_t w : wanted) {
              truth.measured += exact.at(w).measured;
              truth.sum += exact.at(w).sum;
            }
            if (truth.measured == 0) continue;
            tally.add(f, of.set(), f.of(Wanted::count, of.set()), truth.measured, truth);
            EXPECT_GE(f.of(Wanted::variance, of.set()).lower, 0);
          }
        }
        tally.expect(0.91, std::to_string(words) + " words in runs of " + std::to_string(run) +
                               ", NULLs of " + std::to_string(null_run));
      }
    }
  }
}

// A table of 2,000 blocks of which 150 are read.
constexpr std::size_t kBlock = 75;
constexpr std::size_t kRows = 2000 * kBlock;
std::vector<std::uint64_t> some_blocks(int sample) {
  Random random(static_cast<std::uint64_t>(sample) + 40);
  std::vector<std::uint64_t> chosen(150);
  choose_blocks(kRows / kBlock, chosen, &random);
  return chosen;
}

// 20 countries, each in stretches of so many rows, and mixed within them 50 cities of each.
std::vector<Row> make_cities(std::size_t stretch, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Row> rows;
  for (std::uint32_t i = 0; rows.size() < kRows; ++i) {
    const auto country = static_cast<std::uint32_t>(stretch * 20 < kRows ? random() % 20 : i);
    const double level = normal(random);
    for (std::size_t k = 0; k < stretch && rows.size() < kRows; ++k)
      rows.push_back(
          {country * 50 + static_cast<std::uint32_t>(random() % 50), 20 + level + normal(random)});
  }
  return rows;
}

double sum_of_counts(const std::map<std::uint32_t, Truth>& exact,
                     const std::vector<std::uint32_t>& list) {
  double out = 0;
  for (const std::uint32_t w : list)
    if (const auto at = exact.find(w); at != exact.end()) out += at->second.count;
  return out;
}

// Values that lie together vary together: the list of a country's cities as the country does. 600
// intervals of 30 samples; 91 of 100 as above.
TEST(Words, ListsOfValuesThatLieTogetherHoldTheTruth) {
  for (const std::size_t stretch : {kBlock, std::size_t{300}, kRows / 20}) {
    const std::vector<Row> rows = make_cities(stretch, 11);
    const auto exact = truths(rows);
    for (const std::uint32_t cities : {1U, 10U, 50U}) {
      Tally tally;
      for (int s = 0; s < 30; ++s) {
        const Fitted f = fit(rows, some_blocks(s), 1, kWordsBytes, kBlock);
        for (std::uint32_t country = 0; country < 20; ++country) {
          std::vector<std::uint32_t> list;
          Truth truth;
          for (std::uint32_t k = 0; k < cities; ++k) {
            list.push_back(country * 50 + (k * 7 + country) % 50);
            truth.count += exact.at(list.back()).count;
            truth.sum += exact.at(list.back()).sum;
          }
          tally.add(f, f.ask(list).set(), f.count(list), truth.count, truth);
        }
      }
      tally.expect(0.91,
                   std::to_string(cities) + " cities in stretches of " + std::to_string(stretch));
    }
  }
}

// Values of one run each: a sample has too many rows of those that it meets. Of the values that
// were met, of lists of five of them, and of all. Of a thousand draws with p = 0.95 there are fewer
// than 93 of 100 with three chances in a thousand.
TEST(Words, OfOneRunHoldTheTruthWhereTheSampleMetThem) {
  for (const std::size_t run : {20, 60, 120, 200, 600, 3000}) {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < kRows; ++i)
      rows.push_back({static_cast<std::uint32_t>(i / run), static_cast<double>(i % 7)});
    const auto exact = truths(rows);
    double asked = 0, held = 0, all = 0, all_held = 0, lists = 0, lists_held = 0;
    for (int s = 0; s < 20; ++s) {
      const Fitted f = fit(rows, some_blocks(s), 0, kWordsBytes, kBlock);
      const Header& h = f.bytes.header();
      std::vector<std::uint32_t> met;
      for (const auto& [word, truth] : exact) {
        const Interval i = f.count({word});
        const bool is_met = f.words().find(text_of(word)) >= 0;
        ++all;
        all_held += holds(i, truth.count);
        if (!is_met) continue;
        met.push_back(word);
        ++asked;
        held += holds(i, truth.count);
        // Rows that were read are there.
        EXPECT_GE(i.lower + 2 * h.error * h.rows, i.estimate * h.sample_rows / h.rows - 1e-9);
      }
      std::mt19937_64 some(static_cast<unsigned>(s));
      std::shuffle(met.begin(), met.end(), some);
      for (std::size_t i = 0; i + 5 <= met.size(); i += 5) {
        const std::vector<std::uint32_t> list(met.begin() + static_cast<std::ptrdiff_t>(i),
                                              met.begin() + static_cast<std::ptrdiff_t>(i + 5));
        const Interval of = f.count(list);
        ++lists;
        lists_held += holds(of, sum_of_counts(exact, list));
      }
    }
    RecordProperty("runs of " + std::to_string(run),
                   std::to_string(held / asked) + " " + std::to_string(lists_held / lists));
    EXPECT_GE(held, 0.93 * asked) << "runs of " << run;
    EXPECT_GE(all_held, 0.93 * all) << "runs of " << run;
    EXPECT_GE(lists_held, 0.93 * lists) << "runs of " << run;
  }
}

// Lists of many values over mixed rows: their errors cancel.
TEST(Words, ListsOfManyValuesAreTightWhereRowsAreMixed) {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> uniform;
  std::vector<Row> rows;
  for (std::size_t i = 0; i < kRows; ++i)
    rows.push_back({static_cast<std::uint32_t>(random() % 1000), uniform(random)});
  const auto exact = truths(rows);
  Tally tally;
  double count_width = 0, sum_width = 0, mean_width = 0;
  for (int s = 0; s < 20; ++s) {
    const Fitted f = fit(rows, some_blocks(s), 1, kWordsBytes, kBlock);
    for (int i = 0; i < 40; ++i) {
      std::set<std::uint32_t> wanted;
      while (wanted.size() < 50) wanted.insert(static_cast<std::uint32_t>(random() % 1000));
      const std::vector<std::uint32_t> list(wanted.begin(), wanted.end());
      const auto of = f.ask(list);
      Truth truth;
      for (const std::uint32_t w : list) {
        truth.count += exact.at(w).count;
        truth.sum += exact.at(w).sum;
      }
      const Interval count = f.count(list);
      const Interval sum = f.of(Wanted::sum, of.set());
      const Interval mean = f.of(Wanted::mean, of.set());
      EXPECT_TRUE(std::isfinite(mean.upper - mean.lower));
      tally.add(f, of.set(), count, truth.count, truth);
      // Over what as many draws say: of 562 rows read, as 1/20 of 11,250.
      const double n = 562.5;
      const double scale = static_cast<double>(kRows) / 11250;
      count_width += (count.upper - count.lower) / (2 * 1.96 * std::sqrt(n * 0.95) * scale);
      sum_width +=
          (sum.upper - sum.lower) / (2 * 1.96 * std::sqrt(n * (0.95 / 4 + 1.0 / 12)) * scale);
      if (std::isfinite(mean.upper - mean.lower))
        mean_width += (mean.upper - mean.lower) / (2 * 1.96 * std::sqrt(1 / 12.0 / n));
    }
  }
  RecordProperty("widths", std::to_string(count_width / tally.asked) + " " +
                               std::to_string(sum_width / tally.asked) + " " +
                               std::to_string(mean_width / tally.asked));
  tally.expect(0.93, "lists of 50");
  // Combinations of 1,000 values may vary more than can be told by 150 blocks: 1.1 (1 + sqrt(1.5 x
  // 1,000/150)) = 4.6 times as draws, 2.1 times as wide. Beside that is what is stored, of 50
  // values, and Student's quantile of some 11 rows.
  EXPECT_LT(count_width, 3.5 * tally.asked);
  EXPECT_LT(sum_width, 4 * tally.asked);
  EXPECT_LT(mean_width, 5 * tally.asked);
}

// Single values of some 8 rows in the sample, beside a measure: no interval is infinite.
TEST(Words, MeansOfValuesOfFewRowsHaveEnds) {
  std::mt19937_64 random(13);
  std::uniform_real_distribution<double> uniform;
  std::vector<Row> rows;
  for (std::size_t i = 0; i < kRows; ++i)
    rows.push_back({static_cast<std::uint32_t>(random() % 1500), uniform(random)});
  double asked = 0, infinite = 0;
  for (int s = 0; s < 5; ++s) {
    const Fitted f = fit(rows, some_blocks(s), 1, kWordsBytes, kBlock);
    for (std::uint32_t rank = 0; rank < f.words().words(); ++rank) {
      const Interval mean = f.of(Wanted::mean, {{&rank, 1}, 0});
      ++asked;
      infinite += !std::isfinite(mean.upper - mean.lower);
    }
  }
  EXPECT_EQ(infinite, 0);
}

// A list has no more rows than the table; and no less than none of what is never negative.
TEST(Words, EndWhereTheTableDoes) {
  const std::vector<Row> rows = make_cities(kBlock, 14);
  const auto exact = truths(rows);
  std::vector<std::uint32_t> all, most;
  for (const auto& [word, truth] : exact) {
    all.push_back(word);
    if (word >= 50) most.push_back(word);
  }
  for (int s = 0; s < 5; ++s) {
    const Fitted f = fit(rows, some_blocks(s), 0, kWordsBytes, kBlock);
    const double table = interval_of(Wanted::count, f.density(), Range(), {}).upper;
    EXPECT_GT(f.bytes.header().rows_variance, 0);
    EXPECT_LE(f.count(all).upper, table);
    EXPECT_LE(f.count(most).upper, table);
    IntervalOptions changed;
    changed.changed_rows = 10;
    EXPECT_LE(f.count(all, changed).upper, table + 10);
  }
  std::vector<Row> many = make_rows(200000, 50000, 15);
  for (Row& r : many) r.y = r.word < 100 ? 1000 : static_cast<double>(r.word % 3);
  const Fitted f = fit(many, all_blocks(many), 1, 4096);
  const MeasureView measure(&f.bytes.header(), 0);
  EXPECT_EQ(measure.header().min, 0);
  for (std::uint32_t rank = 0; rank < f.words().words(); ++rank) {
    for (const double unknown : {0.0, 3.0}) {
      const Interval sum = f.of(Wanted::sum, {{&rank, 1}, unknown});
      EXPECT_GE(sum.lower, 0);
    }
  }
  const Interval unknown = f.of(Wanted::sum, {{}, 2});
  EXPECT_GE(unknown.lower, 0);
}

// A fresh sample of a density's rows, and of rows of other values.
TEST(Words, DriftWhereTheirSharesDo) {
  const std::vector<Row> rows = make_rows(100000, 50, 12);
  const Fitted f = fit(rows, all_blocks(rows));
  const auto drift_of = [&](unsigned seed, bool replaced, const Control& control, Drift* out) {
    std::mt19937_64 random(seed);
    Sample sample;
    for (std::size_t i = 0; i < 3000; ++i) {
      const std::int64_t rank = f.words().find(text_of(rows[random() % rows.size()].word));
      sample.drawn.push_back(
          replaced ? (static_cast<double>(rank) < 25 ? 49.0 - static_cast<double>(rank) : 50.0)
                   : static_cast<double>(rank));
    }
    return word_drift(f.density(), f.words(), sample, control, out);
  };
  int flagged = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Drift drift;
    ASSERT_TRUE(drift_of(seed, false, {}, &drift).ok());
    flagged += drift.p_value < 0.001 && drift.distance > 0.05;
  }
  EXPECT_LE(flagged, 1);
  Drift drift;
  ASSERT_TRUE(drift_of(1, true, {}, &drift).ok());
  EXPECT_LT(drift.p_value, 1e-9);
  EXPECT_GT(drift.distance, 0.5);
  Control stopped;
  stopped.should_stop = [](void*) { return true; };
  EXPECT_EQ(drift_of(1, false, stopped, &drift).code, Code::cancelled);
}

TEST(Words, SurviveTheWireAndNothingDamagedPasses) {
  const std::vector<Row> rows = make_rows(20000, 300, 9);
  Random random(7);
  std::vector<std::uint64_t> chosen(40);
  choose_blocks(rows.size() / kRowsOfABlock, chosen, &random);
  for (const int measures : {0, 1}) {
    const Fitted f = fit(rows, chosen, measures, 2048);
    EXPECT_STREQ(round_trip(f.bytes), nullptr);
    // Every byte of the words, damaged, is refused or is another density that can be asked.
    const auto* begin = reinterpret_cast<const char*>(&f.words().header());
    const auto first = static_cast<std::size_t>(begin - f.bytes.data());
    for (std::size_t i = first; i < first + f.words().header().bytes; ++i) {
      for (const int flip : {1, 0x80}) {
        DensityBytes damaged = f.bytes;
        damaged.data()[i] = static_cast<char>(damaged.data()[i] ^ flip);
        if (!validate(damaged.data(), damaged.size()).ok()) continue;
        const WordsView words(&damaged.header());
        for (std::uint32_t r = 0; r < words.words(); r += 7)
          EXPECT_EQ(words.find(words.word(r)), r);
      }
    }
    for (std::size_t size = 0; size < f.bytes.size(); size += 8) {
      EXPECT_FALSE(validate(f.bytes.data(), size).ok());
      EXPECT_EQ(column_size(f.bytes.data(), size) <= size, true);
    }
  }
}

// Every row, of words that have places.
FitOptions all_read() {
  FitOptions options;
  options.every_row_read = true;
  options.word_flags = kPlaced;
  return options;
}

TEST(Words, OfNoRowsAndPlacesAreKept) {
  Words::Options of;
  of.placed = true;
  Words words(of);
  for (const std::uint32_t number : {1U, 2U, 2U}) EXPECT_TRUE(words.add(number).ok());
  EXPECT_TRUE(words.rank().ok());
  bool full;
  EXPECT_TRUE(words.keep(words.number(0), "often", 1, &full).ok());
  EXPECT_TRUE(words.keep(words.number(1), "often", 0, &full).ok());  // printed alike
  EXPECT_TRUE(words.keep(0, std::string(kMostWordBytes + 1, 'x'), 0, &full).ok());
  EXPECT_TRUE(words.keep(0, "", 0, &full).ok());
  EXPECT_FALSE(full);
  EXPECT_TRUE(words.end_keeping().ok());
  Fitted f;
  encode(&words, all_read(), &f);
  EXPECT_EQ(f.words().words(), 2);
  EXPECT_EQ(f.words().find(""), 1);
  EXPECT_EQ(f.words().place(0), 1);
  const std::uint32_t empty[] = {1};
  EXPECT_EQ(words_count(f.density(), f.words(), {empty, 0}), 0);
  // The value printed alike is not kept, and may be what is asked for.
  EXPECT_EQ(interval_of(Wanted::count, f.density(), f.words(), {{}, 1}, {}).upper, 1);
}

// Rows that come value by value, each added up of two halves, are what they are one by one: decimal
// fractions of more and more digits, far from 0, NULLs, and values of equal counts.
TEST(Words, OfEveryRowAreTheSameByValue) {
  const std::vector<Row> rows = make_rows(20000, 3000, 11);
  const auto y_of = [&](std::size_t i, int k) {
    const double y = rows[i].y;
    if (i % 7 == 0) return std::nan("");
    return k == 0   ? y
           : k == 1 ? 1e6 + std::nearbyint(y) / (i < 15000 ? 10.0 : 1000.0)
                    : i % 5 * 3.0;
  };
  Words::Options of;
  of.measures = 3;
  of.most_bytes = 16384;
  const auto finish = [&](Words* words, const std::vector<std::uint32_t>& word_of) {
    EXPECT_TRUE(words->rank().ok());
    bool full = false;
    for (std::size_t i = 0; i < words->distinct() && !full; ++i) {
      const std::uint32_t number = words->number(i);
      const std::uint32_t word = word_of[number - 1];
      EXPECT_TRUE(words->keep(number, text_of(word), static_cast<std::uint16_t>(word), &full).ok());
    }
    EXPECT_TRUE(full);
    EXPECT_TRUE(words->end_keeping().ok());
    Fitted f;
    encode(words, all_read(), &f);
    return std::string(static_cast<const char*>(f.bytes.data()), f.bytes.size());
  };
  Words by_row(of);
  by_row.begin_every_row();
  std::map<std::uint32_t, std::uint32_t> numbers;
  std::vector<std::uint32_t> word_of;
  std::map<std::uint32_t, std::vector<std::size_t>> rows_of;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [at, fresh] =
        numbers.try_emplace(rows[i].word, static_cast<std::uint32_t>(numbers.size() + 1));
    if (fresh) word_of.push_back(rows[i].word);
    const double y[] = {y_of(i, 0), y_of(i, 1), y_of(i, 2)};
    EXPECT_TRUE(by_row.add(at->second, y).ok());
    rows_of[rows[i].word].push_back(i);
  }
  by_row.add_null();
  Words by_value(of);
  by_value.begin_every_row();
  by_value.add_null(1);
  std::vector<std::uint32_t> sorted;
  for (const auto& [word, own] : rows_of) {
    ValueSums sums[3], rest[3];
    for (const std::size_t i : own)
      for (int k = 0; k < 3; ++k)
        if (!std::isnan(y_of(i, k))) (i % 2 == 0 ? sums : rest)[k].add(y_of(i, k));
    for (int k = 0; k < 3; ++k) {
      EXPECT_TRUE(rest[k].valid());
      sums[k].merge(rest[k]);
    }
    sorted.push_back(word);
    EXPECT_TRUE(
        by_value
            .add(static_cast<std::uint32_t>(sorted.size()), static_cast<double>(own.size()), sums)
            .ok());
  }
  EXPECT_EQ(finish(&by_row, word_of), finish(&by_value, sorted));
}

// Labels of an enum that are not kept have places too.
TEST(Words, OfAPlaceBeyondThoseThatAreKeptAreValid) {
  constexpr std::uint32_t kLabels = 6000;
  Words::Options of;
  of.placed = true;
  of.most_bytes = 16384;
  Words words(of);
  for (std::uint32_t i = 1; i <= kLabels; ++i) EXPECT_TRUE(words.add(i).ok());
  EXPECT_TRUE(words.rank().ok());
  bool full = false;
  for (std::uint32_t i = 0; i < kLabels && !full; ++i) {
    const std::uint32_t number = words.number(i);
    const auto place = static_cast<std::uint16_t>(kLabels - number);
    EXPECT_TRUE(words.keep(number, text_of(number), place, &full).ok());
  }
  EXPECT_TRUE(words.end_keeping().ok());
  Fitted f;
  encode(&words, all_read(), &f);
  const DensityBytes& bytes = f.bytes;
  EXPECT_EQ(WordsView(&bytes.header()).place(0), kLabels - 1);
  // Two of one place are not.
  auto* place =
      const_cast<std::uint16_t*>(reinterpret_cast<const std::uint16_t*>(&f.words().header() + 1));
  place += 3 * std::size_t{f.words().words()};
  place[1] = place[0];
  EXPECT_FALSE(validate(bytes.data(), bytes.size()).ok());
}

}  // namespace
}  // namespace kde
