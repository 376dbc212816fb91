// Boxes of correlated normal vectors with first moments, as points near the border of a box have
// them: n boxes of d columns, on one processor. Nanoseconds a box: ms * 1e6/n.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "core/joint/normal_box.h"
#include "core/random.h"
#include "core/sums/engine_parts.h"
#include "selectors.h"
#include "table.h"

namespace kde::bench {
namespace {

constexpr int kBlocks = 1600;
constexpr int kRuns = 7;

Outcome run_boxes(int k, std::int64_t target, benchmark::State& state) {
  std::vector<double> R(static_cast<std::size_t>(k * k), 0.6);
  std::vector<double> c(static_cast<std::size_t>(k), 0.6);
  for (int j = 0; j < k; ++j) R[static_cast<std::size_t>(j * (k + 1))] = 1;
  const NormalBox box(R.data(), k, c.data(), target);
  float lower[kMaxColumns][kJointBlock];
  float upper[kMaxColumns][kJointBlock];
  std::uint32_t number[kJointBlock];
  float probability[kJointBlock];
  float moment[kJointBlock];
  Random random(1);
  for (std::uint32_t i = 0; i < kJointBlock; ++i) {
    number[i] = i;
    for (int j = 0; j < k; ++j) {
      lower[j][i] = static_cast<float>(1 - 6 * random.uniform());
      upper[j][i] = lower[j][i] + static_cast<float>(6 * random.uniform());
    }
  }
  for (auto _ : state) {
    for (int b = 0; b < kBlocks; ++b) {
      box.evaluate(lower, upper, kJointBlock, number, probability, moment, nullptr);
      benchmark::DoNotOptimize(probability);
    }
  }
  return {};
}

}  // namespace

void add_normal_box() {
  for (const int k : {2, 3, 5}) {
    for (const SimdTarget& target : simd_targets()) {
      add({"normal box", kBlocks * kJointBlock, k, "simd", target.name, 1, "single"}, kRuns,
          [k, target](benchmark::State& state) { return run_boxes(k, target.target, state); });
    }
  }
}

}  // namespace kde::bench
