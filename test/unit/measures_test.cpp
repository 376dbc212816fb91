// Measures against the rows they were made of: exact where the summary holds every value, within
// their intervals elsewhere, merged, copied, stored and read.
#include "core/summary/measures.h"

#include "core/fit/fit.h"
#include "core/answer/measure_evidence.h"
#include "core/summary/measure_encode.h"
#include "core/summary/owned_summary.h"
#include "round_trip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace kde {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Row {
  double x, y;
};

// Rows, and what a scan of them makes.
class Column {
 public:
  explicit Column(const std::vector<Row>& rows) : measures(summary.memory(), 1) {
    for (const Row& r : rows) add(r);
  }
  void add(const Row& r) { EXPECT_TRUE(measures.add(r.x, std::span(&r.y, 1), &*summary).ok()); }
  void merge(Column* other) {
    EXPECT_TRUE(measures.merge(&other->measures, &*other->summary, &*summary).ok());
  }
  void merge(const DensityBytes& density) {
    DecodedMeasures decoded;
    decode_measures(&density.header(), &decoded);
    EXPECT_TRUE(measures.merge(decoded.stored(density.header()), &*summary).ok());
  }
  DensityBytes finish(std::size_t budget = kMaxBytes) {
    EXPECT_TRUE(measures.settle(&*summary).ok());
    FitOptions options;
    options.budget = budget;
    DensityBytes density;
    const Status status = kde::finish(*summary, options, {}, &density, &measures);
    EXPECT_TRUE(status.ok()) << status.message;
    EXPECT_TRUE(validate(density.data(), density.size()).ok());
    EXPECT_LE(density.size(), budget);
    return density;
  }

  OwnedSummary summary;
  Measures measures;
};

Range between(double lower, double upper) {
  Range r;
  r.lower = lower;
  r.upper = upper;
  r.lower_unbounded = r.upper_unbounded = false;
  return r;
}

bool holds(const Range& r, double x) {
  if (r.empty) return false;
  const auto after = [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a > b; };
  const bool low =
      r.lower_unbounded || after(x, r.lower) || (r.lower_inclusive && !after(r.lower, x));
  const bool high =
      r.upper_unbounded || after(r.upper, x) || (r.upper_inclusive && !after(x, r.upper));
  return low && high;
}

// The answers by adding up.
struct Truth {
  double count = 0, sum = 0, mean = 0, variance = 0;

  Truth(const std::vector<Row>& rows, const Range& range) {
    for (const Row& r : rows) {
      if (std::isnan(r.y) || !holds(range, r.x)) continue;
      ++count;
      sum += r.y;
    }
    mean = sum / count;
    for (const Row& r : rows)
      if (!std::isnan(r.y) && holds(range, r.x)) variance += (r.y - mean) * (r.y - mean) / count;
  }
};

// Amounts of both signs in whole cents, some NULL, that depend on x.
std::vector<Row> make_rows(std::size_t n, int values, unsigned seed, double nulls = 0.1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<Row> rows;
  for (std::size_t i = 0; i < n; ++i) {
    const double u = uniform(random);
    const double x = values > 0 ? std::floor(u * u * values) : 1000 * u * u;
    const double y =
        std::nearbyint((30 * std::sin(7 * u) + 20 * normal(random) + 5) * 100) / 100 + 0.0;
    rows.push_back({x, uniform(random) < nulls ? kNan : y});
  }
  return rows;
}

void expect_exact(const DensityBytes& density, const std::vector<Row>& rows, const Range& range) {
  const DensityView d(&density.header());
  const MeasureView m(&density.header(), 0);
  const Truth truth(rows, range);
  const Interval count = interval_of(Wanted::count, d, m, range, {});
  EXPECT_EQ(count.estimate, truth.count);
  EXPECT_EQ(count.upper - count.lower, 0);
  if (truth.count == 0) {
    EXPECT_TRUE(std::isnan(interval_of(Wanted::mean, d, m, range, {}).estimate));
    return;
  }
  const double scale = 1e-12 * (std::fabs(truth.sum) + truth.count);
  const Interval sum = interval_of(Wanted::sum, d, m, range, {});
  EXPECT_NEAR(sum.estimate, truth.sum, scale);
  EXPECT_LE(sum.upper - sum.lower, scale);
  const Interval mean = interval_of(Wanted::mean, d, m, range, {});
  EXPECT_NEAR(mean.estimate, truth.mean, 1e-12 * (std::fabs(truth.mean) + 1));
  const Interval variance = interval_of(Wanted::variance, d, m, range, {});
  EXPECT_LE(variance.lower, truth.variance * (1 + 1e-9) + 1e-12);
  EXPECT_GE(variance.upper, truth.variance * (1 - 1e-9) - 1e-12);
  // Squares are the least of what is asked, and stored as they are where there is room.
  if (m.part(MeasurePart::squares).header().error == 0) {
    EXPECT_LE(variance.upper - variance.lower, 1e-9 * truth.variance + 1e-12);
  }
}

std::vector<Range> some_ranges(double low, double high, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<Range> out(3);
  out[0].lower_unbounded = false;
  out[0].lower = uniform(random);
  out[1].upper_unbounded = false;
  out[1].upper = uniform(random);
  for (int i = 0; i < 40; ++i) {
    const double a = uniform(random);
    const double b = uniform(random);
    out.push_back(between(std::min(a, b), std::max(a, b)));
    if (i % 4 == 1) out.back().lower_inclusive = out.back().upper_inclusive = false;
    if (i % 8 == 2) out.back().upper = out.back().lower = std::floor(a);
  }
  return out;
}

TEST(Measures, AreExactWhereXHasFewValues) {
  for (const double nulls : {0.0, 0.1}) {
    const std::vector<Row> rows = make_rows(50000, 300, 1, nulls);
    const DensityBytes density = Column(rows).finish();
    for (const Range& range : some_ranges(-10, 310, 2)) expect_exact(density, rows, range);
  }
}

TEST(Measures, AreExactInFourKilobytesOfWholeNumbers) {
  std::vector<Row> rows = make_rows(40000, 300, 3, 0);
  for (Row& r : rows) r.y = std::nearbyint(r.y) + 1016;
  const DensityBytes density = Column(rows).finish(4096);
  for (const Range& range : some_ranges(-10, 310, 4)) expect_exact(density, rows, range);
}

TEST(Measures, CountWhereXIsNoNumber) {
  std::vector<Row> rows = make_rows(1000, 50, 5);
  for (const double x : {kNan, kInfinity, -kInfinity}) {
    for (int i = 0; i < 7; ++i) rows.push_back({x, 0.25 * i - 0.5});
    rows.push_back({x, kNan});
  }
  const DensityBytes density = Column(rows).finish();
  for (Range& range : some_ranges(-5, 55, 6)) expect_exact(density, rows, range);
  for (const double x : {kNan, kInfinity, -kInfinity}) expect_exact(density, rows, between(x, x));
  expect_exact(density, rows, Range());
}

// Sums below any value differ from the truth by at most what the interval says; every interval of a
// bound holds.
void expect_bounded(const DensityBytes& density, const std::vector<Row>& rows, unsigned seed,
                    double most) {
  const DensityView d(&density.header());
  const MeasureView m(&density.header(), 0);
  double magnitude = 0;
  double highest = 0;
  for (const Row& r : rows) {
    if (!std::isnan(r.y)) magnitude += std::fabs(r.y);
    highest = std::max(highest, r.x);
  }
  for (const Range& range : some_ranges(0, highest, seed)) {
    const Truth truth(rows, range);
    const Interval count = interval_of(Wanted::count, d, m, range, {});
    EXPECT_LE(count.lower, truth.count * (1 + 1e-12) + 1e-6);
    EXPECT_GE(count.upper, truth.count * (1 - 1e-12) - 1e-6);
    if (truth.count == 0) continue;
    const Interval sum = interval_of(Wanted::sum, d, m, range, {});
    const double rounding = 1e-10 * magnitude;
    EXPECT_LE(sum.lower, truth.sum + rounding);
    EXPECT_GE(sum.upper, truth.sum - rounding);
    EXPECT_NEAR(sum.estimate, truth.sum, most * magnitude);
    const Interval mean = interval_of(Wanted::mean, d, m, range, {});
    if (std::isnan(mean.estimate)) continue;
    EXPECT_LE(mean.lower, truth.mean + 1e-9);
    EXPECT_GE(mean.upper, truth.mean - 1e-9);
  }
}

TEST(Measures, AreWithinTheirBoundsWhereCellsAreJoined) {
  const std::vector<Row> rows = make_rows(400000, 0, 7);
  const DensityBytes density = Column(rows).finish();
  expect_bounded(density, rows, 8, 1e-3);
  std::vector<Row> ascending = rows;
  std::sort(ascending.begin(), ascending.end(),
            [](const Row& a, const Row& b) { return a.x < b.x; });
  expect_bounded(Column(ascending).finish(), rows, 9, 1e-3);
  expect_bounded(Column(rows).finish(4096), rows, 10, 4e-3);
}

TEST(Measures, MergeAsTheRowsOfBoth) {
  const std::vector<Row> rows = make_rows(60000, 300, 11);
  const std::vector<Row> part(rows.begin(), rows.begin() + 20000);
  const std::vector<Row> rest(rows.begin() + 20000, rows.end());
  Column a(part);
  Column b(rest);
  a.merge(&b);
  const DensityBytes merged = a.finish();
  Column rolled({});
  rolled.merge(Column(part).finish());
  rolled.merge(Column(rest).finish());
  const DensityBytes of_stored = rolled.finish();
  for (const Range& range : some_ranges(-10, 310, 12)) {
    expect_exact(merged, rows, range);
    expect_exact(of_stored, rows, range);
  }
}

TEST(Measures, MergedBeyondTheirCellsKeepTheirBounds) {
  const std::vector<Row> rows = make_rows(300000, 0, 13);
  Column rolled({});
  for (std::size_t i = 0; i < rows.size(); i += 100000) {
    const std::vector<Row> part(rows.begin() + static_cast<std::ptrdiff_t>(i),
                                rows.begin() + static_cast<std::ptrdiff_t>(i) + 100000);
    rolled.merge(Column(part).finish());
  }
  expect_bounded(rolled.finish(), rows, 14, 4e-3);
}

TEST(Measures, SurviveTheirSerialisedForm) {
  const std::vector<Row> rows = make_rows(30000, 300, 15);
  Column column(rows);
  ASSERT_TRUE(column.measures.settle(&*column.summary).ok());
  std::string bytes(column.measures.serialized_size(), '\0');
  column.measures.serialize(bytes.data());
  Measures read(column.summary.memory(), 1);
  ASSERT_TRUE(read.deserialize(bytes.data(), bytes.size(), *column.summary).ok());
  EXPECT_FALSE(read.deserialize(bytes.data(), bytes.size() - 1, *column.summary).ok());
  column.measures = read;
  for (const Range& range : some_ranges(-10, 310, 16)) expect_exact(column.finish(), rows, range);
}

TEST(Measures, SurviveTheWire) {
  // Of the last the squares weigh more than rows may be.
  std::vector<Row> large = make_rows(1000, 10, 17);
  for (Row& r : large) r.y *= 1e40;
  for (const auto& rows : {make_rows(50000, 300, 17), make_rows(50000, 0, 17), large}) {
    const DensityBytes density = Column(rows).finish();
    EXPECT_STREQ(round_trip(density), nullptr);
  }
}

TEST(Measures, RefuseBytesThatDoNotFit) {
  const DensityBytes density = Column(make_rows(5000, 300, 18)).finish();
  std::mt19937_64 random(19);
  for (int i = 0; i < 20000; ++i) {
    DensityBytes broken = density;
    const std::size_t at = random() % broken.size();
    broken.data()[at] = static_cast<char>(broken.data()[at] ^ (1 << random() % 8));
    if (!validate(broken.data(), broken.size()).ok()) continue;
    // Whatever is valid answers.
    const DensityView d(&broken.header());
    const MeasureView m(&broken.header(), 0);
    EXPECT_GE(measure_moments(d, m, between(10, 200)).count, 0);
  }
  for (std::size_t size = 0; size < density.size(); size += 8)
    EXPECT_FALSE(validate(density.data(), size).ok());
}

TEST(Measures, KeepTheVarianceOfValuesFarFromZero) {
  std::vector<Row> rows = make_rows(20000, 40, 20, 0);
  for (Row& r : rows) r.y += 1e9;
  const DensityBytes density = Column(rows).finish();
  const MeasureView m(&density.header(), 0);
  const Truth truth(rows, between(5, 20));
  const RangeMoments found = measure_moments(DensityView(&density.header()), m, between(5, 20));
  EXPECT_NEAR(found.variance, truth.variance, 1e-4 * truth.variance);
}

TEST(Measures, TakeChangedRowsIn) {
  const std::vector<Row> rows = make_rows(20000, 40, 21);
  const DensityBytes density = Column(rows).finish();
  const DensityView d(&density.header());
  const MeasureView m(&density.header(), 0);
  IntervalOptions options;
  options.changed_rows = 100;
  const Truth truth(rows, between(5, 20));
  const Interval count = interval_of(Wanted::count, d, m, between(5, 20), options);
  EXPECT_EQ(count.lower, truth.count - 100);
  EXPECT_EQ(count.upper, truth.count + 100);
  // A hundred more of the greatest, or the greatest for the least.
  const Interval sum = interval_of(Wanted::sum, d, m, between(5, 20), options);
  const double width = m.header().max - m.header().min;
  EXPECT_GE(sum.upper, truth.sum + 100 * std::max(width, m.header().max) - 1e-6);
  const Interval mean = interval_of(Wanted::mean, d, m, between(5, 20), options);
  EXPECT_GT(mean.upper, (truth.sum + 100 * m.header().max) / (truth.count + 100));
}

}  // namespace
}  // namespace kde
