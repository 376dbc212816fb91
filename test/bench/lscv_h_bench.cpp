// LSCV_h at the papers' sizes: the objective at 150 bandwidths, from h0/4 to 4 h0, in 1 to 16
// dimensions. An engine is timed from the points on, whitening included; the error is the largest
// over the bandwidths.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/select/white_sample.h"
#include "core/sums/gaussian_sums.h"
#include "covariance.h"
#include "lscv_value.h"
#include "samples.h"
#include "selectors.h"
#include "table.h"
#include "textbook.h"

namespace kde::bench {
namespace {

constexpr int kLargest = 1024;
constexpr int kBandwidths = 150;

struct Textbook {
  std::vector<textbook::Sums> sums;  // one a bandwidth
  double ms = 0;
};

// Run when first asked for and kept.
const Textbook& textbook_of(int n, int d) {
  static std::map<std::pair<int, int>, Textbook> known;
  const auto [at, is_new] = known.try_emplace({n, d});
  Textbook& t = at->second;
  if (is_new) {
    const std::vector<double> x = samples::mix(n, d);
    const std::vector<double> h = bandwidths(n, d, kBandwidths);
    t.sums.resize(h.size());
    t.ms = milliseconds_of([&] {
      textbook::lscv_h(x, static_cast<std::size_t>(d), inverse_covariance(x, d), h, t.sums);
    });
  }
  return t;
}

// Two sums over all pairs for each bandwidth.
double terms(int n) { return static_cast<double>(n) * (n - 1) * kBandwidths; }

void add_textbook(int n, int d) {
  add({"LSCV_h", n, d, "textbook", "-", 1, "double"}, 1, [=](benchmark::State& state) {
    for (auto _ : state) textbook_of(n, d);
    return Outcome{terms(n), 0, textbook_of(n, d).ms};
  });
}

void add_vector(int n, int d, Precision precision, int threads) {
  const SimdTarget best = simd_targets().front();
  const char* word = precision == Precision::single ? "single" : "double";
  add({"LSCV_h", n, d, "simd", best.name, threads, word}, 5, [=](benchmark::State& state) {
    const std::vector<double> x = samples::mix(n, d);
    const std::vector<double> h = bandwidths(n, d, kBandwidths);
    std::vector<GaussianSums> found(h.size());
    Control control;
    control.threads = start_threads(threads);
    for (auto _ : state) {
      WhiteSample white;
      std::unique_ptr<GaussianPairSums> sums;
      if (!whiten_sample(x, d, {}, &white).ok() ||
          !make_gaussian_sums({Engine::Kind::simd, best.target, precision}, white.w, d, control,
                              &sums)
               .ok() ||
          !sums->sweep(h, found).ok()) {
        state.SkipWithError("no sums");
      }
    }
    const Textbook& t = textbook_of(n, d);
    double error = 0;
    for (std::size_t k = 0; k < h.size(); ++k) {
      const LscvValue expected = lscv_value(n, d, t.sums[k].once, t.sums[k].twice);
      const LscvValue actual = lscv_value(n, d, found[k].once, found[k].twice);
      error = std::max(error, std::fabs(actual.value - expected.value) / expected.moduli);
    }
    return Outcome{terms(n), error, t.ms};
  });
}

}  // namespace

void add_lscv_h() {
  for (int n = 64; n <= kLargest; n *= 2) {
    for (int d = 1; d <= kMaxDimensions; d *= 2) {
      add_textbook(n, d);
      add_vector(n, d, Precision::single, 1);
      if (n < kLargest) continue;
      add_vector(n, d, Precision::single, 2);
      add_vector(n, d, Precision::full, 1);
      add_vector(n, d, Precision::full, 2);
    }
  }
}

}  // namespace kde::bench
