// Every allocation of the sampler, the fit, the selectors over matrices and what comes over the wire failing
// in turn: a status, never an exception, never a leak (the sanitizers say so).
//
// Replaces the global operator new of the test binary; it fails only while armed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/density/histogram.h"
#include "core/density/wire.h"
#include "core/select/lscv.h"
#include "core/sums/gaussian_sums.h"
#include "fitted.h"
#include "joint_fixture.h"

namespace {

thread_local long allocations_left = -1;  // negative: not armed

void* allocate(std::size_t size) {
  if (allocations_left == 0) return nullptr;
  if (allocations_left > 0) --allocations_left;
  return std::malloc(size > 0 ? size : 1);
}

}  // namespace

// Not inlined, or the compiler sees malloc() behind new and warns of delete.
__attribute__((noinline)) void* operator new(std::size_t size) {
  void* p = allocate(size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new[](std::size_t size) { return operator new(size); }
// std::inplace_merge and others ask for a buffer this way and do without it.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* p, const std::nothrow_t&) noexcept { operator delete(p); }
__attribute__((noinline)) void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { operator delete(p); }
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
void operator delete[](void* p, std::size_t) noexcept { operator delete(p); }

namespace kde {
namespace {

// Runs `work` with the k-th allocation (and all after it) failing, for k = 0, 1, ... until it
// succeeds; every failure must be out_of_memory. Of work with many allocations not each k after
// the first hundred: each in steps of `sparse` times those before it.
template <typename Work>
void fail_each_allocation(Work work, double sparse = 0) {
  for (long k = 0; k < 500000;
       k += std::max(1L, sparse == 0 || k < 100 ? 1 : std::lround(sparse * k))) {
    allocations_left = k;
    const Status s = work();
    allocations_left = -1;
    if (s.ok()) {
      EXPECT_GT(k, 0) << "nothing was allocated";
      return;
    }
    ASSERT_EQ(s.code, Code::out_of_memory) << "allocation " << k << ": " << s.message;
    ASSERT_NE(s.message[0], '\0');
  }
  FAIL() << "still failing";
}

TEST(OutOfMemory, FitColumn) {
  const std::vector<double> x = samples::normal(500, 1);
  std::vector<double> tied = x;
  for (std::size_t i = 0; i < 200; ++i) tied[i] = 0;
  for (const std::vector<double>& values :
       {x, tied, std::vector<double>(100, 3.0), std::vector<double>{0, 1}}) {
    const auto sample = fitted::sample_of(values);
    for (Method method : {Method::automatic, Method::plugin, Method::silverman}) {
      for (Engine::Kind engine : {Engine::Kind::simd, Engine::Kind::reference}) {
        FitOptions options;
        options.method = method;
        options.engine.kind = engine;
        fail_each_allocation([&] {
          DensityBytes bytes;
          FitReport report;
          return fit_column(sample, options, Control{}, &bytes, &report);
        });
      }
    }
  }
}

// The estimate from a sample: halvings, transformations, heaps, atoms.
TEST(OutOfMemory, AdaptiveFit) {
  std::vector<double> heaped = samples::normal(150, 1);
  for (double& v : heaped) v = std::round(30 * v);
  std::vector<double> skewed = samples::lognormal(150, 2);
  for (double& v : skewed) v *= v;
  skewed.insert(skewed.end(), 50, 0.0);
  for (const std::vector<double>& values : {heaped, skewed}) {
    const auto sample = fitted::sample_of(values);
    FitOptions options;
    options.rows_per_row_read = 10;
    fail_each_allocation(
        [&] {
          DensityBytes bytes;
          FitReport report;
          return fit_column(sample, options, Control{}, &bytes, &report);
        },
        0.1);
  }
}

TEST(OutOfMemory, Sampler) {
  const std::vector<double> x = samples::normal(800, 1);
  for (std::int64_t rows : {std::int64_t{100}, std::int64_t{0}}) {
    Sampler::Options o;
    o.sample_rows = rows;
    fail_each_allocation([&]() -> Status {
      // The constructors may allocate too, and are allowed to throw: they are not noexcept.
      const long armed = allocations_left;
      allocations_left = -1;
      Sampler sampler(o);
      Sample out;
      allocations_left = armed;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (i % 20 == 0) {
          if (Status s = sampler.begin_block(); !s.ok()) return s;
        }
        if (Status s = sampler.add(x[i]); !s.ok()) return s;
      }
      return sampler.finish(&out);
    });
  }
}

TEST(OutOfMemory, Lscv) {
  const std::vector<double> x = samples::mix(60, 2);
  WhiteSample sample;
  fail_each_allocation([&] { return whiten_sample(x, 2, {}, &sample); });
  for (LscvSearch search : {LscvSearch::refined, LscvSearch::grid}) {
    fail_each_allocation([&]() -> Status {
      std::unique_ptr<GaussianPairSums> sums;
      if (Status s = make_gaussian_sums(Engine{}, sample.w, 2, {}, &sums); !s.ok()) return s;
      LscvScalar out;
      return select_lscv_h(*sums, lscv_sample(sample), LscvDivisor::n_squared, search, &out);
    });
  }
  for (LscvOptimiser optimiser : {LscvOptimiser::quasi_newton, LscvOptimiser::nelder_mead}) {
    fail_each_allocation([&] {
      LscvMatrixOptions options;
      options.optimiser = optimiser;
      LscvMatrix out;
      return select_lscv_matrix(sample, Engine{}, options, {}, &out);
    });
  }
}

TEST(OutOfMemory, Wire) {
  const DensityBytes words = joints::category();
  std::vector<char> wire(words.size());
  ASSERT_TRUE(to_wire(words.data(), words.size(), 0, wire.data()));
  DensityBytes bytes(wire.size());
  fail_each_allocation([&] {
    std::uint8_t encoding;
    return from_wire(wire.data(), wire.size(), bytes.data(), &encoding);
  });
}

}  // namespace
}  // namespace kde
