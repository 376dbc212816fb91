// Cells with round ends against the rows they were made of: every count and sum at an end is exact,
// whatever the order of the rows and however they were divided; between ends the interval holds the
// truth and is no wider than a cell.
#include "core/answer/measure_evidence.h"
#include "core/ask/ask.h"
#include "core/fit/fit_cells.h"
#include "core/grid/owned_cells.h"
#include "core/random.h"
#include "fitted.h"
#include "round_trip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace kde {
namespace {

constexpr double kHour = 3600, kDay = 86400;
const double kNull = std::nan("");

// ---------------------------------------------------------------------------------------- ends

constexpr Chain kEach[] = {Chain::decimal, Chain::calendar, Chain::duration, Chain::milliseconds};

TEST(RoundEnds, NestFromLevelToLevel) {
  Random random(1);
  for (const Chain chain : kEach) {
    const RoundEnds ends(chain);
    for (int level = 0; level + 1 < ends.levels(); ++level) {
      for (int i = 0; i < 50; ++i) {
        const auto k = static_cast<std::int64_t>(std::floor((random.uniform() - 0.5) * 2e4));
        const double x = ends.end(level + 1, k);
        if (!(std::fabs(x) < std::min(kMostIndex * ends.step(level), ends.farthest()))) continue;
        EXPECT_EQ(ends.end(level, ends.cell(level, x)), x) << level << " " << k;
        EXPECT_LT(x, ends.end(level + 1, k + 1)) << level;
      }
    }
  }
}

TEST(RoundEnds, AreSoManyOfEachCoarserCell) {
  Random random(6);
  for (const Chain chain : kEach) {
    const RoundEnds ends(chain);
    for (int level = 0; level + 1 < ends.levels(); ++level) {
      for (int coarser = level + 1; coarser < std::min(level + 4, ends.levels()); ++coarser) {
        const std::int64_t parts = ends.parts(level, coarser);
        ASSERT_EQ(parts > 0, ends.is_even(coarser)) << level;
        const auto k = static_cast<std::int64_t>(std::floor((random.uniform() - 0.5) * 0x1p40));
        if (parts == 0 || !std::isfinite(ends.end(coarser, k))) continue;
        EXPECT_EQ(ends.end(level, k * parts), ends.end(coarser, k)) << level << " " << coarser;
      }
    }
  }
  EXPECT_EQ(RoundEnds(Chain::decimal).parts(0, 900), 0);
}

TEST(RoundEnds, TellTheCellOfAValue) {
  Random random(2);
  for (const Chain chain : kEach) {
    const RoundEnds ends(chain);
    for (int level = 0; level < ends.levels(); ++level) {
      for (int i = 0; i < 50; ++i) {
        const double x = (random.uniform() - 0.5) * std::pow(10.0, 12 * random.uniform()) *
                         std::min(ends.step(level), 1e290);
        const std::int64_t k = ends.cell(level, x);
        if (!ends.is_even(level) && std::fabs(x) > 1e16) continue;
        EXPECT_LE(ends.end(level, k), x) << level;
        EXPECT_GT(ends.end(level, k + 1), x) << level;
        // And at the ends themselves.
        const double end = ends.end(level, k);
        if (std::fabs(end) >= kMostIndex * ends.step(level)) continue;
        EXPECT_EQ(ends.cell(level, end), k) << level;
        EXPECT_EQ(ends.cell(level, std::nextafter(end, -1e308)), k - 1) << level;
      }
    }
  }
}

// Far beyond what there are numbers for, and where ends overflow, it answers at once.
TEST(RoundEnds, HaveACellFarOut) {
  constexpr double kMost = std::numeric_limits<double>::max();
  for (const Chain chain : kEach) {
    const RoundEnds ends(chain);
    for (int level = 0; level < ends.levels(); ++level)
      for (const double x : {kMost, 1e300, fitted::kInf}) {
        EXPECT_GE(ends.cell(level, x), 0) << level << " " << x;
        EXPECT_LT(ends.cell(level, -x), 0) << level << " " << x;
      }
  }
}

TEST(RoundEnds, AreTheCalendarsMonths) {
  const RoundEnds ends(Chain::calendar);
  // 2024-02-29 12:00, in seconds.
  const double leap = 1709208000;
  EXPECT_EQ(ends.end(kMonthLevel, ends.cell(kMonthLevel, leap)), 1706745600);      // 2024-02-01
  EXPECT_EQ(ends.end(kMonthLevel, ends.cell(kMonthLevel, leap) + 1), 1709251200);  // 2024-03-01
  EXPECT_EQ(ends.end(kYearLevel, ends.cell(kYearLevel, leap)), 1704067200);        // 2024-01-01
  EXPECT_EQ(ends.end(kYearLevel, ends.cell(kYearLevel, -1)), -31536000);           // 1969-01-01
  EXPECT_EQ(ends.end(kDayLevel, ends.cell(kDayLevel, leap)), 1709164800);
  EXPECT_EQ(ends.end(kHourLevel, ends.cell(kHourLevel, leap)), leap);
  // Each day of a thousand years.
  for (double x = -500 * 366 * 86400.0; x < 500 * 366 * 86400.0; x += 86400) {
    for (const int level : {kMonthLevel, kYearLevel}) {
      const std::int64_t k = ends.cell(level, x);
      ASSERT_LE(ends.end(level, k), x) << level;
      ASSERT_GT(ends.end(level, k + 1), x) << level;
    }
  }
}

// The k-th end of a level from milliseconds on, in milliseconds, in whole numbers: days by the standard
// library's calendar, which knows the years up to 32767, so by those of the same 400 years.
__int128 slow_end(int level, __int128 k) {
  constexpr std::int64_t kSteps[] = {1,    5,     10,    50,     100,    500,     1000,
                                     5000, 15000, 60000, 300000, 900000, 3600000, 86400000};
  constexpr int kMillisecondLevel = kSecondLevel - 6;
  if (level <= kDayLevel) return k * kSteps[level - kMillisecondLevel];
  for (int i = level; i > kMonthLevel; --i) k *= i == kYearLevel ? 12 : 10;
  constexpr int kMonths = 4800;
  const auto month = static_cast<int>((k % kMonths + kMonths) % kMonths);
  const std::chrono::sys_days first = std::chrono::year(month / 12) / (month % 12 + 1) / 1;
  return ((k - month) / kMonths * 146097 + first.time_since_epoch().count()) * 86400000;
}

// Of numbers of seconds and of milliseconds, at ends and beside them, before 1970, and to the last that
// 64 bits have.
TEST(RoundEnds, OfUnixTimesAreThoseOfTheCalendar) {
  Random random(31);
  for (const int unit : {1000, 1}) {
    const RoundEnds ends(unit == 1 ? Chain::milliseconds : Chain::calendar);
    for (int level = unit == 1 ? kSecondLevel - 6 : kSecondLevel; level < ends.levels(); ++level) {
      const auto slow = [&](std::int64_t k) {
        return static_cast<double>(slow_end(level, k) / unit);
      };
      for (int i = 0; i < 400; ++i) {
        double x = std::floor((random.uniform() - 0.5) * std::pow(2, 20 + random.below(45)));
        if (std::fabs(x) >= kMostIndex * ends.step(level)) continue;
        // An end, or what is next to one.
        if (i % 2 == 0)
          x = ends.end(level, ends.cell(level, x)) + static_cast<int>(random.below(3)) - 1;
        const std::int64_t k = ends.cell(level, x);
        ASSERT_EQ(ends.end(level, k), slow(k)) << level << " " << k;
        ASSERT_LE(slow(k), x) << level;
        ASSERT_GT(slow(k + 1), x) << level;
        ASSERT_EQ(ends.cell(level, slow(k)), k) << level;
        ASSERT_EQ(ends.cell(level, std::nextafter(slow(k), -1e308)), k - 1) << level;
      }
    }
  }
  const RoundEnds ends(Chain::milliseconds);
  EXPECT_EQ(ends.end(kYearLevel, 2024), 1704067200000);
  EXPECT_EQ(ends.end(kMonthLevel, 12 * 1969 + 11), -31 * 86400000.0);  // 1969-12-01
  EXPECT_TRUE(ends.is_end(kHourLevel, 1709208000000));
  EXPECT_FALSE(ends.is_end(kHourLevel, 1709208000001));
}

// ---------------------------------------------------------------------------------------- rows

struct Row {
  double x, y;
};

// A column, what its rows are, and its ends.
struct Shape {
  const char* name;
  ValueType type;
  double lattice_step;
  // The step at whose multiples counts have to be exact; of parts added up the floor of each.
  double step, step_of_parts;
  std::function<Row(Random*)> row;
  Chain told = Chain::decimal;  // of numbers

  Chain chain() const { return told == Chain::decimal ? chain_of(type) : told; }
};

double normal(Random* random) {
  return std::sqrt(-2 * std::log(1 - random->uniform())) * std::cos(2 * M_PI * random->uniform());
}

double cents(double x) { return std::nearbyint(x * 100) / 100; }

constexpr double kHeavyTime = 1687245296.123457;

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> kShapes = {
      {"times to the microsecond", ValueType::timestamptz, 0, kHour, kHour,
       [](Random* random) {
         const double day = std::floor(1095 * random->uniform());
         const double in_day = 43200 + 15000 * normal(random);
         const double x = 1672531200 + day * kDay + in_day;
         return Row{std::nearbyint(x * 1e6) / 1e6, cents(20 + 10 * std::fabs(normal(random)))};
       }},
      {"whole hours among them", ValueType::timestamp, 0, kHour, kHour,
       [](Random* random) {
         const double x = 1672531200 + 3e6 * random->uniform();
         return Row{random->below(3) == 0 ? std::floor(x / kHour) * kHour : std::floor(x),
                    random->below(5) == 0 ? kNull : std::floor(1000 * random->uniform()) - 500};
       }},
      {"Unix seconds", ValueType::float8, 0, kHour, kHour,
       [](Random* random) {
         return Row{1672531200 + std::nearbyint(3e10 * random->uniform()) / 1e3,
                    cents(std::fabs(normal(random)))};
       },
       Chain::calendar},
      {"Unix milliseconds", ValueType::int8, 1, 1000 * kHour, 1000 * kHour,
       [](Random* random) {
         const double x = -2e9 + std::floor(9e10 * random->uniform());
         return Row{random->below(9) == 0 ? std::floor(x / 6e5) * 6e5 : x,
                    random->below(5) == 0 ? kNull : std::floor(1000 * random->uniform()) - 500};
       },
       Chain::milliseconds},
      {"cents", ValueType::numeric, 0.01, 1, 1,
       [](Random* random) {
         return Row{cents(std::exp(4 + normal(random))), 100 * random->uniform()};
       }},
      {"a measurement", ValueType::float8, 0, 0.001, 0.005,
       [](Random* random) {
         return Row{normal(random), normal(random)};
       }},
      {"whole numbers", ValueType::int4, 1, 1, 1,
       [](Random* random) {
         return Row{std::floor(1e4 * random->uniform()) - 5000, cents(1e6 * normal(random))};
       }},
      {"few values", ValueType::float8, 0, 0.1, 0.1,
       [](Random* random) {
         return Row{static_cast<double>(random->below(30)) / 10 - 1, 7};
       }},
      {"a heavy tail", ValueType::float8, 0, 0.1, 0.1,
       [](Random* random) {
         return Row{std::tan(M_PI * (random->uniform() - 0.5)), cents(normal(random))};
       }},
      {"a heavy value among times", ValueType::timestamptz, 0, kHour, kHour,
       [](Random* random) {
         const double x = 1672531200 + std::nearbyint(3e13 * random->uniform()) / 1e6;
         return Row{random->below(4) == 0 ? kHeavyTime : x, cents(normal(random))};
       }},
      {"heavy values among numbers", ValueType::float8, 0, 0.1, 0.1,
       [](Random* random) {
         const double x = 1000 * random->uniform();
         return Row{random->below(4) > 0    ? x
                    : random->below(2) == 0 ? -M_PI
                                            : 0.1 + 0.2,
                    100 * random->uniform()};
       }},
      {"a heavy value among cents", ValueType::numeric, 0.01, 1, 1,
       [](Random* random) {
         const double x = cents(2e4 * random->uniform());
         return Row{random->below(5) == 0 ? 19.99 : x, cents(normal(random))};
       }},
  };
  return kShapes;
}

std::vector<Row> rows_of(const Shape& shape, int n, std::uint64_t seed) {
  Random random(seed);
  std::vector<Row> rows;
  for (int i = 0; i < n; ++i) rows.push_back(shape.row(&random));
  return rows;
}

void add(const std::vector<Row>& rows, GridCells* cells) {
  for (const Row& r : rows) ASSERT_TRUE(cells->add(r.x, {&r.y, 1}).ok());
}

void expect_same(GridCells* a, GridCells* b) {
  GridList x, y;
  ASSERT_TRUE(a->list(&x).ok());
  ASSERT_TRUE(b->list(&y).ok());
  ASSERT_EQ(x.entries.size(), y.entries.size());
  EXPECT_EQ(x.finest, y.finest);
  EXPECT_EQ(a->digits(), b->digits());
  const GridCells::Measure& m = a->measure(0);
  const double by = m.origin - b->measure(0).origin;
  EXPECT_EQ(m.decimals, b->measure(0).decimals);
  const bool whole = m.decimals < kNoDecimals;
  for (std::size_t i = 0; i < x.entries.size(); ++i) {
    ASSERT_EQ(x.entries[i].x, y.entries[i].x);
    ASSERT_EQ(x.entries[i].level, y.entries[i].level);
    ASSERT_EQ(x.entries[i].rows, y.entries[i].rows);
    const MeasureSums p = x.sums[i], q = y.sums[i].moved(by);
    ASSERT_EQ(p.rows, q.rows);
    if (whole)
      ASSERT_EQ(p.sum, q.sum);
    else
      ASSERT_NEAR(p.sum, q.sum, 1e-9 * std::sqrt(1 + p.rows * p.squares));
  }
}

// So few cells that they are joined often.
constexpr std::size_t kFew = 1024;

TEST(GridCells, AreTheSameInAnyOrderAndParts) {
  // Of so few cells the heavy tail's are put together by their rows. Which values are heavy is known
  // by those that came first.
  for (const Shape& shape : std::span(shapes()).first(8)) {
    SCOPED_TRACE(shape.name);
    std::vector<Row> rows = rows_of(shape, 30000, 3);
    OwnedGridCells all(shape.chain(), 1, kFew);
    add(rows, &*all);
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.x < b.x; });
    OwnedGridCells sorted(shape.chain(), 1, kFew);
    add(rows, &*sorted);
    expect_same(&*all, &*sorted);

    OwnedGridCells sum(shape.chain(), 1, kFew);
    Random random(4);
    for (std::size_t at = 0; at < rows.size();) {
      const std::size_t n = std::min<std::size_t>(1 + random.below(9000), rows.size() - at);
      OwnedGridCells part(shape.chain(), 1, kFew);
      add({rows.begin() + static_cast<std::ptrdiff_t>(at),
           rows.begin() + static_cast<std::ptrdiff_t>(at + n)},
          &*part);
      at += n;
      // As between processes.
      ASSERT_TRUE(part->settle().ok());
      std::vector<char> bytes(part->serialized_size());
      part->serialize(bytes.data());
      OwnedGridCells copy(shape.chain(), 1, kFew);
      ASSERT_TRUE(copy->deserialize(bytes.data(), bytes.size()).ok());
      expect_same(&*part, &*copy);
      ASSERT_TRUE(sum->merge(&*copy).ok());
    }
    expect_same(&*all, &*sum);
    EXPECT_EQ(all->totals().count(), static_cast<double>(rows.size()));
  }
}

// Where one value has digits that another is too large for they are no whole numbers of any unit,
// whichever came first, and whether they waited together.
TEST(GridCells, ValuesThatShareNoUnitAreNoWholeNumbers) {
  for (const int others : {1, 700}) {
    std::vector<double> y;
    for (int i = 0; i < others; ++i) y.push_back(1e12 + (i * 7 + 3) / 10.0);
    y.push_back(1e-6);
    for (const bool ascending : {false, true}) {
      if (ascending) std::sort(y.begin(), y.end());
      OwnedGridCells cells(Chain::decimal, 1);
      long double truth = 0;
      for (const double value : y) {
        ASSERT_TRUE(cells->add(1, {&value, 1}).ok());
        truth += value;
      }
      GridList list;
      ASSERT_TRUE(cells->list(&list).ok());
      const GridCells::Measure& m = cells->measure(0);
      EXPECT_EQ(m.decimals, kNoDecimals);
      const long double n = list.sums[0].rows;
      EXPECT_EQ(n, static_cast<long double>(y.size()));
      const auto found = static_cast<double>(list.sums[0].sum + n * m.origin - truth);
      EXPECT_NEAR(found, 0, m.sum_error + 0x1p-51 * 1e12 * others) << ascending;
    }
  }
}

TEST(GridCells, RefuseBytesThatAreNoCells) {
  const std::vector<Row> rows = rows_of(shapes()[0], 3000, 5);
  OwnedGridCells cells(Chain::calendar, 1, kFew);
  add(rows, &*cells);
  ASSERT_TRUE(cells->settle().ok());
  std::vector<char> good(cells->serialized_size());
  cells->serialize(good.data());
  for (std::size_t size = 0; size < good.size(); size += 97) {
    OwnedGridCells other(Chain::calendar, 1, kFew);
    EXPECT_EQ(other->deserialize(good.data(), size).code, Code::invalid_format) << size;
  }
  OwnedGridCells other(Chain::decimal, 1, kFew);
  EXPECT_EQ(other->deserialize(good.data(), good.size()).code, Code::invalid_format);
}

// ------------------------------------------------------------------------------------- densities

struct Truth {
  double count = 0, counted = 0, sum = 0;
};

// rows: ascending in x.
std::span<const Row> rows_in(const std::vector<Row>& rows, const Range& r) {
  const auto begin = std::partition_point(rows.begin(), rows.end(), [&](const Row& row) {
    return !r.lower_unbounded && (r.lower_inclusive ? row.x < r.lower : row.x <= r.lower);
  });
  const auto end = std::partition_point(begin, rows.end(), [&](const Row& row) {
    return r.upper_unbounded || (r.upper_inclusive ? row.x <= r.upper : row.x < r.upper);
  });
  return {begin, end};
}

Truth truth_of(const std::vector<Row>& rows, const Range& r) {
  Truth out;
  DoubleDouble sum;
  for (const Row& row : rows_in(rows, r)) {
    out.count += 1;
    if (std::isnan(row.y)) continue;
    out.counted += 1;
    sum.add(row.y);
  }
  out.sum = sum.value();
  return out;
}

FitOptions options_of(const Shape& shape) {
  FitOptions options;
  options.value_type = shape.type;
  options.lattice_step = shape.lattice_step;
  options.measure_types[0] = ValueType::float8;
  return options;
}

class Fitted {
 public:
  Fitted(const Shape& shape, std::vector<Row> rows, GridCells* cells, std::size_t budget,
         bool added_up = false)
      : rows_(std::move(rows)) {
    FitOptions options = options_of(shape);
    options.added_up = added_up;
    FitReport report;
    const Status status = fit_cells(cells, options, budget, {}, &density_, &report);
    EXPECT_TRUE(status.ok()) << status.message;
    EXPECT_LE(density_.size(), budget);
    const Status valid = validate(density_.data(), density_.size());
    EXPECT_TRUE(valid.ok()) << valid.message;
    model_ = report.model;
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.x < b.x; });
  }

  static Fitted of(const Shape& shape, std::vector<Row> rows, std::size_t budget = kGridBytes,
                   std::size_t most = kMostGridCells) {
    OwnedGridCells cells(shape.chain(), 1, most);
    add(rows, &*cells);
    return {shape, std::move(rows), &*cells, budget};
  }

  const std::vector<Row>& rows() const { return rows_; }
  const DensityBytes& density() const { return density_; }
  AnyDensity any() const { return {&density_.header(), nullptr, {}}; }
  const std::string& model() const { return model_; }

  Interval ask(Wanted wanted, const Range& r, int target) const {
    const BoxSide side = {0, r, nullptr};
    return interval_of(wanted, kde::ask(wanted, any(), {&side, 1}, target, {}));
  }

 private:
  std::vector<Row> rows_;
  DensityBytes density_;
  std::string model_;
};

Range random_range(double a, double b, Random* random) {
  Range r = fitted::range(std::min(a, b), std::max(a, b));
  r.lower_inclusive = random->below(2) == 0;
  r.upper_inclusive = random->below(2) == 0;
  r.lower_unbounded = random->below(8) == 0;
  r.upper_unbounded = random->below(8) == 0;
  return r;
}

constexpr int kRows = 200000;

void expect_exact_at(double step, const Fitted& f, std::uint64_t seed) {
  Random random(seed);
  const auto n = static_cast<double>(f.rows().size());
  for (int i = 0; i < 300; ++i) {
    const auto end = [&] {
      const double x = f.rows()[static_cast<std::size_t>(n * (0.001 + 0.998 * random.uniform()))].x;
      const double k = std::floor(x / step) + static_cast<double>(random.below(3)) - 1;
      return step < 1 ? k / std::nearbyint(1 / step) : k * step;
    };
    const Range r = random_range(end(), end(), &random);
    const Truth truth = truth_of(f.rows(), r);
    const Interval count = f.ask(Wanted::count, r, kRowsThemselves);
    EXPECT_EQ(count.estimate, truth.count) << r.lower << " " << r.upper;
    EXPECT_EQ(count.lower, truth.count) << r.lower << " " << r.upper;
    EXPECT_EQ(count.upper, truth.count) << r.lower << " " << r.upper;
    if (is_empty(r) || !(truth.counted > 0)) continue;
    EXPECT_EQ(f.ask(Wanted::count, r, 1).estimate, truth.counted);
    const Interval sum = f.ask(Wanted::sum, r, 1);
    EXPECT_LE(sum.lower, sum.estimate);
    const double scale = 1e-9 * (std::fabs(truth.sum) + n);
    EXPECT_NEAR(sum.estimate, truth.sum, scale);
    EXPECT_NEAR(sum.lower, truth.sum, scale);
    EXPECT_NEAR(sum.upper, truth.sum, scale);
    const Interval mean = f.ask(Wanted::mean, r, 1);
    EXPECT_NEAR(mean.estimate, truth.sum / truth.counted, scale / truth.counted);
  }
}

void expect_truth_held(const Shape& shape, const Fitted& f, std::uint64_t seed) {
  Random random(seed);
  const auto n = static_cast<double>(f.rows().size());
  for (int i = 0; i < 300; ++i) {
    const auto end = [&] {
      const auto at = static_cast<std::size_t>(n * random.uniform());
      const double x = f.rows()[at].x;
      return random.below(2) == 0 ? x : x + shape.step * (random.uniform() - 0.5);
    };
    const Range r = random_range(end(), end(), &random);
    const Truth truth = truth_of(f.rows(), r);
    const auto holds = [&](const Interval& found, double x, const char* what) {
      const double rounding = 1e-9 * (std::fabs(x) + 1);
      EXPECT_LE(found.lower, x + rounding) << what << " " << r.lower << " " << r.upper;
      EXPECT_GE(found.upper, x - rounding) << what << " " << r.lower << " " << r.upper;
      EXPECT_LE(found.lower, found.estimate) << what;
      EXPECT_GE(found.upper, found.estimate) << what;
    };
    holds(f.ask(Wanted::count, r, kRowsThemselves), truth.count, "count");
    if (is_empty(r)) continue;
    holds(f.ask(Wanted::count, r, 1), truth.counted, "count of y");
    if (truth.counted == 0) continue;
    holds(f.ask(Wanted::sum, r, 1), truth.sum, "sum");
    holds(f.ask(Wanted::mean, r, 1), truth.sum / truth.counted, "mean");
    DoubleDouble sum;
    const std::span<const Row> rows = rows_in(f.rows(), r);
    for (const Row& row : rows) sum.add(row.x);
    holds(f.ask(Wanted::sum, r, 0), sum.value(), "sum of x");
    holds(f.ask(Wanted::mean, r, 0), sum.value() / static_cast<double>(rows.size()), "mean of x");
  }
  for (int i = 1; i < 100; ++i) {
    const double q = i / 100.0;
    const Interval x = quantile_interval(DensityView(&f.density().header()), q, {});
    const std::size_t rank = f.rows().size() / 100 * static_cast<std::size_t>(i) - 1;
    EXPECT_LE(x.lower, f.rows()[rank].x) << q;
    EXPECT_GE(x.upper, f.rows()[rank].x) << q;
  }
}

TEST(FitCells, AreExactAtRoundEnds) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.name);
    const Fitted f = Fitted::of(shape, rows_of(shape, kRows, 6));
    SCOPED_TRACE(f.model());
    expect_exact_at(shape.step, f, 7);
  }
}

// No cell is wider than people ask about times, and the first shape's are as wide somewhere.
TEST(FitCells, OfTimesTellTheCoarsest) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.name);
    const Fitted f = Fitted::of(shape, rows_of(shape, kRows, 6));
    const Header& list = f.density().header();
    const RoundEnds ends(list.chain);
    const int level = coarsest_time_level(list);
    ASSERT_EQ(level >= 0, ends.is_of_times());
    if (level < 0) continue;
    EXPECT_LE(ends.step(level), shape.step);
    const bool is_first = &shape == shapes().data();
    EXPECT_TRUE(!is_first || ends.step(level) == shape.step);
  }
}

TEST(FitCells, HoldTheTruthBetweenThem) {
  for (const std::size_t budget : {kGridBytes, std::size_t{16384}}) {
    for (const Shape& shape : shapes()) {
      SCOPED_TRACE(shape.name);
      const Fitted f = Fitted::of(shape, rows_of(shape, kRows / 4, 6), budget,
                                  budget == kGridBytes ? kMostGridCells : kFew);
      SCOPED_TRACE(f.model());
      expect_truth_held(shape, f, 8);
    }
  }
}

// Columns as wide as double precision: their outermost cells end beyond it.
TEST(FitCells, AreOfAnyWidth) {
  const Shape wide = {
      "as wide as may be", ValueType::float8, 0, 1e308, 1e308, [](Random* random) {
        const double x = 2 * random->uniform() - 1;
        return Row{x * std::numeric_limits<double>::max(), cents(random->uniform())};
      }};
  const std::vector<Row> rows = rows_of(wide, 20000, 21);
  const Fitted f = Fitted::of(wide, rows, kGridBytes, kFew);
  OwnedGridCells cells(Chain::decimal, 1, kFew), copy(Chain::decimal, 1, kFew);
  add(rows, &*cells);
  ASSERT_TRUE(cells->settle().ok());
  std::vector<char> bytes(cells->serialized_size());
  cells->serialize(bytes.data());
  const Status status = copy->deserialize(bytes.data(), bytes.size());
  ASSERT_TRUE(status.ok()) << status.message;
  Random random(22);
  for (int i = 0; i < 200; ++i) {
    const Range r = random_range(f.rows()[random.below(rows.size())].x,
                                 f.rows()[random.below(rows.size())].x, &random);
    const Truth truth = truth_of(f.rows(), r);
    const Interval count = f.ask(Wanted::count, r, kRowsThemselves);
    EXPECT_LE(count.lower, truth.count + 1e-6);
    EXPECT_GE(count.upper, truth.count - 1e-6);
  }
}

// Values that have many rows and lie within cells are counted by themselves, also by workers, in what
// travels between them, and in densities that are added up.
TEST(FitCells, CountHeavyValuesByThemselves) {
  const auto expect_counted = [](const Fitted& f) {
    // No cell has more, but for what is kept.
    const double few = static_cast<double>(f.rows().size()) / 256;
    for (const double x : {kHeavyTime, -M_PI, 0.1 + 0.2, 19.99}) {
      if (truth_of(f.rows(), fitted::range(x, x)).count < few) continue;
      // A numeric between two doubles is on neither side.
      const double above = x == 19.99 ? 19.995 : std::nextafter(x, INFINITY);
      for (const Range& r :
           {fitted::range(x, x), fitted::range(x, INFINITY), fitted::range(above, INFINITY)}) {
        const Truth truth = truth_of(f.rows(), r);
        const Interval count = f.ask(Wanted::count, r, kRowsThemselves);
        const Interval sum = f.ask(Wanted::sum, r, 1);
        EXPECT_LE(count.lower, truth.count) << x;
        EXPECT_GE(count.upper, truth.count) << x;
        EXPECT_LE(count.upper - count.lower, few) << x;
        EXPECT_LE(sum.lower, truth.sum + 1e-6) << x;
        EXPECT_GE(sum.upper, truth.sum - 1e-6) << x;
        EXPECT_LE(sum.upper - sum.lower, 100 * few) << x;
      }
    }
  };
  for (const Shape& shape : std::span(shapes()).last(3)) {
    SCOPED_TRACE(shape.name);
    constexpr std::size_t kSome = 8192;
    const std::vector<Row> rows = rows_of(shape, kRows / 2, 11);
    const Fitted whole = Fitted::of(shape, rows, kGridBytes, kSome);
    EXPECT_GT(whole.density().header().atoms, 0U);
    expect_counted(whole);
    OwnedGridCells of_workers(shape.chain(), 1, kSome), of_densities(shape.chain(), 1);
    for (std::size_t part = 0; part < 4; ++part) {
      const std::size_t n = rows.size() / 4;
      const std::vector<Row> own(rows.begin() + static_cast<std::ptrdiff_t>(part * n),
                                 rows.begin() + static_cast<std::ptrdiff_t>((part + 1) * n));
      OwnedGridCells cells(shape.chain(), 1, kSome), copy(shape.chain(), 1, kSome);
      add(own, &*cells);
      ASSERT_TRUE(cells->settle().ok());
      std::vector<char> bytes(cells->serialized_size());
      cells->serialize(bytes.data());
      ASSERT_TRUE(copy->deserialize(bytes.data(), bytes.size()).ok());
      ASSERT_TRUE(of_workers->merge(&*copy).ok());
      const Fitted density = {shape, own, &*cells, kGridBytes};
      ASSERT_TRUE(of_densities->add(density.density().header()).ok());
    }
    expect_counted({shape, rows, &*of_workers, kGridBytes});
    expect_counted({shape, rows, &*of_densities, kGridBytes, true});
  }
}

// Densities of parts, added up, and the sum as one of these.
Fitted sum_of_parts(const Shape& shape, const std::vector<Row>& rows,
                    const std::vector<std::size_t>& size_of_part,
                    const std::vector<std::size_t>& budget_of_part) {
  OwnedGridCells sum(shape.chain(), 1);
  std::size_t at = 0;
  for (std::size_t k = 0; k < size_of_part.size(); ++k) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(at);
    at += size_of_part[k];
    const Fitted part = Fitted::of(shape, {begin, rows.begin() + static_cast<std::ptrdiff_t>(at)},
                                   budget_of_part[k]);
    const Status added = sum->add(part.density().header());
    EXPECT_TRUE(added.ok()) << added.message;
  }
  EXPECT_EQ(at, rows.size());
  return {shape, rows, &*sum, kGridBytes, true};
}

// Of parts that have their rows anywhere, and of those that follow each other.
TEST(AddedUp, AreTheFitOfTheUnionWherePartsEndAlike) {
  for (const bool in_order : {false, true}) {
    for (const Shape& shape : shapes()) {
      SCOPED_TRACE(shape.name);
      std::vector<Row> rows = rows_of(shape, kRows / 4, 10);
      if (in_order)
        std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.x < b.x; });
      const Fitted sum = sum_of_parts(shape, rows, {kRows / 16, kRows / 16, kRows / 16, kRows / 16},
                                      std::vector<std::size_t>(4, kGridBytes));
      SCOPED_TRACE(sum.model());
      expect_exact_at(shape.step_of_parts, sum, 11);
      expect_truth_held(shape, sum, 12);
    }
  }
}

// Valid one by one, as their bytes may come from anywhere, but no fit's.
TEST(AddedUp, RefuseWhatNoFitWrites) {
  const Shape& shape = shapes()[5];
  const Fitted f = Fitted::of(shape, rows_of(shape, 5000, 19));
  const auto added = [&](const auto& change) {
    DensityBytes d(f.density().size());
    std::memcpy(d.data(), f.density().data(), d.size());
    change(&d);
    const Status valid = validate(d.data(), d.size());
    EXPECT_TRUE(valid.ok()) << valid.message;
    OwnedGridCells sum(shape.chain(), 1);
    return sum->add(d.header()).code;
  };
  EXPECT_EQ(added([](DensityBytes*) {}), Code::ok);
  EXPECT_EQ(added([](DensityBytes* d) {
              d->header().min = std::nextafter(d->header().min, fitted::kInf);
            }),
            Code::invalid_format);
  EXPECT_EQ(added([](DensityBytes* d) {
              MeasureHeader m = MeasureView(&d->header(), 0).header();
              const auto at =
                  reinterpret_cast<const char*>(&MeasureView(&d->header(), 0).header()) - d->data();
              m.decimals = 2;  // unit: 1
              std::memcpy(d->data() + at, &m, sizeof m);
            }),
            Code::invalid_format);
}

// Some parts of a whole are taken out, and others come in their place.
void expect_what_is_left(const Shape& shape, bool in_order, std::size_t budget_of_parts) {
  constexpr std::size_t kParts = 20, kOfEach = kRows / 200;
  std::vector<Row> rows = rows_of(shape, kParts * kOfEach, 31);
  if (in_order)
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.x < b.x; });
  const Fitted whole = Fitted::of(shape, rows);
  std::vector<Fitted> part;
  std::vector<const Header*> all, gone, others;
  for (std::size_t k = 0; k < kParts; ++k) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(k * kOfEach);
    part.push_back(Fitted::of(shape, {begin, begin + kOfEach}, budget_of_parts));
  }
  std::vector<Row> left = rows_of(shape, 3 * kOfEach, 32);
  const Fitted came = Fitted::of(shape, left);
  for (std::size_t k = 0; k < kParts; ++k) {
    const bool goes = k == 0 || k == 7 || k == 8 || k == kParts - 1;
    all.push_back(&part[k].density().header());
    (goes ? gone : others).push_back(all[k]);
    if (!goes) left.insert(left.end(), part[k].rows().begin(), part[k].rows().end());
  }
  others.push_back(&came.density().header());
  const auto taken = [&](const GridCells::Without& without) {
    return OwnedGridCells(shape.chain(), 1)->add(whole.density().header(), without).code;
  };
  if (whole.density().header().atoms > 0) {
    EXPECT_EQ(taken({gone, others, true}), Code::too_large);
    return;
  }
  OwnedGridCells sum(shape.chain(), 1);
  const Status added = sum->add(whole.density().header(), {gone, others, true});
  // So much of a spread is gone that rounding would tell.
  if (added.code == Code::too_large && std::string_view(shape.name) == "a heavy tail") return;
  ASSERT_TRUE(added.ok()) << added.message;
  ASSERT_TRUE(sum->add(came.density().header()).ok());
  const Fitted now(shape, left, &*sum, kGridBytes, true);
  SCOPED_TRACE(now.model());
  // Heavy values leave few bytes for others of the whole.
  if (budget_of_parts == kGridBytes) expect_exact_at(5 * shape.step_of_parts, now, 33);
  expect_truth_held(shape, now, 34);
  const Fitted anew = Fitted::of(shape, left);
  const Header &h = now.density().header(), &fresh = anew.density().header();
  EXPECT_EQ(h.rows, fresh.rows);
  EXPECT_EQ(h.min, fresh.min);
  EXPECT_EQ(h.max, fresh.max);
  EXPECT_NEAR(h.mean, fresh.mean, 1e-12 * (std::fabs(fresh.mean) + fresh.max - fresh.min));
  EXPECT_NEAR(h.variance, fresh.variance, 1e-9 * fresh.variance);
  // None is in it twice, and a greatest value that is gone is no more known.
  all.insert(all.end(), all.begin(), all.end());
  EXPECT_EQ(taken({all, others, true}), Code::invalid_format);
  if (in_order) {
    EXPECT_EQ(taken({gone, {}, false}), Code::too_large);
  }
}

TEST(AddedUp, AreWhatIsLeftAndWhatCame) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.name);
    for (const bool in_order : {false, true})
      for (const std::size_t budget : {kGridBytes, std::size_t{8192}})
        expect_what_is_left(shape, in_order, budget);
  }
}

// What comes lies within a cell that had few rows: where these lie in it is not known, but how many.
TEST(AddedUp, StayExactWhereManyComeIntoOneCell) {
  const Shape& shape = shapes()[0];
  std::vector<Row> rows = rows_of(shape, 20000, 41), many;
  const double begin = std::floor(rows[7].x / shape.step_of_parts) * shape.step_of_parts;
  for (int i = 0; i < 5000; ++i)
    many.push_back({begin + (i % 997) * shape.step_of_parts / 1000, 1});
  OwnedGridCells sum(shape.chain(), 1);
  sum->keep_cells();
  for (const std::vector<Row>& part : {rows, many})
    ASSERT_TRUE(sum->add(Fitted::of(shape, part).density().header()).ok());
  rows.insert(rows.end(), many.begin(), many.end());
  const Fitted now(shape, rows, &*sum, kGridBytes, true);
  EXPECT_EQ(now.density().header().error, 0);
  expect_exact_at(shape.step_of_parts, now, 42);
}

// Parts of few bytes have coarser cells.
TEST(AddedUp, HoldTheTruthWhateverThePartsAre) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.name);
    const std::vector<Row> rows = rows_of(shape, kRows / 4, 13);
    const Fitted sum = sum_of_parts(shape, rows, {1000, kRows / 8 - 1000, 100, kRows / 8 - 100},
                                    {4096, kGridBytes, 16384, 16384});
    SCOPED_TRACE(sum.model());
    expect_truth_held(shape, sum, 14);
  }
}

// Values on a lattice of their own, whose points need be no ends of the grid's: so many that they are
// in cells.
TEST(FitCells, AreOfTheValuesOwnLattice) {
  for (const double step : {25.0, 60.0, 7.0, 0.25, 5.0, 3.0}) {
    SCOPED_TRACE(step);
    Shape even{"even", ValueType::float8, 0, step, step, {}};
    Random random(17);
    std::vector<Row> rows;
    for (int i = 0; i < kRows / 4; ++i)
      rows.push_back({step * static_cast<double>(random.below(20000)), cents(random.uniform())});
    const Fitted f = Fitted::of(even, rows, 20000);
    SCOPED_TRACE(f.model());
    expect_truth_held(even, f, 18);
    EXPECT_STREQ(round_trip(f.density()), nullptr);
  }
}

// So uneven that one step for all would put many into one cell: each has few even so, and the heavy
// value is by itself.
TEST(FitCells, AreEvenWhereValuesAreNot) {
  Shape uneven{"uneven", ValueType::float8, 0, 1, 1, {}};
  for (const bool added_up : {false, true}) {
    for (const double widest : {40.0, 1300.0}) {
      Random random(15);
      std::vector<Row> rows;
      for (int i = 0; i < kRows; ++i) {
        const double x = std::exp(widest * (random.uniform() - 0.5));
        rows.push_back({random.below(20) == 0 ? 3.25 : x, cents(random.uniform())});
      }
      OwnedGridCells cells(Chain::decimal, 1, 16 * kFew);
      if (added_up) {
        for (std::size_t i = 0; i < rows.size(); i += 20000) {
          OwnedGridCells part(Chain::decimal, 1, 16 * kFew);
          add({rows.begin() + static_cast<std::ptrdiff_t>(i),
               rows.begin() + static_cast<std::ptrdiff_t>(i + 20000)},
              &*part);
          ASSERT_TRUE(cells->merge(&*part).ok());
        }
      } else {
        add(rows, &*cells);
      }
      const Fitted f(uneven, rows, &*cells, kGridBytes);
      SCOPED_TRACE(f.model());
      EXPECT_LT(error_rows(DensityView(&f.density().header())), kRows / 100.0);
      expect_truth_held(uneven, f, 16);
      const Interval heavy = f.ask(Wanted::count, fitted::range(3.25, 3.25), kRowsThemselves);
      EXPECT_LT(heavy.upper - heavy.lower, kRows / 100.0);
    }
  }
}

// About a first value that is far from all others sums leave what doubles hold; what is lost by that
// has to be told.
TEST(FitCells, TellWhatSumsHaveLost) {
  OwnedGridCells cells(Chain::decimal, 1);
  Random random(9);
  double cents = 0;
  for (int i = 0; i < 300000; ++i) {
    // Not exact in binary, so that what is lost has no pattern.
    const double units = i == 0 ? 1e11 : std::floor(1000 * random.uniform());
    const double y = units / 100;
    if (i > 0) cents += units;
    ASSERT_TRUE(cells->add(i == 0 ? 0 : 1 + i % 2, {&y, 1}).ok());
  }
  FitOptions options;
  DensityBytes density;
  FitReport report;
  ASSERT_TRUE(fit_cells(&*cells, options, kGridBytes, {}, &density, &report).ok());
  const Range r = fitted::range(1, 2);
  const BoxSide side = {0, r, nullptr};
  const Interval sum = interval_of(
      Wanted::sum, kde::ask(Wanted::sum, {&density.header(), nullptr, {}}, {&side, 1}, 1, {}));
  EXPECT_LE(sum.lower, cents / 100);
  EXPECT_GE(sum.upper, cents / 100);
}

TEST(FitCells, GoOverTheWire) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.name);
    const Fitted f = Fitted::of(shape, rows_of(shape, kRows / 10, 6));
    EXPECT_STREQ(round_trip(f.density()), nullptr);
  }
}

TEST(FitCells, CountSpecialValuesApart) {
  OwnedGridCells cells(Chain::decimal, 1);
  const double y = 2;
  for (const double x : {1.0, fitted::kInf, -fitted::kInf, fitted::kNan, 3.0})
    ASSERT_TRUE(cells->add(x, {&y, 1}).ok());
  cells->add_null();
  FitOptions options;
  DensityBytes density;
  FitReport report;
  ASSERT_TRUE(fit_cells(&*cells, options, kGridBytes, {}, &density, &report).ok());
  const Status valid = validate(density.data(), density.size());
  EXPECT_TRUE(valid.ok()) << valid.message;
  const DensityView view(&density.header());
  EXPECT_EQ(view.header().nulls, 1);
  EXPECT_EQ(count(view, Range()), 5);
  EXPECT_EQ(measure_moments(view, MeasureView(&density.header(), 0), Range()).count, 5);
  OwnedGridCells none(Chain::decimal, 0);
  none->add_null();
  EXPECT_EQ(fit_cells(&*none, options, kGridBytes, {}, &density, &report).code,
            Code::invalid_argument);
}

}  // namespace
}  // namespace kde
