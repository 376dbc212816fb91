// Densities of which parts are replaced, again and again, against the rows that there are: counts and sums at
// every end of a cell, totals, and that the bytes are those of a density.
#include "core/fit/splice_groups.h"

#include "core/density/histogram_view.h"
#include "core/density/measure_format.h"
#include "core/fit/fit_cells.h"
#include "core/fit/groups.h"
#include "core/grid/owned_cells.h"
#include "core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace kde {
namespace {

constexpr std::size_t kParts = 16, kOfEach = 1000;
const double kNull = std::nan("");

struct Row {
  double x, y, z;
  int group;
};

struct Column {
  const char* name;
  ValueType type;
  double lattice;
  // Of a part.
  std::function<double(std::size_t, Random*)> x;
};

std::vector<Column> columns() {
  return {{"times in order", ValueType::timestamp, 1e-6,
           [](std::size_t part, Random* r) {
             return (1767225600e6 + 40000e6 * static_cast<double>(part) +
                     std::floor(40000e6 * r->uniform())) /
                    1e6;
           }},
          {"times anywhere", ValueType::timestamp, 1e-6,
           [](std::size_t, Random* r) {
             return (1767225600e6 + std::floor(900000e6 * r->uniform())) / 1e6;
           }},
          {"few values", ValueType::int4, 1,
           [](std::size_t, Random* r) { return static_cast<double>(r->below(300)); }},
          {"whole numbers", ValueType::int8, 1,
           [](std::size_t part, Random* r) {
             return static_cast<double>(5000 * part + r->below(5000));
           }},
          {"prices", ValueType::numeric, 0.01,
           [](std::size_t, Random* r) {
             return std::nearbyint(100 * std::exp(4 * r->uniform())) / 100;
           }},
          {"doubles", ValueType::float8, 0, [](std::size_t, Random* r) {
             return std::sqrt(-2 * std::log(1 - r->uniform())) * std::cos(7 * r->uniform());
           }}};
}

std::vector<Row> rows_of(const Column& column, std::size_t part, std::size_t n, Random* random) {
  std::vector<Row> out;
  for (std::size_t i = 0; i < n; ++i) {
    const double y = static_cast<double>(random->below(100000)) / 100 - 300;
    out.push_back({column.x(part, random), random->below(50) == 0 ? kNull : y,
                   random->uniform() / 3, static_cast<int>(random->below(5))});
  }
  return out;
}

FitOptions options_of(const Column& column) {
  FitOptions options;
  options.value_type = column.type;
  options.lattice_step = column.lattice;
  options.measure_types[0] = ValueType::numeric;
  options.measure_types[1] = ValueType::float8;
  options.every_row_read = true;
  return options;
}

DensityBytes fit(const Column& column, const std::vector<Row>& rows, std::size_t bytes) {
  const Chain chain = chain_of(column.type);
  OwnedGridCells all(chain, 2);
  Groups groups({.chain = chain, .measures = 2}, 1000);
  groups.begin_every_row();
  for (const Row& row : rows) {
    const double y[] = {row.y, row.z};
    EXPECT_TRUE(all->add(row.x, y).ok());
    EXPECT_TRUE(groups.add({static_cast<std::uint32_t>(row.group)}, row.x, y).ok());
  }
  for (std::size_t g = 0; g < groups.size(); ++g)
    EXPECT_TRUE(groups.set_key(g, std::to_string(groups.codes(g)[0])).ok());
  DensityBytes out;
  FitReport report;
  GroupsReport of_groups;
  EXPECT_TRUE(fit_cells(&*all, options_of(column), bytes, {}, &out, &report).ok());
  EXPECT_TRUE(groups.append(options_of(column), {}, &out, &of_groups, GroupsBytes::of(bytes)).ok());
  return out;
}

// Where a list tells what is below: before a value, and through the last one of a cell.
struct End {
  double x;
  bool through;
  double told;
};
std::vector<End> ends_of(const DensityView& view) {
  std::vector<HistogramCell> cells;
  decode_histogram(view, &cells);
  std::vector<End> out;
  double below = 0;
  for (const HistogramCell& c : cells) {
    if (c.point) out.push_back({c.value, false, below});
    below += c.rows;
    if (c.rows > 0 || c.value > view.header().min) out.push_back({c.value, true, below});
  }
  return out;
}

bool is_below(double x, const End& end) { return end.through ? x <= end.x : x < end.x; }

bool is_less(const Row& a, const Row& b) { return a.x < b.x; }

void expect_list(const DensityView& view, std::vector<Row> rows,
                 const std::function<double(const Row&)>& weight) {
  std::sort(rows.begin(), rows.end(), is_less);
  double below = 0;
  std::size_t i = 0;
  const Header& h = view.header();
  for (const End& end : ends_of(view)) {
    for (; i < rows.size() && is_below(rows[i].x, end); ++i) below += weight(rows[i]);
    ASSERT_NEAR(end.told, below, h.error * h.rows + 1e-7 * std::fabs(below)) << end.x;
  }
  for (; i < rows.size(); ++i) below += weight(rows[i]);
  EXPECT_NEAR(h.cell_rows, below, h.error * h.rows + 1e-7 * std::fabs(below));
}

// What a measure's parts say of sums, at the ends of the column's cells.
void expect_measure(const Header* density, int k, const std::vector<Row>& rows) {
  const MeasureView measure(density, k);
  const MeasureHeader& m = measure.header();
  const auto y = [k](const Row& row) { return k == 0 ? row.y : row.z; };
  double counted = 0, sum = 0, least = INFINITY, greatest = -INFINITY;
  for (const Row& row : rows) {
    if (std::isnan(y(row))) continue;
    counted += 1;
    sum += y(row);
    least = std::min(least, y(row));
    greatest = std::max(greatest, y(row));
  }
  EXPECT_EQ(m.rows, counted);
  EXPECT_EQ(m.min, least);
  EXPECT_EQ(m.max, greatest);
  EXPECT_NEAR(m.mean, sum / counted, 1e-9);
  if (m.has(MeasurePart::rows))
    expect_list(measure.part(MeasurePart::rows), rows,
                [&](const Row& r) { return std::isnan(y(r)) ? 0.0 : 1.0; });
  if (m.has(MeasurePart::squares))
    expect_list(measure.part(MeasurePart::squares), rows, [&](const Row& r) {
      const double d = (y(r) - m.origin) / m.unit;
      return std::isnan(d) ? 0 : d * d;
    });
  // Above less below, at the ends of the column's cells: of a value from behind it on.
  double off = 0;
  std::map<std::pair<double, bool>, double> at;
  for (const auto& [part, sign] :
       {std::pair(MeasurePart::above, 1.0), std::pair(MeasurePart::below, -1.0)}) {
    if (!m.has(part)) continue;
    const Header& h = measure.part(part).header();
    off += h.error * h.rows;
    std::vector<HistogramCell> cells;
    decode_histogram(measure.part(part), &cells);
    for (const HistogramCell& c : cells) at[{c.value, c.point}] += sign * c.rows;
  }
  std::vector<Row> sorted = rows;
  std::sort(sorted.begin(), sorted.end(), is_less);
  double told = 0, truth = 0;
  std::size_t i = 0;
  auto step = at.begin();
  for (const End& end : ends_of(DensityView(density))) {
    for (; step != at.end() && is_below(step->first.first, end); ++step) told += step->second;
    for (; i < sorted.size() && is_below(sorted[i].x, end); ++i)
      if (!std::isnan(y(sorted[i]))) truth += (y(sorted[i]) - m.origin) / m.unit;
    ASSERT_NEAR(told, truth, off + 1e-6 + 1e-9 * std::fabs(truth)) << end.x;
  }
}

void expect_column(const Header* density, const std::vector<Row>& rows) {
  EXPECT_EQ(density->rows, static_cast<double>(rows.size()));
  EXPECT_EQ(density->error, 0);
  const auto [least, greatest] = std::minmax_element(rows.begin(), rows.end(), is_less);
  EXPECT_EQ(density->min, least->x);
  EXPECT_EQ(density->max, greatest->x);
  expect_list(DensityView(density), rows, [](const Row&) { return 1.0; });
  for (int k = 0; k < 2; ++k) {
    SCOPED_TRACE(k);
    expect_measure(density, k, rows);
  }
}

void expect_rows(const DensityBytes& density, const std::vector<Row>& rows) {
  const Status valid = validate(density.data(), density.size());
  ASSERT_TRUE(valid.ok()) << valid.message;
  expect_column(&density.header(), rows);
  GroupsView view(&density.header());
  GroupView group;
  double before = INFINITY;
  while (view.next(&group)) {
    SCOPED_TRACE(group.key());
    std::vector<Row> own;
    for (const Row& row : rows)
      if (std::to_string(row.group) == group.key()) own.push_back(row);
    expect_column(group.density(), own);
    EXPECT_LE(group.density()->rows, before);
    before = group.density()->rows;
  }
}

// Some parts go, others come in their place or behind them.
void expect_replaced(const Column& column, std::size_t bytes, int steps, int* told) {
  SCOPED_TRACE(column.name);
  Random random(7);
  std::vector<std::vector<Row>> part;
  std::vector<Row> all;
  for (std::size_t k = 0; k < kParts; ++k) {
    part.push_back(rows_of(column, k, kOfEach, &random));
    all.insert(all.end(), part[k].begin(), part[k].end());
  }
  DensityBytes density = fit(column, all, bytes);
  expect_rows(density, all);
  std::vector<DensityBytes> of_part;
  for (const std::vector<Row>& rows : part) of_part.push_back(fit(column, rows, kGridBytes));
  for (int step = 0; step < steps; ++step) {
    SCOPED_TRACE(step);
    const std::size_t at = random.below(part.size());
    std::vector<Row> rows = part[at];
    // Rows change, go and come.
    for (int i = 0; i < 40; ++i) rows[random.below(rows.size())].y += 0.25;
    if (step % 3 == 1) rows.resize(rows.size() - 30);
    if (step % 3 == 2) {
      const std::vector<Row> more = rows_of(column, at, 50, &random);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    const DensityBytes now = fit(column, rows, kGridBytes);
    std::vector<const Header*> gone = {&of_part[at].header()}, came = {&now.header()},
                               others = came;
    for (std::size_t k = 0; k < part.size(); ++k)
      if (k != at) others.push_back(&of_part[k].header());
    // Behind the last some that are new.
    std::vector<Row> behind;
    DensityBytes new_one;
    if (step % 4 == 3) {
      behind = rows_of(column, part.size(), 200, &random);
      new_one = fit(column, behind, kGridBytes);
      came.push_back(&new_one.header());
      others.push_back(&new_one.header());
    }
    DensityBytes spliced;
    FitReport report;
    const Status s = splice_density(density.header(), {gone, others, true}, came,
                                    options_of(column), 4 * bytes, {}, &spliced, &report);
    ASSERT_TRUE(s.ok() || s.code == Code::too_large) << s.message;
    part[at] = rows;
    of_part[at] = now;
    if (!behind.empty()) {
      part.push_back(behind);
      of_part.push_back(std::move(new_one));
    }
    all.clear();
    for (const std::vector<Row>& p : part) all.insert(all.end(), p.begin(), p.end());
    *told += s.ok();
    density = s.ok() ? std::move(spliced) : fit(column, all, bytes);
    if (!s.ok()) std::printf("%s %d: %s\n", column.name, step, s.message);
    expect_rows(density, all);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Splice, HoldsTheRowsThatThereAre) {
  constexpr int kSteps = 12;
  for (const Column& column : columns())
    for (const std::size_t bytes : {kGridBytes, std::size_t{24576}}) {
      int told = 0;
      expect_replaced(column, bytes, kSteps, &told);
      EXPECT_GE(told, kSteps - 2) << column.name << " " << bytes;
    }
}

// A measure that was 0 everywhere has no sums; then rows with both signs come.
TEST(Splice, ListsSumsThatWereNot) {
  const Column column = columns()[0];
  Random random(9);
  std::vector<Row> all = rows_of(column, 0, kOfEach, &random);
  for (Row& row : all) row.y *= 0, row.z = 0;  // NULLs remain
  const DensityBytes density = fit(column, all, kGridBytes);
  std::vector<Row> behind = rows_of(column, 1, kOfEach, &random);
  for (Row& row : behind) row.y = std::rint(row.y), row.z = 0;  // of one unit
  const DensityBytes came = fit(column, behind, kGridBytes);
  const Header* const headers[] = {&came.header()};
  DensityBytes out;
  FitReport report;
  const Status s = splice_density(density.header(), {{}, headers, true}, headers,
                                  options_of(column), 4 * kGridBytes, {}, &out, &report);
  ASSERT_TRUE(s.ok()) << s.message;
  all.insert(all.end(), behind.begin(), behind.end());
  expect_rows(out, all);
}

TEST(Splice, RefusesWhatIsNoPart) {
  const Column column = columns()[0];
  Random random(8);
  const DensityBytes density = fit(column, rows_of(column, 0, 5000, &random), kGridBytes);
  const DensityBytes other = fit(column, rows_of(column, 0, 9000, &random), kGridBytes);
  const Header* const gone[] = {&other.header()};
  DensityBytes out;
  FitReport report;
  EXPECT_EQ(splice_density(density.header(), {gone, {}, true}, {}, options_of(column), kGridBytes,
                           {}, &out, &report)
                .code,
            Code::too_large);
}

}  // namespace
}  // namespace kde
