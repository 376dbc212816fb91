// Evidence added up: of parts of a range, against the whole range.
#include "core/ask/add_up.h"

#include "core/answer/column_evidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "fitted.h"

namespace kde {
namespace {

using fitted::Fitted;

std::vector<double> whole_numbers(int n) {
  std::vector<double> x(static_cast<std::size_t>(n));
  std::iota(x.begin(), x.end(), 0.0);
  return x;
}

Fitted of_every_row(int n) { return fitted::fit(whole_numbers(n), Method::automatic, 1); }

Total total_of(const Fitted& f, const std::vector<std::pair<double, double>>& parts,
               const IntervalOptions& options) {
  Total out;
  for (const auto& [from, to] : parts) {
    const Evidence e = evidence_of(Wanted::sum, f.view(), fitted::range(from, to), options);
    out.add(e, e.changed, true);
  }
  return out.as_of_now();
}

void expect_exactly(const Interval& i, double x) {
  EXPECT_DOUBLE_EQ(i.estimate, x);
  EXPECT_DOUBLE_EQ(i.lower, x);
  EXPECT_DOUBLE_EQ(i.upper, x);
}

TEST(AddUp, OfEveryRowIsExact) {
  const Fitted f = of_every_row(1000);
  const Total total = total_of(f, {{0, 99}, {300, 449}, {450, 999}}, {});
  expect_exactly(total.count, 800);
  expect_exactly(total.sum, 4950 + 454650);
  expect_exactly(total.mean, total.sum.estimate / 800);
}

TEST(AddUp, ChangedRowsAreSharedByTheParts) {
  const Fitted f = of_every_row(1000);
  IntervalOptions options;
  options.changed_rows = 5;
  const Total total = total_of(f, {{0, 99}, {200, 299}, {400, 499}}, options);
  EXPECT_DOUBLE_EQ(total.count.lower, 295);
  EXPECT_DOUBLE_EQ(total.count.upper, 305);
  EXPECT_DOUBLE_EQ(total.sum.upper - total.sum.estimate, 5 * 499);
  EXPECT_DOUBLE_EQ(total.sum.estimate - total.sum.lower, 5 * 499);
}

TEST(AddUp, PartsWithoutRowsAddNone) {
  const Fitted f = of_every_row(1000);
  const Total one = total_of(f, {{100, 199}}, {});
  const Total with_none = total_of(f, {{2000, 3000}, {100, 199}, {-20, -10}}, {});
  for (const auto i : {&Total::count, &Total::sum, &Total::mean})
    expect_exactly(with_none.*i, (one.*i).estimate);
  EXPECT_TRUE(std::isnan(total_of(f, {{2000, 3000}}, {0.95, 1}).sum.estimate));
}

// What is left of a whole is what the parts that stay are.
TEST(AddUp, APartThatIsTakenOutLeavesTheOthers) {
  const Fitted f = of_every_row(1000);
  Total left = total_of(f, {{100, 299}}, {});
  left.add(total_of(f, {{200, 299}}, {}), true);
  const Total part = total_of(f, {{100, 199}}, {});
  for (const auto i : {&Total::count, &Total::sum, &Total::mean})
    expect_exactly(left.*i, (part.*i).estimate);
  left.add(total_of(f, {{100, 199}}, {}), true);
  expect_exactly(left.count, 0);
  Total sample;
  sample.add_count({10, 8, 13}, {}, {});
  Total out;
  out.count = {4, 3, 6};
  sample.add(out, true);
  EXPECT_EQ(sample.count.lower, 2);
  EXPECT_EQ(sample.count.upper, 10);
}

// Of a sample the parts' errors may go together: added up they are never less than the whole's.
TEST(AddUp, OfASampleIsNotNarrowerThanTheWhole) {
  Sampler::Options some = fitted::keep_all();
  some.sample_rows = 2000;
  const Fitted f = fitted::fit(fitted::sample_of(whole_numbers(20000), some));
  const Total whole = total_of(f, {{1000, 8999}}, {});
  const Total parts = total_of(f, {{1000, 2999}, {3000, 6999}, {7000, 8999}}, {});
  for (const auto i : {&Total::count, &Total::sum}) {
    EXPECT_NEAR((parts.*i).estimate, (whole.*i).estimate, 1e-3 * (whole.*i).estimate);
    EXPECT_LE((parts.*i).lower, (whole.*i).lower);
    EXPECT_GE((parts.*i).upper, (whole.*i).upper);
  }
}

}  // namespace
}  // namespace kde
