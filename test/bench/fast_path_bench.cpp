// PLUGIN and least-squares cross-validation in one dimension on the spectral engine, up to a
// million values.
//
// `spectral` is timed from sorted values, as a fit has them: checking and copying them, their
// standard deviation, the transforms and the search. `sort+spectral` also sorts them.
//
// The errors are judged by the textbook's loops at n = 32,768 and by the vector engine in double at
// 100,000; a million is too many for either.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "core/summary/sort.h"
#include "core/select/line_summary.h"
#include "core/select/lscv.h"
#include "core/select/plugin.h"
#include "core/sums/gaussian_sums.h"
#include "core/sums/pair_sums.h"
#include "core/sums/spectral.h"
#include "lscv_value.h"
#include "samples.h"
#include "selectors.h"
#include "table.h"
#include "textbook_plugin.h"

namespace kde::bench {
namespace {

constexpr int kTextbookSize = 32768;
constexpr int kExactSize = 100000;
constexpr int kRuns = 7;

const std::vector<double>& drawn(int n) {
  static std::map<int, std::vector<double>> known;
  const auto [at, is_new] = known.try_emplace(n);
  if (is_new) at->second = samples::mix(n);
  return at->second;
}

const std::vector<double>& sorted(int n) {
  static std::map<int, std::vector<double>> known;
  const auto [at, is_new] = known.try_emplace(n, drawn(n));
  if (is_new) std::sort(at->second.begin(), at->second.end());
  return at->second;
}

Control control_of(int threads) {
  Control control;
  control.threads = start_threads(threads);
  return control;
}

std::unique_ptr<PairSums> exact_sums(int n) {
  std::unique_ptr<PairSums> sums;
  const Engine engine{Engine::Kind::simd, 0, Precision::full};
  (void)make_pair_sums(engine, sorted(n), control_of(2), &sums);
  return sums;
}

double plugin_error(int n, double h) {
  if (n == kTextbookSize) return std::fabs(h / textbook_plugin_of_mix(n).h - 1);
  if (n > kExactSize) return kUnknown;
  static std::map<int, PluginTrace> known;
  const auto [at, is_new] = known.try_emplace(n);
  if (is_new) {
    LineSummary line;
    (void)summarize_line(sorted(n), {}, &line);
    (void)select_plugin(*exact_sums(n), line.sigma, n, n, &at->second);
  }
  return std::fabs(h / at->second.h - 1);
}

void add_plugin_rows(int n, int threads, bool sort) {
  const char* engine = sort ? "sort+spectral" : "spectral";
  add({"PLUGIN", n, 1, engine, "-", threads, "double"}, kRuns, [=](benchmark::State& state) {
    std::vector<double> x = sort ? drawn(n) : sorted(n);
    const Control control = control_of(threads);
    PluginTrace trace;
    for (auto _ : state) {
      LineSummary line;
      std::unique_ptr<PairSums> sums;
      if (!sort_values(&x, control) || !summarize_line(x, {}, &line).ok() ||
          !make_spectral_sums(x, {}, control, &sums).ok() ||
          !select_plugin(*sums, line.sigma, n, n, &trace).ok()) {
        state.SkipWithError("no bandwidth");
      }
    }
    const double terms = static_cast<double>(n) * (n - 1);
    const double textbook_ms = n == kTextbookSize ? textbook_plugin_of_mix(n).ms : kUnknown;
    return Outcome{terms, plugin_error(n, trace.h), textbook_ms};
  });
}

// Of g(h), relative to c4/n and the moduli of the two sums' terms.
double lscv_error(int n, const LineSummary& line, const LscvScalar& found) {
  if (n > kExactSize) return kUnknown;
  static std::map<int, double> known;  // every number of threads finds the same h
  const auto [at, is_new] = known.try_emplace(n);
  if (is_new) {
    const std::unique_ptr<PairSums> pairs = exact_sums(n);
    std::unique_ptr<GaussianPairSums> exact;
    (void)make_line_gaussian_sums(*pairs, &exact);
    const double h = found.h * line.sigma;
    GaussianSums sums;
    (void)exact->sweep({&h, 1}, {&sums, 1});
    const LscvValue g = lscv_value(n, 1, sums.once, sums.twice);
    at->second = std::fabs(found.objective * h - g.value) / g.moduli;
  }
  return at->second;
}

void add_lscv(int n, int threads) {
  add({"LSCV_h", n, 1, "spectral", "-", threads, "double"}, kRuns, [=](benchmark::State& state) {
    const std::vector<double>& x = sorted(n);
    const Control control = control_of(threads);
    LineSummary line;
    LscvScalar found;
    for (auto _ : state) {
      std::unique_ptr<PairSums> pairs;
      std::unique_ptr<GaussianPairSums> sums;
      if (!summarize_line(x, {}, &line).ok() || !make_spectral_sums(x, {}, control, &pairs).ok() ||
          !make_line_gaussian_sums(*pairs, &sums).ok() ||
          !select_lscv_h(*sums, lscv_sample(line), LscvDivisor::n_squared, LscvSearch::refined,
                         &found)
               .ok()) {
        state.SkipWithError("no bandwidth");
      }
    }
    return Outcome{kUnknown, lscv_error(n, line, found), kUnknown};
  });
}

}  // namespace

void add_fast_path() {
  for (const int n : {kTextbookSize, kExactSize, 1000000}) {
    for (const int threads : {1, 2}) {
      add_plugin_rows(n, threads, false);
      add_plugin_rows(n, threads, true);
      add_lscv(n, threads);
    }
  }
}

}  // namespace kde::bench
