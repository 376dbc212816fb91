// The engines against each other and against sums small enough to know.
//
// Bounds of a vector sum against the reference. With u = 2^-24, z, p, the exponential, Horner's
// steps and the sum of a run round some fifteen times at most, each with a standard deviation of
// u/sqrt(3) of what it rounds, which is no more than the sum of the moduli of the monomials,
// sum_k |c_k| p^k exp(-p), whose largest value is sqrt(2 pi) B_r; the roundings of z and p weigh up
// to twice as much, because K'(z) z does. So a term's error has a standard deviation of at most
// 4 u B_r. The roundings of n^2/2 terms are independent: that of the sum is at most
// 4 u B_r n / sqrt(2), and five of those are 8.5e-7 B_r n. In double the same is 1.6e-15 B_r n.
// To it comes what the reference's own additions lose. Where the terms have one sign, the sum S is
// the largest partial sum: the n additions of a row and those of the n rows lose 2^-52 n |S| at
// most. Where they cancel, S says nothing, but rows do not all err alike: the roundings of a row's
// additions, 2^-53 of up to n |K^(r)(0)|/10 each as few points are within the peak, add up over n^2
// additions to a standard deviation of 2^-53 n^2 |K^(r)(0)|/17, five of which are
// 5e-14 n |K^(r)(0)| for n = 1600; 1.8e-13 is asked for up to 3000.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <thread>
#include <tuple>
#include <vector>

#include "core/sums/engine_parts.h"
#include "core/sums/gaussian_derivatives.h"
#include "core/sums/gaussian_derivatives.h"
#include "core/sums/ordered_sum.h"
#include "core/sums/pair_sums.h"
#include "samples.h"

namespace kde {
namespace {

double sum_of(const Engine& engine, const std::vector<double>& x, int r, double g,
              const Control& control = {}) {
  std::unique_ptr<PairSums> sums;
  const Status made = make_pair_sums(engine, x, control, &sums);
  EXPECT_TRUE(made.ok()) << made.message;
  double sum = std::numeric_limits<double>::quiet_NaN();
  if (!made.ok()) return sum;
  const Status status = sums->derivative(r, g, &sum);
  EXPECT_TRUE(status.ok()) << status.message;
  return sum;
}

const Engine kReference{Engine::Kind::reference, 0, Precision::full};

constexpr int kOrders[] = {0, 2, 4, 6, 8, 10};

double peak(int r) { return std::fabs(gaussian_derivative(r, 0)); }

// B_r of the comment above.
double monomials(int r) {
  constexpr double kLargest[] = {0.40, 0.49, 2.8, 28, 389, 6993};
  return kLargest[r / 2];
}

// Of a sum over n points that the reference says is `sum`.
double bound(Precision precision, int r, double n, double sum) {
  const double terms = (precision == Precision::single ? 8.5e-7 : 1.6e-15) * monomials(r);
  return (terms + 1.8e-13 * peak(r) + 0x1p-52 * std::fabs(sum)) * n;
}

// The reference's sums are kept, as every engine and instruction set asks for the same.
double reference_sum(const std::vector<double>& x, int r, double g) {
  static std::map<std::tuple<std::vector<double>, int, double>, double> known;
  const auto [at, is_new] = known.try_emplace({x, r, g});
  if (is_new) at->second = sum_of(kReference, x, r, g);
  return at->second;
}

class EverySimdEngine : public testing::TestWithParam<std::tuple<SimdTarget, Precision>> {
 protected:
  Engine engine() const {
    return {Engine::Kind::simd, std::get<0>(GetParam()).target, std::get<1>(GetParam())};
  }

  void expect_reference(const std::vector<double>& x, double g) {
    const double n = static_cast<double>(x.size());
    for (const int r : kOrders) {
      const double expected = reference_sum(x, r, g);
      EXPECT_NEAR(sum_of(engine(), x, r, g), expected, bound(engine().precision, r, n, expected))
          << "r = " << r << ", n = " << n << ", g = " << g;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, EverySimdEngine,
                         testing::Combine(testing::ValuesIn(simd_targets()),
                                          testing::Values(Precision::single, Precision::full)),
                         [](const auto& tested) {
                           return std::get<0>(tested.param).name +
                                  (std::get<1>(tested.param) == Precision::single ? "_single"
                                                                                  : "_double");
                         });

TEST(Reference, OfTwoPointsIsTheKernel) {
  const double phi1 = std::exp(-0.5) / std::sqrt(2 * std::numbers::pi);
  EXPECT_NEAR(sum_of(kReference, {0, 1}, 4, 1), -2 * phi1, 1e-15);
  EXPECT_NEAR(sum_of(kReference, {0, 1}, 6, 1), 16 * phi1, 1e-14);
  EXPECT_NEAR(sum_of(kReference, {5, 3}, 6, 2), 16 * phi1, 1e-14);
  // He_8(1) and He_10(1).
  EXPECT_NEAR(sum_of(kReference, {0, 1}, 8, 1), -132 * phi1, 1e-13);
  EXPECT_NEAR(sum_of(kReference, {0, 1}, 10, 1), 1216 * phi1, 1e-12);
}

// Against the Hermite polynomials by their recurrence. Near a root the monomials cancel: each is
// rounded a few times, and their sum is that of the bounds above.
TEST(Reference, HasEveryOrder) {
  for (const int r : kOrders) {
    for (double z = 0; z < 12; z += 0.37) {
      EXPECT_NEAR(sum_of(kReference, {0, z}, r, 1), gaussian_derivative(r, z),
                  20 * 0x1p-53 * monomials(r))
          << "r = " << r << ", z = " << z;
    }
  }
}

template <int R>
double in_p(double p) {
  double sum = 0;
  for (int k = HermiteInP<R>::kDegree; k >= 0; --k) sum = sum * p + HermiteInP<R>::kCoefficients[k];
  return sum;
}

// At z^2 = 2 p the polynomials have whole values, without rounding on either side.
TEST(HermiteInP, IsThePolynomial) {
  for (const double p : {0.0, 2.0, 8.0, 18.0}) {
    const double z = std::sqrt(2 * p);
    const double weight = gaussian_derivative(0, z);
    const auto hermite = [&](int r) { return std::round(gaussian_derivative(r, z) / weight); };
    EXPECT_EQ(in_p<0>(p), hermite(0));
    EXPECT_EQ(in_p<2>(p), hermite(2));
    EXPECT_EQ(in_p<4>(p), hermite(4));
    EXPECT_EQ(in_p<6>(p), hermite(6));
    EXPECT_EQ(in_p<8>(p), hermite(8));
    EXPECT_EQ(in_p<10>(p), hermite(10));
  }
  EXPECT_EQ(in_p<10>(0), hermite_at_zero(10));
  EXPECT_EQ(in_p<8>(0), hermite_at_zero(8));
}

// What engine_parts.h says of it: beyond it the kernel only falls, and 1e-19 of the peak is left.
TEST(Reach, LeavesOutLessThanRoundingCanSee) {
  for (const int r : kOrders) {
    double before = 1e-19 * peak(r);
    for (double z = kernel_reach(r); z < 13; z += 0.25) {
      const double here = std::fabs(gaussian_derivative(r, z));
      EXPECT_LT(here, before) << "r = " << r << ", z = " << z;
      before = here;
    }
  }
}

// Every size around a leaf, a vector, a tile and several tiles.
TEST_P(EverySimdEngine, AgreesWithTheReferenceAtEverySize) {
  const std::vector<double> x = samples::mix(1600);
  for (const int n : {2,  3,   5,   16,  17,  31,  32,   33,   34,   64,  65,
                      67, 127, 129, 511, 512, 513, 1023, 1024, 1025, 1600}) {
    expect_reference({x.begin(), x.begin() + n}, 0.4);
  }
}

TEST_P(EverySimdEngine, AgreesWithTheReferenceAtEveryBandwidth) {
  const std::vector<double> x = samples::mix(1200);
  for (const double g : {1e-300, 1e-9, 1e-3, 0.02, 0.3, 3.0, 1e3, 1e300}) {
    // All terms alike add up to n^2/2 of them: with a wide kernel the bound is on each pair.
    const double n = static_cast<double>(x.size());
    const double scale = g > 1 ? n : 1;
    for (const int r : kOrders) {
      const double expected = reference_sum(x, r, g);
      EXPECT_NEAR(sum_of(engine(), x, r, g), expected,
                  scale * bound(engine().precision, r, n, expected))
          << "r = " << r << ", g = " << g;
    }
  }
}

TEST_P(EverySimdEngine, AgreesWithTheReferenceOnHeavyTails) {
  expect_reference(samples::cauchy(2000, 1), 0.5);
  expect_reference(samples::lognormal(2000, 2), 0.3);
}

// A gap of any size between clusters must not cost those far from zero their accuracy.
TEST_P(EverySimdEngine, AgreesWithTheReferenceFarFromZero) {
  std::vector<double> x = samples::mix(600);
  for (double v : samples::mix(600)) x.push_back(v * 0.5 + 1e6);
  for (double v : samples::mix(100)) x.push_back(v - 1e6);
  expect_reference(x, 0.4);
  x.push_back(1e308);
  x.push_back(-1e308);
  expect_reference(x, 0.4);
}

TEST_P(EverySimdEngine, AgreesWithTheReferenceOnTies) {
  std::vector<double> x;
  for (double v : samples::mix(1500)) x.push_back(std::round(2 * v));
  // Repeated values are summed in double whatever the precision asked for.
  const double n = static_cast<double>(x.size());
  for (const int r : kOrders) {
    for (const double g : {0.1, 1.0, 10.0}) {
      EXPECT_NEAR(sum_of(engine(), x, r, g), reference_sum(x, r, g),
                  1e-14 * std::max(1.0, peak(r)) * n * n);
    }
  }
  const std::vector<double> equal(700, 4.25);
  const double k6 = -15 / std::sqrt(2 * std::numbers::pi) * (700.0 * 699 / 2);
  EXPECT_NEAR(sum_of(engine(), equal, 6, 1), k6, 1e-13 * std::fabs(k6));
  const double k8 = 105 / std::sqrt(2 * std::numbers::pi) * (700.0 * 699 / 2);
  EXPECT_NEAR(sum_of(engine(), equal, 8, 1), k8, 1e-13 * std::fabs(k8));
}

TEST_P(EverySimdEngine, HasTheSameBitsForAnyThreadsAndAnyOrder) {
  std::vector<double> x = samples::mix(4000);
  for (const int r : kOrders) {
    const double once = sum_of(engine(), x, r, 0.3);
    for (const int threads : {2, 3}) {
      Control control;
      control.threads = threads;
      EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of(engine(), x, r, 0.3, control)),
                std::bit_cast<std::uint64_t>(once))
          << threads << " threads";
    }
    std::vector<double> reversed(x.rbegin(), x.rend());
    EXPECT_EQ(sum_of(engine(), reversed, r, 0.3), once);
  }
}

// Points 10 apart and a kernel of width 10: whole pairs of tiles are out of reach, and none of the
// neighbours in the next tile are.
TEST_P(EverySimdEngine, LeavesOutOnlyWhatIsOutOfReach) {
  std::vector<double> x;
  for (int i = 0; i < 3000; ++i) x.push_back(i * 10.0);
  expect_reference(x, 10.0);
  expect_reference(x, 100.0);
}

// More items than one batch holds, of very different sizes, so that another order would show.
TEST(OrderedSum, HasTheSameBitsForAnyThreads) {
  constexpr std::int64_t kItems = 150000;
  const auto work = [](std::int64_t item, double* out) {
    out[0] = 1;
    out[1] = std::ldexp(1.0 / static_cast<double>(item + 1), static_cast<int>(item % 40));
  };
  double expected = 0;
  for (std::int64_t item = 0; item < kItems; ++item) {
    double out[2];
    work(item, out);
    expected += out[1];
  }
  for (const int threads : {1, 2, 3}) {
    double totals[2] = {7, 7};
    ASSERT_TRUE(ordered_sum({threads, nullptr, nullptr}, kItems, work, totals).ok());
    EXPECT_EQ(totals[0], kItems);
    EXPECT_EQ(totals[1], expected);
  }
}

// What a watcher is told: done of the piece, never less than before, and in the end all.
struct Watched {
  WorkAmount piece;
  std::int64_t first = -1, last = -1;
  int times = 0;
  bool ascending = true;
};

void watch(void* arg, WorkAmount piece, std::int64_t done) {
  Watched* w = static_cast<Watched*>(arg);
  if (w->times++ == 0) w->first = done;
  w->ascending = w->ascending && done >= w->last;
  w->last = done;
  w->piece = piece;
}

TEST(Progress, OfEveryEngineGoesFromNothingToAllPairs) {
  const std::vector<double> x = samples::mix(3000);
  for (const Engine& engine : {kReference, Engine{}}) {
    for (const int threads : {1, 3}) {
      Watched watched;
      Control control;
      control.threads = threads;
      control.on_progress = watch;
      control.progress_arg = &watched;
      std::unique_ptr<PairSums> sums;
      ASSERT_TRUE(make_pair_sums(engine, x, control, &sums).ok());
      double sum = 0;
      ASSERT_TRUE(sums->derivative(6, 0.3, &sum).ok());
      EXPECT_EQ(watched.first, 0);
      EXPECT_TRUE(watched.ascending);
      EXPECT_GT(watched.times, 2);
      EXPECT_EQ(watched.piece.unit, WorkUnit::pairs);
      EXPECT_EQ(watched.last, watched.piece.total);
      EXPECT_EQ(watched.piece.total, std::int64_t{3000} * 2999 / 2);
    }
  }
}

TEST(OrderedSum, TellsNothingOfNoAmount) {
  Watched watched;
  Control control;
  control.on_progress = watch;
  control.progress_arg = &watched;
  double total = 0;
  ASSERT_TRUE(ordered_sum(control, 10, [](std::int64_t, double*) {}, {&total, 1}).ok());
  EXPECT_EQ(watched.times, 0);
  ASSERT_TRUE(
      ordered_sum(control, 10, [](std::int64_t, double*) {}, {&total, 1}, {WorkUnit::steps, 30})
          .ok());
  EXPECT_EQ(watched.times, 11);
  EXPECT_EQ(watched.last, 30);
}

TEST(OrderedSum, OfNothingIsZero) {
  double total = 7;
  ASSERT_TRUE(ordered_sum({}, 0, [](std::int64_t, double*) {}, {&total, 1}).ok());
  EXPECT_EQ(total, 0);
}

struct StopAfter {
  int polls = 0;
  int limit = 0;
};

bool stop_after(void* arg) {
  StopAfter* stop = static_cast<StopAfter*>(arg);
  return ++stop->polls > stop->limit;
}

void expect_cancelled(const Engine& engine, int threads, int limit) {
  std::vector<double> x = samples::mix(8000);
  std::sort(x.begin(), x.end());  // what is in order is not sorted, which would poll as well
  StopAfter stop{0, limit};
  const Control control{threads, stop_after, &stop};
  std::unique_ptr<PairSums> sums;
  ASSERT_TRUE(make_pair_sums(engine, x, control, &sums).ok());
  double sum = 0;
  EXPECT_EQ(sums->derivative(6, 0.3, &sum).code, Code::cancelled);
  // Once told to stop, no engine asks again.
  EXPECT_EQ(stop.polls, limit + 1);
}

TEST(Cancellation, EndsEveryEngine) {
  for (const Engine& engine : {kReference, Engine{}}) {
    expect_cancelled(engine, 1, 0);
    expect_cancelled(engine, 1, 3);
    // How many items the calling thread gets among others is the scheduler's to say; that it polls
    // before the first is not.
    expect_cancelled(engine, 3, 0);
  }
}

// Tells to stop at the tenth poll, and lets go of who waits for that.
struct Signal {
  std::thread::id caller = std::this_thread::get_id();
  int polls = 0;
  bool polled_elsewhere = false;
  std::atomic<bool> stopped{false};
};

bool stop_at_the_tenth_poll(void* arg) {
  Signal* signal = static_cast<Signal*>(arg);
  if (std::this_thread::get_id() != signal->caller) signal->polled_elsewhere = true;
  if (++signal->polls < 10) return false;
  signal->stopped = true;
  return true;
}

// Every other thread is held in its first item until the stop has been asked for, so that the rest
// of the items is the calling thread's, however the threads are scheduled.
TEST(Cancellation, EndsTheWorkOfOtherThreads) {
  Signal signal;
  std::atomic<int> items{0};
  const auto work = [&](std::int64_t, double*) {
    if (std::this_thread::get_id() == signal.caller) {
      // The first takes so long that the rest is shared.
      const auto start = std::chrono::steady_clock::now();
      while (items == 0 && std::chrono::steady_clock::now() - start < std::chrono::milliseconds(2))
        std::this_thread::yield();
      ++items;
      return;
    }
    ++items;
    while (!signal.stopped) std::this_thread::yield();
  };
  double total = 0;
  EXPECT_EQ(ordered_sum({3, stop_at_the_tenth_poll, &signal}, 1000, work, {&total, 1}).code,
            Code::cancelled);
  EXPECT_FALSE(signal.polled_elsewhere);
  EXPECT_EQ(signal.polls, 10);
  EXPECT_LT(items, 1000);
}

TEST(Arguments, AreChecked) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Engine& engine : {kReference, Engine{}}) {
    std::unique_ptr<PairSums> sums;
    const Control control;
    EXPECT_EQ(make_pair_sums(engine, {}, control, &sums).code, Code::invalid_argument);
    for (const double bad : {nan, infinity, -infinity}) {
      const std::vector<double> x = {1, bad, 2};
      EXPECT_EQ(make_pair_sums(engine, x, control, &sums).code, Code::invalid_argument);
    }
    const std::vector<double> x = {1, 2};
    EXPECT_EQ(make_pair_sums(engine, {x.data(), 1}, control, &sums).code, Code::invalid_argument);
    ASSERT_TRUE(make_pair_sums(engine, x, control, &sums).ok());
    double sum = 0;
    for (const double bad : {0.0, -1.0, nan, infinity}) {
      EXPECT_EQ(sums->derivative(4, bad, &sum).code, Code::invalid_argument);
    }
    for (const int bad : {-2, 5, 12}) {
      EXPECT_EQ(sums->derivative(bad, 1, &sum).code, Code::invalid_argument);
    }
  }
  std::unique_ptr<PairSums> sums;
  const std::vector<double> x = {1, 2};
  EXPECT_EQ(make_pair_sums({Engine::Kind::simd, 3, Precision::single}, x, {}, &sums).code,
            Code::invalid_argument);
}

TEST(Targets, AreNamedAndTheFirstIsTheDefault) {
  const std::vector<SimdTarget> targets = simd_targets();
  ASSERT_FALSE(targets.empty());
  for (const SimdTarget& target : targets) EXPECT_FALSE(target.name.empty());
  const std::vector<double> x = samples::mix(1000);
  const Engine first{Engine::Kind::simd, targets.front().target, Precision::single};
  EXPECT_EQ(sum_of(Engine{}, x, 6, 0.3), sum_of(first, x, 6, 0.3));
}

}  // namespace
}  // namespace kde
