// Sums of the cards in 1 to 16 dimensions at every size from two points on, within the bounds of
// checks.h.
#include <gtest/gtest.h>

#include "checks.h"

namespace kde {
namespace {

class CudaGaussian : public testing::TestWithParam<int> {};

constexpr int kSizes[] = {2,   3,   17,  31,  33,  63,   64,   65,   127,
                          128, 129, 300, 511, 513, 1000, 2047, 2049, 4097};

TEST_P(CudaGaussian, Sweeps) {
  const int d = GetParam();
  for (const int n : kSizes) {
    const std::vector<double> x = points(n, d);
    const double h0 = normal_reference(x, d);
    GaussianCheck check(x, d);
    double most = check.sweep(std::vector<double>{3 * h0});
    most = std::max(most, check.sweep(std::vector<double>{0.4 * h0, h0, 0.05 * h0}));
    if (n >= 300) {
      EXPECT_GT(most, 10) << n;
    }
    // One launch takes 256; the processor would take long over more points.
    for (const std::size_t count : {150U, 300U}) {
      if (n > 300) continue;
      std::vector<double> h;
      for (std::size_t k = 0; k < count; ++k)
        h.push_back(h0 * (0.4 + 2.6 * static_cast<double>(k) / static_cast<double>(count)));
      check.sweep(h);
    }
  }
}

TEST_P(CudaGaussian, SumsOfAMatrix) {
  const int d = GetParam();
  for (const int n : kSizes) {
    const std::vector<double> x = points(n, d);
    const double h0 = normal_reference(x, d);
    GaussianCheck check(x, d);
    double most = 0;
    for (const double factor : {0.4, 1.0, 3.0})
      most = std::max(most, check.matrix(triangle(d, factor * h0)));
    if (n >= 300) {
      EXPECT_GT(most, 10) << n;
    }
    check.matrix(triangle(d, 0.05 * h0));
    check.matrix(triangle(d, h0), 3, 0);
  }
}

TEST_P(CudaGaussian, DensitiesAtOtherPoints) {
  const int d = GetParam();
  for (const int n : {2, 128, 129, 1500}) {
    const std::vector<double> x = points(n, d);
    GaussianCheck check(x, d);
    // The first n are points of the sample (but for what `points` changes), the last one too.
    const std::vector<double> queries = samples::mix(777, d);
    std::vector<double> more = x;
    more.resize(std::min<std::size_t>(more.size(), 200 * static_cast<std::size_t>(d)));
    more.insert(more.end(), x.end() - d, x.end());
    for (const double factor : {0.4, 1.0, 3.0}) {
      const std::vector<double> a = triangle(d, factor * normal_reference(x, d));
      check.density(a, queries);
      check.density(a, more);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDimension, CudaGaussian,
                         testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));

// Sizes whose gradients a thread computes for several points at once, and some of whose jobs have
// several strips.
TEST(CudaManyPoints, SumsOfAMatrix) {
  for (const int d : {1, 2, 3, 4, 5, 16}) {
    for (const int n : {8192, 8961, 30001}) {
      const std::vector<double> x = points(n, d);
      GaussianCheck(x, d).matrix(triangle(d, normal_reference(x, d)));
    }
  }
}

void expect_all(const std::vector<double>& x, int d, double h, Refusal refusal) {
  GaussianCheck check(x, d, refusal);
  check.sweep(std::vector<double>{h});
  check.sweep(std::vector<double>{0.4 * h, 3 * h});
  check.matrix(triangle(d, h));
  std::vector<double> queries(x.begin(), x.begin() + 40 * d);
  for (double& q : queries) q += 0.3 * h;
  check.density(triangle(d, h), queries);
  if (d == 1) expect_derivatives(x, h, refusal);
}

// The centre is to come off before coordinates are rounded, even to double: 1e6 bandwidths take six
// digits. Differences of these values have no rounding of their own.
TEST(CudaExtremes, PointsFarFromTheOrigin) {
  for (const int d : {2, 5}) {
    std::vector<double> x = samples::mix(1000, d);
    const double h = normal_reference(x, d);
    for (double& v : x) v += 1e6 * h;
    expect_all(x, d, h, Refusal::no);
    for (double& v : x) v -= 3e6 * h;
    expect_all(x, d, h, Refusal::no);
  }
}

// Many points of few places, so that terms of 1 are as many as others; some of the places are so
// near to each other that only what is left of a coordinate tells them apart.
TEST(CudaExtremes, PointsOfFewPlaces) {
  for (const int d : {4, 7, 16}) {
    const std::vector<double> places = samples::mix(40, d);
    const double h = normal_reference(places, d);
    std::vector<double> x;
    for (std::size_t i = 0; i < 3000; ++i) {
      const std::size_t place = i * 7 % 40;
      for (std::size_t k = 0; k < static_cast<std::size_t>(d); ++k)
        x.push_back(places[place % 20 * static_cast<std::size_t>(d) + k] +
                    (place < 20 ? 0 : 1e-4 * h));
    }
    expect_all(x, d, h, Refusal::no);
  }
}

// So many points of few places, one after another or in turn, that terms which are equal to the bit
// meet in one sum: their roundings have one sign, and no average takes them away.
TEST(CudaExtremes, ManyPointsOfFewPlaces) {
  for (const int d : {1, 2, 4, 8, 16}) {
    const int n = d <= 4 ? 8192 : 16384;
    const auto size = static_cast<std::size_t>(d);
    const std::vector<double> places = samples::mix(32, d);
    const double h = normal_reference(places, d);
    for (const bool in_turn : {false, true}) {
      std::vector<double> x, binary;
      for (int i = 0; i < n; ++i) {
        const auto place = static_cast<std::size_t>(in_turn ? i % 32 : i / (n / 32));
        for (std::size_t k = 0; k < size; ++k) {
          x.push_back(places[place * size + k]);
          binary.push_back(static_cast<double>(place >> k % 5 & 1));
        }
      }
      GaussianCheck check(x, d), check_binary(binary, d);
      for (const double factor : {0.5, 1.0, 2.0})
        check.matrix(triangle(d, factor * h), -0.5, 2, d > 4);
      for (const double width : {0.5, 0.7, 1.0, 2.0})
        check_binary.matrix(triangle(d, width), -0.5, 2, d > 4);
    }
  }
}

// Two clusters so many bandwidths apart, half of their points tied: sums of coordinates, and
// roundings that no average takes away, are as great as the distance.
TEST(CudaExtremes, ClustersFarApart) {
  for (const int d : {4, 8, 16}) {
    for (const double apart : {10.0, 40.0, 120.0}) {
      std::vector<double> x = samples::mix(2049, d);
      const double h = normal_reference(x, d);
      const auto size = static_cast<std::size_t>(d);
      for (std::size_t i = 0; i < 2049; ++i) {
        for (std::size_t k = 0; k < size; ++k) {
          double& v = x[i * size + k];
          if (i % 2 == 0) v = h * std::round(v / h);
          v += (i % 4 < 2 ? -0.5 : 0.5) * apart * h / std::sqrt(d);
        }
      }
      GaussianCheck check(x, d);
      check.matrix(triangle(d, h));
      check.matrix(triangle(d, h), 3, 0);
      check.density(triangle(d, h), std::vector<double>(x.begin(), x.begin() + 300 * d));
    }
  }
}

// A matrix whose condition is 1e4: the bound of a radius is far from the radius itself.
TEST(CudaExtremes, FlatBandwidths) {
  for (const int d : {4, 11}) {
    const std::vector<double> x = points(3000, d);
    std::vector<double> a = triangle(d, normal_reference(x, d));
    for (int k = 0; k < d; ++k) {
      const double scale = std::pow(100, -2. * k / (d - 1) + 1);
      for (int l = 0; l <= k; ++l) a[static_cast<std::size_t>(k * d + l)] *= scale;
    }
    GaussianCheck check(x, d);
    check.matrix(a);
    check.density(a, samples::mix(500, d));
  }
}

// Right or refused: squares of these are beyond single precision, or denormal in it.
TEST(CudaExtremes, TinyAndHugePoints) {
  for (const int d : {1, 2, 5}) {
    for (const double extent : {1e-20, 1e20}) {
      std::vector<double> x = samples::mix(500, d);
      for (double& v : x) v *= extent;
      for (const double factor : {1.0, 0.1}) expect_all(x, d, factor * extent, Refusal::allowed);
    }
  }
}

// Fewer queries than a block has threads, where memory for results still has the infinities of a
// sort of the card's (derivative.h): what is nobody's result is not looked at.
TEST(CudaExtremes, DensitiesAfterASort) {
  const std::vector<double> x = points(300, 2);
  const double h0 = normal_reference(x, 2);
  GaussianCheck check(x, 2);
  check.sweep(std::vector<double>(200, h0));  // room for more results than the others'
  for (const cuda::MatrixUnits most : kUnits) load(shuffled(samples::mix(3000)), 1, most);
  check.density(triangle(2, h0), samples::mix(40, 2));
}

}  // namespace
}  // namespace kde
