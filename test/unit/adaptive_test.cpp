// estimate/adaptive.h: better than the raw sample where the column is smooth, the raw sample where
// it is not, the same bits for any number of threads, and stopped at once.
#include "core/estimate/adaptive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/random.h"
#include "distinct.h"
#include "samples.h"
#include "stop_at.h"

namespace kde {
namespace {

// Lattice cells over u in [-1, 1].
Cells lattice(int points) {
  Line line;
  line.low = -1;
  line.high = 1;
  const double step = 2.0 / points;
  return lattice_cells(line, -1 + step / 2, step, 0, points - 1);
}

std::vector<double> bell(int cells) {
  std::vector<double> out;
  for (int i = 0; i < cells; ++i) {
    const double z = 7 * (i + 0.5) / cells - 3.5;
    out.push_back(std::exp(-z * z / 2));
  }
  const double total = samples::total(out);
  for (double& x : out) x /= total;
  return out;
}

AdaptiveEstimate estimate(const Cells& cells, double h, double sampled_share = 0, int threads = 1) {
  AdaptiveInput input;
  input.cells = &cells;
  input.plugin_bandwidth = h;
  input.sampled_share = sampled_share;
  AdaptiveEstimate out;
  Control control;
  control.threads = threads;
  const Status s = estimate_adaptively(input, control, &out);
  EXPECT_TRUE(s.ok()) << s.message;
  return out;
}

void expect_sound(const AdaptiveEstimate& e, const Cells& cells) {
  ASSERT_EQ(e.share.size(), cells.size());
  for (double s : e.share) ASSERT_TRUE(s >= 0);
  EXPECT_NEAR(samples::total(e.share), 1, 1e-9);
  EXPECT_TRUE(std::isfinite(e.bandwidth) && e.bandwidth >= 0);
  EXPECT_FALSE(e.model.empty());
}

// Mean squared error of the shares of ranges of 0.3 to 10 % of the mass, anywhere in the mass.
double error(const std::vector<double>& share, const std::vector<double>& truth) {
  Random random(17);
  std::vector<double> below = {0};
  for (double t : truth) below.push_back(below.back() + t);
  const auto cell = [&below](double q) {
    return static_cast<std::size_t>(std::lower_bound(below.begin(), below.end() - 1, q) -
                                    below.begin());
  };
  double sum = 0;
  int ranges = 0;
  while (ranges < 300) {
    const double length = 0.003 * std::pow(0.1 / 0.003, random.uniform());
    const double start = (1 - length) * random.uniform();
    const std::size_t a = cell(start);
    const std::size_t b = cell(start + length);
    double p = 0, q = 0;
    for (std::size_t i = a; i < b; ++i) {
      p += truth[i];
      q += share[i];
    }
    if (p < 0.003 || p > 0.1) continue;
    sum += (p - q) * (p - q) / (p * (1 - p));
    ++ranges;
  }
  return sum / ranges;
}

struct Compared {
  double estimate = 0, sample = 0;
};

Compared compare(const std::vector<double>& truth, int n, double h, std::uint64_t seeds) {
  Compared sum;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Cells cells = lattice(static_cast<int>(truth.size()));
    cells.count = samples::counts(truth, n, seed);
    const AdaptiveEstimate e = estimate(cells, h);
    expect_sound(e, cells);
    std::vector<double> raw = cells.count;
    for (double& c : raw) c /= n;
    sum.estimate += error(e.share, truth);
    sum.sample += error(raw, truth);
  }
  return sum;
}

// On a normal column of 1000 rows, at its normal-reference bandwidth, the kernel estimate's mean
// squared error over such ranges is a sixth of the sample's over these seeds.
TEST(Adaptive, FarBetterThanTheSampleOnSmoothColumns) {
  const Compared c = compare(bell(500), 1000, 1.06 * std::pow(1000, -0.2) * 2 / 7, 8);
  EXPECT_LT(c.estimate, 0.4 * c.sample);
}

// Each cell has a share of its own, log-normal with sigma 2: nothing is to be learnt from
// neighbours, and what is chosen costs at most a tenth.
TEST(Adaptive, TheSampleOnClumpedColumns) {
  std::vector<double> truth = samples::normal(400, 9);
  for (double& x : truth) x = std::exp(2 * x);
  const double total = samples::total(truth);
  for (double& x : truth) x /= total;
  const Compared c = compare(truth, 2000, 0.05, 8);
  EXPECT_LT(c.estimate, 1.1 * c.sample);
}

TEST(Adaptive, EveryRowIsCounted) {
  Cells cells = lattice(300);
  cells.count = samples::counts(bell(300), 700, 3);
  const AdaptiveEstimate e = estimate(cells, 0.1, 1);
  for (std::size_t i = 0; i < cells.size(); ++i) EXPECT_EQ(e.share[i], cells.count[i] / 700);
}

// The rows seen are known: f times the sample and 1 - f times the estimate of the rest.
TEST(Adaptive, WhatWasSeenIsKept) {
  Cells cells = lattice(300);
  cells.count = samples::counts(bell(300), 700, 3);
  const AdaptiveEstimate none = estimate(cells, 0.1, 0);
  const AdaptiveEstimate half = estimate(cells, 0.1, 0.5);
  for (std::size_t i = 0; i < cells.size(); ++i)
    ASSERT_NEAR(half.share[i], (cells.count[i] / 700 + none.share[i]) / 2, 1e-12);
}

// Smooth, skewed (transformations), heaped, with atoms, of few cells, of few rows.
std::vector<Cells> various() {
  std::vector<Cells> out;
  out.push_back(lattice(500));
  out.back().count = samples::counts(bell(500), 3000, 1);
  std::vector<double> truth = bell(600);
  for (std::size_t i = 0; i < 600; i += 10) truth[i] *= 5;
  out.push_back(lattice(600));
  out.back().count = samples::counts(truth, 3000, 2);
  std::vector<double> x = samples::lognormal(1500, 3);
  for (double& v : x) v = v * v / 2000;
  x.insert(x.end(), 400, 0.0);
  std::vector<HistogramCell> values;
  for (const WeightedValue& v : samples::distinct(x)) values.push_back({v.value, v.weight, true});
  out.push_back(value_cells({values, 0, 1}, std::vector<std::size_t>{0}));
  out.push_back(lattice(5));
  out.back().count = {1, 30, 20, 10, 3};
  out.push_back(lattice(40));
  out.back().count[7] = 2;
  out.push_back(lattice(2));
  out.back().count = {1, 1};
  return out;
}

TEST(Adaptive, TheSameBitsForAnyNumberOfThreads) {
  for (const Cells& cells : various()) {
    const AdaptiveEstimate one = estimate(cells, 0.05, 0.1);
    expect_sound(one, cells);
    for (int threads : {2, 5}) {
      const AdaptiveEstimate many = estimate(cells, 0.05, 0.1, threads);
      EXPECT_EQ(many.share, one.share);
      EXPECT_EQ(many.model, one.model);
      EXPECT_EQ(many.bandwidth, one.bandwidth);
    }
  }
}

TEST(Adaptive, StopsAtWhicheverPollSaysSo) {
  for (const Cells& cells : various()) {
    AdaptiveInput input;
    input.cells = &cells;
    input.plugin_bandwidth = 0.05;
    AdaptiveEstimate out;
    StopAt never;
    ASSERT_TRUE(estimate_adaptively(input, never.control, &out).ok());
    for (int k = 1; k <= never.polls; k += std::max(1, never.polls / 3)) {
      StopAt stop(k);
      EXPECT_EQ(estimate_adaptively(input, stop.control, &out).code, Code::cancelled) << k;
      EXPECT_LE(stop.polls, k + 1);
    }
  }
}

}  // namespace
}  // namespace kde
