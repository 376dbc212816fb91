// The rules of made_columns.h.
#include "made_columns.h"

#include "core/random.h"

#include "samples.h"

#include <cmath>
#include <utility>

namespace kde::accuracy {

namespace {

constexpr int kRows = static_cast<int>(kMadeRows);

// Of each row, given a standard normal number and uniform ones.
template <typename Rule>
std::vector<double> by_row(std::uint64_t seed, const Rule& rule) {
  Random random(seed);
  std::vector<double> x = samples::normal(kRows, seed + 1000);
  for (double& v : x) v = rule(v, &random);
  return x;
}

double exponential(Random* random) { return -std::log(random->uniform()); }

// Heaps at multiples of five.
double age(double z, Random* random) {
  const double x = 40 + 15 * z;
  return random->uniform() < 0.3 ? 5 * std::round(x / 5) : std::round(x);
}

// Cents: zeros, and prices that end in .99.
double price(double z, Random* random) {
  const double x = std::round(100 * std::exp(3 + z)) / 100;
  if (random->uniform() < 0.2) return 0;
  return random->uniform() < 0.3 ? std::floor(x) + 0.99 : x;
}

// A broad component and two narrow ones.
double of_mixture(double z, Random* random) {
  if (random->uniform() < 0.5) return -3 + 0.3 * z;
  return random->uniform() < 0.6 ? z : 6 + 0.05 * z;
}

// Arrivals at a rate that comes and goes.
std::vector<double> in_time_order() {
  Random random(6);
  std::vector<double> x;
  double now = 0;
  for (int i = 0; i < kRows; ++i)
    x.push_back(now += (1 + 0.5 * std::sin(i / 500.0)) * exponential(&random));
  return x;
}

std::vector<double> late_rows() {
  Random random(7);
  std::vector<double> x = in_time_order();
  for (double& v : x) v += 200 * exponential(&random);
  return x;
}

// A hundred rows around each centre, one after the other.
std::vector<double> clustered() {
  const std::vector<double> centre = samples::normal(kRows / 100, 8);
  std::vector<double> x = samples::normal(kRows, 9);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = centre[i / 100] + x[i] / 10;
  return x;
}

// Response times, of which an incident's, a fortieth of the rows, lie together.
std::vector<double> bursts() {
  Random random(11);
  std::vector<double> x;
  for (int i = 0; i < kRows; ++i) {
    const bool in_incident = i >= kRows * 2 / 5 && i < kRows * 2 / 5 + kRows / 40;
    x.push_back(in_incident ? 500 + i % 7 : std::round(1000 * random.uniform()));
  }
  return x;
}

}  // namespace

Table made_columns() {
  Table table;
  table.name = "made";
  table.rows = kMadeRows;
  const auto add = [&table](const char* name, std::vector<double> values) {
    Column column;
    column.name = name;
    column.type = ColumnType::decimal;
    column.values = std::move(values);
    table.columns.push_back(std::move(column));
  };
  add("normal", samples::normal(kRows, 1));
  add("lognormal", samples::lognormal(kRows, 2));
  add("pareto", by_row(3, [](double, Random* r) { return std::exp(exponential(r) / 2.5); }));
  add("mixture", by_row(4, of_mixture));
  add("ages", by_row(5, age));
  add("money", by_row(10, price));
  add("in_time_order", in_time_order());
  add("late_rows", late_rows());
  add("clustered", clustered());
  add("bursts", bursts());
  return table;
}

}  // namespace kde::accuracy
