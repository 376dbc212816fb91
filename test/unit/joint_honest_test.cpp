// Whether the intervals of joint densities hold the truth as often as they say, and are no wider
// than they need be, where rows were read by block: of columns that follow the table's order, lie
// together by block, are independent, or have a heavy tail. Seeds are fixed; the questions of one
// sample are not independent, so that of kSeeds samples one standard deviation of a pooled share is
// some 2 to 4 %.
#include "core/joint/fit_joint.h"
#include "core/joint/joint_moments.h"
#include "core/joint/box_evidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "samples.h"

namespace kde {
namespace {

constexpr int kRowsOfABlock = 100, kBlocks = 400, kRows = kBlocks * kRowsOfABlock;
constexpr int kBlocksRead = 50, kSeeds = 20;
constexpr int kColumns = 4;
enum Column { kOrdered, kMixed, kAlike, kHeavy };

struct Table {
  std::vector<double> value;    // kRows x kColumns
  std::vector<int> block_rows;  // of kRowsOfABlock, those that are there

  bool has(int row) const {
    return row % kRowsOfABlock < block_rows[static_cast<std::size_t>(row / kRowsOfABlock)];
  }
  const double* row(int i) const { return value.data() + std::ptrdiff_t{i} * kColumns; }
};

Table make_table(bool bloat) {
  const auto normal = [](int n, std::uint64_t seed) { return samples::normal(n, seed); };
  const std::vector<double> mixed = normal(kRows, 1), own = normal(kRows, 2),
                            block = normal(kBlocks, 3), tail = normal(kRows, 4);
  Table t;
  for (int b = 0; b < kBlocks; ++b)
    t.block_rows.push_back(bloat && block[static_cast<std::size_t>(b)] > 0 ? 10 : kRowsOfABlock);
  for (int i = 0; i < kRows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    t.value.push_back(i + 50 * own[at]);
    t.value.push_back(mixed[at]);
    t.value.push_back(block[at / kRowsOfABlock] + 0.5 * own[at]);
    t.value.push_back(std::exp(1.5 * tail[at]));
  }
  return t;
}

struct Question {
  std::vector<BoxSide> box;
  int target;  // -1: COUNT; else AVG
  double truth = 0;
};

Question ask(const Table& t, std::vector<BoxSide> box, int target) {
  Question q{std::move(box), target};
  double rows = 0, sum = 0;
  for (int i = 0; i < kRows; ++i) {
    bool in = t.has(i);
    for (const BoxSide& s : q.box)
      in = in && t.row(i)[s.column] >= s.range.lower && t.row(i)[s.column] <= s.range.upper;
    if (!in) continue;
    ++rows;
    if (target >= 0) sum += t.row(i)[target];
  }
  q.truth = target < 0 ? rows : sum / rows;
  return q;
}

BoxSide side(int column, double lower, double upper) {
  BoxSide s{column, {}};
  s.range.lower = lower;
  s.range.upper = upper;
  s.range.lower_unbounded = s.range.upper_unbounded = false;
  return s;
}

DensityBytes fit_of(const Table& t, std::uint64_t seed) {
  Random random(100 + seed);
  JointSampler sampler({kColumns, 2000, seed});
  constexpr int kStratum = kBlocks / kBlocksRead;
  for (int s = 0; s < kBlocksRead; ++s) {
    const int block = s * kStratum + static_cast<int>(random.below(kStratum));
    EXPECT_TRUE(sampler.begin_block().ok());
    for (int i = 0; i < t.block_rows[static_cast<std::size_t>(block)]; ++i)
      EXPECT_TRUE(sampler.add(t.row(block * kRowsOfABlock + i), 0).ok());
  }
  JointSample sample;
  EXPECT_TRUE(sampler.finish(&sample).ok());
  JointFitOptions options;
  for (ValueType& type : options.value_type) type = ValueType::float8;
  options.rows_per_row_read = kStratum;
  options.share_of_blocks = 1.0 / kStratum;
  DensityBytes bytes;
  JointFitReport report;
  int column;
  const Status s = fit_joint(sample, options, {}, &bytes, &report, &column);
  EXPECT_TRUE(s.ok()) << s.message;
  return bytes;
}

// The share of intervals that hold the truth, and their half widths' root mean square over 1.96
// times the errors'.
struct Tally {
  double coverage, width;
};

std::vector<Tally> tally(const Table& t, const std::vector<std::vector<Question>>& groups) {
  std::vector<double> held(groups.size()), errors(groups.size()), widths(groups.size());
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const DensityBytes bytes = fit_of(t, seed);
    const JointView d(bytes.data());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const Question& q : groups[g]) {
        const JointMoments m = joint_moments(d, q.box, q.target);
        const Interval i = q.target < 0 ? interval_of(Wanted::count, d, q.box, m, {})
                                        : interval_of(Wanted::mean, d, q.box, m, {});
        held[g] += i.lower <= q.truth && q.truth <= i.upper;
        errors[g] += std::pow((i.estimate - q.truth) / q.truth, 2);
        widths[g] += std::pow((i.upper - i.lower) / 2 / q.truth, 2);
      }
    }
  }
  std::vector<Tally> out;
  for (std::size_t g = 0; g < groups.size(); ++g)
    out.push_back({held[g] / kSeeds / static_cast<double>(groups[g].size()),
                   std::sqrt(widths[g] / errors[g]) / 1.96});
  return out;
}

// Boxes of two columns, narrow and wide.
std::vector<Question> boxes(const Table& t, int first, int second, int target) {
  const auto range = [](int column, int i, double width) {
    const double half = column == kOrdered ? kRows * width / 2
                        : column == kHeavy ? 3 * width
                                           : width;
    const double at = column == kOrdered ? kRows * (0.25 + 0.25 * i)
                      : column == kHeavy ? 2
                                         : 0.4 * i - 0.4;
    return side(column, at - half, at + half);
  };
  std::vector<Question> out;
  for (const double width : {0.1, 0.25, 0.6}) {
    for (int i = 0; i < 3; ++i)
      out.push_back(ask(t, {range(first, i, width), range(second, 2 - i, 2 * width)}, target));
  }
  return out;
}

TEST(JointHonest, CountsAndMeansOfRowsReadByBlock) {
  const Table t = make_table(false);
  const char* name[] = {
      "count ordered, mixed", "count ordered, alike", "count mixed, alike", "count mixed, heavy",
      "count ordered",        "count alike",          "mean heavy",         "mean heavy by order",
      "mean alike",           "mean ordered",         "mean mixed"};
  std::vector<std::vector<Question>> groups = {
      boxes(t, kOrdered, kMixed, -1), boxes(t, kOrdered, kAlike, -1), boxes(t, kMixed, kAlike, -1),
      boxes(t, kMixed, kHeavy, -1)};
  for (const int k : {kOrdered, kAlike}) {
    std::vector<Question>& g = groups.emplace_back();
    for (const Question& q : groups[1]) g.push_back(ask(t, {q.box[k == kOrdered ? 0 : 1]}, -1));
  }
  groups.push_back(boxes(t, kMixed, kAlike, kHeavy));
  groups.push_back(boxes(t, kOrdered, kMixed, kHeavy));
  groups.push_back(boxes(t, kOrdered, kMixed, kAlike));
  groups.push_back(boxes(t, kMixed, kAlike, kOrdered));
  groups.push_back(boxes(t, kOrdered, kAlike, kMixed));
  const std::vector<Tally> found = tally(t, groups);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    SCOPED_TRACE(name[g]);
    EXPECT_GE(found[g].coverage, 0.9);
    EXPECT_LE(found[g].width, 3);
  }
}

// Most rows of every other stretch of blocks are gone: how many there are is not known.
TEST(JointHonest, TheNumberOfRowsIsEstimated) {
  const Table t = make_table(true);
  const std::vector<std::vector<Question>> groups = {
      {ask(t, {}, -1)},
      {ask(t, {side(kMixed, -1, 9)}, -1), ask(t, {side(kMixed, -9, 0)}, -1)},
      {ask(t, {side(kMixed, -1, 9), side(kHeavy, 0, 9)}, -1)}};
  for (const Tally& found : tally(t, groups)) {
    EXPECT_GE(found.coverage, 0.9);
    EXPECT_LE(found.width, 3);
  }
}

}  // namespace
}  // namespace kde
