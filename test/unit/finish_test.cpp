// From rows to a density: what is found of a column (lattice, bandwidth) against what is known of
// it, and what the density says of its rows.
#include "core/fit/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/density/format.h"
#include "core/density/histogram_view.h"
#include "core/random.h"
#include "core/select/line_bandwidth.h"
#include "samples.h"

namespace kde {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Memory that goes with the test.
class Heap {
 public:
  Memory memory() { return {&allocate, &release, this}; }

 private:
  static void* allocate(void* context, std::size_t size) {
    auto& chunks = static_cast<Heap*>(context)->chunks_;
    chunks.push_back(std::make_unique<double[]>((size + 7) / 8));
    return chunks.back().get();
  }
  static void release(void*, void*) {}
  std::vector<std::unique_ptr<double[]>> chunks_;
};

struct Density : DensityBytes {
  std::vector<HistogramCell> cells() const {
    std::vector<HistogramCell> out;
    decode_histogram(DensityView(data()), &out);
    std::erase_if(out, [](const HistogramCell& c) { return c.rows == 0; });
    return out;
  }
};

class Finish : public testing::Test {
 protected:
  Heap heap;
  Summary summary{heap.memory()};
  FitOptions options;

  void add(const std::vector<double>& rows) {
    for (const double x : rows) ASSERT_TRUE(summary.add(x).ok());
  }
  Density finished() {
    Density out;
    EXPECT_TRUE(summary.settle().ok());
    const Status status = finish(summary, options, {}, &out);
    EXPECT_TRUE(status.ok()) << status.message;
    const Status valid = validate(out.data(), out.size());
    EXPECT_TRUE(valid.ok()) << valid.message;
    return out;
  }
};

double bandwidth_of(Method method, const std::vector<double>& rows, bool exact) {
  LineRequest request;
  request.method = method;
  request.engine = {Engine::Kind::reference, 0, Precision::full};
  if (!exact) request.engine.kind = Engine::Kind::simd;
  LineBandwidth found;
  const Status status = select_bandwidth(request, rows, exact, {}, &found);
  EXPECT_TRUE(status.ok()) << status.message;
  return found.h;
}

TEST_F(Finish, DescribesTheRows) {
  add({3, 1, 2, 2, kNan, kInf, -kInf, -kInf});
  summary.add_null(5);
  const Density d = finished();
  const Header& h = d.header();
  EXPECT_EQ(h.kind, Kind::one_column);
  EXPECT_EQ(h.kernel, Kernel::gaussian);
  EXPECT_EQ(h.flags, kBounded | kEveryRowRead);
  EXPECT_EQ(h.method, Method::plugin);
  EXPECT_EQ(h.value_type, ValueType::float8);
  EXPECT_EQ(h.rows, 8);
  EXPECT_EQ(h.sample_rows, 4);
  EXPECT_EQ(h.nulls, 5);
  EXPECT_EQ(h.nans, 1);
  EXPECT_EQ(h.positive_infinities, 1);
  EXPECT_EQ(h.negative_infinities, 2);
  EXPECT_EQ(h.min, 1);
  EXPECT_EQ(h.max, 3);
  EXPECT_EQ(h.mean, 2);
  EXPECT_EQ(h.variance, 0.5);
  EXPECT_EQ(h.error, 0);
  EXPECT_EQ(h.rows_variance, 0);
  EXPECT_EQ(h.end_variance, 0);
  for (const auto& scales : h.count_variance) {
    for (const float variance : scales) EXPECT_EQ(variance, 0);
  }
  EXPECT_EQ(d.cells().size(), 3U);
}

TEST_F(Finish, KeepsTheMethodThatWasAskedFor) {
  const std::vector<double> rows = samples::mix(40);
  add(rows);
  for (const Method method :
       {Method::plugin, Method::silverman, Method::normal_reference, Method::scott,
        Method::sheather_jones, Method::lscv, Method::smoothed_cv}) {
    options.method = method;
    const Density d = finished();
    EXPECT_EQ(d.header().method, method);
    EXPECT_EQ(d.header().flags, kEveryRowRead);
    // Searches end within 1e-8 of their minimum.
    const double expected = bandwidth_of(method, rows, true);
    EXPECT_NEAR(d.header().bandwidth, expected, 1e-6 * expected) << static_cast<int>(method);
  }
}

TEST_F(Finish, OfNoRows) {
  const Density none = finished();
  EXPECT_EQ(none.header().rows, 0);
  EXPECT_EQ(none.header().bandwidth, 0);
  EXPECT_TRUE(none.cells().empty());

  summary.add_null(7);
  const Density nulls = finished();
  EXPECT_EQ(nulls.header().rows, 0);
  EXPECT_EQ(nulls.header().nulls, 7);

  add({kNan, kInf});
  const Density specials = finished();
  EXPECT_EQ(specials.header().rows, 2);
  EXPECT_EQ(specials.header().finite_rows(), 0);
  EXPECT_EQ(specials.header().sample_rows, 0);
}

TEST_F(Finish, OfOneValue) {
  add(std::vector<double>(20, 4.25));
  const Density d = finished();
  EXPECT_EQ(d.header().bandwidth, 0);
  EXPECT_EQ(d.header().variance, 0);
  ASSERT_EQ(d.cells().size(), 1U);
  EXPECT_EQ(d.cells()[0].value, 4.25);
  EXPECT_EQ(d.cells()[0].rows, 20);
}

TEST_F(Finish, OfTwoRows) {
  add({1.5, 2.5});
  const Density d = finished();
  const double expected = bandwidth_of(Method::plugin, {1.5, 2.5}, true);
  EXPECT_NEAR(d.header().bandwidth, expected, 1e-9 * expected);
}

// Lattices: {what the rows are multiples of, the step that is found, its scale}.
TEST_F(Finish, FindsTheLattice) {
  struct Case {
    double divisor, step, scale;
  };
  for (const Case& c : {Case{1, 1, 1}, Case{100, 0.01, 100}, Case{12, 1.0 / 12, 12}}) {
    summary = Summary(heap.memory());
    std::vector<double> rows;
    Random random(3);
    for (int i = 0; i < 60; ++i) rows.push_back(std::floor(500 * random.uniform()) / c.divisor);
    add(rows);
    const Density d = finished();
    EXPECT_EQ(d.header().lattice_step, c.step);
    EXPECT_EQ(d.header().lattice_scale, c.scale);
    std::sort(rows.begin(), rows.end());
    std::vector<double> values;
    for (const HistogramCell& cell : d.cells()) {
      EXPECT_TRUE(cell.point);
      values.insert(values.end(), static_cast<std::size_t>(cell.rows), cell.value);
    }
    EXPECT_EQ(values, rows) << "divisor " << c.divisor;
  }
}

TEST_F(Finish, TakesTheTypesLattice) {
  constexpr double kDay = 86400;
  options.value_type = ValueType::date;
  options.lattice_step = kDay;
  add({-3 * kDay, 0, 7 * kDay, 7 * kDay, 21 * kDay});
  const Density d = finished();
  EXPECT_EQ(d.header().lattice_step, kDay);
  EXPECT_EQ(d.header().lattice_offset, 0);
  EXPECT_EQ(d.header().value_type, ValueType::date);
  ASSERT_EQ(d.cells().size(), 4U);
  EXPECT_EQ(d.cells()[2].value, 7 * kDay);
  EXPECT_EQ(d.cells()[2].rows, 2);
}

TEST_F(Finish, FindsNoLatticeInContinuousRows) {
  add(samples::normal(60, 5));
  EXPECT_EQ(finished().header().lattice_step, 0);
}

// One row off the lattice, and the values would not come back.
TEST_F(Finish, TakesNoLatticeThatARowIsOff) {
  std::vector<double> rows;
  for (int i = 0; i < 300; ++i) rows.push_back(i);
  rows.push_back(7.000123456789);
  add(rows);
  EXPECT_EQ(finished().header().lattice_step, 0);
}

// Few rows on either side of where sums are taken pair by pair: the spectral engine is as good.
TEST_F(Finish, SelectsTheBandwidthOfItsRows) {
  for (const int n : {2, 3, 10, 30, 99, 100, 101, 400}) {
    summary = Summary(heap.memory());
    const std::vector<double> rows = samples::mix(n);
    add(rows);
    const double expected = bandwidth_of(Method::plugin, rows, true);
    EXPECT_NEAR(finished().header().bandwidth, expected, 1e-9 * expected) << n;
  }
}

// Twenty distinct values at most, of which none is told for a heap.
TEST_F(Finish, SelectsTheBandwidthOfRowsThatRepeat) {
  std::vector<double> rows;
  for (const double x : samples::normal(200, 6)) rows.push_back(std::round(3 * x));
  add(rows);
  const double expected = bandwidth_of(Method::plugin, rows, true);
  EXPECT_NEAR(finished().header().bandwidth, expected, 1e-9 * expected);
}

// Cells stand for their middles: binning in cells of width w moves a functional by (w/g)^2, and the
// widest cells that count, of 1/4,000 of the rows, are of 1/500 of the pilot bandwidth.
TEST_F(Finish, SelectsTheBandwidthFromCells) {
  const std::vector<double> rows = samples::normal(100'000, 7);
  add(rows);
  const double expected = bandwidth_of(Method::plugin, rows, false);
  const Density d = finished();
  EXPECT_GT(summary.error_rows(), 0);
  EXPECT_NEAR(d.header().bandwidth, expected, 1e-3 * expected);
  EXPECT_EQ(d.header().sample_rows, 100'000);
}

// Values of any size: the bandwidth has their unit.
TEST_F(Finish, FollowsTheUnit) {
  const std::vector<double> rows = samples::mix(30);
  add(rows);
  const double h = finished().header().bandwidth;
  for (const int exponent : {-900, -30, 40, 900}) {
    summary = Summary(heap.memory());
    for (const double x : rows) ASSERT_TRUE(summary.add(std::ldexp(x, exponent)).ok());
    EXPECT_EQ(finished().header().bandwidth, std::ldexp(h, exponent)) << exponent;
  }
}

// A heap of zeros has no part in the bandwidth of the rows beside it: exact cells and joined ones.
TEST_F(Finish, LeavesHeapsOutOfTheBandwidth) {
  for (const int n : {80, 400, 20'000}) {
    summary = Summary(heap.memory());
    const std::vector<double> rows = samples::normal(n, 8);
    add(rows);
    add(std::vector<double>(static_cast<std::size_t>(n), 0.0));
    const double expected = bandwidth_of(Method::plugin, rows, n < 1000);
    EXPECT_NEAR(finished().header().bandwidth, expected, 1e-3 * expected) << n;
  }
}

TEST_F(Finish, CountsAWeightAsSoManyRows) {
  const std::vector<double> rows = samples::mix(30);
  Summary repeated(heap.memory());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int weight = 1 + static_cast<int>(i % 4);
    ASSERT_TRUE(summary.add(rows[i], weight).ok());
    for (int k = 0; k < weight; ++k) ASSERT_TRUE(repeated.add(rows[i]).ok());
  }
  const Density weighted = finished();
  std::swap(summary, repeated);
  const Density written = finished();
  EXPECT_EQ(weighted.header().rows, written.header().rows);
  EXPECT_EQ(weighted.header().mean, written.header().mean);
  EXPECT_EQ(weighted.header().sample_rows, 30);
  const std::vector<HistogramCell> a = weighted.cells();
  const std::vector<HistogramCell> b = written.cells();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].value, b[i].value);
    EXPECT_EQ(a[i].rows, b[i].rows);
  }
}

// They are as many rows as came: equal weights say nothing about the bandwidth.
TEST_F(Finish, SelectsTheSameBandwidthForEqualWeights) {
  const std::vector<double> rows = samples::mix(30);
  for (const double x : rows) ASSERT_TRUE(summary.add(x, 2.5).ok());
  const double expected = bandwidth_of(Method::plugin, rows, true);
  EXPECT_NEAR(finished().header().bandwidth, expected, 1e-9 * expected);
}

TEST_F(Finish, KeepsToTheBudget) {
  add(samples::normal(20'000, 9));
  for (const std::size_t budget : {kLeastHistogramBytes, std::size_t{2000}, std::size_t{8000}}) {
    options.budget = budget;
    const Density d = finished();
    EXPECT_LE(d.size(), budget);
    EXPECT_GT(d.header().error, 0);
  }
  Density d;
  for (const std::size_t budget : {std::size_t{0}, kLeastHistogramBytes - 1, kMaxBytes + 1}) {
    options.budget = budget;
    EXPECT_EQ(finish(summary, options, {}, &d).code, Code::invalid_argument);
  }
}

TEST_F(Finish, CanBeCancelledAtEveryPoll) {
  struct Polls {
    int left;
    static bool stop(void* arg) { return static_cast<Polls*>(arg)->left-- <= 0; }
  };
  add(samples::mix(50));
  ASSERT_TRUE(summary.settle().ok());
  int polls = 0;
  for (;; ++polls) {
    Polls left{polls};
    Control control;
    control.should_stop = Polls::stop;
    control.stop_arg = &left;
    Density d;
    const Status status = finish(summary, options, control, &d);
    if (status.ok()) break;
    ASSERT_EQ(status.code, Code::cancelled) << polls;
    ASSERT_LT(polls, 10'000);
  }
  EXPECT_GT(polls, 2);
}

// Whole numbers so many that cells are joined in the tails, while the frequent ones stay points:
// those are no heaps. The bandwidth of all rows is within what binning in cells does to it.
TEST_F(Finish, FrequentValuesOfALatticeAreNoHeaps) {
  std::vector<double> rows = samples::normal(400000, 41);
  for (double& x : rows) x = std::round(2000 * x);
  add(rows);
  for (const Method method : {Method::automatic, Method::silverman}) {
    options.method = method;
    const Density d = finished();
    ASSERT_GT(summary.join_limit(), 0);
    const double h =
        bandwidth_of(method == Method::automatic ? Method::plugin : method, rows, false);
    EXPECT_NEAR(d.header().bandwidth, h, 0.01 * h);
  }
}

// One row that outweighs all others: the rest has a bandwidth of its own all the same.
TEST_F(Finish, OneHeavyWeight) {
  for (const double weight : {1e8, 2e8, 1e20}) {
    Summary heavy(heap.memory());
    ASSERT_TRUE(heavy.add(0, weight).ok());
    for (const double x : samples::normal(30000, 42)) ASSERT_TRUE(heavy.add(x).ok());
    ASSERT_TRUE(heavy.settle().ok());
    Density d;
    const Status status = finish(heavy, options, {}, &d);
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_TRUE(validate(d.data(), d.size()).ok());
    // That of 30,000 normal rows is 0.13; with 200 cells left of them at least, n^(1/5) makes it
    // 2.7 times that at most.
    EXPECT_GT(d.header().bandwidth, 0.1);
    EXPECT_LT(d.header().bandwidth, 0.36);
  }
}

// Sums of fractions may round to more than their parts: no finite row comes of it.
TEST_F(Finish, SpecialValuesOfFractionalWeight) {
  ASSERT_TRUE(summary.add(kNan, 0.1).ok());
  ASSERT_TRUE(summary.add(-kInf, 0.2).ok());
  ASSERT_TRUE(summary.add(kInf, 0.3).ok());
  EXPECT_LE(finished().header().finite_rows(), 0);
}

}  // namespace
}  // namespace kde
