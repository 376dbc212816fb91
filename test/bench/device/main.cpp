// The selectors on graphics cards, from values in the host's memory to the result there, beside the
// vector engine and the textbook's loops in the same run. For a machine with a card:
//
//   make cuda-bench                       all cards
//   build/cuda/device_bench --cards=1 --benchmark_filter=PLUGIN
//
// The device is warm: its contexts and kernels are loaded before, as the service holds them. ms is
// the median of the runs; terms/s counts the textbook's terms, visited or not.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/select/lscv.h"
#include "core/select/moments.h"
#include "core/select/plugin.h"
#include "core/select/white_sample.h"
#include "core/sums/gaussian_sums.h"
#include "core/sums/pair_sums.h"
#include "covariance.h"
#include "cuda/cuda_device.h"
#include "lscv_value.h"
#include "samples.h"
#include "table.h"
#include "textbook.h"
#include "textbook_plugin.h"

namespace kde::bench {
namespace {

constexpr int kRuns = 41;
constexpr int kBandwidths = 150;
constexpr int kTextbook = 32768;  // larger samples take the loops minutes

std::unique_ptr<Device> device;

const char* word(Precision precision) {
  return precision == Precision::single ? "single" : "double";
}

Engine on_device(Precision precision, DeviceUse* use) {
  Engine engine;
  engine.kind = Engine::Kind::device;
  engine.precision = precision;
  engine.device = device.get();
  engine.use = use;
  return engine;
}

Engine on_processor() {
  Engine engine;
  engine.precision = Precision::single;
  return engine;
}

bool all_on_device(const DeviceUse& use) { return use.trouble.ok() && use.processor_sums == 0; }

Control all_threads(int threads) {
  Control control;
  control.threads = start_threads(threads);
  return control;
}

// Sorted, as the samples of a fit are.
std::vector<double> sorted_mix(int n) {
  std::vector<double> x = samples::mix(n);
  std::sort(x.begin(), x.end());
  return x;
}

double plugin_of(const Engine& engine, const std::vector<double>& x, const Control& control) {
  std::unique_ptr<PairSums> sums;
  PluginTrace trace;
  const auto n = static_cast<std::int64_t>(x.size());
  if (!make_pair_sums(engine, x, control, &sums).ok() ||
      !select_plugin(*sums, two_pass_moments(x).sd, n, n, &trace).ok())
    return kUnknown;
  return trace.h;
}

double truth(int n) {
  if (n <= kTextbook) return textbook_plugin_of_mix(n).h;
  Engine spectral;
  spectral.kind = Engine::Kind::spectral;
  return plugin_of(spectral, sorted_mix(n), {});
}

void add_plugin(int n, const std::string& name, Precision precision, bool sorted, int runs) {
  add({"PLUGIN", n, 1, name, "-", 1, word(precision)}, runs, [=](benchmark::State& state) {
    static int made = 0;
    static std::vector<double> x;
    if (made != (sorted ? n : -n)) x = sorted ? sorted_mix(n) : samples::mix(n);
    made = sorted ? n : -n;
    DeviceUse use;
    double h = plugin_of(on_device(precision, &use), x, {});
    const double sd = two_pass_moments(x).sd;  // a fit knows it
    for (auto _ : state) {
      std::unique_ptr<PairSums> sums;
      PluginTrace trace;
      if (!make_pair_sums(on_device(precision, &use), x, {}, &sums).ok() ||
          !select_plugin(*sums, sd, n, n, &trace).ok())
        state.SkipWithError("no bandwidth");
      h = trace.h;
    }
    if (!all_on_device(use)) state.SkipWithError(use.trouble.message);
    return Outcome{static_cast<double>(n) * (n - 1), std::fabs(h / truth(n) - 1),
                   n <= kTextbook ? textbook_plugin_of_mix(n).ms : kUnknown};
  });
}

// All pairs within reach of each other: what the kernel does with nothing left out.
void add_all_pairs(int n, int r) {
  add({"sum", n, 1, "all pairs, K" + std::to_string(r), "-", 1, "single"}, 21,
      [=](benchmark::State& state) {
        std::vector<double> x(static_cast<std::size_t>(n));
        for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<double>(i) / n;
        std::unique_ptr<DeviceSample> sample;
        double sum = 0;
        if (!device->load(x, 1, {}, &sample).ok() ||
            !sample->derivative(r, 0.2, Precision::single, {}, &sum).ok()) {
          state.SkipWithError("no sum");
          return Outcome{};
        }
        for (auto _ : state) {
          if (!sample->derivative(r, 0.2, Precision::single, {}, &sum).ok())
            state.SkipWithError("no sum");
        }
        double exact = 0;
        (void)sample->derivative(r, 0.2, Precision::full, {}, &exact);
        return Outcome{static_cast<double>(n) * (n - 1) / 2, std::fabs(sum / exact - 1), kUnknown};
      });
}

void add_processor(int n, int threads) {
  add({"PLUGIN", n, 1, "simd", simd_targets().front().name, threads, "single"}, 3,
      [=](benchmark::State& state) {
        const std::vector<double> x = sorted_mix(n);
        double h = 0;
        for (auto _ : state) h = plugin_of(on_processor(), x, all_threads(threads));
        return Outcome{static_cast<double>(n) * (n - 1), std::fabs(h / truth(n) - 1),
                       n <= kTextbook ? textbook_plugin_of_mix(n).ms : kUnknown};
      });
}

std::vector<double> bandwidths(int n, int d) {
  const double h0 = normal_reference(n, d);
  std::vector<double> h;
  for (int k = 0; k < kBandwidths; ++k) h.push_back(h0 * (0.25 + 3.75 * k / (kBandwidths - 1)));
  return h;
}

void add_sweep(int n, int d, const Engine& engine, const std::string& name, int threads, int runs) {
  add({"LSCV_h", n, d, name, "-", threads, word(engine.precision)}, runs,
      [=](benchmark::State& state) {
        WhiteSample white;
        const std::vector<double> h = bandwidths(n, d);
        std::vector<GaussianSums> found(h.size()), exact(h.size());
        DeviceUse use;
        Engine with = engine;
        with.device = device.get();
        with.use = &use;
        std::unique_ptr<GaussianPairSums> sums;
        const Control control = all_threads(threads);
        if (!whiten_sample(samples::mix(n, d), d, {}, &white).ok() ||
            !make_gaussian_sums({.kind = Engine::Kind::reference}, white.w, d, {}, &sums).ok() ||
            !sums->sweep(h, exact).ok()) {
          state.SkipWithError("no sums");
          return Outcome{};
        }
        for (auto _ : state) {
          if (!make_gaussian_sums(with, white.w, d, control, &sums).ok() ||
              !sums->sweep(h, found).ok())
            state.SkipWithError("no sums");
        }
        if (!all_on_device(use)) state.SkipWithError(use.trouble.message);
        double error = 0;
        for (std::size_t k = 0; k < h.size(); ++k) {
          const LscvValue e = lscv_value(n, d, exact[k].once, exact[k].twice);
          const LscvValue a = lscv_value(n, d, found[k].once, found[k].twice);
          error = std::max(error, std::fabs(a.value - e.value) / e.moduli);
        }
        static double textbook_ms = 0;
        static int known = 0;
        if (known != n * 100 + d) {
          const std::vector<double> x = samples::mix(n, d);
          std::vector<textbook::Sums> all(h.size());
          textbook_ms = milliseconds_of([&] {
            textbook::lscv_h(x, static_cast<std::size_t>(d), inverse_covariance(x, d), h, all);
          });
          known = n * 100 + d;
        }
        return Outcome{static_cast<double>(n) * (n - 1) * kBandwidths, error, textbook_ms};
      });
}

// keep: the points are on the device already, as in a search.
void add_value(int n, int d, const Engine& engine, const std::string& name, bool keep, int threads,
               int runs) {
  add({"LSCV_H-g", n, d, name, "-", threads, word(engine.precision)}, runs,
      [=](benchmark::State& state) {
        WhiteSample white;
        DeviceUse use;
        Engine with = engine;
        with.device = device.get();
        with.use = &use;
        std::unique_ptr<GaussianPairSums> sums;
        const auto size = static_cast<std::size_t>(d);
        std::vector<double> a(size * size);
        for (std::size_t k = 0; k < size; ++k) a[k * size + k] = 1 / normal_reference(n, d);
        const Control control = all_threads(threads);
        GaussianSums found, exact;
        Engine precise;
        precise.precision = Precision::full;
        if (!whiten_sample(samples::mix(n, d), d, {}, &white).ok() ||
            !make_gaussian_sums(precise, white.w, d, all_threads(16), &sums).ok() ||
            !sums->full(a, &exact).ok() ||
            !make_gaussian_sums(with, white.w, d, control, &sums).ok() ||
            !sums->full(a, &found).ok()) {
          state.SkipWithError("no sums");
          return Outcome{};
        }
        for (auto _ : state) {
          if ((!keep && !make_gaussian_sums(with, white.w, d, control, &sums).ok()) ||
              !sums->full(a, &found).ok())
            state.SkipWithError("no sums");
        }
        if (!all_on_device(use)) state.SkipWithError(use.trouble.message);
        const LscvValue e = lscv_value(n, d, exact.once, exact.twice);
        const LscvValue f = lscv_value(n, d, found.once, found.twice);
        static double textbook_ms = 0;
        static int known = 0;
        if (known != n * 100 + d) {
          const std::vector<double> x = samples::mix(n, d);
          const std::vector<double> inverse = inverse_covariance(x, d);
          textbook_ms = milliseconds_of(
              [&] { benchmark::DoNotOptimize(textbook::lscv_matrix(x, size, inverse).once); });
          known = n * 100 + d;
        }
        return Outcome{static_cast<double>(n) * (n - 1), std::fabs(f.value - e.value) / e.moduli,
                       textbook_ms};
      });
}

void add_gradient(int n, int d, Precision precision) {
  add({"LSCV_H-dg", n, d, "device, kept", "-", 1, word(precision)}, 21,
      [=](benchmark::State& state) {
        WhiteSample white;
        DeviceUse use;
        std::unique_ptr<GaussianPairSums> sums;
        const auto size = static_cast<std::size_t>(d);
        std::vector<double> a(size * size), scatter(size * size);
        for (std::size_t k = 0; k < size; ++k) a[k * size + k] = 1 / normal_reference(n, d);
        GaussianSums found;
        if (!whiten_sample(samples::mix(n, d), d, {}, &white).ok() ||
            !make_gaussian_sums(on_device(precision, &use), white.w, d, {}, &sums).ok() ||
            !sums->full_scatter(a, -0.5, 2, &found, scatter).ok()) {
          state.SkipWithError("no sums");
          return Outcome{};
        }
        for (auto _ : state) {
          if (!sums->full_scatter(a, -0.5, 2, &found, scatter).ok()) state.SkipWithError("no sums");
        }
        return Outcome{static_cast<double>(n) * (n - 1), kUnknown, kUnknown};
      });
}

void add_search(int n, int d, const Engine& engine, const std::string& name, int threads,
                int runs) {
  add({"LSCV_H", n, d, name, "-", threads, word(engine.precision)}, runs,
      [=](benchmark::State& state) {
        WhiteSample white;
        DeviceUse use;
        Engine with = engine;
        with.device = device.get();
        with.use = &use;
        const Control control = all_threads(threads);
        if (!whiten_sample(samples::mix(n, d), d, {}, &white).ok()) {
          state.SkipWithError("no sample");
          return Outcome{};
        }
        LscvMatrix found;
        for (auto _ : state) {
          use = {};
          if (!select_lscv_matrix(white, with, {}, control, &found).ok())
            state.SkipWithError("no bandwidth");
        }
        if (!all_on_device(use)) state.SkipWithError(use.trouble.message);
        static LscvMatrix exact;
        static int known = 0;
        if (known != n * 100 + d) {
          Engine precise;
          precise.precision = Precision::full;
          if (!select_lscv_matrix(white, precise, {}, all_threads(16), &exact).ok())
            state.SkipWithError("no bandwidth");
          known = n * 100 + d;
        }
        double error = 0, largest = 0;
        for (std::size_t k = 0; k < exact.factor.size(); ++k) {
          largest = std::max(largest, std::fabs(exact.factor[k]));
          error = std::max(error, std::fabs(found.factor[k] - exact.factor[k]));
        }
        return Outcome{found.evaluations * static_cast<double>(n) * (n - 1), error / largest,
                       kUnknown};
      });
}

void add_density(int n, int m, int d, Precision precision) {
  add({"density", n, d, "device, m = " + std::to_string(m), "-", 1, word(precision)}, 21,
      [=](benchmark::State& state) {
        const std::vector<double> x = samples::mix(n, d);
        const std::vector<double> queries = samples::mix(m, d);
        const auto size = static_cast<std::size_t>(d);
        std::vector<double> a(size * size), out(static_cast<std::size_t>(m));
        for (std::size_t k = 0; k < size; ++k) a[k * size + k] = 1 / normal_reference(n, d);
        std::unique_ptr<DeviceSample> sample;
        for (auto _ : state) {
          if (!device->load(x, d, {}, &sample).ok() ||
              !sample->density(a, queries, precision, {}, out).ok())
            state.SkipWithError("no density");
        }
        return Outcome{static_cast<double>(n) * m, kUnknown, kUnknown};
      });
}

void add_all() {
  DeviceUse* none = nullptr;
  const Engine single = on_device(Precision::single, none);
  const Engine full = on_device(Precision::full, none);
  add_processor(32768, 1);
  for (const int n : {1024, 8192, 32768, 131072})
    add_plugin(n, "device", Precision::single, true, kRuns);
  add_plugin(32768, "device, unsorted", Precision::single, false, kRuns);
  add_plugin(32768, "device", Precision::full, true, 21);
  add_plugin(1 << 20, "device", Precision::single, true, 21);
  add_plugin(1 << 20, "device", Precision::full, true, 3);
  add_plugin(1 << 21, "device", Precision::single, true, 5);
  for (const int r : {0, 4, 6}) add_all_pairs(1 << 20, r);
  for (const int d : {2, 4, 16}) {
    add_sweep(1024, d, on_processor(), "simd", 1, 5);
    add_sweep(1024, d, single, "device", 1, kRuns);
    add_sweep(1024, d, full, "device", 1, kRuns);
  }
  for (const int d : {2, 4, 16}) {
    add_value(16384, d, on_processor(), "simd", true, 1, 3);
    add_value(16384, d, single, "device", false, 1, kRuns);
    add_value(16384, d, single, "device, kept", true, 1, kRuns);
    add_value(16384, d, full, "device", false, 1, kRuns);
    add_gradient(16384, d, Precision::single);
    add_gradient(16384, d, Precision::full);
  }
  add_search(16384, 4, single, "device", 1, 21);
  add_search(16384, 4, full, "device", 1, 21);
  add_search(1024, 4, single, "device", 1, 21);
  for (const int d : {1, 2, 4}) add_density(1 << 17, 1 << 17, d, Precision::single);
  add_density(1 << 17, 1 << 17, 2, Precision::full);
}

}  // namespace
}  // namespace kde::bench

int main(int argc, char** argv) {
  kde::cuda::CudaOptions options;
  constexpr char kCards[] = "--cards=";
  if (argc > 1 && std::strncmp(argv[1], kCards, sizeof kCards - 1) == 0) {
    options.most_cards = std::atoi(argv[1] + sizeof kCards - 1);
    argv[1] = argv[0];
    ++argv;
    --argc;
  }
  if (const kde::Status s = kde::cuda::make_cuda_device(options, &kde::bench::device); !s.ok()) {
    std::fprintf(stderr, "%s\n", s.message);
    return 1;
  }
  for (const kde::DeviceInfo& info : kde::bench::device->devices())
    std::printf("%s, compute capability %d.%d\n", info.name, static_cast<int>(info.major),
                static_cast<int>(info.minor));
  kde::bench::add_all();
  const int status = kde::bench::run_table(argc, argv);
  kde::bench::device.reset();
  return status;
}
