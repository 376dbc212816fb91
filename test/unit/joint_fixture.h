// Joint densities for the tests of their format: of any number of columns, with every kind of
// column that the format has.
#pragma once

#include "core/density/joint_format.h"
#include "core/fit/fit.h"
#include "core/fit/words.h"
#include "core/random.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "histogram_fixture.h"

namespace kde::joints {

struct Bytes : DensityBytes {
  JointHeader& header() { return *reinterpret_cast<JointHeader*>(data()); }
  JointColumn& column(int k) {
    return reinterpret_cast<JointColumn*>(data() + sizeof(JointHeader))[k];
  }
  JointView view() const { return JointView(data()); }
  Status validate() const { return validate_joint(data(), size()); }
  // The same place, to be written to.
  template <typename T>
  static T& at(const T* p) {
    return *const_cast<T*>(p);
  }
};

enum class Axes { normal_scores, linear, correlated };

// n rows of uniform draws; of normal scores every third column has lattice values, every fourth
// heavy values, and every seventh row a column that is NULL, infinite or NaN; rows came by six blocks.
inline JointParts parts(int columns, std::size_t n, Axes axes, std::uint64_t seed = 5) {
  Random random(seed);
  const bool scores = axes == Axes::normal_scores;
  JointParts p;
  p.header.method = scores ? JointMethod::automatic : JointMethod::lscv_matrix;
  p.header.flags = kJointEveryRowRead;
  p.header.rows = 3.0 * static_cast<double>(n);
  p.header.sample_rows = static_cast<double>(n);
  p.header.sampling_variance = 0.75;
  p.effect.assign(joint_effects(static_cast<std::size_t>(columns)), 1);
  if (scores) {
    p.header.flags |= kWeights | kValues;
    p.header.own_rows = 1;
    p.header.contrasts = 3;
    p.header.flags |= kContrasts;
    for (std::size_t i = 0; i < n; ++i) p.contrast.push_back(static_cast<std::uint8_t>(i % 6));
  }
  if (axes == Axes::correlated) {
    p.header.flags |= kCorrelated;
    for (int i = 0; i < columns * (columns - 1) / 2; ++i) p.correlation.push_back(0.5);
  }
  for (int k = 0; k < columns; ++k) {
    const bool lattice = scores && k % 3 == 2;
    const histograms::Parts marginal = histograms::mixture(20 + k, lattice);
    p.marginal.push_back(histograms::encode(marginal));
    JointColumn c{};
    c.value_type = ValueType::float8;
    c.bandwidth = scores ? 0.25 : 2 + k;
    c.center = scores ? 0 : 10 * k;
    c.value_center = scores ? 3 : c.center;
    c.value_unit = scores ? 0.5 : c.bandwidth;
    if (scores) c.flags = kNormalScores;
    if (scores) c.value_bytes = 4;
    if (lattice) c.flags |= kLatticeValues;
    if (lattice) c.value_bytes = static_cast<std::uint8_t>(2 + k / 3 % 3);
    p.column.push_back(c);
    p.heavy.emplace_back();
    if (scores && k % 4 == 1) p.heavy.back() = {-1.5, 0, 40};
  }
  constexpr float kSpecial[] = {kNowhere, kNegativeInfinity, kPositiveInfinity, kNotANumber};
  for (std::size_t i = 0; i < n; ++i) {
    for (int k = 0; k < columns; ++k) {
      const auto u = static_cast<float>(random.uniform() * 8 - 4);
      const bool special = scores && i % 7 == 3 && static_cast<int>(i % 5) % columns == k;
      p.coordinate.push_back(special ? kSpecial[i / 7 % 4] : u);
      if (!scores) continue;
      p.value.push_back(k % 3 == 2 ? static_cast<std::int32_t>(std::lround(4 * u))
                                   : std::bit_cast<std::int32_t>(u));
    }
    // Whole numbers whose mean is 2, so that they add up exactly.
    if (scores) p.weight.push_back(n % 2 == 1 && i + 1 == n ? 2 : i % 2 == 0 ? 1 : 3);
  }
  return p;
}

// For fuzzers too, which have no EXPECT.
inline void must(const Status& s) {
  if (!s.ok()) std::abort();
}

// The density of a category of four words and some that are not kept.
inline DensityBytes category() {
  Words words(Words::Options{});
  for (std::uint32_t number = 1; number <= 6; ++number) {
    for (std::uint32_t row = number; row <= 12; ++row) must(words.add(number));
  }
  must(words.rank());
  bool full;
  for (std::uint32_t number = 1; number <= 4; ++number)
    must(words.keep(number, "(word \"" + std::to_string(number), 0, &full));
  must(words.end_keeping());
  Sample sample;
  must(words.finish(&sample, {}));
  FitOptions options;
  options.value_type = ValueType::category;
  options.lattice_step = 1;
  options.as_counted = true;
  options.rows_per_row_read = 2;
  DensityBytes out;
  FitReport report;
  must(fit_column(sample, options, {}, &out, &report));
  FitOptions as;
  as.rows_per_row_read = 2;
  must(words.append(as, &out));
  return out;
}

// parts() of normal scores, whose second column is a category, of which some rows are NULL.
inline JointParts mixed_parts(int columns, std::size_t n) {
  JointParts p = parts(columns, n, Axes::normal_scores);
  p.marginal[1] = category();
  p.heavy[1].clear();
  JointColumn c{};
  c.value_type = ValueType::category;
  c.bandwidth = c.value_unit = 1;
  p.column[1] = c;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = i * static_cast<std::size_t>(columns) + 1;
    p.coordinate[at] = i % 7 == 3 ? kNowhere : static_cast<float>(i * i % 5);
    p.value[at] = 0;
  }
  return p;
}

inline Bytes encode(const JointParts& p) {
  Bytes b;
  const Status s = encode_joint(p, &b);
  EXPECT_TRUE(s.ok()) << s.message;
  return b;
}

}  // namespace kde::joints
