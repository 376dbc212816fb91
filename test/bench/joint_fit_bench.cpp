// Fits of several columns from a sample in memory to the stored density, columns' own fits among
// them: n rows of d columns, all in the sample, of a table of a hundred times as many. By auto; and
// by normal_reference, whose bandwidth costs next to nothing: what a method by name costs beside
// its own. lscv's also counts ties while it whitens (WHITENING).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/joint/fit_joint.h"
#include "core/joint/joint_sampler.h"
#include "core/select/white_sample.h"
#include "core/sums/engine.h"
#include "samples.h"
#include "selectors.h"
#include "table.h"

namespace kde::bench {
namespace {

Status sample_of(int n, int d, JointSample* sample) {
  const std::vector<double> rows = samples::mix(n, d);
  JointSampler sampler({d, n, 1});
  for (int i = 0; i < n; ++i) {
    const double* row = rows.data() + static_cast<std::ptrdiff_t>(i) * d;
    if (Status s = sampler.add(row, 0); !s.ok()) return s;
  }
  return sampler.finish(sample);
}

Outcome run_fit(int n, int d, JointMethod method, int threads, benchmark::State& state) {
  JointSample sample;
  if (!sample_of(n, d, &sample).ok()) {
    state.SkipWithError("no sample");
    return {};
  }
  JointFitOptions options;
  options.method = method;
  options.rows_per_row_read = 100;
  options.budget = kMaxJointBytes;
  std::fill(std::begin(options.value_type), std::end(options.value_type), ValueType::float8);
  Control control;
  control.threads = start_threads(threads);
  for (auto _ : state) {
    DensityBytes bytes;
    JointFitReport report;
    int column = -1;
    if (!fit_joint(sample, options, control, &bytes, &report, &column).ok())
      state.SkipWithError("no density");
    benchmark::DoNotOptimize(bytes.data());
  }
  return {};
}

void add_fit(int n, int d, JointMethod method, int threads) {
  add({"JOINT FIT", n, d, joint_method_name(method), "-", threads}, 5,
      [=](benchmark::State& state) { return run_fit(n, d, method, threads, state); });
}

void add_whitening(int n, int d, int threads) {
  add({"WHITENING", n, d, "ties counted", "-", threads}, 5, [=](benchmark::State& state) {
    const std::vector<double> points = samples::mix(n, d);
    Control control;
    control.threads = start_threads(threads);
    WhiteSample white;
    for (auto _ : state) {
      if (!whiten_sample(points, d, control, &white).ok()) state.SkipWithError("no white sample");
    }
    return Outcome{};
  });
}

}  // namespace

void add_joint_fit() {
  for (const int threads : {1, 2}) {
    for (const int n : {10240, 100000}) add_fit(n, 4, JointMethod::automatic, threads);
    for (const auto& [n, d] : {std::pair(16384, 4), {16384, 16}, {100000, 4}}) {
      add_fit(n, d, JointMethod::normal_reference, threads);
      add_whitening(n, d, threads);
    }
  }
}

}  // namespace kde::bench
