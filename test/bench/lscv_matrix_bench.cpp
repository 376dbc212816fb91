// LSCV_H: one value of the objective at the normal-reference matrix (LSCV_H-g), and the whole
// search for the best matrix (LSCV_H).
//
// One value is timed as a search computes it, the points whitened and handed over before. The
// textbook's time of a search is that of one of its values times the values that the search took;
// its error is that of g at the matrix found.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/select/lscv.h"
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

const char* word(Precision precision) {
  return precision == Precision::single ? "single" : "double";
}

struct Textbook {
  LscvValue g;
  double ms = 0;
};

// At the normal-reference matrix h0^2 Sigma; run when first asked for and kept.
const Textbook& textbook_of(int n, int d) {
  static std::map<std::pair<int, int>, Textbook> known;
  const auto [at, is_new] = known.try_emplace({n, d});
  Textbook& t = at->second;
  if (is_new) {
    const std::vector<double> x = samples::mix(n, d);
    const double h0 = normal_reference(n, d);
    textbook::Sums sums;
    t.ms = milliseconds_of([&] {
      std::vector<double> inverse = inverse_covariance(x, d);
      for (double& v : inverse) v /= h0 * h0;
      sums = textbook::lscv_matrix(x, static_cast<std::size_t>(d), inverse);
    });
    t.g = lscv_value(n, d, sums.once, sums.twice);
  }
  return t;
}

// Two sums over all pairs.
double terms(int n) { return static_cast<double>(n) * (n - 1); }

void add_textbook(int n, int d) {
  add({"LSCV_H-g", n, d, "textbook", "-", 1, "double"}, 1, [=](benchmark::State& state) {
    for (auto _ : state) textbook_of(n, d);
    return Outcome{terms(n), 0, textbook_of(n, d).ms};
  });
}

void add_value(int n, int d, Precision precision, int threads) {
  const SimdTarget best = simd_targets().front();
  add({"LSCV_H-g", n, d, "simd", best.name, threads, word(precision)}, 3,
      [=](benchmark::State& state) {
        Control control;
        control.threads = start_threads(threads);
        WhiteSample white;
        std::unique_ptr<GaussianPairSums> sums;
        if (!whiten_sample(samples::mix(n, d), d, {}, &white).ok() ||
            !make_gaussian_sums({Engine::Kind::simd, best.target, precision}, white.w, d, control,
                                &sums)
                 .ok()) {
          state.SkipWithError("no sums");
          return Outcome{};
        }
        const auto size = static_cast<std::size_t>(d);
        std::vector<double> a(size * size);
        for (std::size_t k = 0; k < size; ++k) a[k * size + k] = 1 / normal_reference(n, d);
        GaussianSums found;
        for (auto _ : state) {
          if (!sums->full(a, &found).ok()) state.SkipWithError("no sums");
        }
        const Textbook& t = textbook_of(n, d);
        const LscvValue g = lscv_value(n, d, found.once, found.twice);
        return Outcome{terms(n), std::fabs(g.value - t.g.value) / t.g.moduli, t.ms};
      });
}

// Of the objective that the search says its matrix has.
double error_at(int n, int d, const WhiteSample& white, const LscvMatrix& found) {
  const auto size = static_cast<std::size_t>(d);
  std::vector<double> factor = found.factor;
  double root_det = 1;
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t k = 0; k < size; ++k) {
      factor[row * size + k] = std::ldexp(factor[row * size + k], white.exponent[row]);
    }
    root_det *= factor[row * size + row];
  }
  const textbook::Sums sums =
      textbook::lscv_matrix(samples::mix(n, d), size, inverse_of_product(factor, d));
  const LscvValue g = lscv_value(n, d, sums.once, sums.twice);
  return std::fabs(found.objective * root_det - g.value) / g.moduli;
}

void add_search(int n, int d, LscvOptimiser optimiser, Precision precision, int threads) {
  const SimdTarget best = simd_targets().front();
  const char* engine = optimiser == LscvOptimiser::quasi_newton ? "quasi-newton" : "nelder-mead";
  add({"LSCV_H", n, d, engine, best.name, threads, word(precision)}, 3,
      [=](benchmark::State& state) {
        const std::vector<double> x = samples::mix(n, d);
        Control control;
        control.threads = start_threads(threads);
        LscvMatrixOptions options;
        options.optimiser = optimiser;
        WhiteSample white;
        LscvMatrix found;
        for (auto _ : state) {
          if (!whiten_sample(x, d, {}, &white).ok() ||
              !select_lscv_matrix(white, {Engine::Kind::simd, best.target, precision}, options,
                                  control, &found)
                   .ok()) {
            state.SkipWithError("no bandwidth");
            return Outcome{};
          }
        }
        return Outcome{found.evaluations * terms(n), error_at(n, d, white, found),
                       found.evaluations * textbook_of(n, d).ms};
      });
}

}  // namespace

void add_lscv_matrix() {
  for (const int n : {1024, 4096, 16384}) {
    for (int d = 1; d <= kMaxDimensions; d *= 2) {
      add_textbook(n, d);
      for (const Precision precision : {Precision::single, Precision::full}) {
        for (const int threads : {1, 2}) add_value(n, d, precision, threads);
      }
    }
  }
  for (const int d : {2, 3}) {
    for (const LscvOptimiser optimiser :
         {LscvOptimiser::quasi_newton, LscvOptimiser::nelder_mead}) {
      for (const Precision precision : {Precision::single, Precision::full}) {
        for (const int threads : {1, 2}) add_search(1024, d, optimiser, precision, threads);
      }
    }
  }
}

}  // namespace kde::bench
