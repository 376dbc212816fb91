// What the tests of the stored density share: columns of known shape, the way from values to a
// fitted density, and the slow reference (the kernel sum) it is held against.
#pragma once

#include "core/density/format.h"
#include "kernel_sum.h"
#include "core/fit/fit.h"
#include "core/integrate/integrate.h"
#include "core/random.h"
#include "core/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "samples.h"

namespace kde::fitted {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Every row goes into the sample's summary.
inline Sampler::Options keep_all() {
  Sampler::Options o;
  o.seed = 7;
  return o;
}

// A Sample stays where it is: what sample_of() makes is made in place.
struct OwnSample : Sample {
  OwnSample(const std::vector<double>& x, const Sampler::Options& o) {
    Sampler sampler(o);
    for (double v : x) EXPECT_TRUE(sampler.add(v).ok());
    EXPECT_TRUE(sampler.finish(this).ok());
  }
};

inline OwnSample sample_of(const std::vector<double>& x, const Sampler::Options& o = keep_all()) {
  return OwnSample(x, o);
}

inline std::uint64_t* words(DensityBytes* bytes) {
  return reinterpret_cast<std::uint64_t*>(bytes->data());
}

// Cuts the bytes off at `size`, or adds zeros up to it.
inline void resize(DensityBytes* bytes, std::size_t size) {
  DensityBytes other(size);
  if (size > 0) std::memcpy(other.data(), bytes->data(), std::min(size, bytes->size()));
  *bytes = std::move(other);
}

struct Fitted {
  DensityBytes bytes;
  FitReport report;
  Status status;

  DensityView view() const { return DensityView(bytes.data()); }
};

inline Fitted fit(const Sample& sample, const FitOptions& options = {}) {
  Fitted f;
  f.status = fit_column(sample, options, Control{}, &f.bytes, &f.report);
  EXPECT_TRUE(f.status.ok()) << f.status.message;
  return f;
}

inline Fitted fit(const std::vector<double>& x, Method method = Method::automatic,
                  double lattice_step = 0) {
  FitOptions options;
  options.method = method;
  options.lattice_step = lattice_step;
  options.every_row_read = true;
  return fit(sample_of(x), options);
}

struct Column {
  std::string name;
  std::vector<double> x;
};

// Shapes on which density estimates and their compression go wrong, n values each.
inline std::vector<Column> columns(int n) {
  std::vector<Column> out;
  Random random(11);
  const std::vector<double> z = samples::normal(n, 3);
  out.push_back({"normal", z});
  std::vector<double> x = z;
  for (double& v : x) v = std::exp(2 * v);
  out.push_back({"lognormal, sigma 2", x});
  out.push_back({"Cauchy", samples::cauchy(n, 5)});
  x = z;
  x[0] = 1e6;
  out.push_back({"an outlier at 1e6 sigma", x});
  for (double& v : x) v = random.uniform();
  out.push_back({"uniform", x});
  x = z;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += i % 2 == 0 ? 0 : 1000;
  out.push_back({"two far modes", x});
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 10 == 0 ? z[i] : 0.25;
  out.push_back({"90 % ties", x});
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::round(20 * z[i]);
  out.push_back({"integers", x});
  return out;
}

inline Range range(double a, double b, bool lower_inclusive = true, bool upper_inclusive = true) {
  Range r;
  r.lower = a;
  r.upper = b;
  r.lower_unbounded = r.upper_unbounded = false;
  r.lower_inclusive = lower_inclusive;
  r.upper_inclusive = upper_inclusive;
  return r;
}

// The kernel sum the stored density stands for: over all values, its mass 1.
class Reference {
 public:
  Reference(const std::vector<WeightedValue>& values, double h) : sum_(values, h) {}

  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  double mass(double t) const { return sum_.mass(-kInf, t); }
  double mass(double a, double b) const { return sum_.mass(a, b); }
  double first(double a, double b) const { return sum_.first_moment(a, b); }
  double second(double a, double b) const { return sum_.second_moment(a, b); }
  double density(double t) const { return sum_.density(t); }

 private:
  KernelSum sum_;
};

// Where to cut: around sample points at multiples of h (all of them in a small sample, the ends
// and random ones in a large one), in the widest gaps, and anywhere. Ascending; about `limit`.
inline std::vector<double> cuts(const std::vector<WeightedValue>& values, double h, int limit) {
  constexpr double kMultiples[] = {-8, -7, -4, -2, -1, -0.5, 0, 0.3, 1, 1.5, 3, 7, 9};
  constexpr int kPer = static_cast<int>(std::size(kMultiples));
  const int n = static_cast<int>(values.size());
  Random random(99);
  std::vector<int> around;
  if (n * kPer <= limit / 2) {
    for (int i = 0; i < n; ++i) around.push_back(i);
  } else {
    around = {0, n / 2, n - 1};
    while (static_cast<int>(around.size()) * kPer < limit / 2)
      around.push_back(static_cast<int>(random.below(static_cast<std::uint64_t>(n))));
  }
  std::vector<double> out;
  for (int i : around) {
    for (double k : kMultiples) out.push_back(values[static_cast<std::size_t>(i)].value + k * h);
  }
  std::vector<std::pair<double, double>> gaps;  // width, middle
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const double w = values[i + 1].value - values[i].value;
    gaps.push_back({w, values[i].value + w / 2});
  }
  std::sort(gaps.rbegin(), gaps.rend());
  for (std::size_t i = 0; i < std::min<std::size_t>(gaps.size(), 8); ++i)
    out.push_back(gaps[i].second);
  const double low = values.front().value;
  const double high = values.back().value;
  while (static_cast<int>(out.size()) < limit) {
    out.push_back(low + (high - low) * random.uniform());
    const auto i = random.below(static_cast<std::uint64_t>(n));
    out.push_back(values[i].value + 4 * h * (random.uniform() - 0.5));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace kde::fitted
