// Many densities added up at once, against the slow ways: the sum of what each says, part by part,
// and a summary that merges them one by one; how sure the sum is against the formula of strata.h
// and against rows that are known.
#include "core/summary/merge_many.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/fit/fit.h"
#include "core/answer/column_evidence.h"
#include "core/kernel/normal.h"
#include "core/sampling/block_choice.h"
#include "core/summary/owned_summary.h"
#include "fitted.h"

namespace kde {
namespace {

using fitted::kInf;

using Parts = std::vector<DensityBytes>;

std::vector<const Header*> headers_of(const Parts& parts) {
  std::vector<const Header*> out;
  for (const DensityBytes& p : parts) out.push_back(&p.header());
  return out;
}

DensityBytes part_of(const std::vector<double>& x, const FitOptions& options, int in_block = 0) {
  Sampler sampler(Sampler::Options{});
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (in_block > 0 && i % static_cast<std::size_t>(in_block) == 0) {
      EXPECT_TRUE(sampler.begin_block().ok());
    }
    EXPECT_TRUE(sampler.add(x[i]).ok());
  }
  Sample sample;
  EXPECT_TRUE(sampler.finish(&sample).ok());
  DensityBytes out;
  FitReport report;
  const Status status = fit_column(sample, options, Control{}, &out, &report);
  EXPECT_TRUE(status.ok()) << status.message;
  return out;
}

// Of the kinds there are: `rows` values of each of `count` parts.
Parts parts_of(const std::string& kind, std::size_t count, int rows) {
  Parts out;
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<double> x = samples::normal(rows, static_cast<unsigned>(100 + k));
    FitOptions options;
    options.rows_per_row_read = 4.25;
    options.share_of_blocks = 1 / options.rows_per_row_read;
    for (double& v : x) {
      const double z = v;
      if (kind == "heavy") v = std::exp(3 * z);
      if (kind == "ranges") v = static_cast<double>(k) + normal_cdf(z);
      if (kind == "atoms" && z < 0.5) v = std::round(2 * z) / 2;
      if (kind == "lattice") v = std::round(40000 * z);
      if (kind == "far") v = z + (k % 2 == 0 ? 0 : 1e9);
    }
    options.as_counted = kind == "counted" || k % 5 == 1;
    if (kind == "lattice") {
      options.lattice_step = 1;
      options.value_type = ValueType::int4;
    }
    if (kind == "whole" || k % 7 == 2) {
      options.every_row_read = true;
      options.rows_per_row_read = options.share_of_blocks = 1;
    }
    out.push_back(part_of(x, options, 20));
  }
  return out;
}

double rows_below(const std::vector<HistogramCell>& cells, double x) {
  double sum = 0;
  double begin = 0;
  for (const HistogramCell& c : cells) {
    if (c.value <= x) {
      sum += c.rows;
    } else {
      if (!c.point && x > begin) sum += c.rows * ((x - begin) / (c.value - begin));
      break;
    }
    begin = c.value;
  }
  return sum;
}

// Where steps are, between them, and beside them.
std::vector<double> places(const Parts& parts) {
  std::vector<double> out;
  Random random(5);
  for (const DensityBytes& p : parts) {
    std::vector<HistogramCell> cells;
    decode_histogram(DensityView(p.data()), &cells);
    for (int i = 0; i < 40; ++i) {
      const std::size_t at = random.below(cells.size());
      const double x = cells[at].value;
      out.push_back(x);
      out.push_back(std::nextafter(x, -kInf));
      if (at > 0) out.push_back(x + random.uniform() * (cells[at - 1].value - x));
    }
  }
  return out;
}

void expect_sum(const std::string& kind, std::size_t count, int rows) {
  SCOPED_TRACE(kind + ", " + std::to_string(count) + " parts of " + std::to_string(rows));
  const Parts parts = parts_of(kind, count, rows);
  const std::vector<const Header*> headers = headers_of(parts);
  SumOfDensities sum;
  ASSERT_TRUE(add_up_densities(headers, 2304, 8064, &sum).ok());
  double all = 0;
  for (const Header* h : headers) all += h->rows;
  OwnedSummary many(Resolution::coarse), singly(Resolution::coarse);
  ASSERT_TRUE(many->merge_many(headers).ok());
  std::vector<std::vector<HistogramCell>> cells(parts.size());
  for (std::size_t k = 0; k < parts.size(); ++k) {
    decode_histogram(DensityView(parts[k].data()), &cells[k]);
    ASSERT_TRUE(singly->merge(*headers[k], cells[k]).ok());
  }
  DensityBytes density;
  FitOptions options;
  options.value_type = headers[0]->value_type;
  ASSERT_TRUE(finish(*many, options, Control{}, &density).ok());
  EXPECT_TRUE(validate(density.data(), density.size()).ok());
  EXPECT_NEAR(density.header().rows, all, 1e-9 * all);
  EXPECT_NEAR(many->totals().mean(), singly->totals().mean(), 1e-9 * many->totals().max());
  EXPECT_DOUBLE_EQ(many->totals().count(), singly->totals().count());
  EXPECT_EQ(many->totals().min(), singly->totals().min());
  // A cell of the grid has some 1.5 of as many parts of the rows.
  EXPECT_LE(many->error_rows(), singly->error_rows() + 4 * 1.5 * all / 2304 + 2);
  EXPECT_GE(sum.within, sum.error);
  const double digits = 1e-9 * all;
  std::vector<HistogramCell> merged;
  for (std::size_t i = 0; i < singly->cells(); ++i) merged.push_back(singly->cell(i));
  for (const double x : places(parts)) {
    double truth = 0;
    for (const auto& c : cells) truth += rows_below(c, x);
    // What the parts themselves are off by is no part of the sum's.
    EXPECT_NEAR(rows_below(sum.cells, x), truth, sum.within - sum.error + 1 + digits) << x;
    Range r;
    r.upper_unbounded = false;
    r.upper = x;
    EXPECT_NEAR(kde::count(DensityView(density.data()), r), truth,
                density.header().error * all + digits)
        << x;
    EXPECT_NEAR(rows_below(merged, x), truth, singly->error_rows() + digits) << x;
  }
}

TEST(MergeMany, Normal) { expect_sum("normal", 16, 800); }
TEST(MergeMany, Few) { expect_sum("normal", 3, 300); }
TEST(MergeMany, HeavyTails) { expect_sum("heavy", 16, 800); }
TEST(MergeMany, Counted) { expect_sum("counted", 16, 800); }
TEST(MergeMany, EveryRow) { expect_sum("whole", 12, 1500); }
TEST(MergeMany, Ranges) { expect_sum("ranges", 20, 600); }
TEST(MergeMany, Atoms) { expect_sum("atoms", 16, 800); }
TEST(MergeMany, Lattice) { expect_sum("lattice", 16, 800); }
TEST(MergeMany, FarApart) { expect_sum("far", 16, 800); }

// All values of all parts, where they are few: nothing is rounded, joined or spread.
TEST(MergeMany, FewValuesAreExact) {
  Parts parts;
  std::vector<double> counts(601);
  double all = 0;
  for (std::size_t k = 0; k < 50; ++k) {
    std::vector<double> x = samples::normal(1000, static_cast<unsigned>(k + 1));
    for (double& v : x) {
      v = std::round(60 * v);
      counts[static_cast<std::size_t>(v + 300)] += 1;
      ++all;
    }
    FitOptions options;
    options.every_row_read = true;
    parts.push_back(part_of(x, options));
    ASSERT_EQ(parts.back().header().error, 0);
  }
  OwnedSummary summary;
  ASSERT_TRUE(summary->merge_many(headers_of(parts)).ok());
  EXPECT_EQ(summary->error_rows(), 0);
  double seen = 0;
  for (std::size_t i = 0; i < summary->cells(); ++i) {
    const HistogramCell c = summary->cell(i);
    EXPECT_TRUE(c.point);
    EXPECT_EQ(c.rows, counts[static_cast<std::size_t>(c.value + 300)]) << c.value;
    seen += c.rows;
  }
  EXPECT_EQ(seen, all);
}

TEST(MergeMany, NothingAndNoFiniteRows) {
  OwnedSummary summary;
  EXPECT_TRUE(summary->merge_many({}).ok());
  EXPECT_EQ(summary->cells(), 0U);
  OwnedSummary nans;
  ASSERT_TRUE(nans->add(fitted::kNan).ok());
  Parts parts(2);
  for (DensityBytes& p : parts) ASSERT_TRUE(finish(*nans, {}, Control{}, &p).ok());
  ASSERT_TRUE(summary->merge_many(headers_of(parts)).ok());
  EXPECT_EQ(summary->cells(), 0U);
  EXPECT_EQ(summary->specials().nans, 2);
}

// It polls at each part, of whatever form, wherever it goes through them.
TEST(MergeMany, StopsAtAnyPart) {
  constexpr int kParts = 40;
  Parts points;
  for (int k = 0; k < kParts; ++k) {
    FitOptions options;
    options.every_row_read = true;
    points.push_back(part_of(std::vector<double>{1.0 * k, 2.0 * k, 0.5}, options));
  }
  for (const Parts& parts : {points, parts_of("normal", kParts, 800)}) {
    struct Polls {
      int made = 0, last = std::numeric_limits<int>::max();
    } polls;
    Control control;
    control.stop_arg = &polls;
    control.should_stop = [](void* arg) {
      auto* p = static_cast<Polls*>(arg);
      return ++p->made >= p->last;
    };
    {
      OwnedSummary summary;
      ASSERT_TRUE(summary->merge_many(headers_of(parts), nullptr, control).ok());
    }
    const int all = polls.made;
    EXPECT_GE(all, 3 * kParts);
    for (int last = 1; last <= all; ++last) {
      polls = {0, last};
      OwnedSummary summary;
      EXPECT_EQ(summary->merge_many(headers_of(parts), nullptr, control).code, Code::cancelled);
      EXPECT_EQ(polls.made, last);
      EXPECT_EQ(summary->cells(), 0U);
    }
  }
}

// Parts that say they are each of as many rows as may be: the sum says no more, and is valid.
TEST(MergeMany, OfMoreSampleRowsThanMayBe) {
  Parts parts = parts_of("normal", 3, 800);
  for (DensityBytes& p : parts) {
    p.header().sample_rows = 0x1p62;
    ASSERT_TRUE(validate(p.data(), p.size()).ok());
  }
  OwnedSummary summary;
  ASSERT_TRUE(summary->merge_many(headers_of(parts)).ok());
  DensityBytes out;
  ASSERT_TRUE(finish(*summary, {}, Control{}, &out).ok());
  EXPECT_EQ(out.header().sample_rows, 0x1p62);
  EXPECT_TRUE(validate(out.data(), out.size()).ok());
}

// What the bound rests on ends when something else comes; a copy has it.
TEST(MergeMany, TheSmallerErrorIsOfTheSumAlone) {
  const Parts parts = parts_of("normal", 20, 800);
  OwnedSummary summary(Resolution::coarse);
  ASSERT_TRUE(summary->merge_many(headers_of(parts)).ok());
  const double known = summary->error_rows();
  EXPECT_LT(known, summary->error_of_cells());
  std::vector<char> bytes(summary->serialized_size());
  summary->serialize(bytes.data());
  OwnedSummary read, merged(Resolution::coarse);
  ASSERT_TRUE(read->deserialize(bytes.data(), bytes.size()).ok());
  EXPECT_EQ(read->error_rows(), known);
  ASSERT_TRUE(merged->merge(*summary).ok());
  EXPECT_EQ(merged->error_rows(), known);
  ASSERT_TRUE(merged->add(0.123).ok());
  ASSERT_TRUE(merged->settle().ok());
  EXPECT_GE(merged->error_rows(), summary->error_of_cells());
  ASSERT_TRUE(summary->merge_many(headers_of(parts)).ok());
  EXPECT_GE(summary->error_rows(), summary->error_of_cells());
}

// ---- parts whose values lie on a coarser step than the type's

struct Steps {
  double first, step;
  int points;
};

// Each point of each part's lattice has three rows: all of a part are one range.
Parts even_parts(const std::vector<Steps>& steps, double type_step, std::vector<double>* rows) {
  Parts out;
  for (const Steps& s : steps) {
    std::vector<double> x;
    for (int i = 0; i < 3 * s.points; ++i) x.push_back(s.first + (i / 3) * s.step);
    FitOptions options;
    options.every_row_read = true;
    options.lattice_step = type_step;
    options.seeks_lattice = true;
    out.push_back(part_of(x, options));
    EXPECT_LT(out.back().header().error, 1e-15);
    if (s.points > 100) {
      EXPECT_EQ(out.back().header().lattice_step, s.step);
    }
    rows->insert(rows->end(), x.begin(), x.end());
  }
  std::sort(rows->begin(), rows->end());
  return out;
}

// Counts of the sum at points of the lattices, between them and beside them are within its error.
void expect_counts(const Summary& summary, double type_step, const std::vector<double>& rows,
                   double most_error, double step) {
  DensityBytes density;
  FitOptions options;
  options.lattice_step = type_step;
  ASSERT_TRUE(finish(summary, options, Control{}, &density).ok());
  ASSERT_TRUE(validate(density.data(), density.size()).ok());
  const auto all = static_cast<double>(rows.size());
  const double error = density.header().error * all;
  EXPECT_LE(error, most_error + 1e-6);
  if (step >= 0) {
    EXPECT_EQ(density.header().lattice_step, step);
  }
  for (std::size_t i = 0; i + 1 < rows.size(); i += 373) {
    const double x = rows[i];
    for (const double at : {x, x - 1e-3, x + 0.37 * (rows[i + 1] - x) + 0.01, x - 0.25, x + 0.5}) {
      for (const bool inclusive : {true, false}) {
        const auto end = inclusive ? std::upper_bound(rows.begin(), rows.end(), at)
                                   : std::lower_bound(rows.begin(), rows.end(), at);
        Range r;
        r.upper_unbounded = false;
        r.upper = at;
        r.upper_inclusive = inclusive;
        ASSERT_NEAR(kde::count(DensityView(density.data()), r),
                    static_cast<double>(end - rows.begin()), error + 1e-6)
            << at << (inclusive ? " inclusive" : "");
      }
    }
  }
}

// Added up at once, as a copy, again, and one by one. most_error: of the sum, in rows.
void expect_even(const std::vector<Steps>& steps, double type_step, double most_error,
                 double step) {
  std::vector<double> rows;
  const Parts parts = even_parts(steps, type_step, &rows);
  OwnedSummary many, again, read, joined, singly;
  ASSERT_TRUE(many->merge_many(headers_of(parts)).ok());
  expect_counts(*many, type_step, rows, most_error, step);
  std::vector<char> bytes(many->serialized_size());
  many->serialize(bytes.data());
  ASSERT_TRUE(read->deserialize(bytes.data(), bytes.size()).ok());
  expect_counts(*read, type_step, rows, most_error, step);
  ASSERT_TRUE(joined->merge(*many).ok());
  expect_counts(*joined, type_step, rows, most_error, step);
  for (const DensityBytes& p : parts) {
    std::vector<HistogramCell> cells;
    decode_histogram(DensityView(p.data()), &cells);
    ASSERT_TRUE(singly->merge(p.header(), cells).ok());
  }
  const auto all = static_cast<double>(rows.size());
  expect_counts(*singly, type_step, rows, all, -1);
  // What comes later lies on none of the lattices.
  for (OwnedSummary* s : {&joined, &many}) {
    ASSERT_TRUE((*s)->add(rows.front() + 0.37).ok());
    ASSERT_TRUE((*s)->settle().ok());
  }
  rows.push_back(rows.front() + 0.37);
  std::sort(rows.begin(), rows.end());
  expect_counts(*many, type_step, rows, all, -1);
  expect_counts(*joined, type_step, rows, all, -1);
}

TEST(MergeMany, OneLatticeIsKept) {
  for (const double type_step : {0.0, 1.0}) {
    expect_even({{0, 60, 20000}, {20000 * 60, 60, 25000}}, type_step, 0, 60);
    expect_even({{0, 60, 20000}, {1000 * 60, 60, 25000}}, type_step, 0, 60);
    // One of them has few of its points.
    expect_even({{0, 60, 20000}, {600, 3600, 7}}, type_step, 0, 60);
  }
  expect_even({{0, 0.25, 20000}, {1000, 0.25, 20000}}, 0.01, 0, 0.25);
  expect_even({{0.125, 0.25, 20000}, {1000.125, 0.25, 20000}}, 0, 0, 0.25);
  expect_even({{0, 0.25, 20000}, {1000, 0.25, 20000}}, 1e-6, 0, 0.25);
}

TEST(MergeMany, OtherLatticesAreOffByAPoint) {
  for (const double type_step : {0.0, 1.0}) {
    expect_even({{0, 60, 20000}, {20000 * 60, 120, 20000}}, type_step, 3, 60);
    expect_even({{0, 60, 20000}, {6000 * 30, 60 * 7, 20000}}, type_step, 3, 60);
    expect_even({{0, 60, 20000}, {30, 60, 20000}}, type_step, 12, -1);
    expect_even({{0, 60, 20000}, {1000 * 60 + 7, 45, 20000}}, type_step, 12, -1);
    // One row beside it all.
    expect_even({{0, 60, 20000}, {60 * 4000, 60, 25000}, {601, 60, 1}}, type_step, 12, -1);
  }
  expect_even({{0, 0.25, 20000}, {700, 0.5, 20000}, {0, 0.75, 20000}}, 0.01, 9, 0.25);
}

// So many parts that the grid is of ends of their blocks.
TEST(MergeMany, ManyOnOneLattice) {
  Parts parts;
  std::vector<double> rows;
  for (int k = 0; k < 6; ++k) {
    std::vector<double> x = samples::normal(6000, static_cast<unsigned>(k + 1));
    for (double& v : x) v = 60 * std::round(4000 * v) + (k == 5 ? 30 : 0);
    rows.insert(rows.end(), x.begin(), x.end());
    FitOptions options;
    options.every_row_read = options.seeks_lattice = true;
    options.lattice_step = 1;
    parts.push_back(part_of(x, options));
    if (k < 4) continue;
    std::sort(rows.begin(), rows.end());
    OwnedSummary summary(Resolution::coarse);
    ASSERT_TRUE(summary->merge_many(headers_of(parts)).ok());
    expect_counts(*summary, 1, rows, 200, k == 4 ? 60 : -1);
  }
}

// ---- how sure the sum is

// Uniform over (low, low + 1], with a number of rows and a variance that are given.
DensityBytes uniform_part(double low, double rows, double sampled, double variance) {
  Header h{};
  h.rows = rows;
  h.sample_rows = sampled;
  h.min = low;
  h.max = low + 1;
  h.mean = low + 0.5;
  h.variance = 1.0 / 12;
  h.flags = kBounded | kFitted;
  h.known_below = -kInf;
  h.known_above = kInf;
  for (auto& shape : h.count_variance)
    for (float& v : shape) v = static_cast<float>(variance);
  std::vector<HistogramCell> cells = {{low, 0, false}};
  for (int i = 1; i <= 64; ++i) cells.push_back({low + i / 64.0, rows / 64, false});
  DensityBytes out;
  EXPECT_TRUE(encode_histogram(h, cells, 0, kMaxBytes, &out).ok());
  return out;
}

// Parts that are alike, their variances known by chance: the mean of them, not the largest.
TEST(Strata, PartsThatAreAlikeShareTheirVariance) {
  Parts parts;
  for (int k = 0; k < 40; ++k) parts.push_back(uniform_part(0, 1000, 100, k % 2 == 0 ? 1.5 : 0.5));
  SumOfDensities sum;
  ASSERT_TRUE(add_up_densities(headers_of(parts), 16384, 57344, &sum).ok());
  for (const auto& shape : sum.sampling.weight)
    for (const float w : shape) EXPECT_NEAR(w, 10, 1e-3);
  EXPECT_EQ(sum.sampling.any, 1U);
}

// Of parts side by side the one that is least sure says how sure a range within it is:
// N_k^2 p_k (1 - p_k) v_k / n_k over N p (1 - p).
TEST(Strata, ARangeWithinOnePartIsAsSureAsThat) {
  Parts parts;
  for (int k = 0; k < 100; ++k)
    parts.push_back(uniform_part(k, 1000, k == 37 ? 10 : 100, k == 37 ? 3 : 1));
  SumOfDensities sum;
  ASSERT_TRUE(add_up_densities(headers_of(parts), 16384, 57344, &sum).ok());
  // A range that holds 4^-4 of the rows has 0.39 of the part's.
  for (int scale = 3; scale < kErrorScales; ++scale) {
    const double p = std::ldexp(1, -2 * (scale + 1));
    const double within = 100 * p;
    const double expected = 1000 * within * (1 - within) * 300 / (100000 * p * (1 - p));
    EXPECT_NEAR(sum.sampling.weight[0][scale], expected, 0.03 * expected) << scale;
  }
  // A wide one has two ends at most in parts: a quarter of each is the most.
  const double most = 2 * 1000 * 0.25 * 300;
  EXPECT_LE(sum.sampling.weight[0][0], most / (100000 * 0.25 * 0.75) * 1.1);
}

// One density is as sure as it was.
TEST(Strata, OfOneDensityNothingChanges) {
  const Parts parts = parts_of("normal", 1, 3000);
  SumOfDensities sum;
  ASSERT_TRUE(add_up_densities(headers_of(parts), 16384, 57344, &sum).ok());
  SummarySampling alone;
  alone.add(parts[0].header());
  EXPECT_EQ(std::memcmp(alone.weight, sum.sampling.weight, sizeof alone.weight), 0);
  EXPECT_EQ(alone.sum_error, sum.sampling.sum_error);
}

// How many rows each part has is estimated: where parts lie apart a count within one is off by its
// own number's, of which the merged number's error says too little.
TEST(Strata, NumbersOfRowsOfPartsThatLieApart) {
  Parts parts;
  for (int k = 0; k < 16; ++k) {
    parts.push_back(uniform_part(k, 1000, 100, 0));
    parts.back().header().rows_variance = 0.01;
  }
  SumOfDensities sum;
  ASSERT_TRUE(add_up_densities(headers_of(parts), 16384, 57344, &sum).ok());
  EXPECT_NEAR(sum.sampling.rows_variance, 16 * 1e4, 1);
  // A sixteenth of the rows: all of one part, or half of two.
  const double p = 1.0 / 16;
  const double all = sum.sampling.weight[0][1] * 16000 * p * (1 - p) + p * p * 16e4;
  EXPECT_GE(all, 0.5e4);
  EXPECT_LE(all, 1.05e4);
}

// Rows in parts, of which each samples its own blocks: 95 % intervals hold the truth in 95 of 100.
// As in honest_intervals_test.cpp, 0.93 is what is promised.
struct Simulated {
  const char* name;
  bool clustered, ranges;
};

class Honest : public testing::TestWithParam<Simulated> {};

TEST_P(Honest, OfStrata) {
  constexpr int kParts = 6, kBlocks = 120, kRead = 24, kInBlock = 30, kSeeds = 20;
  std::vector<std::vector<double>> rows(kParts);
  std::vector<double> sorted;
  for (int k = 0; k < kParts; ++k) {
    const std::vector<double> z = samples::normal(kBlocks * kInBlock, static_cast<unsigned>(k + 1));
    const std::vector<double> centre = samples::normal(kBlocks, static_cast<unsigned>(k + 50));
    for (std::size_t i = 0; i < z.size(); ++i) {
      double v = z[i];
      if (GetParam().clustered) v = (v + centre[i / kInBlock]) / std::sqrt(2.0);
      if (GetParam().ranges) v = k + normal_cdf(v);
      rows[static_cast<std::size_t>(k)].push_back(v);
      sorted.push_back(v);
    }
  }
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double share) {
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
  };
  std::vector<Range> asked;
  for (const double share : {0.01, 0.03, 0.1, 0.3})
    for (const double place : {0.1, 0.4, 0.55, 0.9})
      asked.push_back(fitted::range(at((1 - share) * place), at((1 - share) * place + share)));
  for (const double share : {0.05, 0.2, 0.4, 0.7}) asked.push_back(fitted::range(-kInf, at(share)));
  int held = 0, all = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    Parts parts;
    Random random(static_cast<std::uint64_t>(seed) + 1);
    for (const auto& part : rows) {
      std::vector<std::uint64_t> chosen(kRead);
      choose_blocks(kBlocks, chosen, &random);
      std::vector<double> read;
      for (const std::uint64_t b : chosen)
        read.insert(read.end(), part.begin() + static_cast<std::ptrdiff_t>(b * kInBlock),
                    part.begin() + static_cast<std::ptrdiff_t>((b + 1) * kInBlock));
      FitOptions options;
      options.rows_per_row_read = double{kBlocks} / kRead;
      options.share_of_blocks = double{kRead} / kBlocks;
      parts.push_back(part_of(read, options, kInBlock));
    }
    OwnedSummary summary;
    ASSERT_TRUE(summary->merge_many(headers_of(parts)).ok());
    DensityBytes density;
    ASSERT_TRUE(finish(*summary, {}, Control{}, &density).ok());
    for (const Range& r : asked) {
      const auto truth =
          static_cast<double>(std::upper_bound(sorted.begin(), sorted.end(), r.upper) -
                              std::lower_bound(sorted.begin(), sorted.end(), r.lower));
      const Interval i = interval_of(Wanted::count, DensityView(density.data()), r, {});
      held += i.lower <= truth && truth <= i.upper;
      ++all;
    }
  }
  EXPECT_GE(static_cast<double>(held) / all, 0.93);
}

INSTANTIATE_TEST_SUITE_P(Strata, Honest,
                         testing::Values(Simulated{"alike", false, false},
                                         Simulated{"clustered", true, false},
                                         Simulated{"ranges", false, true},
                                         Simulated{"ranges_clustered", true, true}),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
}  // namespace kde
