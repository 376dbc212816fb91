// estimate/clumps.h: planted atoms and clumps are found whole, and nothing in smooth columns, on a
// lattice or off.
#include "core/estimate/clumps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.h"
#include "distinct.h"
#include "samples.h"

namespace kde {
namespace {

constexpr std::size_t kNoLimit = 100000;

struct AtomSplit {
  std::vector<WeightedValue> atoms, rest;
};

AtomSplit split_clumps(const std::vector<WeightedValue>& values, double step, std::size_t limit) {
  const std::vector<std::size_t> atoms = find_clumps(values, step, limit);
  AtomSplit out;
  for (std::size_t i = 0; i < values.size(); ++i)
    (std::binary_search(atoms.begin(), atoms.end(), i) ? out.atoms : out.rest).push_back(values[i]);
  return out;
}

// The stated rate: at most kFalsePositives a sample; of 300 samples more than two with a chance
// below 0.4 % (Poisson with mean 0.3).
template <typename Draw>
void expect_few_false_positives(double step, Draw draw) {
  int samples_with_atoms = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    std::vector<double> x;
    const std::vector<double> z = samples::normal(3000, seed + 500);
    for (double v : z) x.push_back(draw(v, random));
    samples_with_atoms += split_clumps(samples::distinct(x), step, kNoLimit).atoms.empty() ? 0 : 1;
  }
  EXPECT_LE(samples_with_atoms, 2) << "step " << step;
}

TEST(Clumps, NoneInContinuousColumns) {
  expect_few_false_positives(0, [](double z, Random&) { return z; });
  expect_few_false_positives(0, [](double z, Random&) { return std::exp(2 * z); });
}

// 0.06 to 3 observations a point; a lattice of fewer points is a model of its own.
TEST(Clumps, NoneOnSmoothLattices) {
  for (double points : {3000.0, 50000.0}) {
    expect_few_false_positives(
        1, [=](double, Random& random) { return std::floor(points * random.uniform()); });
    expect_few_false_positives(1, [=](double z, Random&) { return std::round(points / 5 * z); });
  }
}

TEST(Clumps, AtomsAmongContinuousValues) {
  std::vector<double> x = samples::normal(3000, 1);
  for (double atom : {-0.5, 0.25, 1.0}) x.insert(x.end(), 40, atom);
  const AtomSplit split = split_clumps(samples::distinct(x), 0, kNoLimit);
  ASSERT_EQ(split.atoms.size(), 3u);
  EXPECT_EQ(split.atoms[0].value, -0.5);
  EXPECT_EQ(split.atoms[1].value, 0.25);
  EXPECT_EQ(split.atoms[2].value, 1);
  for (const WeightedValue& a : split.atoms) EXPECT_EQ(a.weight, 40);
  EXPECT_EQ(split.rest.size(), 3000u);
}

// On a lattice so fine that a point expects 0.4 observations, 15 on one are an atom, 4 are not.
TEST(Clumps, AtomsOnALattice) {
  Random random(2);
  std::vector<double> x;
  for (int i = 0; i < 4000; ++i) x.push_back(std::floor(10000 * random.uniform()));
  std::erase_if(x, [](double v) { return v == 2000 || v == 5000; });
  x.insert(x.end(), 15, 5000);
  x.insert(x.end(), 4, 2000);
  const AtomSplit split = split_clumps(samples::distinct(x), 1, kNoLimit);
  ASSERT_EQ(split.atoms.size(), 1u);
  EXPECT_EQ(split.atoms[0].value, 5000);
  EXPECT_EQ(split.atoms[0].weight, 15);
}

// Two heavy neighbours on a lattice whose points expect 0.3 to 2 observations are atoms, and those
// about them none.
TEST(Clumps, HeavyValuesAreNoClump) {
  for (const double points : {10000.0, 4000.0, 1500.0}) {
    int false_atoms = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      Random random(seed);
      std::vector<double> x(400, 500);
      x.insert(x.end(), 200, 501);
      for (int i = 0; i < 3000; ++i) x.push_back(std::floor(points * random.uniform()));
      const AtomSplit split = split_clumps(samples::distinct(x), 1, kNoLimit);
      EXPECT_GE(split.atoms.size(), 2u);
      false_atoms += static_cast<int>(split.atoms.size()) - 2;
    }
    EXPECT_LE(false_atoms, 2) << points;
  }
}

// A stretch in which 80 values are seen three times each, none by itself an atom, beside a
// continuum: a window of 41 values of which k are of the stretch has 41 + 2 k observations, more
// than 2.5 each from k = 31 on, which the stretch's eleventh value is the first to have.
TEST(Clumps, AStretchOfRepeatedValues) {
  std::vector<double> x;
  for (double z : samples::normal(2000, 4)) x.push_back(z - 10);
  for (double z : samples::normal(80, 5)) x.insert(x.end(), 3, z + 10);
  const AtomSplit split = split_clumps(samples::distinct(x), 0, kNoLimit);
  EXPECT_EQ(split.atoms.size(), 70u);
  for (const WeightedValue& a : split.atoms) EXPECT_EQ(a.weight, 3);
}

// A quarter of 1,000 prices end in .99: those seen twice are prices of their own, of others next to
// none.
TEST(Clumps, HeapsOnALattice) {
  Random random(3);
  std::vector<double> x;
  for (double z : samples::normal(1000, 7)) {
    const double cents = std::round(100 * std::exp(3 + z));
    x.push_back(random.uniform() < 0.25 ? 100 * std::floor(cents / 100) + 99 : cents);
  }
  const std::vector<WeightedValue> values = samples::distinct(x);
  const auto ends_in_99 = [](const WeightedValue& v) { return std::fmod(v.value, 100) == 99; };
  const AtomSplit split = split_clumps(values, 1, kNoLimit);
  for (const WeightedValue& v : split.rest) EXPECT_FALSE(ends_in_99(v) && v.weight > 1) << v.value;
  const auto heaped = std::count_if(split.atoms.begin(), split.atoms.end(), ends_in_99);
  EXPECT_GT(heaped, 30);
  EXPECT_LT(10 * (static_cast<std::ptrdiff_t>(split.atoms.size()) - heaped), heaped);
}

// Densities that begin or end steeply, a lattice of about one period, and values half a step off.
TEST(Clumps, NoHeapsWhereThereAreNone) {
  int with_atoms = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::vector<double> steep, one_period, half_off = {0.5};
    for (int i = 0; i < 30000; ++i) {
      steep.push_back(std::floor(-400 * std::log(random.uniform())));
      one_period.push_back(std::floor(1001 * random.uniform()));
      half_off.push_back(std::floor(1 + 5000 * random.uniform()));
    }
    for (const std::vector<double>* x : {&steep, &one_period, &half_off})
      with_atoms += split_clumps(samples::distinct(*x), 1, kNoLimit).atoms.empty() ? 0 : 1;
  }
  EXPECT_LE(with_atoms, 2);
}

TEST(Clumps, EachValueIsInOneList) {
  std::vector<double> x = samples::normal(1000, 6);
  for (std::size_t k = 0; k < 50; ++k) x.insert(x.end(), 10 + k, x[k]);
  const std::vector<WeightedValue> values = samples::distinct(x);
  for (std::size_t limit : {std::size_t{0}, std::size_t{7}, std::size_t{50}, kNoLimit}) {
    const AtomSplit split = split_clumps(values, 0, limit);
    EXPECT_EQ(split.atoms.size(), std::min<std::size_t>(limit, 50));
    EXPECT_EQ(split.atoms.size() + split.rest.size(), values.size());
    EXPECT_EQ(samples::total_weight(split.atoms) + samples::total_weight(split.rest),
              samples::total_weight(values));
    const auto ascending = [](const WeightedValue& a, const WeightedValue& b) {
      return a.value < b.value;
    };
    EXPECT_TRUE(std::is_sorted(split.atoms.begin(), split.atoms.end(), ascending));
    EXPECT_TRUE(std::is_sorted(split.rest.begin(), split.rest.end(), ascending));
    // The heaviest, of those that stand out: 1 + 10 + k observations.
    for (const WeightedValue& a : split.atoms)
      EXPECT_GE(a.weight, 61 - static_cast<double>(split.atoms.size()));
  }
  EXPECT_TRUE(find_clumps({}, 0, kNoLimit).empty());
}

}  // namespace
}  // namespace kde
