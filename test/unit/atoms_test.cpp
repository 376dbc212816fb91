// estimate/atoms.h: what is found, what is left, and how often nothing is mistaken for an atom.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/estimate/atoms.h"
#include "core/fit/fit.h"
#include "core/integrate/integrate.h"
#include "core/random.h"

namespace kde {
namespace {

double normal(Random& random) {
  const double u = random.uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * random.uniform());
}

std::vector<WeightedValue> sorted(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  std::vector<WeightedValue> out;
  for (double v : x) out.push_back({v, 1});
  return out;
}

// One observation is what the heaviest value weighs.
AtomSplit split(const std::vector<WeightedValue>& values, bool lattice) {
  double unit = 1;
  for (const WeightedValue& v : values) unit = std::max(unit, v.weight);
  return split_atoms(values, lattice, unit);
}

double total(const std::vector<WeightedValue>& values) {
  double sum = 0;
  for (const WeightedValue& v : values) sum += v.weight;
  return sum;
}

TEST(Atoms, ZerosAmongContinuousValues) {
  Random random(1);
  std::vector<double> x;
  for (int i = 0; i < 5000; ++i) x.push_back(i % 10 < 9 ? 0 : std::exp(normal(random)));
  const AtomSplit found = split(sorted(x), false);
  ASSERT_EQ(found.atoms.size(), 1U);
  EXPECT_EQ(found.atoms[0].value, 0);
  EXPECT_EQ(found.atoms[0].weight, 4500);
  EXPECT_EQ(found.rest.size(), 500U);
}

// On a lattice the background stays: the atom and the rest add up to the value's count.
TEST(Atoms, HeapsOnALatticeKeepTheirBackground) {
  Random random(2);
  std::vector<double> x;
  for (int i = 0; i < 40000; ++i) {
    double v = std::floor(1000 + 100 * normal(random));
    if (random.uniform() < 0.2) v = 50 * std::round(v / 50);
    x.push_back(v);
  }
  const std::vector<WeightedValue> values = sorted(x);
  const AtomSplit found = split(values, true);
  ASSERT_GE(found.atoms.size(), 5U);
  for (const WeightedValue& a : found.atoms) {
    EXPECT_EQ(std::fmod(a.value, 50), 0) << a.value;
    double all = 0;
    double kept = 0;
    for (const WeightedValue& v : values) all += v.value == a.value ? v.weight : 0;
    for (const WeightedValue& v : found.rest) kept += v.value == a.value ? v.weight : 0;
    EXPECT_GT(kept, 0);
    EXPECT_EQ(all, kept + a.weight);
  }
  EXPECT_EQ(total(found.atoms) + total(found.rest), 40000);
}

// The stated rate: in 400 samples without atoms at most kFalsePositives each; the chance of two or
// more in all is below (400 * 1e-3)^2 / 2 = 8 %, of three below 1.1 %, of four below 0.11 %.
TEST(Atoms, FalsePositivesAreRare) {
  int samples_with_atoms = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    std::vector<double> x;
    const double step = seed % 2 == 0 ? 1 : 0.02;  // some 400 or 20,000 lattice points
    for (int i = 0; i < 4000; ++i) x.push_back(step * std::floor(100 / step * random.uniform()));
    samples_with_atoms += split(sorted(x), true).atoms.empty() ? 0 : 1;
  }
  EXPECT_LE(samples_with_atoms, 3);
}

// A single value of a compacted stream may weigh as much as many rows; it is one observation.
TEST(Atoms, WeightsOfCompactedValuesAreNoEvidence) {
  std::vector<WeightedValue> values;
  for (int i = 0; i < 1000; ++i)
    values.push_back({static_cast<double>(i), i % 7 == 0 ? 64.0 : 1.0});
  EXPECT_TRUE(split(values, false).atoms.empty());
}

// Through a fit: the mixture's counts. Off the atoms' places the count of a range is that of the
// smooth rest, whose fraction is known; on an atom it is exact, every row having been read.
TEST(Atoms, FittedMixtureCountsThemExactly) {
  Random random(4);
  Sampler sampler({});
  constexpr int kRows = 20000;
  for (int i = 0; i < kRows; ++i) {
    const double v = i % 4 == 0 ? 0 : i % 4 == 1 ? 9999 : 50 + 10 * normal(random);
    ASSERT_TRUE(sampler.add(v).ok());
  }
  Sample sample;
  ASSERT_TRUE(sampler.finish(&sample).ok());
  FitOptions fit;
  fit.every_row_read = true;
  DensityBytes bytes;
  FitReport report;
  ASSERT_TRUE(fit_column(sample, fit, {}, &bytes, &report).ok());
  // The bandwidth is that of the normal part, sigma (4/(3n))^(1/5) = 1.55, not of the whole.
  EXPECT_LT(report.bandwidth, 3);
  const DensityView d(bytes.data());
  const auto between = [&d](double a, double b) {
    Range r;
    r.lower_unbounded = r.upper_unbounded = false;
    r.lower = a;
    r.upper = b;
    return count(d, r);
  };
  EXPECT_NEAR(between(0, 0), kRows / 4, 1e-6 * kRows);
  EXPECT_NEAR(between(9999, 9999), kRows / 4, 1e-6 * kRows);
  EXPECT_NEAR(between(1, 9998), kRows / 2, 1e-3 * kRows);
  EXPECT_EQ(count(d, {}), kRows);
  EXPECT_EQ(quantile(d, 0.1), 0);
  EXPECT_EQ(quantile(d, 0.9), 9999);
  // Half the smooth part lies below 50; its median has standard error 1.25 * 10/sqrt(10000).
  EXPECT_NEAR(quantile(d, 0.5), 50, 5 * 0.125);
}

// Too few distinct values to speak of neighbours: none is an atom.
TEST(Atoms, FewDistinctValuesHaveNoNeighbourhood) {
  std::vector<double> x(5000, 1.0);
  for (int i = 0; i < 15; ++i) x.push_back(2 + i);
  EXPECT_TRUE(split(sorted(x), false).atoms.empty());
}

// A steep end is a slope, not an atom: the neighbours on its one side do not bound it by their
// median.
TEST(Atoms, NoneAtASteepEnd) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    std::vector<double> x;
    for (int i = 0; i < 20000; ++i) x.push_back(std::floor(-20 * std::log(random.uniform())));
    found += split(sorted(x), true).atoms.empty() ? 0 : 1;
  }
  EXPECT_LE(found, 1);
}

// Counted together and apart, of heaps and backgrounds of every size, against the definition: the
// median of 20 neighbours on either side, and the Poisson's bound.
TEST(Atoms, AreTheSameInValuesCountedTogether) {
  Random random(12);
  std::size_t atoms = 0;
  for (const double mean : {1.0, 5.0, 60.0, 900.0}) {
    std::vector<WeightedValue> together;
    std::vector<WeightedValue> apart;
    for (int i = 0; i < 400; ++i) {
      const double spread = std::sqrt(mean) + 1;
      double count = 1 + std::floor(mean + spread * random.uniform());
      if (i % 8 == 3) count += std::floor(16 * spread * random.uniform());
      together.push_back({static_cast<double>(i), count});
      apart.insert(apart.end(), static_cast<std::size_t>(count), {static_cast<double>(i), 1});
    }
    std::vector<bool> atom(400);
    for (const WeightedValue& a : split_atoms(together, true, 1).atoms)
      atom[static_cast<std::size_t>(a.value)] = true;
    std::vector<bool> atom_apart(400);
    for (const WeightedValue& a : split(apart, true).atoms)
      atom_apart[static_cast<std::size_t>(a.value)] = true;
    EXPECT_EQ(atom, atom_apart) << mean;
    for (std::size_t i = 20; i < 380; ++i) {
      std::vector<double> near;
      for (std::size_t k = i - 20; k <= i + 20; ++k) {
        if (k != i) near.push_back(together[k].weight);
      }
      std::nth_element(near.begin(), near.begin() + 20, near.end());
      const double b = near[20];
      const double c = together[i].weight;
      const bool expected =
          c > b && -b + c * (1 + std::log(b / c)) < std::log(kFalsePositives / 400);
      EXPECT_EQ(atom[i], expected) << mean << " " << i;
      atoms += expected ? 1 : 0;
    }
  }
  EXPECT_GT(atoms, 40U);
}

}  // namespace
}  // namespace kde
