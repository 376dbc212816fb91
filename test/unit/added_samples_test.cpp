// Densities of samples, added up: their cells differ, as each has those that its own evenness asks for.
#include "core/fit/fit_cells.h"
#include "core/grid/add_densities.h"
#include "core/grid/owned_cells.h"
#include "fitted.h"

#include <gtest/gtest.h>

namespace kde {

namespace {

using fitted::Fitted;

// Of one row in ten.
Fitted fit_sample(const std::vector<double>& x, double lattice_step) {
  FitOptions options;
  options.rows_per_row_read = 10;
  options.share_of_blocks = 0.1;
  options.lattice_step = lattice_step;
  return fitted::fit(fitted::sample_of(x), options);
}

// Every count is the sum of theirs, but for the errors stated, and these are not more by many rows read.
void expect_sum(const std::vector<Fitted>& parts, double lattice_step, double least, double most,
                double more = 0.25) {
  std::vector<const Header*> headers;
  double rows = 0, errors = 0, read = 0;
  for (const Fitted& f : parts) {
    headers.push_back(&f.view().header());
    rows += f.view().header().rows;
    read += f.view().header().sample_rows;
    errors += f.view().header().error * f.view().header().rows;
  }
  OwnedGridCells cells(Chain::decimal, 0);
  ASSERT_TRUE(add_densities(headers, {}, &*cells).ok());
  FitOptions options;
  options.added_up = true;
  options.lattice_step = lattice_step;
  FitReport report;
  DensityBytes bytes;
  ASSERT_TRUE(fit_cells(&*cells, options, kGridBytes, {}, &bytes, &report).ok());
  const DensityView sum(&bytes.header());
  const double error = sum.header().error * sum.header().rows;
  EXPECT_LE(error, errors + more * rows / read);
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const double a = least + (most - least) * random.uniform();
    const double b = a + (most - a) * random.uniform();
    double of_parts = 0;
    for (const Fitted& f : parts) of_parts += count(f.view(), fitted::range(a, b));
    ASSERT_NEAR(count(sum, fitted::range(a, b)), of_parts, 2 * (error + errors)) << a << " " << b;
  }
}

}  // namespace

TEST(AddedSamples, AreDividedEvenlyWhereCellsDiffer) {
  std::vector<double> wide = samples::normal(500, 3), narrow = samples::normal(3000, 4);
  for (double& v : wide) v *= 100;
  std::vector<Fitted> parts;
  parts.push_back(fit_sample(wide, 0));
  parts.push_back(fit_sample(narrow, 0));
  expect_sum(parts, 0, -300, 300);
  expect_sum(parts, 0, -3, 3);
}

TEST(AddedSamples, SoAreThoseOfWholeNumbers) {
  std::vector<double> wide = samples::normal(500, 3), narrow = samples::normal(3000, 4);
  for (double& v : wide) v = std::round(2000 * v);
  for (double& v : narrow) v = std::round(60 * v);
  std::vector<Fitted> parts;
  parts.push_back(fit_sample(wide, 1));
  parts.push_back(fit_sample(narrow, 1));
  expect_sum(parts, 1, -6000, 6000);
  expect_sum(parts, 1, -180, 180);
}

// Each has a lattice of its own, which is found in it.
TEST(AddedSamples, SoAreThoseOfDifferentLattices) {
  std::vector<double> wide = samples::normal(2000, 3), narrow = samples::normal(3000, 4);
  for (double& v : wide) v = std::round(2000 * v) / 100;
  for (double& v : narrow) v = std::round(6000 * v) / 1000;
  std::vector<Fitted> parts;
  parts.push_back(fit_sample(wide, 0));
  parts.push_back(fit_sample(narrow, 0));
  expect_sum(parts, 0, -60, 60, 1);
}

}  // namespace kde
