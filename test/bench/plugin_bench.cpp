// PLUGIN at the papers' largest size: every instruction set of this processor against a plain
// sequential double loop in the same run.
//
//   make bench
//
// Prints for each the milliseconds for both sums and the ratio over the sequential loop. The
// ratios are the figure to trust on a machine that others use too.
#include "core/select/moments.h"
#include "core/select/plugin.h"
#include "core/sums/pair_sums.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "samples.h"

namespace {

constexpr int kValues = 32768;

double sequential_ms = 0;  // of the first benchmark, which is the sequential one

void plugin(benchmark::State& state, const kde::Engine& engine, int threads) {
  const std::vector<double> x = kde::samples::mix(kValues);
  const double sd = kde::two_pass_moments(x).sd;
  kde::Control control;
  control.threads = kde::start_threads(threads);
  double h = 0;
  for (auto _ : state) {
    std::unique_ptr<kde::PairSums> sums;
    kde::PluginTrace trace;
    if (!kde::make_pair_sums(engine, x, control, &sums).ok() ||
        !kde::select_plugin(*sums, sd, kValues, kValues, &trace).ok())
      state.SkipWithError("no bandwidth");
    h = trace.h;
  }
  state.counters["h"] = h;
}

class Reporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const double ms = run.GetAdjustedRealTime();
      if (sequential_ms == 0) sequential_ms = ms;
      std::printf("%-34s %10.1f ms %8.1f x   h = %.12g\n", run.benchmark_name().c_str(), ms,
                  sequential_ms / ms, run.counters.at("h").value);
      std::fflush(stdout);
    }
  }
  bool ReportContext(const Context&) override { return true; }
};

}  // namespace

int main(int argc, char** argv) {
  const auto add = [](const std::string& name, const kde::Engine& engine, int threads, int runs) {
    benchmark::RegisterBenchmark(
        name.c_str(), [engine, threads](benchmark::State& s) { plugin(s, engine, threads); })
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime()
        ->Iterations(runs);
  };
  kde::Engine reference;
  reference.kind = kde::Engine::Kind::reference;
  add("sequential double", reference, 1, 1);
  for (const kde::SimdTarget& target : kde::simd_targets()) {
    for (const kde::Precision precision : {kde::Precision::single, kde::Precision::full}) {
      for (int threads : {1, 2}) {
        kde::Engine engine;
        engine.target = target.target;
        engine.precision = precision;
        const bool single = precision == kde::Precision::single;
        add(target.name + (single ? " single, " : " double, ") + std::to_string(threads) +
                (threads == 1 ? " thread" : " threads"),
            engine, threads, single ? 3 : 1);
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  Reporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
}
