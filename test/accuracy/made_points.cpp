// The rules of made_points.h.
#include "made_points.h"

#include "core/random.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace kde::accuracy {

namespace {

struct Point {
  double x, y;
};

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}

  double uniform() { return random_.uniform(); }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(random_.uniform()));
    return radius * std::cos(2 * std::numbers::pi * random_.uniform());
  }
  double exponential() { return -std::log(random_.uniform()); }

 private:
  Random random_;
};

Point normal_point(Draws* r) {
  const double x = r->normal();
  return {x, x / 2 + r->normal()};
}

Point of_disc(Draws* r) {
  const double radius = std::sqrt(r->uniform());
  const double angle = 2 * std::numbers::pi * r->uniform();
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

// z^2 of a normal z has twice a gamma distribution of shape 1/2.
Point of_corner(Draws* r) {
  const double a = r->normal(), b = r->normal();
  return {a * a, b * b};
}

Point of_hot_spot(Draws* r) {
  const bool hot = r->uniform() < 0.05;
  const double x = r->normal(), y = r->normal();
  return hot ? Point{1 + x / 50, 1 + y / 50} : Point{x, y};
}

Point of_streets(Draws* r) {
  const auto five_digits = [](double x) { return std::round(1e5 * x) / 1e5; };
  const bool market = r->uniform() < 0.1;
  const bool upright = r->uniform() < 0.5;
  const double street = std::floor(40 * r->uniform()) / 40 + 0.0015 * r->normal();
  const double along = std::sqrt(r->uniform());
  const double a = 0.004 * r->exponential(), b = 0.004 * r->exponential();
  if (market) return {five_digits(0.31 + a), five_digits(0.62 + b)};
  return {five_digits(upright ? street : along), five_digits(upright ? along : street)};
}

MadePoints empty(const char* name) {
  MadePoints made;
  made.table.name = name;
  made.table.column_name = {"x", "y", "value"};
  made.table.type.assign(3, ColumnType::decimal);
  made.table.rows.columns = 3;
  return made;
}

void add(double x, double y, double value, RowSet* rows) {
  rows->value.insert(rows->value.end(), {x, y, value});
  rows->null.push_back(0);
  ++rows->rows;
}

template <typename Rule>
MadePoints points(const char* name, std::uint64_t seed, const Rule& rule) {
  MadePoints made = empty(name);
  Draws draws(seed);
  for (int i = 0; i < kPlaceRows; ++i) {
    const Point p = rule(&draws);
    add(p.x, p.y, std::exp(p.x / 2) + draws.normal() / 4, &made.table.rows);
  }
  return made;
}

// A customer has 1 to some hundred rows, 25 on average.
MadePoints runs() {
  MadePoints made = empty("runs");
  made.by_block = true;
  Draws draws(6);
  double left = 0, place = 0, level = 0;
  for (int i = 0; i < kPlaceRows; ++i) {
    if (left < 1) {
      left = 1 + std::floor(25 * draws.exponential());
      place = draws.normal();
      level = std::exp(0.8 * draws.normal());
    }
    --left;
    add(place + draws.normal() / 4, draws.normal(), level * std::exp(0.3 * draws.normal()),
        &made.table.rows);
  }
  return made;
}

void find_means(JointTable* table) {
  table->mean.assign(static_cast<std::size_t>(table->columns()), 0);
  for (std::size_t i = 0; i < table->rows.rows; ++i) {
    for (int k = 0; k < table->columns(); ++k)
      table->mean[static_cast<std::size_t>(k)] +=
          table->rows.row(i)[k] / static_cast<double>(table->rows.rows);
  }
}

}  // namespace

std::vector<MadePoints> made_points() {
  std::vector<MadePoints> all;
  all.push_back(points("normal", 1, normal_point));
  all.back().smooth = true;
  all.push_back(points("disc", 2, of_disc));
  all.push_back(points("corner", 3, of_corner));
  all.push_back(points("hot_spot", 4, of_hot_spot));
  all.push_back(points("streets", 5, of_streets));
  all.push_back(runs());
  for (MadePoints& made : all) find_means(&made.table);
  return all;
}

}  // namespace kde::accuracy
