// Predicted times: the tables of device_choice.cpp, and that more work never takes less.
#include "core/sums/device_choice.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace kde {
namespace {

constexpr double kPairRate[] = {3.9e12, 5.9e11};  // single, double

SumsWork work(std::int64_t n, int d, int sums, Precision precision) {
  return {n, d, sums, precision};
}

double device_ms(const SumsWork& w) {
  return predicted_device_ms(w, kPairRate[w.precision == Precision::single ? 0 : 1]);
}

TEST(Choose, MoreWorkTakesLonger) {
  for (const Precision precision : {Precision::single, Precision::full}) {
    // In one dimension sums are others than in more: no order between d = 1 and 2 in double.
    const std::vector<SumsWork> steps[] = {
        {work(2, 1, 1, precision), work(3, 1, 1, precision), work(1000, 1, 1, precision),
         work(std::int64_t{1} << 40, 1, 1, precision)},
        {work(1000, 2, 1, precision), work(1000, 3, 1, precision), work(1000, 16, 1, precision)},
        {work(1000, 4, 1, precision), work(1000, 4, 2, precision), work(1000, 4, 500, precision)},
    };
    for (const std::vector<SumsWork>& order : steps) {
      for (std::size_t k = 1; k < order.size(); ++k) {
        EXPECT_LT(predicted_processor_ms(order[k - 1], 1), predicted_processor_ms(order[k], 1));
        EXPECT_LT(device_ms(order[k - 1]), device_ms(order[k]));
      }
    }
  }
  EXPECT_LT(device_ms(work(1000, 1, 1, Precision::full)),
            device_ms(work(1000, 2, 1, Precision::full)));
}

// An estimate of n points at m takes n m terms instead of n (n - 1)/2 pairs, and hands over both.
TEST(Choose, QueriesCount) {
  SumsWork at = work(1000, 3, 1, Precision::full);
  at.queries = 999;
  const SumsWork pairs = work(1000, 3, 2, Precision::full);
  EXPECT_DOUBLE_EQ(predicted_processor_ms(at, 2), predicted_processor_ms(pairs, 2));
  // Of no time for the terms, what remains is handing over 999 points more.
  EXPECT_NEAR(predicted_device_ms(at, 1e300) -
                  predicted_device_ms(work(1000, 3, 1, Precision::full), 1e300),
              4.7e-7 * 8 * 3 * 999, 1e-9);
  // In one dimension the terms are the Gaussian's, not a derivative's.
  at.d = 1;
  EXPECT_LT(predicted_processor_ms(at, 1),
            predicted_processor_ms(work(1000, 1, 2, Precision::full), 1));
}

TEST(Choose, MoreMeansTakeLess) {
  const SumsWork w = work(5000, 3, 10, Precision::full);
  EXPECT_EQ(predicted_processor_ms(w, 4), predicted_processor_ms(w, 1) / 4);
  EXPECT_GT(predicted_device_ms(w, 1e10), predicted_device_ms(w, 1e11));
  EXPECT_LT(predicted_processor_ms(work(5000, 3, 10, Precision::single), 1),
            predicted_processor_ms(w, 1));
  // However fast the device, the way there remains.
  EXPECT_GT(predicted_device_ms(w, 1e300), 0.5);
}

// The table of pairs: each line within a tenth of what was measured.
TEST(Choose, ProcessorAsMeasured) {
  struct Measured {
    int d;
    double single_ns, double_ns;
  };
  for (const Measured& m :
       {Measured{1, 0.212, 0.983}, Measured{2, 0.234, 0.631}, Measured{4, 0.343, 0.829},
        Measured{8, 0.477, 1.075}, Measured{16, 0.708, 1.573}}) {
    constexpr std::int64_t kPoints = 2001;  // 2,001,000 pairs
    const double ms_per_ns = 2.001;
    EXPECT_NEAR(predicted_processor_ms(work(kPoints, m.d, 1, Precision::single), 1) / ms_per_ns,
                m.single_ns, 0.1 * m.single_ns);
    EXPECT_NEAR(predicted_processor_ms(work(kPoints, m.d, 1, Precision::full), 1) / ms_per_ns,
                m.double_ns, 0.1 * m.double_ns);
  }
}

// The table of crossovers, to the digits that it shows.
TEST(Choose, CrossesWhereTheCommentSays) {
  struct Crossover {
    int d, sums;
    Precision precision;
    double start_ms;
    std::int64_t below, above;
  };
  const Crossover table[] = {
      {1, 2, Precision::full, 0, 640, 655},
      {1, 2, Precision::full, kServiceStartMs, 55350, 55450},
      {1, 2, Precision::single, 0, 1395, 1405},
      {1, 2, Precision::single, kServiceStartMs, 119500, 120500},
      {4, 100, Precision::full, 0, 515, 525},
      {4, 100, Precision::full, kServiceStartMs, 8835, 8850},
      {4, 100, Precision::single, 0, 795, 805},
      {4, 100, Precision::single, kServiceStartMs, 13650, 13750},
  };
  for (const Crossover& c : table) {
    const auto device_wins = [&](std::int64_t n) {
      const SumsWork w = work(n, c.d, c.sums, c.precision);
      return c.start_ms + device_ms(w) < predicted_processor_ms(w, 2);
    };
    EXPECT_FALSE(device_wins(c.below)) << c.below;
    EXPECT_TRUE(device_wins(c.above)) << c.above;
  }
}

}  // namespace
}  // namespace kde
