// Groups of a scan's rows against adding up: exact where every row was read, each there or in the
// rest, honest where they were sampled, stored and read.
#include "core/fit/groups.h"

#include "core/answer/measure_evidence.h"
#include "core/fit/fit_cells.h"
#include "core/random.h"
#include "core/sampling/block_choice.h"
#include "round_trip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace kde {
namespace {

struct Row {
  int group;
  double x, y;
};

constexpr std::size_t kRowsOfABlock = 100;

// Of unequal size: group g has about 1/(g + 1) of the rows of the first.
std::vector<Row> make_rows(std::size_t n, int groups, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<Row> rows;
  for (std::size_t i = 0; i < n; ++i) {
    const int g = static_cast<int>(std::exp(uniform(random) * std::log(groups + 1.0))) - 1;
    const double x = std::floor(365 * uniform(random));
    rows.push_back({g, x, std::nearbyint(100 * (g + 10 + 3 * normal(random))) / 100});
  }
  return rows;
}

std::string name_of(int group) { return "group \"" + std::to_string(group) + "\""; }

GroupCodes codes_of(const Row& row) {
  return {static_cast<std::uint32_t>(row.group % 7), static_cast<std::uint32_t>(row.group / 7)};
}

// Reads the groups of fewer rows whole.
void read_whole(const std::vector<Row>& rows, int below, Groups* groups) {
  std::map<int, std::vector<const Row*>> by_group;
  for (const Row& row : rows) by_group[row.group].push_back(&row);
  for (const auto& [group, all] : by_group) {
    if (static_cast<int>(all.size()) >= below) continue;
    EXPECT_TRUE(groups->begin_whole(codes_of(*all[0])).ok());
    for (const Row* row : all)
      EXPECT_TRUE(groups->add(codes_of(*row), row->x, std::span(&row->y, 1)).ok());
  }
}

// The density of all rows and of each group, of the blocks that were chosen; groups of fewer than
// whole_below rows are read whole. Group 3 has no key.
DensityBytes grouped(const std::vector<Row>& rows, std::span<const std::uint64_t> chosen,
                     GroupsReport* report, std::size_t bytes = kGroupsBytes, int whole_below = 0) {
  const std::size_t blocks = rows.size() / kRowsOfABlock;
  Sampler::Options sampling;
  sampling.measures = 1;
  Sampler all(sampling);
  Groups groups(sampling, 100000);
  for (const std::uint64_t b : chosen) {
    EXPECT_TRUE(all.begin_block().ok());
    groups.begin_block();
    for (std::size_t i = 0; i < kRowsOfABlock; ++i) {
      const Row& row = rows[b * kRowsOfABlock + i];
      EXPECT_TRUE(all.add(row.x, std::span(&row.y, 1)).ok());
      EXPECT_TRUE(groups.add(codes_of(row), row.x, std::span(&row.y, 1)).ok());
    }
  }
  read_whole(rows, whole_below, &groups);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const int group = static_cast<int>(groups.codes(g)[0] + 7 * groups.codes(g)[1]);
    if (group == 3) continue;
    EXPECT_TRUE(groups.set_key(g, name_of(group)).ok());
  }
  FitOptions fit;
  fit.rows_per_row_read = static_cast<double>(blocks) / static_cast<double>(chosen.size());
  fit.share_of_blocks = 1 / fit.rows_per_row_read;
  fit.every_row_read = chosen.size() == blocks;
  Sample sample;
  EXPECT_TRUE(all.finish(&sample).ok());
  DensityBytes density;
  FitReport fit_report;
  EXPECT_TRUE(fit_column(sample, fit, {}, &density, &fit_report).ok());
  const Status status = groups.append(fit, {}, &density, report, bytes);
  EXPECT_TRUE(status.ok()) << status.message;
  EXPECT_TRUE(validate(density.data(), density.size()).ok());
  return density;
}

std::vector<std::uint64_t> all_blocks(const std::vector<Row>& rows) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t b = 0; b < rows.size() / kRowsOfABlock; ++b) out.push_back(b);
  return out;
}

Range between(double lower, double upper) {
  Range r;
  r.lower = lower;
  r.upper = upper;
  r.lower_unbounded = r.upper_unbounded = false;
  return r;
}

struct Truth {
  double count = 0, sum = 0;
};

std::map<std::string, Truth> truths(const std::vector<Row>& rows, double lower, double upper) {
  std::map<std::string, Truth> out;
  for (const Row& r : rows) {
    Truth& t = out[r.group == 3 ? "" : name_of(r.group)];
    if (r.x < lower || r.x > upper) continue;
    ++t.count;
    t.sum += r.y;
  }
  return out;
}

TEST(Groups, AreExactWhereEveryRowWasRead) {
  const std::vector<Row> rows = make_rows(60000, 40, 1);
  GroupsReport report;
  const DensityBytes density = grouped(rows, all_blocks(rows), &report);
  EXPECT_EQ(report.rest, 0u);
  const std::map<std::string, Truth> exact = truths(rows, 100, 200);
  GroupsView groups(&density.header());
  GroupView g;
  std::size_t seen = 0;
  double rows_before = std::numeric_limits<double>::infinity();
  while (groups.next(&g)) {
    const DensityView d(g.density());
    const MeasureView m(g.density(), 0);
    const Truth& truth = exact.at(std::string(g.key()));
    EXPECT_EQ(measure_count(d, m, between(100, 200)), truth.count);
    EXPECT_NEAR(interval_of(Wanted::sum, d, m, between(100, 200), {}).estimate, truth.sum,
                1e-9 * std::fabs(truth.sum));
    EXPECT_LE(d.header().rows, rows_before);
    rows_before = d.header().rows;
    ++seen;
  }
  EXPECT_EQ(seen, exact.size());
  // What asks for all rows finds them.
  EXPECT_EQ(count(DensityView(&density.header()), Range()), 60000);
}

TEST(Groups, ThatDoNotFitShareTheRest) {
  const std::vector<Row> rows = make_rows(60000, 3000, 2);
  GroupsReport report;
  const DensityBytes density = grouped(rows, all_blocks(rows), &report, 200000);
  EXPECT_GT(report.rest, 1000u);
  EXPECT_GT(report.groups, 20u);
  EXPECT_LE(density.size(), 260000u);
  const std::map<std::string, Truth> exact = truths(rows, 50, 250);
  EXPECT_EQ(report.groups + report.rest, exact.size());
  Truth all;
  for (const auto& [name, truth] : exact) {
    all.count += truth.count;
    all.sum += truth.sum;
  }
  // With few bytes each is known to within its interval, and all rows are there.
  double rows_found = 0;
  Interval count{0, 0, 0}, sum{0, 0, 0};
  const auto add = [](const Interval& x, Interval* to) {
    to->lower += x.lower;
    to->upper += x.upper;
  };
  GroupsView groups(&density.header());
  GroupView g;
  while (groups.next(&g)) {
    const DensityView d(g.density());
    const MeasureView m(g.density(), 0);
    rows_found += measure_count(d, m, Range());
    add(interval_of(Wanted::count, d, m, between(50, 250), {}), &count);
    add(interval_of(Wanted::sum, d, m, between(50, 250), {}), &sum);
  }
  EXPECT_TRUE(g.is_rest);
  EXPECT_EQ(groups.header().rest, report.rest);
  EXPECT_EQ(groups.header().unseen, 0);
  EXPECT_EQ(rows_found, 60000);
  EXPECT_LE(count.lower, all.count);
  EXPECT_GE(count.upper, all.count);
  EXPECT_LE(count.upper - count.lower, 0.05 * all.count);
  // The truth is a sum of doubles itself.
  const double rounding = 60000 * 0x1p-53 * all.sum;
  EXPECT_LE(sum.lower, all.sum + rounding);
  EXPECT_GE(sum.upper, all.sum - rounding);
}

// Small groups with times of a year: the ends are no coarser than what keeps twice as many of them.
TEST(Groups, StayByTheMonthWhereManyDoNotFit) {
  constexpr std::uint32_t kGroups = 5000, kRows = 100;
  Random random(4);
  Groups groups({.chain = Chain::calendar, .measures = 1}, kGroups);
  groups.begin_every_row();
  OwnedGridCells all(Chain::calendar, 1);
  FitOptions options;
  options.value_type = ValueType::timestamptz;
  options.measure_types[0] = ValueType::float8;
  for (std::uint32_t i = 0; i < kGroups * kRows; ++i) {
    const double x = 1672531200 + std::floor(3e13 * random.uniform()) / 1e6;
    const double y = 1 + static_cast<double>(random.below(10000));
    ASSERT_TRUE(groups.add({i % kGroups + 1}, x, {&y, 1}).ok());
    ASSERT_TRUE(all->add(x, {&y, 1}).ok());
  }
  for (std::uint32_t i = 0; i < kGroups; ++i)
    ASSERT_TRUE(groups.set_key(i, std::to_string(i)).ok());
  DensityBytes density;
  FitReport fit_report;
  ASSERT_TRUE(fit_cells(&*all, options, kGridBytes, {}, &density, &fit_report).ok());
  GroupsReport report;
  ASSERT_TRUE(groups.append(options, {}, &density, &report, std::size_t{2} << 20).ok());
  ASSERT_TRUE(validate(density.data(), density.size()).ok());
  EXPECT_STREQ(report.cells, "exact at each month");
  EXPECT_GT(report.groups, kGroups / 3);
  EXPECT_LE(density.size(), kGroupsBytes + kGridBytes);
}

struct Held {
  int asked = 0, counts = 0, sums = 0, means = 0;
  int exact = 0;   // of them, all their rows
  int totals = 0;  // samples where the groups' sum is in the interval of all rows
};

// How many intervals hold the truth, of each group in each of 60 samples.
Held held_by(const std::vector<Row>& rows, double lower, double upper, int whole_below = 0) {
  const std::map<std::string, Truth> exact = truths(rows, lower, upper);
  const Range range = between(lower, upper);
  Held held;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    std::vector<std::uint64_t> chosen(150);
    choose_blocks(rows.size() / kRowsOfABlock, chosen, &random);
    GroupsReport report;
    const DensityBytes density = grouped(rows, chosen, &report, kGroupsBytes, whole_below);
    GroupsView groups(&density.header());
    GroupView g;
    double total = 0;
    while (groups.next(&g)) {
      const DensityView d(g.density());
      const MeasureView m(g.density(), 0);
      total += count(d, Range());
      if (const Interval own = interval_of(Wanted::count, d, Range(), {}); own.lower == own.upper) {
        ++held.exact;
        continue;
      }
      const Truth& truth = exact.at(std::string(g.key()));
      const auto holds = [](const Interval& i, double x) { return i.lower <= x && x <= i.upper; };
      ++held.asked;
      held.counts += holds(interval_of(Wanted::count, d, m, range, {}), truth.count);
      held.sums += holds(interval_of(Wanted::sum, d, m, range, {}), truth.sum);
      held.means += holds(interval_of(Wanted::mean, d, m, range, {}), truth.sum / truth.count);
    }
    const Interval all = interval_of(Wanted::count, DensityView(&density.header()), Range(), {});
    held.totals += all.lower - 0.01 <= total && total <= all.upper + 0.01;
  }
  return held;
}

// 95 % within 2, and twice the standard error of 1,200, which is 0.0063.
constexpr double kLeastHeld = 0.917;

TEST(Groups, HoldTheTruthWhereSampled) {
  const Held held = held_by(make_rows(60000, 20, 3), 100, 250);
  EXPECT_GE(held.counts, kLeastHeld * held.asked) << held.asked;
  EXPECT_GE(held.sums, kLeastHeld * held.asked) << held.asked;
  EXPECT_GE(held.means, kLeastHeld * held.asked) << held.asked;
}

// Half of 400 groups are read whole, by the rows they have: those of the others hold as much, and
// the sum over all stays in the interval of all rows.
TEST(Groups, HoldTheTruthBesideThoseReadWhole) {
  const Held held = held_by(make_rows(60000, 400, 9), 100, 250, 50);
  EXPECT_GE(held.exact, 60 * 150);
  EXPECT_GE(held.counts, kLeastHeld * held.asked) << held.asked;
  EXPECT_GE(held.sums, kLeastHeld * held.asked) << held.asked;
  EXPECT_EQ(held.totals, 60);
}

// Rows of a group and a month lie together: a range has few blocks of a group's, whose own mean
// their residuals are about.
TEST(Groups, HoldTheTruthWhereClustered) {
  std::vector<Row> rows = make_rows(60000, 8, 3);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    const int month_a = static_cast<int>(a.x / 30), month_b = static_cast<int>(b.x / 30);
    return month_a != month_b ? month_a < month_b : a.group < b.group;
  });
  const Held held = held_by(rows, 60, 299);
  EXPECT_GE(held.counts, kLeastHeld * held.asked) << held.asked;
  EXPECT_GE(held.sums, kLeastHeld * held.asked) << held.asked;
  EXPECT_GE(held.means, kLeastHeld * held.asked) << held.asked;
}

// Of rows in groups that a sample did not meet there are as many as it says, within three standard
// errors in each of 40 samples; of few rows a group.
TEST(Groups, UnseenRowsAreEstimated) {
  std::vector<Row> rows = make_rows(60000, 20, 7);
  std::mt19937_64 random_group(8);
  for (std::size_t i = 0; i < rows.size(); i += 3)
    rows[i].group = 100 + static_cast<int>(random_group() % 8000);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    std::vector<std::uint64_t> chosen(150);
    choose_blocks(rows.size() / kRowsOfABlock, chosen, &random);
    GroupsReport report;
    const DensityBytes density = grouped(rows, chosen, &report);
    std::map<int, bool> met;
    for (const std::uint64_t b : chosen)
      for (std::size_t i = 0; i < kRowsOfABlock; ++i) met[rows[b * kRowsOfABlock + i].group] = true;
    double unseen = 0;
    for (const Row& row : rows) unseen += met.count(row.group) == 0;
    const GroupsHeader& h = GroupsView(&density.header()).header();
    EXPECT_GT(unseen, 1000);
    EXPECT_NEAR(h.unseen, unseen, 3 * h.unseen_error);
    EXPECT_LT(h.unseen_error, 0.2 * unseen);
  }
}

// Of one row that was read nothing is known of the mean of others.
TEST(Groups, OfOneRowReadHaveNoMean) {
  Sampler::Options sampling;
  sampling.measures = 1;
  Sampler all(sampling);
  Groups groups(sampling, 10);
  for (unsigned block = 0; block < 20; ++block) {
    ASSERT_TRUE(all.begin_block().ok());
    groups.begin_block();
    for (unsigned i = 0; i < 30; ++i) {
      const double y = i;
      ASSERT_TRUE(all.add(i, {&y, 1}).ok());
      ASSERT_TRUE(groups.add({block == 7 && i == 3 ? 2U : 1U}, i, {&y, 1}).ok());
    }
  }
  FitOptions options;
  options.rows_per_row_read = 10;
  options.share_of_blocks = 0.1;
  Sample sample;
  ASSERT_TRUE(all.finish(&sample).ok());
  DensityBytes density;
  FitReport fit_report;
  ASSERT_TRUE(fit_column(sample, options, {}, &density, &fit_report).ok());
  GroupsReport report;
  ASSERT_TRUE(groups.append(options, {}, &density, &report).ok());
  GroupsView view(&density.header());
  GroupView g;
  ASSERT_TRUE(view.next(&g));
  ASSERT_TRUE(view.next(&g));
  const DensityView d(g.density());
  const MeasureView m(g.density(), 0);
  for (const Range& range : {Range(), between(0, 10)}) {
    EXPECT_EQ(interval_of(Wanted::mean, d, m, range, {}).estimate, 3);
    EXPECT_TRUE(std::isinf(interval_of(Wanted::mean, d, m, range, {}).upper));
    EXPECT_TRUE(std::isinf(interval_of(Wanted::sum, d, m, range, {}).lower));
  }
}

// Of a sample of 10 of 40 blocks: group 1 has 19 rows in each block, 2 one; then 2 and 3, which the
// sample had no row of, are read whole, and 4 is given up.
struct Second {
  DensityBytes density;
  GroupsReport report;
};

void take_second_look(bool met_all, std::size_t bytes, Second* out) {
  Sampler::Options sampling;
  sampling.measures = 1;
  Sampler all(sampling);
  Groups groups(sampling, 100);
  const double y = 2;
  const auto add = [&](unsigned group, double x) {
    ASSERT_TRUE(groups.add({group}, x, {&y, 1}).ok());
  };
  for (int block = 0; block < 10; ++block) {
    ASSERT_TRUE(all.begin_block().ok());
    groups.begin_block();
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(all.add(i, {&y, 1}).ok());
      add(i == 0 ? 2 : 1, i);
    }
  }
  groups.begin_block();
  ASSERT_TRUE(all.begin_block().ok());
  ASSERT_TRUE(all.add(5, {&y, 1}).ok());
  add(4, 5);
  ASSERT_TRUE(groups.begin_whole({2}).ok());
  for (int i = 0; i < 35; ++i) add(2, 0);
  ASSERT_TRUE(groups.add_null({2}).ok());
  ASSERT_TRUE(groups.begin_whole({3}).ok());
  for (int i = 0; i < 5; ++i) add(3, i);
  ASSERT_TRUE(groups.begin_whole({5}).ok());  // has no row
  ASSERT_TRUE(groups.begin_whole({6}).ok());
  add(6, 1);
  groups.give_up_whole();  // that the sample had no row of
  ASSERT_TRUE(groups.begin_whole({4}).ok());
  add(4, 1);
  add(4, 2);
  groups.give_up_whole();
  if (met_all) groups.met_all();
  for (std::size_t g = 0; g < groups.size(); ++g)
    ASSERT_TRUE(groups.set_key(g, std::to_string(groups.codes(g)[0])).ok());
  FitOptions options;
  options.rows_per_row_read = 4;
  options.share_of_blocks = 0.25;
  Sample sample;
  ASSERT_TRUE(all.finish(&sample).ok());
  FitReport fit_report;
  ASSERT_TRUE(fit_column(sample, options, {}, &out->density, &fit_report).ok());
  ASSERT_TRUE(groups.append(options, {}, &out->density, &out->report, bytes).ok());
  ASSERT_TRUE(validate(out->density.data(), out->density.size()).ok());
}

// A group whose rows are all found takes them in the place of those that were sampled.
TEST(Groups, ReadWholeAreExact) {
  for (const bool met_all : {false, true}) {
    Second second;
    take_second_look(met_all, kGroupsBytes, &second);
    EXPECT_EQ(second.report.groups, 4u);
    EXPECT_EQ(second.report.whole, 2u);
    GroupsView view(&second.density.header());
    // Group 4 was met in one block, and not read whole.
    EXPECT_EQ(view.header().unseen, met_all ? 0 : 3);
    EXPECT_EQ(view.header().unseen_error > 0, !met_all);
    GroupView g;
    std::map<std::string, double> rows;
    while (view.next(&g)) {
      const std::string key(g.key());
      rows[key] = g.density()->rows;
      const Interval i = interval_of(Wanted::count, DensityView(g.density()), Range(), {});
      EXPECT_EQ(i.lower == i.upper, key == "2" || key == "3") << key;
    }
    EXPECT_EQ(rows, (std::map<std::string, double>{{"1", 190 * 4}, {"2", 35}, {"3", 5}, {"4", 4}}));
  }
}

// In the rest sampled rows count, as those of other groups there do.
TEST(Groups, ReadWholeInTheRestAreAsSampled) {
  Second second;
  take_second_look(true, 0, &second);
  EXPECT_EQ(second.report.groups, 0u);
  EXPECT_EQ(second.report.rest, 4u);
  GroupsView view(&second.density.header());
  GroupView g;
  ASSERT_TRUE(view.next(&g));
  EXPECT_TRUE(g.is_rest);
  EXPECT_EQ(g.density()->rows, 201 * 4);
}

TEST(Groups, AreNoMoreThanAsked) {
  Groups groups({}, 2);
  EXPECT_TRUE(groups.add({1}, 1, {}).ok());
  EXPECT_TRUE(groups.add({2}, 1, {}).ok());
  EXPECT_TRUE(groups.add({1}, 2, {}).ok());
  EXPECT_EQ(groups.add({3}, 1, {}).code, Code::too_large);
  const std::string too_long(kMostKeyBytes + 1, 'x');
  EXPECT_EQ(groups.set_key(0, too_long).code, Code::too_large);
  // No fit fails by one that the sample had no row of.
  Groups found({}, 2);
  ASSERT_TRUE(found.begin_whole({1}).ok());
  ASSERT_TRUE(found.add({1}, 1, {}).ok());
  EXPECT_EQ(found.rows(0), 1);
  EXPECT_TRUE(found.set_key(0, too_long).ok());
  EXPECT_EQ(found.rows(0), 0);
}

TEST(Groups, SurviveTheWire) {
  const std::vector<Row> rows = make_rows(20000, 10, 4);
  GroupsReport report;
  const DensityBytes density = grouped(rows, all_blocks(rows), &report);
  EXPECT_STREQ(round_trip(density), nullptr);
}

// Bytes that end too soon are refused, and not read beyond: with measures and without.
TEST(Groups, RefuseBytesThatEndTooSoon) {
  for (int measures = 0; measures < 2; ++measures) {
    Sampler::Options sampling;
    sampling.measures = measures;
    Sampler all(sampling);
    Groups groups(sampling, 10);
    for (unsigned i = 0; i < 40; ++i) {
      const double y[] = {static_cast<double>(i)};
      const std::span<const double> measured(y, static_cast<std::size_t>(measures));
      ASSERT_TRUE(all.add(i, measured).ok());
      ASSERT_TRUE(groups.add({i % 2}, i, measured).ok());
    }
    FitOptions options;
    options.every_row_read = true;
    Sample sample;
    ASSERT_TRUE(all.finish(&sample).ok());
    DensityBytes density;
    FitReport fit_report;
    ASSERT_TRUE(fit_column(sample, options, {}, &density, &fit_report).ok());
    GroupsReport report;
    ASSERT_TRUE(groups.append(options, {}, &density, &report).ok());
    ASSERT_TRUE(validate(density.data(), density.size()).ok());
    for (std::size_t size = 0; size < density.size(); ++size) {
      // Of memory of its own, so that the sanitizers see a read beyond it.
      const auto part = std::make_unique<char[]>(size + 1);
      std::copy_n(reinterpret_cast<const char*>(density.data()), size, part.get());
      EXPECT_FALSE(validate(part.get(), size).ok()) << size;
    }
  }
}

TEST(Groups, RefuseBytesThatDoNotFit) {
  const std::vector<Row> rows = make_rows(5000, 10, 5);
  GroupsReport report;
  const DensityBytes density = grouped(rows, all_blocks(rows), &report);
  std::mt19937_64 random(6);
  for (int i = 0; i < 3000; ++i) {
    DensityBytes broken = density;
    const std::size_t at = random() % broken.size();
    broken.data()[at] = static_cast<char>(broken.data()[at] ^ (1 << random() % 8));
    if (!validate(broken.data(), broken.size()).ok()) continue;
    GroupsView groups(&broken.header());
    GroupView g;
    while (groups.next(&g)) EXPECT_GE(count(DensityView(g.density()), Range()), 0);
  }
}

}  // namespace
}  // namespace kde
