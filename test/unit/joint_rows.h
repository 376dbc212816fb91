// Joint densities of given rows for the tests of axes and integrals, put together by hand:
// marginals from all rows, coordinates by Axis, any weights.
#pragma once

#include "core/fit/fit_cells.h"
#include "core/grid/owned_cells.h"
#include "core/joint/axis.h"
#include "core/density/joint_format.h"
#include "core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <vector>

namespace kde::joint_rows {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Column {
  std::vector<double> value;  // of a row that is NULL anything
  std::vector<bool> null;     // of no rows, or of all
  double lattice_step = 0;

  bool is_null(std::size_t i) const { return !null.empty() && null[i]; }
};

inline DensityBytes marginal(const Column& column) {
  OwnedGridCells cells(Chain::decimal, 0);
  for (std::size_t i = 0; i < column.value.size(); ++i) {
    if (column.is_null(i))
      cells->add_null();
    else
      EXPECT_TRUE(cells->add(column.value[i]).ok());
  }
  FitOptions options;
  options.lattice_step = column.lattice_step;
  options.added_up = true;
  DensityBytes bytes;
  FitReport report;
  const Status s = fit_cells(&*cells, options, kMaxBytes, {}, &bytes, &report);
  EXPECT_TRUE(s.ok()) << s.message;
  return bytes;
}

struct Density : DensityBytes {
  JointView view() const { return JointView(data()); }
};

inline Density encode(const JointParts& parts) {
  Density d;
  const Status s = encode_joint(parts, &d);
  EXPECT_TRUE(s.ok()) << s.message;
  return d;
}

// An automatic one: normal scores of bandwidth h, own_rows, the remaining rows by weights in
// proportion to `weight` (empty: equal ones). rows: that the density stands for.
inline Density scores(const std::vector<Column>& columns, double h, double own_rows, double rows,
                      const std::vector<double>& weight = {}) {
  const std::size_t n = columns[0].value.size();
  JointParts p;
  p.header.method = JointMethod::automatic;
  p.header.flags = kValues | kJointEveryRowRead;
  p.header.rows = rows;
  p.header.sample_rows = static_cast<double>(n);
  p.header.own_rows = own_rows;
  p.header.sampling_variance = 1e6;  // counting its points tells nothing
  p.coordinate.resize(n * columns.size());
  p.value.resize(n * columns.size());
  for (std::size_t k = 0; k < columns.size(); ++k) {
    p.marginal.push_back(marginal(columns[k]));
    const Header* m = &p.marginal.back().header();
    p.heavy.push_back(heavy_values(m, h));
    JointColumn c{};
    c.value_type = ValueType::float8;
    c.flags = kNormalScores;
    c.value_bytes = 4;
    c.bandwidth = h;
    c.value_center = m->mean;
    c.value_unit = m->variance > 0 ? std::sqrt(m->variance) : 1;
    if (m->lattice_step > 0) c.flags |= kLatticeValues;
    Axis axis;
    axis.normal_scores = true;
    axis.bandwidth = h;
    axis.heavy = p.heavy.back();
    axis.marginal = m;
    for (std::size_t i = 0; i < n; ++i) {
      const double x = columns[k].value[i];
      const std::size_t at = i * columns.size() + k;
      if (columns[k].is_null(i)) {
        p.coordinate[at] = kNowhere;
        continue;
      }
      p.coordinate[at] = std::isnan(x) ? kNotANumber : axis.coordinate(x);
      if (!std::isfinite(x)) continue;
      p.value[at] =
          (c.flags & kLatticeValues) != 0
              ? static_cast<std::int32_t>(std::lround((x - m->lattice_offset) / m->lattice_step))
              : std::bit_cast<std::int32_t>(raw_number(c, x));
    }
    p.column.push_back(c);
  }
  if (!weight.empty()) {
    p.header.flags |= kWeights;
    double sum = 0;
    for (const double w : weight) sum += w;
    for (const double w : weight)
      p.weight.push_back(static_cast<float>(w / sum * (rows - own_rows * static_cast<double>(n))));
  }
  return encode(p);
}

// A plain kernel sum: linear axes with those bandwidths, in units of the columns.
inline Density linear(const std::vector<Column>& columns, const std::vector<double>& h,
                      double rows) {
  const std::size_t n = columns[0].value.size();
  JointParts p;
  p.header.method = JointMethod::plugin_product;
  p.header.rows = rows;
  p.header.sample_rows = static_cast<double>(n);
  p.coordinate.resize(n * columns.size());
  for (std::size_t k = 0; k < columns.size(); ++k) {
    p.marginal.push_back(marginal(columns[k]));
    p.heavy.emplace_back();
    JointColumn c{};
    c.value_type = ValueType::float8;
    c.bandwidth = h[k];
    c.center = p.marginal.back().header().mean;
    c.value_unit = 1;
    p.column.push_back(c);
    for (std::size_t i = 0; i < n; ++i)
      p.coordinate[i * columns.size() + k] =
          static_cast<float>((columns[k].value[i] - c.center) / h[k]);
  }
  return encode(p);
}

inline Range closed(double lower, double upper) {
  Range r;
  r.lower = lower;
  r.upper = upper;
  r.lower_unbounded = r.upper_unbounded = false;
  return r;
}

// Whether x, which may be NaN, is in the range, in the order -inf < finite < inf < NaN.
inline bool holds(const Range& r, double x) {
  const auto below = [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
  if (r.empty) return false;
  if (!r.lower_unbounded && (r.lower_inclusive ? below(x, r.lower) : !below(r.lower, x)))
    return false;
  return r.upper_unbounded || !(r.upper_inclusive ? below(r.upper, x) : !below(x, r.upper));
}

inline double normal(Random* random) {
  const double radius = std::sqrt(-2 * std::log(random->uniform()));
  return radius * std::cos(2 * std::numbers::pi * random->uniform());
}

// Correlated columns: k = 0 normal, the others partly what the one before is, every third the
// exponential of it.
inline std::vector<Column> correlated(int columns, std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<Column> out(static_cast<std::size_t>(columns));
  for (std::size_t i = 0; i < n; ++i) {
    double z = normal(&random);
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (k > 0) z = 0.6 * z + 0.8 * normal(&random);
      out[k].value.push_back(k % 3 == 2 ? std::exp(z) : 10 + 3 * z);
    }
  }
  return out;
}

// Of every kind: 0 continuous; 1 whole numbers, a third of them 0; 2 tenths; 3 continuous with a
// heavy value in the middle; with `special` NULL, NaN and infinite values in 2 and 3.
inline std::vector<Column> mixed(std::size_t n, bool special, std::uint64_t seed) {
  Random random(seed);
  std::vector<Column> out(4);
  out[1].lattice_step = 1;
  out[2].lattice_step = 0.1;
  constexpr double kSpecial[] = {kNan, kInf, -kInf};
  for (std::size_t i = 0; i < n; ++i) {
    const double z = normal(&random);
    out[0].value.push_back(z);
    out[1].value.push_back(random.below(3) == 0 ? 0 : std::round(4 * (z + normal(&random))));
    out[2].value.push_back(std::round(30 * normal(&random)) / 10);
    out[3].value.push_back(random.below(4) == 0 ? 0.25 : z + normal(&random));
    for (std::size_t k : {2, 3}) {
      const bool odd = special && random.below(10) == 0;
      const std::uint64_t which = random.below(4);
      out[k].null.push_back(odd && which == 3);
      if (odd && which < 3) out[k].value.back() = kSpecial[which];
    }
  }
  return out;
}

// A bound at a value of the column, near one, or anywhere.
inline Range random_range(const Column& column, Random* random) {
  const auto bound = [&] {
    const double x = column.value[random->below(column.value.size())];
    const std::uint64_t kind = random->below(10);
    if (kind == 0) return x + 0.03 * normal(random);
    if (kind == 1) return 8 * normal(random);
    return x;
  };
  Range r = closed(bound(), bound());
  const bool swapped = r.upper < r.lower || (std::isnan(r.lower) && !std::isnan(r.upper));
  if (swapped && random->below(8) != 0) std::swap(r.lower, r.upper);
  r.lower_inclusive = random->below(2) == 0;
  r.upper_inclusive = random->below(2) == 0;
  r.lower_unbounded = random->below(6) == 0;
  r.upper_unbounded = random->below(6) == 0;
  return r;
}

}  // namespace kde::joint_rows
