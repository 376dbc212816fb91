// PLUGIN at the papers' sizes: the best instruction set at each, every one at the largest.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <vector>

#include "moments.h"
#include "core/select/plugin.h"
#include "core/sums/pair_sums.h"
#include "samples.h"
#include "selectors.h"
#include "table.h"
#include "textbook_plugin.h"

namespace kde::bench {
namespace {

constexpr int kLargest = 32768;

// Two sums over all pairs.
double terms(int n) { return static_cast<double>(n) * (n - 1); }

void add_textbook(int n) {
  add({"PLUGIN", n, 1, "textbook", "-", 1, "double"}, 1, [n](benchmark::State& state) {
    for (auto _ : state) textbook_plugin_of_mix(n);
    return Outcome{terms(n), 0, textbook_plugin_of_mix(n).ms};
  });
}

void add_vector(int n, const SimdTarget& target, Precision precision, int threads, int runs) {
  const char* word = precision == Precision::single ? "single" : "double";
  add({"PLUGIN", n, 1, "simd", target.name, threads, word}, runs, [=](benchmark::State& state) {
    const std::vector<double> x = samples::mix(n);
    Control control;
    control.threads = start_threads(threads);
    PluginTrace trace;
    for (auto _ : state) {
      std::unique_ptr<PairSums> sums;
      if (!make_pair_sums({Engine::Kind::simd, target.target, precision}, x, control, &sums).ok() ||
          !select_plugin(*sums, two_pass_moments(x).sd, n, n, &trace).ok()) {
        state.SkipWithError("no bandwidth");
      }
    }
    const TextbookPlugin& textbook = textbook_plugin_of_mix(n);
    return Outcome{terms(n), std::fabs(trace.h / textbook.h - 1), textbook.ms};
  });
}

}  // namespace

void add_plugin() {
  const std::vector<SimdTarget> targets = simd_targets();
  for (int n = 1024; n <= kLargest; n *= 2) {
    add_textbook(n);
    for (const SimdTarget& target : targets) {
      const bool best = target.target == targets.front().target;
      if (n < kLargest && !best) continue;
      for (const Precision precision : {Precision::single, Precision::full}) {
        for (const int threads : {1, 2}) {
          // The last is no vector set, and takes as long as all others.
          if (threads > 1 && !best && target.target == targets.back().target) continue;
          const int runs = n < kLargest ? 5 : best ? 3 : 1;
          add_vector(n, target, precision, threads, runs);
        }
      }
    }
  }
}

}  // namespace kde::bench
