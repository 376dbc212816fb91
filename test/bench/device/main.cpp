// The selectors on graphics cards, from values in the host's memory to the result there, beside the
// vector engine and the textbook's loops in the same run. For a machine with a card:
//
//   make cuda-bench                       all cards
//   build/cuda/device_bench --cards=1 --without-textbook --benchmark_filter=PLUGIN
//   ... --units=none, --units=warp        without matrix units, or by those of a warp (gram.h)
//
// The device is warm: its contexts and kernels are loaded before, as the service holds them. ms is
// the median of the runs; terms/s counts the textbook's terms, visited or not.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/select/lscv.h"
#include "moments.h"
#include "core/select/plugin.h"
#include "core/select/white_sample.h"
#include "core/sums/gaussian_sums.h"
#include "core/sums/pair_sums.h"
#include "covariance.h"
#include "cuda/cuda_device.h"
#include "cuda/runtime.cuh"
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
constexpr double kWarmMs = 50;    // a card that has been idle needs as long to reach its clock

std::unique_ptr<Device> device;
bool with_textbook = true;

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

// What must not be timed: until the card has its clock.
void warm_up(const std::function<void()>& work) {
  for (double ms = 0; ms < kWarmMs;) ms += milliseconds_of(work);
}

// f(key), computed when first asked for.
template <typename Key, typename F>
const std::invoke_result_t<F>& once(std::map<Key, std::invoke_result_t<F>>* known, const Key& key,
                                    const F& f) {
  const auto [at, is_new] = known->try_emplace(key);
  if (is_new) at->second = f();
  return at->second;
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

// Nearly exact: 4e-15 (core/sums/spectral.h).
double truth(int n) {
  static std::map<int, double> known;
  return once(&known, n, [n] {
    Engine spectral;
    spectral.kind = Engine::Kind::spectral;
    return plugin_of(spectral, sorted_mix(n), {});
  });
}

double textbook_plugin_ms(int n) {
  return with_textbook && n == kTextbook ? textbook_plugin_of_mix(n).ms : kUnknown;
}

void add_plugin(int n, const std::string& name, Precision precision, bool sorted, int runs) {
  add({"PLUGIN", n, 1, name, "-", 1, word(precision)}, runs, [=](benchmark::State& state) {
    static std::map<int, std::vector<double>> samples_made;
    const std::vector<double>& x = once(&samples_made, sorted ? n : -n,
                                        [=] { return sorted ? sorted_mix(n) : samples::mix(n); });
    DeviceUse use;
    double h = 0;
    const double sd = two_pass_moments(x).sd;  // a fit knows it
    const auto select = [&] {
      std::unique_ptr<PairSums> sums;
      PluginTrace trace;
      if (!make_pair_sums(on_device(precision, &use), x, {}, &sums).ok() ||
          !select_plugin(*sums, sd, n, n, &trace).ok())
        state.SkipWithError("no bandwidth");
      h = trace.h;
    };
    warm_up(select);
    for (auto _ : state) select();
    if (!all_on_device(use)) state.SkipWithError(use.trouble.message);
    return Outcome{static_cast<double>(n) * (n - 1), std::fabs(h / truth(n) - 1),
                   textbook_plugin_ms(n)};
  });
}

// All pairs within reach of each other, and all values so near that four of them share their terms
// (cuda/derivative.h): the kernel visits a quarter of the pairs.
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
        warm_up([&] { (void)sample->derivative(r, 0.2, Precision::single, {}, &sum); });
        for (auto _ : state) {
          if (!sample->derivative(r, 0.2, Precision::single, {}, &sum).ok())
            state.SkipWithError("no sum");
        }
        static std::map<int, double> known;
        const double exact = once(&known, r, [&] {
          double in_double = 0;
          (void)sample->derivative(r, 0.2, Precision::full, {}, &in_double);
          return in_double;
        });
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
                       textbook_plugin_ms(n)};
      });
}

struct Swept {
  WhiteSample white;
  std::vector<GaussianSums> exact;
  double textbook_ms = kUnknown;
};

const Swept& swept(int n, int d) {
  static std::map<std::pair<int, int>, Swept> known;
  return once(&known, std::pair(n, d), [=] {
    Swept out;
    const std::vector<double> h = bandwidths(n, d, kBandwidths);
    out.exact.resize(h.size());
    std::unique_ptr<GaussianPairSums> sums;
    const std::vector<double> x = samples::mix(n, d);
    if (!whiten_sample(x, d, {}, &out.white).ok() ||
        !make_gaussian_sums({.kind = Engine::Kind::reference}, out.white.w, d, {}, &sums).ok() ||
        !sums->sweep(h, out.exact).ok())
      std::abort();
    if (with_textbook && d == kMaxDimensions) {
      std::vector<textbook::Sums> all(h.size());
      out.textbook_ms = milliseconds_of([&] {
        textbook::lscv_h(x, static_cast<std::size_t>(d), inverse_covariance(x, d), h, all);
      });
    }
    return out;
  });
}

void add_sweep(int n, int d, const Engine& engine, const std::string& name, int threads, int runs) {
  add({"LSCV_h", n, d, name, "-", threads, word(engine.precision)}, runs,
      [=](benchmark::State& state) {
        const Swept& known = swept(n, d);
        const std::vector<double> h = bandwidths(n, d, kBandwidths);
        std::vector<GaussianSums> found(h.size());
        DeviceUse use;
        Engine with = engine;
        with.device = device.get();
        with.use = &use;
        const Control control = all_threads(threads);
        const auto sweep = [&] {
          std::unique_ptr<GaussianPairSums> sums;
          if (!make_gaussian_sums(with, known.white.w, d, control, &sums).ok() ||
              !sums->sweep(h, found).ok())
            state.SkipWithError("no sums");
        };
        warm_up(sweep);
        for (auto _ : state) sweep();
        if (!all_on_device(use)) state.SkipWithError(use.trouble.message);
        double error = 0;
        for (std::size_t k = 0; k < h.size(); ++k) {
          const LscvValue e = lscv_value(n, d, known.exact[k].once, known.exact[k].twice);
          const LscvValue a = lscv_value(n, d, found[k].once, found[k].twice);
          error = std::max(error, std::fabs(a.value - e.value) / e.moduli);
        }
        return Outcome{static_cast<double>(n) * (n - 1) * kBandwidths, error, known.textbook_ms};
      });
}

constexpr double kOnce = -0.5, kTwice = 2;  // the gradient's weights of e and e^2

// The largest difference, relative to the largest element.
double largest_error(std::span<const double> found, std::span<const double> exact) {
  double error = 0, largest = 0;
  for (std::size_t k = 0; k < exact.size(); ++k) {
    largest = std::max(largest, std::fabs(exact[k]));
    error = std::max(error, std::fabs(found[k] - exact[k]));
  }
  return error / largest;
}

struct Valued {
  WhiteSample white;
  GaussianSums exact;
  std::vector<double> scatter;
  std::vector<double> a;  // the whitening of the normal-reference matrix
  double textbook_ms = kUnknown;
};

const Valued& valued(int n, int d) {
  static std::map<std::pair<int, int>, Valued> known;
  return once(&known, std::pair(n, d), [=] {
    Valued out;
    const auto size = static_cast<std::size_t>(d);
    out.a.assign(size * size, 0);
    out.scatter.resize(size * size);
    for (std::size_t k = 0; k < size; ++k) out.a[k * size + k] = 1 / normal_reference(n, d);
    Engine precise;
    precise.precision = Precision::full;
    std::unique_ptr<GaussianPairSums> sums;
    const std::vector<double> x = samples::mix(n, d);
    if (!whiten_sample(x, d, {}, &out.white).ok() ||
        !make_gaussian_sums(precise, out.white.w, d, all_threads(16), &sums).ok() ||
        !sums->full_scatter(out.a, kOnce, kTwice, &out.exact, out.scatter).ok())
      std::abort();
    if (with_textbook && d == kMaxDimensions) {
      std::vector<double> inverse = inverse_covariance(x, d);
      out.textbook_ms = milliseconds_of(
          [&] { benchmark::DoNotOptimize(textbook::lscv_matrix(x, size, inverse).once); });
    }
    return out;
  });
}

// keep: the points are on the device already, as in a search.
void add_value(int n, int d, const Engine& engine, const std::string& name, bool keep, int threads,
               int runs) {
  add({"LSCV_H-g", n, d, name, "-", threads, word(engine.precision)}, runs,
      [=](benchmark::State& state) {
        const Valued& known = valued(n, d);
        DeviceUse use;
        Engine with = engine;
        with.device = device.get();
        with.use = &use;
        const Control control = all_threads(threads);
        std::unique_ptr<GaussianPairSums> sums;
        GaussianSums found;
        const auto value = [&] {
          if (((!keep || sums == nullptr) &&
               !make_gaussian_sums(with, known.white.w, d, control, &sums).ok()) ||
              !sums->full(known.a, &found).ok())
            state.SkipWithError("no sums");
        };
        warm_up(value);
        for (auto _ : state) value();
        if (!all_on_device(use)) state.SkipWithError(use.trouble.message);
        const LscvValue e = lscv_value(n, d, known.exact.once, known.exact.twice);
        const LscvValue f = lscv_value(n, d, found.once, found.twice);
        return Outcome{static_cast<double>(n) * (n - 1), std::fabs(f.value - e.value) / e.moduli,
                       known.textbook_ms};
      });
}

// What a device does of it by itself: the points to the card, the sum, the result back.
// page_locked: from memory that the card reads by itself.
void add_value_alone(int n, int d, Precision precision, bool page_locked) {
  add({"LSCV_H-g", n, d, page_locked ? "load locked, sum" : "load, sum", "-", 1, word(precision)},
      kRuns, [=](benchmark::State& state) {
        const Valued& known = valued(n, d);
        cuda::PinnedBuffer<double> locked;
        std::span<const double> points = known.white.w;
        if (page_locked) {
          if (!locked.reserve(points.size()).ok()) std::abort();
          std::copy(points.begin(), points.end(), locked.data());
          points = {locked.data(), points.size()};
        }
        double found[2] = {};
        const auto value = [&] {
          std::unique_ptr<DeviceSample> sample;
          if (!device->load(points, d, {}, &sample).ok() ||
              !sample->full(known.a, precision, {}, found).ok())
            state.SkipWithError("no sums");
        };
        warm_up(value);
        for (auto _ : state) value();
        const LscvValue e = lscv_value(n, d, known.exact.once, known.exact.twice);
        const LscvValue f = lscv_value(n, d, found[0], found[1]);
        return Outcome{static_cast<double>(n) * (n - 1), std::fabs(f.value - e.value) / e.moduli,
                       known.textbook_ms};
      });
}

void add_load(int n, int d) {
  add({"load", n, d, "device", "-", 1, "double"}, kRuns, [=](benchmark::State& state) {
    std::vector<double> x = samples::mix(n, d);
    if (d == 1) std::sort(x.begin(), x.end());
    // A sum of next to nothing waits for the points.
    const auto load = [&] {
      std::unique_ptr<DeviceSample> sample;
      double sum = 0;
      if (!device->load(x, d, {}, &sample).ok() ||
          (d == 1 && !sample->derivative(0, 1e-9, Precision::single, {}, &sum).ok()))
        state.SkipWithError("no sample");
    };
    warm_up(load);
    for (auto _ : state) load();
    return Outcome{static_cast<double>(n) * d};
  });
}

void add_gradient(int n, int d, Precision precision) {
  add({"LSCV_H-dg", n, d, "device, kept", "-", 1, word(precision)}, 21,
      [=](benchmark::State& state) {
        const Valued& known = valued(n, d);
        DeviceUse use;
        std::unique_ptr<GaussianPairSums> sums;
        std::vector<double> scatter(known.a.size());
        GaussianSums found;
        if (!make_gaussian_sums(on_device(precision, &use), known.white.w, d, {}, &sums).ok())
          state.SkipWithError("no sums");
        const auto gradient = [&] {
          if (!sums->full_scatter(known.a, kOnce, kTwice, &found, scatter).ok())
            state.SkipWithError("no sums");
        };
        warm_up(gradient);
        for (auto _ : state) gradient();
        if (!all_on_device(use)) state.SkipWithError(use.trouble.message);
        const LscvValue e = lscv_value(n, d, known.exact.once, known.exact.twice);
        const LscvValue f = lscv_value(n, d, found.once, found.twice);
        return Outcome{static_cast<double>(n) * (n - 1),
                       std::max(std::fabs(f.value - e.value) / e.moduli,
                                largest_error(scatter, known.scatter)),
                       kUnknown};
      });
}

struct Searched {
  WhiteSample white;
  LscvMatrix exact;
};

const Searched& searched(int n, int d) {
  static std::map<std::pair<int, int>, Searched> known;
  return once(&known, std::pair(n, d), [=] {
    Searched out;
    Engine precise;
    precise.precision = Precision::full;
    if (!whiten_sample(samples::mix(n, d), d, {}, &out.white).ok() ||
        !select_lscv_matrix(out.white, precise, {}, all_threads(16), &out.exact).ok())
      std::abort();
    return out;
  });
}

// The whitened points are in the host's memory, as for every engine.
void add_search(int n, int d, const Engine& engine, const std::string& name, int threads,
                int runs) {
  add({"LSCV_H", n, d, name, "-", threads, word(engine.precision)}, runs,
      [=](benchmark::State& state) {
        const Searched& known = searched(n, d);
        DeviceUse use;
        Engine with = engine;
        with.device = device.get();
        with.use = &use;
        const Control control = all_threads(threads);
        LscvMatrix found;
        const auto search = [&] {
          use = {};
          if (!select_lscv_matrix(known.white, with, {}, control, &found).ok())
            state.SkipWithError("no bandwidth");
        };
        warm_up(search);
        for (auto _ : state) search();
        if (!all_on_device(use)) state.SkipWithError(use.trouble.message);
        return Outcome{found.evaluations * static_cast<double>(n) * (n - 1),
                       largest_error(found.factor, known.exact.factor), kUnknown};
      });
}

constexpr std::size_t kQueriesPerCheck = 512;

// sum_i exp(-|q - x_i|^2/(2 h^2)), by the formula.
double density_at(std::span<const double> q, std::span<const double> x, double h) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); i += q.size()) {
    double squares = 0;
    for (std::size_t k = 0; k < q.size(); ++k) squares += (q[k] - x[i + k]) * (q[k] - x[i + k]);
    sum += std::exp(-squares / (2 * h * h));
  }
  return sum;
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
        const auto evaluate = [&] {
          if (!device->load(x, d, {}, &sample).ok() ||
              !sample->density(a, queries, precision, {}, out).ok())
            state.SkipWithError("no density");
        };
        warm_up(evaluate);
        for (auto _ : state) evaluate();
        std::vector<double> some, exact;
        for (std::size_t k = 0; k < out.size(); k += kQueriesPerCheck) {
          some.push_back(out[k]);
          exact.push_back(density_at({&queries[k * size], size}, x, normal_reference(n, d)));
        }
        return Outcome{static_cast<double>(n) * m, largest_error(some, exact), kUnknown};
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
  for (const int r : {0, 2, 4, 6}) add_all_pairs(1 << 20, r);
  add_load(32768, 1);
  add_load(1 << 20, 1);
  add_load(16384, 16);
  for (const int d : {2, 4, 16}) {
    add_sweep(1024, d, on_processor(), "simd", 1, 5);
    add_sweep(1024, d, single, "device", 1, kRuns);
    add_sweep(1024, d, full, "device", 1, kRuns);
  }
  for (const int d : {2, 4, 16}) {
    add_value(16384, d, on_processor(), "simd", true, 1, 3);
    add_value(16384, d, single, "device", false, 1, kRuns);
    add_value(16384, d, single, "device, kept", true, 1, kRuns);
    for (const bool locked : {false, true}) add_value_alone(16384, d, Precision::single, locked);
    add_value(16384, d, full, "device", false, 1, kRuns);
    add_gradient(16384, d, Precision::single);
    add_gradient(16384, d, Precision::full);
  }
  add_search(16384, 4, single, "device", 1, 21);
  add_search(16384, 4, full, "device", 1, 21);
  add_search(1024, 4, single, "device", 1, 21);
  for (const int d : {1, 2, 4, 8, 16}) add_density(1 << 17, 1 << 17, d, Precision::single);
  add_density(1 << 17, 1 << 17, 2, Precision::full);
}

}  // namespace
}  // namespace kde::bench

int main(int argc, char** argv) {
  kde::cuda::CudaOptions options;
  constexpr char kCards[] = "--cards=";
  int kept = 1;
  for (int k = 1; k < argc; ++k) {
    if (std::strncmp(argv[k], kCards, sizeof kCards - 1) == 0) {
      options.most_cards = std::atoi(argv[k] + sizeof kCards - 1);
    } else if (std::strcmp(argv[k], "--units=none") == 0) {
      options.most_units = kde::cuda::MatrixUnits::none;
    } else if (std::strcmp(argv[k], "--units=warp") == 0) {
      options.most_units = kde::cuda::MatrixUnits::warp;
    } else if (std::strcmp(argv[k], "--without-textbook") == 0) {
      kde::bench::with_textbook = false;
    } else {
      argv[kept++] = argv[k];
    }
  }
  argc = kept;
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
