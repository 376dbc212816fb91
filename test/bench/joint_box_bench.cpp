// A box on a joint density: 1,000 of them a run, so that the table's ms are microseconds a box.
//
// From the bounds to the moments of a target, warm, one thread. Every column is bounded, by the
// quarter points of its values: of most blocks of points some kernel crosses the border. `auto` is
// a product kernel on normal scores, `plugin` one on linear axes, `normal` a correlated one.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/joint/fit_joint.h"
#include "core/joint/joint_moments.h"
#include "core/joint/joint_sampler.h"
#include "samples.h"
#include "selectors.h"
#include "table.h"

namespace kde::bench {
namespace {

constexpr int kBoxes = 1000;
constexpr int kPoints = 10000;

struct Fitted {
  DensityBytes bytes;
  std::vector<BoxSide> box;
};

Status fit(JointMethod method, int d, Fitted* out) {
  const std::vector<double> rows = samples::mix(kPoints, d);
  JointSampler sampler({d, kPoints, 1});
  for (int i = 0; i < kPoints; ++i) {
    const double* row = rows.data() + static_cast<std::ptrdiff_t>(i) * d;
    if (Status s = sampler.add(row, 0); !s.ok()) return s;
  }
  JointSample sample;
  if (Status s = sampler.finish(&sample); !s.ok()) return s;
  JointFitOptions options;
  options.method = method;
  options.rows_per_row_read = 100;
  options.budget = kMaxJointBytes;
  std::fill(std::begin(options.value_type), std::end(options.value_type), ValueType::float8);
  JointFitReport report;
  int column = -1;
  for (int k = 0; k < d; ++k) {
    std::vector<double> values;
    for (int i = 0; i < kPoints; ++i)
      values.push_back(rows[static_cast<std::size_t>(i) * static_cast<std::size_t>(d) +
                            static_cast<std::size_t>(k)]);
    std::sort(values.begin(), values.end());
    Range r;
    r.lower_unbounded = r.upper_unbounded = false;
    r.lower = values[kPoints / 4];
    r.upper = values[kPoints * 3 / 4];
    out->box.push_back({k, r});
  }
  return fit_joint(sample, options, {}, &out->bytes, &report, &column);
}

void add_box(const char* name, JointMethod method, int d) {
  add({"BOX", kPoints, d, name}, 5, [=](benchmark::State& state) {
    Fitted fitted;
    if (!fit(method, d, &fitted).ok()) {
      state.SkipWithError("no density");
      return Outcome{};
    }
    const JointView density(fitted.bytes.data());
    for (auto _ : state) {
      for (int i = 0; i < kBoxes; ++i)
        benchmark::DoNotOptimize(joint_moments(density, fitted.box, 0).count);
    }
    return Outcome{static_cast<double>(kBoxes) * kPoints * d, kUnknown, kUnknown};
  });
}

}  // namespace

void add_joint_box() {
  for (const int d : {2, 5}) {
    add_box("auto", JointMethod::automatic, d);
    add_box("plugin", JointMethod::plugin_product, d);
    add_box("normal", JointMethod::normal_reference, d);
  }
}

}  // namespace kde::bench
