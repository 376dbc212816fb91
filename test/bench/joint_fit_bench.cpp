// Fits of several columns by auto, from a sample in memory to the stored density, columns' own fits
// among them: n rows of d columns, all in the sample, of a table of a hundred times as many.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/joint/fit.h"
#include "core/joint/sampler.h"
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

Outcome run_fit(int n, int d, int threads, benchmark::State& state) {
  JointSample sample;
  if (!sample_of(n, d, &sample).ok()) {
    state.SkipWithError("no sample");
    return {};
  }
  JointFitOptions options;
  options.rows_per_row_read = 100;
  options.budget = kMaxJointBytes;
  std::fill(std::begin(options.value_type), std::end(options.value_type), ValueType::float8);
  Control control;
  control.threads = threads;
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

}  // namespace

void add_joint_fit() {
  for (const int n : {10240, 100000}) {
    for (const int threads : {1, 2}) {
      add({"JOINT FIT", n, 4, "auto", "-", threads}, 5,
          [=](benchmark::State& state) { return run_fit(n, 4, threads, state); });
    }
  }
}

}  // namespace kde::bench
