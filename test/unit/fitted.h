// What the tests of the stored density share: columns of known shape, the way from values to a
// fitted density, and the slow references (plain and mirrored kernel sums) it is held against.
#pragma once

#include "core/density/format.h"
#include "core/estimate/kernel_sum.h"
#include "core/fit.h"
#include "core/integrate/integrate.h"
#include "core/random.h"
#include "core/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "samples.h"

namespace kde::fitted {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// All values kept; few for the pair sums, which are not what is tested here.
inline Sampler::Options keep_all() {
  Sampler::Options o;
  o.sample_rows = 10'000'000;
  o.bandwidth_rows = 1024;
  o.seed = 7;
  return o;
}

inline Sample sample_of(const std::vector<double>& x, const Sampler::Options& o = keep_all()) {
  Sampler sampler(o);
  for (double v : x) EXPECT_TRUE(sampler.add(v).ok());
  Sample out;
  EXPECT_TRUE(sampler.finish(&out).ok());
  return out;
}

struct Fitted {
  std::vector<std::uint64_t> words;
  std::size_t size = 0;
  FitReport report;
  Status status;

  DensityView view() const { return DensityView(words.data()); }
};

inline Fitted fit(const Sample& sample, const FitOptions& options = {}) {
  Fitted f;
  f.status = fit_column(sample, options, Control{}, &f.words, &f.size, &f.report);
  EXPECT_TRUE(f.status.ok()) << f.status.message;
  return f;
}

inline Fitted fit(const std::vector<double>& x, Method method = Method::automatic,
                  double lattice_step = 0, Kernel kernel = Kernel::gaussian) {
  FitOptions options;
  options.method = method;
  options.kernel = kernel;
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

// The kernel sum the stored density stands for: over the values (automatic: between `lower` and
// `upper`, with every mirror image that reaches in), normalised to mass 1.
class Reference {
 public:
  Reference(const std::vector<WeightedValue>& values, double h, Kernel kernel = Kernel::gaussian)
      : values_(values), sum_(values_, h, kernel), lower_(-kInf), upper_(kInf), whole_(1) {}

  Reference(const std::vector<WeightedValue>& values, double h, double lower, double upper,
            Kernel kernel = Kernel::gaussian)
      : values_(images(values, h, lower, upper)),
        sum_(values_, h, kernel),
        lower_(lower),
        upper_(upper),
        whole_(sum_.mass(lower, upper)) {}

  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  double mass(double t) const { return sum_.mass(lower_, clamp(t)) / whole_; }
  double mass(double a, double b) const { return sum_.mass(clamp(a), clamp(b)) / whole_; }
  double first(double a, double b) const { return sum_.first_moment(clamp(a), clamp(b)) / whole_; }
  double second(double a, double b) const {
    return sum_.second_moment(clamp(a), clamp(b)) / whole_;
  }
  double density(double t) const { return t < lower_ || t > upper_ ? 0 : sum_.density(t) / whole_; }

 private:
  double clamp(double t) const { return std::clamp(t, lower_, upper_); }

  // Reflection at both ends: v + 2k(upper - lower) and 2 lower - v + 2k(upper - lower). What is
  // further off than 9h adds less than Phi(-9) = 1.1e-19 of a value's mass.
  static std::vector<WeightedValue> images(const std::vector<WeightedValue>& values, double h,
                                           double lower, double upper) {
    std::vector<WeightedValue> out;
    const double period = 2 * (upper - lower);
    const int repeats = static_cast<int>(9 * h / period) + 2;
    for (const WeightedValue& v : values) {
      for (int k = -repeats; k <= repeats; ++k) {
        for (double at : {v.value + k * period, 2 * lower - v.value + k * period}) {
          if (at >= lower - 9 * h && at <= upper + 9 * h) out.push_back({at, v.weight});
        }
      }
    }
    return out;
  }

  std::vector<WeightedValue> values_;
  KernelSum sum_;
  double lower_, upper_, whole_;
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
