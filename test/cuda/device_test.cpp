// The cards as a Device: the same bits however many cards share a sum, and whatever else they do;
// cancelling; limits.
//
// Sizes follow from the speed that the device states, so that a sum takes as long as a test needs:
// more than the 3 ms from which cards share it, or long enough to be stopped.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "checks.h"
#include "cuda/card.h"
#include "stop_at.h"

namespace kde {
namespace {

// n whose pairs take one card about so long, `cost` times as long a pair as a derivative's.
int size_for(double seconds, Precision precision, double cost = 1) {
  const auto count = static_cast<double>(cards().devices().size());
  const double n = std::sqrt(2 * seconds * cards().pair_rate(precision) / count / cost);
  return static_cast<int>(std::clamp(n, 1000.0, 2e6));
}

// All sums of a sample in both precisions, one number after another; empty if one of them failed.
std::vector<double> all_sums(Device& device, const std::vector<double>& x, int d) {
  std::vector<double> out;
  std::unique_ptr<DeviceSample> sample;
  if (!device.load(x, d, {}, &sample).ok()) return {};
  const double h0 = normal_reference(x, d);
  const std::vector<double> h = {0.4 * h0, h0, 3 * h0};
  const std::vector<double> a = triangle(d, h0);
  const auto dd = static_cast<std::size_t>(d) * static_cast<std::size_t>(d);
  std::vector<double> slopes(12), full(2), scatter(2 + dd), density(100);
  const std::vector<double> queries(x.begin(), x.begin() + 100 * d);
  for (const Precision precision : kPrecisions) {
    bool ok = sample->sweep(h, true, precision, {}, slopes).ok() &&
              sample->full(a, precision, {}, full).ok() &&
              sample->scatter(a, -0.5, 2, precision, {}, scatter).ok() &&
              sample->density(a, queries, precision, {}, density).ok();
    for (const auto& part : {slopes, full, scatter, density})
      out.insert(out.end(), part.begin(), part.end());
    for (int r = 0; d == 1 && r <= kMaxDerivative; r += 2) {
      out.push_back(0);
      ok = ok && sample->derivative(r, 3 * h0, precision, {}, &out.back()).ok();
    }
    if (!ok) return {};
  }
  return out;
}

TEST(CudaDevice, TheSameBitsOnOneCardAndOnAll) {
  std::unique_ptr<Device> one;
  const Status made = cuda::make_cuda_device({.most_cards = 1}, &one);
  ASSERT_TRUE(made.ok()) << made.message;
  ASSERT_EQ(one->devices().size(), 1U);
  if (cards().devices().size() == 1) std::printf("one card, compared with itself\n");
  for (const int d : {1, 2, 5, 16}) {
    const std::vector<double> x = points(size_for(0.03, Precision::full, 1 + d), d);
    const std::vector<double> alone = all_sums(*one, x, d);
    ASSERT_FALSE(alone.empty()) << d;
    EXPECT_EQ(all_sums(cards(), x, d), alone) << d;
    EXPECT_EQ(all_sums(cards(), x, d), alone) << d;  // again
  }
}

TEST(CudaDevice, ThreadsAtOnceGetTheBitsTheyGetAlone) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 5;
  std::vector<std::vector<double>> x, alone;
  std::vector<int> d;
  for (int t = 0; t < kThreads; ++t) {
    d.push_back(t < 3 ? 1 : 2 * t - 4);  // 1, 1, 1, 2, 4 ... 10
    x.push_back(points(1200 + 77 * t, d.back()));
    for (double& v : x.back()) v *= 1 + t;
    alone.push_back(all_sums(cards(), x.back(), d.back()));
    ASSERT_FALSE(alone.back().empty());
  }
  std::vector<std::vector<double>> together[kRounds];
  for (auto& round : together) round.resize(kThreads);
  std::barrier start(kThreads);
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < kThreads; ++t) {
    running.emplace_back([&, t] {
      for (auto& round : together) {
        start.arrive_and_wait();
        round[t] = all_sums(cards(), x[t], d[t]);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  for (const auto& round : together) {
    for (std::size_t t = 0; t < kThreads; ++t) EXPECT_EQ(round[t], alone[t]) << t;
  }
}

// A fifth of a second on one card, which all cards share. What follows is right: the same bits as
// before, and near the spectral engine's, nearly exact (core/sums/spectral.h).
TEST(CudaCancel, ALongDerivativeSum) {
  for (const Precision precision : kPrecisions) {
    const std::vector<double> x = samples::mix(size_for(0.2, precision));
    const auto n = static_cast<double>(x.size());
    const auto sample = load(x);
    double before = 0, sum = 0, after = 0, expected = 0, near = 0;
    ASSERT_TRUE(sample->derivative(6, 3, precision, {}, &before).ok());
    for (const int number : {1, 2, 3}) {
      StopAt stop(number);
      EXPECT_EQ(sample->derivative(6, 3, precision, stop.control, &sum).code, Code::cancelled);
      EXPECT_GE(stop.polls, number);
      ASSERT_TRUE(sample->derivative(6, 3, precision, {}, &after).ok());
      EXPECT_EQ(after, before);
    }
    Engine spectral;
    spectral.kind = Engine::Kind::spectral;
    std::unique_ptr<PairSums> reference;
    ASSERT_TRUE(make_pair_sums(spectral, x, threads(), &reference).ok());
    ASSERT_TRUE(reference->derivative(6, 3, &expected).ok());
    ASSERT_TRUE(reference->derivative(0, 3 * std::numbers::sqrt2, &near).ok());
    const double most = 15 / std::sqrt(2 * std::numbers::pi);
    EXPECT_NEAR(after, expected,
                relative(precision) * (n * most + 1.0865 * std::sqrt(720.) * near));
  }
}

TEST(CudaCancel, LongSumsOfPoints) {
  constexpr int d = 3;
  const std::vector<double> x = points(size_for(0.2, Precision::full, 4), d);
  const std::vector<double> a = triangle(d, normal_reference(x, d));
  const std::vector<double> h(20, normal_reference(x, d));
  GaussianCheck next(x, d);
  const auto sample = load(x, d);
  std::vector<double> slopes(4 * h.size()), full(2), scatter(2 + d * d), density(x.size() / d);
  const auto sums = [&](int which, const Control& control) {
    switch (which) {
      case 0:
        return sample->sweep(h, true, Precision::full, control, slopes);
      case 1:
        return sample->full(a, Precision::full, control, full);
      case 2:
        return sample->scatter(a, -0.5, 2, Precision::full, control, scatter);
      default:
        return sample->density(a, x, Precision::full, control, density);
    }
  };
  for (int which = 0; which < 4; ++which) {
    for (const int number : {1, 2}) {
      StopAt stop(number);
      EXPECT_EQ(sums(which, stop.control).code, Code::cancelled) << which;
    }
    next.density(a, std::vector<double>(x.begin(), x.begin() + 3 * d));
  }
  ASSERT_TRUE(sums(1, {}).ok());
  const double once = full[0], twice = full[1];
  ASSERT_TRUE(sums(2, {}).ok());
  const auto n = static_cast<double>(x.size() / d);
  EXPECT_NEAR(scatter[0], once, 1e-12 * (n + once));
  EXPECT_NEAR(scatter[1], twice, 1e-12 * (n + twice));
}

TEST(CudaCancel, ALoadOfManyValues) {
  std::vector<double> x = samples::mix(1 << 20);
  StopAt stop(1);
  std::unique_ptr<DeviceSample> sample;
  EXPECT_EQ(cards().load(x, 1, stop.control, &sample).code, Code::cancelled);
  x.resize(1000);
  EXPECT_GT(expect_derivatives(x, 0.2), 10);
}

// In a process of its own, for what other samples take counts as well. Its exit status is the
// number of what went wrong.
int try_memory_limit() {
  std::unique_ptr<Device> small;
  if (const Status s = cuda::make_cuda_device({.memory_limit = std::size_t{8} << 20}, &small);
      !s.ok()) {
    std::fprintf(stderr, "%s\n", s.message);
    return 1;
  }
  std::unique_ptr<DeviceSample> sample;
  const std::vector<double> many = samples::mix(2'000'000);
  if (small->load(many, 1, {}, &sample).code != Code::too_large) return 2;
  const std::vector<double> few = samples::mix(1000);
  if (!small->load(few, 1, {}, &sample).ok()) return 3;
  expect_derivatives(*sample, few, 0.2);
  return testing::Test::HasFailure() ? 4 : 0;
}

TEST(CudaMemoryDeathTest, ALimitRefusesWhatIsTooLarge) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(std::exit(try_memory_limit()), testing::ExitedWithCode(0), "");
}

// Of a build for all capabilities; one for lesser ones alone uses less.
TEST(CudaCard, UsesTheMatrixUnitsThatItHas) {
  std::unique_ptr<cuda::Card> card;
  for (const cuda::MatrixUnits most : kUnits) {
    const Status s = cuda::Card::open(0, {.most_units = most}, &card);
    ASSERT_TRUE(s.ok()) << s.message;
    const DeviceInfo info = card->info();
    const cuda::MatrixUnits has = info.major == 9 && info.minor == 0 ? cuda::MatrixUnits::group
                                  : info.major >= 8                  ? cuda::MatrixUnits::warp
                                                                     : cuda::MatrixUnits::none;
    EXPECT_EQ(card->matrix_units(), std::min(has, most));
  }
}

TEST(CudaDevice, SaysWhatItIs) {
  for (const DeviceInfo& info : cards().devices()) {
    std::printf("%s, compute capability %d.%d, %llu MB, %lld jobs, %.1f ms\n", info.name,
                static_cast<int>(info.major), static_cast<int>(info.minor),
                static_cast<unsigned long long>(info.memory >> 20),
                static_cast<long long>(info.jobs), info.busy_ms);
    EXPECT_GT(info.memory, 0U);
    EXPECT_STREQ(info.last_error, "");
  }
  std::printf("pairs a second: %.3g single, %.3g double\n", cards().pair_rate(Precision::single),
              cards().pair_rate(Precision::full));
}

}  // namespace
}  // namespace kde
