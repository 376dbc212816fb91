// encode_histogram against a decoder that reads bit after bit as histogram.h says, checks every
// rule on the way, and keeps the distribution function as plain lists.
#include "core/density/histogram.h"
#include "core/density/histogram_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/density/histogram_simplify.h"
#include "core/density/histogram_steps.h"
#include "core/random.h"
#include "samples.h"

namespace kde {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();

using Cells = std::vector<HistogramCell>;

// A part of a distribution function: rows over (begin, end], or at end.
struct Part {
  double begin, end, rows;
  bool point;
};

// A distribution function of ascending parts.
class Function {
 public:
  Function() = default;
  Function(const std::vector<Part>& parts, double step) : parts_(parts), step_(step) {
    for (const Part& p : parts_) before_.push_back(before_.back() + p.rows);
  }

  // Rows below x or up to x. Of a lattice only its points are asked for.
  double count(double x, bool inclusive) const {
    const auto first = std::lower_bound(parts_.begin(), parts_.end(), x,
                                        [](const Part& p, double v) { return p.end < v; });
    double rows = before_[static_cast<std::size_t>(first - parts_.begin())];
    for (auto p = first; p != parts_.end() && (p->end == x || p->begin < x); ++p) {
      if (p->point) {
        if (inclusive && p->end == x) rows += p->rows;
        continue;
      }
      // Of a lattice's range the points up to x, or up to the one before x. The difference of two
      // doubles may be none.
      const long double begin = p->begin;
      const long double to = step_ > 0 && !inclusive ? x - step_ : x;
      rows +=
          p->rows * static_cast<double>(std::clamp((to - begin) / (p->end - begin), 0.0L, 1.0L));
    }
    return rows;
  }

 private:
  std::vector<Part> parts_;
  std::vector<double> before_{0};
  double step_ = 0;
};

struct Stored {
  Header header;
  std::vector<double> atom_value, atom_rows;  // of its own
  std::vector<Part> parts;                    // the cells
  std::vector<HistogramBlock> blocks;
  Function function;  // of the cells
  std::size_t size = 0;
  bool any_rounded = false;

  double count(double x, bool inclusive) const {
    double rows = function.count(x, inclusive);
    for (std::size_t i = 0; i < atom_value.size(); ++i) {
      if (inclusive ? atom_value[i] <= x : atom_value[i] < x) rows += atom_rows[i];
    }
    return rows;
  }
};

double value_at(const Header& h, std::int64_t key) {
  if (h.lattice_step > 0) return h.lattice_point(static_cast<double>(key));
  return key >= key_of(h.max) ? h.max : value_of_key(key);
}

void decode(const DensityBytes& bytes, Stored* out) {
  const char* p = bytes.data();
  const std::size_t size = bytes.size();
  Header& h = out->header;
  out->size = size;
  ASSERT_GE(size, sizeof h);
  ASSERT_EQ(size % 8, 0U);
  std::memcpy(&h, p, sizeof h);
  p += sizeof h;
  EXPECT_EQ(h.varlena, 0U);
  EXPECT_EQ(h.version, kFormatVersion);
  EXPECT_EQ(h.kind, Kind::one_column);
  EXPECT_TRUE(h.error >= 0 && h.error <= 1);
  ASSERT_LE(sizeof h + 16 * h.atoms + 24 * h.blocks, size);
  out->atom_value.resize(h.atoms);
  out->atom_rows.resize(h.atoms);
  out->blocks.resize(h.blocks);
  if (h.atoms > 0) {
    std::memcpy(out->atom_value.data(), p, 8 * h.atoms);
    std::memcpy(out->atom_rows.data(), p + 8 * h.atoms, 8 * h.atoms);
  }
  p += 16 * h.atoms;
  double total = 0;
  for (std::size_t i = 0; i < h.atoms; ++i) {
    const double own = out->atom_rows[i] - total;
    EXPECT_GT(own, 0);
    if (i > 0) {
      EXPECT_GT(out->atom_value[i], out->atom_value[i - 1]);
    }
    EXPECT_GE(out->atom_value[i], h.min);
    EXPECT_LE(out->atom_value[i], h.max);
    total = out->atom_rows[i];
    out->atom_rows[i] = own;
  }
  if (h.blocks > 0) std::memcpy(out->blocks.data(), p, 24 * h.blocks);
  p += 24 * h.blocks;
  const std::size_t left = size - static_cast<std::size_t>(p - bytes.data());

  std::size_t bit = 0;
  const auto take = [&](int bits) {
    std::uint64_t field = 0;
    for (int i = 0; i < bits; ++i, ++bit) {
      if (bit / 8 < left) field |= static_cast<std::uint64_t>((p[bit / 8] >> (bit % 8)) & 1) << i;
    }
    return field;
  };
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  double below = 0;
  bool after_point = false;
  if (h.blocks > 0) {
    EXPECT_GT(h.row_unit, 0);
  }
  for (const HistogramBlock& b : out->blocks) {
    ASSERT_LT(b.last_cell, kHistogramCells);
    ASSERT_LE(b.key_shift, 62);
    ASSERT_LE(b.key_bits, 63);
    ASSERT_LE(b.rows_bits + b.rows_shift, 53);
    ASSERT_LE(b.kinds, CellKinds::mixed);
    if (h.lattice_step > 0) {
      EXPECT_EQ(b.key_shift, 0);
    }
    EXPECT_EQ(take(static_cast<int>((8 - bit % 8) % 8)), 0U);
    ASSERT_EQ(b.byte, bit / 8);
    EXPECT_GE(b.first_key, last);
    EXPECT_NEAR(b.rows_below, below, 1e-9 * h.rows);
    EXPECT_LE(b.rows_below, h.cell_rows);
    out->any_rounded |= b.key_shift > 0;
    std::int64_t key = b.first_key;
    for (int i = 0; i <= b.last_cell; ++i) {
      const bool point = b.kinds == CellKinds::mixed ? take(1) != 0 : b.kinds == CellKinds::points;
      const std::uint64_t step = take(b.key_bits);
      ASSERT_LE(step, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) >>
                          b.key_shift);
      std::int64_t end = 0;
      ASSERT_FALSE(
          __builtin_add_overflow(key, static_cast<std::int64_t>(step << b.key_shift), &end));
      const double rows = static_cast<double>(take(b.rows_bits) << b.rows_shift) * h.row_unit;
      if (point) {
        if (after_point) {
          EXPECT_GT(end, last) << "two points at one value";
        }
        EXPECT_GT(rows, 0);
      } else {
        EXPECT_GT(step, 0U);
        EXPECT_FALSE(h.lattice_step == 0 && key < 0 && end > 0);
      }
      out->parts.push_back({value_at(h, key), value_at(h, end), rows, point});
      EXPECT_GE(value_at(h, end), h.min);
      EXPECT_LE(value_at(h, end), h.max);
      below += rows;
      key = last = end;
      after_point = point;
    }
  }
  EXPECT_LT(left * 8 - bit, 64U);
  EXPECT_EQ(take(static_cast<int>(left * 8 - bit)), 0U);
  EXPECT_NEAR(below, h.cell_rows, 1e-9 * h.rows);
  EXPECT_NEAR(total + below, h.finite_rows(), 1e-9 * h.rows);
  out->function = Function(out->parts, h.lattice_step);
}

Header header_of(const Cells& cells, double step = 0, double scale = 0) {
  Header h{};
  h.known_below = -std::numeric_limits<double>::infinity();
  h.known_above = std::numeric_limits<double>::infinity();
  h.method = Method::plugin;
  h.flags = kEveryRowRead;
  for (const HistogramCell& c : cells) h.rows += c.rows;
  h.sample_rows = std::max(1.0, std::min(std::floor(h.rows), 1e15));
  if (!cells.empty()) {
    h.min = cells.front().value;
    h.max = cells.back().value;
    h.mean = h.min;
  }
  h.lattice_step = step;
  h.lattice_scale = scale;
  return h;
}

std::vector<Part> parts_of(const Cells& cells) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < cells.size(); ++i)
    parts.push_back({i > 0 ? cells[i - 1].value : cells[i].value, cells[i].value, cells[i].rows,
                     cells[i].point || i == 0});
  return parts;
}

// Encodes, decodes and compares. The header's error is the largest distance at all ends of cells:
// neither less, nor, but for the rounding of the sums here, more.
Stored round_trip(const Cells& cells, std::size_t budget, double step = 0, double scale = 0,
                  bool compare = true) {
  const Header h = header_of(cells, step, scale);
  DensityBytes bytes;
  Stored stored;
  const Status s = encode_histogram(h, cells, 0, budget, &bytes);
  EXPECT_TRUE(s.ok()) << s.message;
  if (!s.ok()) return stored;
  EXPECT_LE(bytes.size(), budget);
  const Status valid = validate(bytes.data(), bytes.size());
  EXPECT_TRUE(valid.ok()) << valid.message;
  decode(bytes, &stored);
  if (!compare || testing::Test::HasFatalFailure()) return stored;
  // Rounded up, the greatest value stands for itself.
  double last = stored.atom_value.empty() ? -kLargest : stored.atom_value.back();
  if (!stored.parts.empty()) last = std::max(last, stored.parts.back().end);
  if (!cells.empty() && cells.back().rows > 0) {
    EXPECT_EQ(last, cells.back().value);
  }
  const Function given(parts_of(cells), step);
  std::vector<double> ends;
  for (const HistogramCell& c : cells) ends.push_back(c.value);
  for (const Part& p : stored.parts) {
    ends.push_back(p.begin);
    ends.push_back(p.end);
  }
  double largest = 0;
  for (const double x : ends) {
    for (const bool inclusive : {false, true})
      largest =
          std::max(largest, std::fabs(given.count(x, inclusive) - stored.count(x, inclusive)));
  }
  EXPECT_NEAR(stored.header.error * h.rows, largest, 1e-9 * h.rows);
  return stored;
}

// As a summary has them: points up to `most` distinct values, else cells of equal rows, and finer
// ones in the tails; a value of more rows than that is a point.
Cells cells_of(std::vector<double> x, std::size_t most) {
  std::sort(x.begin(), x.end());
  Cells points;
  for (const double v : x) {
    if (points.empty() || points.back().value != v) points.push_back({v, 0, true});
    points.back().rows += 1;
  }
  if (points.size() <= most) return points;
  const auto n = static_cast<double>(x.size());
  Cells cells;
  double below = 0;
  HistogramCell open;
  for (const HistogramCell& p : points) {
    const double limit =
        std::min(n / static_cast<double>(most) * 1.2, std::min(below, n - below) / 256);
    if (open.rows > 0 && open.rows + p.rows > limit) {
      cells.push_back(open);
      open.rows = 0;
    }
    if (p.rows > limit) {
      cells.push_back(p);
    } else {
      open = {p.value, open.rows + p.rows, false};
    }
    below += p.rows;
  }
  if (open.rows > 0) cells.push_back(open);
  return cells;
}

void expect_exact(const Stored& stored, const Cells& cells) {
  EXPECT_EQ(stored.header.error, 0);
  EXPECT_FALSE(stored.any_rounded);
  std::vector<std::pair<double, double>> points;
  for (std::size_t i = 0; i < stored.atom_value.size(); ++i)
    points.emplace_back(stored.atom_value[i], stored.atom_rows[i]);
  for (const Part& p : stored.parts) {
    EXPECT_TRUE(p.point);
    points.emplace_back(p.end, p.rows);
  }
  std::sort(points.begin(), points.end());
  ASSERT_EQ(points.size(), cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    EXPECT_EQ(points[i].first, cells[i].value);
    EXPECT_EQ(points[i].second, cells[i].rows);
  }
}

TEST(HistogramEncode, NothingAndOneValue) {
  Stored none = round_trip({}, kLeastHistogramBytes);
  EXPECT_EQ(none.size, sizeof(Header));
  for (const double v : {0.0, 1.5, -kLargest, kLargest, kSmallest, -kSmallest}) {
    const Cells one = {{v, 7, true}};
    expect_exact(round_trip(one, kLeastHistogramBytes), one);
  }
}

// 500 values, whatever they are and wherever they lie, need at most 500 (64 + 53) bits.
TEST(HistogramEncode, FewValuesAreExact) {
  Random random(1);
  std::vector<double> any;
  while (any.size() < 490) {
    const auto bits = static_cast<std::uint64_t>(random.uniform() * 0x1p63) << 1 ^
                      static_cast<std::uint64_t>(random.uniform() * 0x1p32);
    const auto v = std::bit_cast<double>(bits);
    if (std::isfinite(v)) any.push_back(v);
  }
  for (const double v : {0.0, kSmallest, -kSmallest, kLargest, -kLargest, 1.0, -1.0, 0.1, 1e-300})
    any.push_back(v);
  std::sort(any.begin(), any.end());
  Cells cells;
  for (const double v : any) cells.push_back({v, 1 + std::floor(random.uniform() * 1e6), true});
  expect_exact(round_trip(cells, kMaxBytes), cells);
  cells.resize(250);
  expect_exact(round_trip(cells, 4096), cells);
  // Rows that are no whole numbers: as atoms.
  for (HistogramCell& c : cells) c.rows += 0.1;
  Stored weighted = round_trip(cells, kMaxBytes);
  EXPECT_EQ(weighted.atom_value.size(), cells.size());
  EXPECT_EQ(weighted.header.error, 0);
}

TEST(HistogramEncode, LatticeIsExactWhereItFits) {
  // Some 5,000 distinct values of 9,568.
  std::vector<double> x = samples::normal(9568, 3);
  for (double& v : x) v = std::nearbyint(400 + 2000 * v) / 100;
  const Cells cells = cells_of(x, 9216);
  ASSERT_GT(cells.size(), 4000U);
  expect_exact(round_trip(cells, kMaxBytes, 0.01, 100), cells);
  // Cells of whole rows on a lattice are exact too, if not points.
  Cells ranges = {{-3510, 3, true}};
  for (int i = 1; i < 1000; ++i) ranges.push_back({-3500.0 + 7 * i, 5.0 + i % 3, i % 4 == 0});
  const Stored stored = round_trip(ranges, kMaxBytes, 1, 1);
  EXPECT_EQ(stored.header.error, 0);
  // Whole numbers up to 2^50.
  const Cells wide = {{-0x1p50, 1, true}, {-5, 2, true}, {0, 1e15, true}, {0x1p50, 3, true}};
  expect_exact(round_trip(wide, kLeastHistogramBytes, 1, 1), wide);
}

// A value is moved by at most a 32nd of the distance to the next.
TEST(HistogramEncode, SingleRowsCostTwoBytes) {
  std::vector<double> x = samples::lognormal(1000, 4);
  const Cells cells = cells_of(x, 9216);
  const Stored stored = round_trip(cells, kMaxBytes);
  EXPECT_LT(stored.size, 2600U);
  EXPECT_LE(stored.header.error, 1.0 / 1000 + 1e-15);
  ASSERT_EQ(stored.parts.size(), cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    double near = kLargest;
    if (i > 0) near = std::min(near, cells[i].value - cells[i - 1].value);
    if (i + 1 < cells.size()) near = std::min(near, cells[i + 1].value - cells[i].value);
    // Twice as far across a power of two, where doubles are twice as far apart.
    EXPECT_LE(std::fabs(stored.parts[i].end - cells[i].value), near / 16);
    EXPECT_EQ(stored.parts[i].rows, 1);
  }
}

// A count of the r rows read that a cell stands for is off by their root: with room for it, ends
// and rows are rounded by a 16th of that each, without by a 32nd of the cell.
TEST(HistogramEncode, CellsOfManyRowsAreRoundedByAShareOfTheirRoot) {
  constexpr double kRead = 160, kUneven = 1.3;
  Random random(11);
  Cells cells = {{1, 0, false}};
  for (int i = 0; i < 3500; ++i) {
    const double width = 1 + random.uniform();
    cells.push_back({cells.back().value + width, 400.37 * (0.7 + 0.6 * random.uniform()), false});
  }
  Header h = header_of(cells);
  h.sample_rows = kRead * static_cast<double>(cells.size());
  const auto rows_off = [&](std::size_t budget) {
    DensityBytes bytes;
    EXPECT_TRUE(encode_histogram(h, cells, 0, budget, &bytes).ok());
    const DensityView view(bytes.data());
    EXPECT_EQ(view.steps(), 3500);
    return view.header().error * h.sample_rows;
  };
  EXPECT_LE(rows_off(kMaxBytes), 2 * kUneven * std::sqrt(kRead) / 16);
  const double rough = rows_off(8192);
  EXPECT_LE(rough, 2 * kUneven * kRead / 32);
  EXPECT_GT(rough, 2 * kUneven * std::sqrt(kRead) / 16);
}

TEST(HistogramEncode, HeavyValuesAreExact) {
  std::vector<double> x = samples::lognormal(200000, 5);
  for (std::size_t i = 0; i < x.size(); i += 4) x[i] = 0;
  for (std::size_t i = 1; i < x.size(); i += 20) x[i] = 1.1;
  const Cells cells = cells_of(x, 9000);
  for (const std::size_t budget : {1024U, 4096U, 16384U}) {
    const Stored stored = round_trip(cells, budget);
    for (const double v : {0.0, 1.1}) {
      const auto at = std::find(stored.atom_value.begin(), stored.atom_value.end(), v);
      ASSERT_NE(at, stored.atom_value.end());
      EXPECT_EQ(stored.atom_rows[static_cast<std::size_t>(at - stored.atom_value.begin())],
                v == 0 ? 50000 : 10000);
    }
  }
}

// Within r/16 of the chord, as much again for the level and as much for rounding, where r rows lie
// beyond; the outermost 15 are points.
TEST(HistogramEncode, TailsKeepRelativeErrors) {
  const Cells cells = cells_of(samples::cauchy(500000, 6), 9000);
  const double n = header_of(cells).rows;
  const Stored stored = round_trip(cells, 4096);
  const Function given(parts_of(cells), 0);
  ASSERT_GT(stored.parts.size(), 100U);
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_TRUE(stored.parts[i].point);
    EXPECT_TRUE(stored.parts[stored.parts.size() - 1 - i].point);
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (const bool inclusive : {false, true}) {
      const double truth = given.count(cells[i].value, inclusive);
      const double r = std::min(truth, n - truth);
      EXPECT_NEAR(stored.count(cells[i].value, inclusive), truth, 1 + 3 * r / 16);
    }
  }
}

TEST(HistogramEncode, EveryBudgetIsKept) {
  std::vector<Cells> columns;
  std::vector<double> steps;
  const auto add = [&](const Cells& cells, double step) {
    columns.push_back(cells);
    steps.push_back(step);
  };
  add(cells_of(samples::normal(100000, 7), 2000), 0);
  add(cells_of(samples::cauchy(3000, 8), 9000), 0);
  std::vector<double> whole = samples::normal(50000, 9);
  for (double& v : whole) v = std::nearbyint(1000 * v);
  add(cells_of(whole, 9000), 1);
  add(cells_of(whole, 1000), 1);
  std::vector<double> ties = samples::lognormal(30000, 10);
  for (double& v : ties) v = std::nearbyint(v * 300) / 300.1;
  add(cells_of(ties, 9000), 0);
  Cells weighted = columns[0];
  for (HistogramCell& c : weighted) c.rows *= 0.3;
  add(weighted, 0);
  Cells huge = columns[0];
  for (HistogramCell& c : huge) c.rows *= 1e12;
  add(huge, 0);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    double last = 1;
    for (const std::size_t budget : {512U, 800U, 2048U, 6000U, 16384U}) {
      SCOPED_TRACE(std::to_string(i) + " in " + std::to_string(budget));
      const Stored stored = round_trip(columns[i], budget, steps[i], steps[i], budget != 6000);
      // Twice the bytes may go wrong in details; a multiple of the error is no detail.
      EXPECT_LE(stored.header.error, 1.5 * last);
      last = stored.header.error;
    }
    EXPECT_LT(last, 0.02);
  }
}

TEST(HistogramEncode, ExtremeValues) {
  const std::vector<Cells> columns = {
      {{-kLargest, 0, false}, {kLargest, 1000, false}},
      {{-1e308, 5, true}, {1e308, 1000, false}, {1.5e308, 2, true}},
      {{-kSmallest, 1, true}, {kSmallest, 3, false}},
      {{-2, 0, false}, {-1, 10, false}, {-1, 5, true}, {0, 3, false}},
      {{-2, 1, true}, {0, 3, false}, {0, 4, true}, {2, 5, false}, {2, 1, true}},
      {{0, 0, false}, {kSmallest, 4, false}, {2 * kSmallest, 4, false}, {1, 4, false}},
      {{1, 1, true}, {std::nextafter(1.0, 2.0), 8, false}, {std::nextafter(1.0, 2.0), 8, true}},
      {{-3, 1e-300, true}, {-2, 1e-290, false}, {5, 1e-295, true}},
      {{-3, 1e50, true}, {-2, 1e40, false}, {5, 1e55, true}},
      {{1, 0.1, true}, {2, 1e15, false}, {3, 1e-9, true}, {4, 7, false}},
      {{1, 0, false}, {2, 0, false}, {3, 0, true}},
  };
  for (std::size_t i = 0; i < columns.size(); ++i) {
    SCOPED_TRACE(i);
    const Stored stored = round_trip(columns[i], kLeastHistogramBytes, 0, 0, i != 0);
    if (i == 0) {
      EXPECT_NEAR(stored.count(0, true), 500, 1);
    }
    if (i == 3 || i == 4) {
      EXPECT_LE(stored.header.error, 1.0 / 14 + 1e-15);
    }
  }
}

// Any cells at all: the rules hold, and the error is what the header says.
TEST(HistogramEncode, RandomCells) {
  Random random(11);
  const auto below = [&](double n) { return std::floor(random.uniform() * n); };
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const bool lattice = round % 3 == 0;
    const bool whole = round % 5 != 0;
    const double spread = std::pow(10, below(8) - 3);
    const auto n = static_cast<int>(1 + below(round % 10 == 0 ? 2000 : 120));
    Cells cells;
    double v = -spread * static_cast<double>(n) * random.uniform();
    for (int i = 0; i < n; ++i) {
      v += lattice ? 0 : spread * std::exp(6 * random.uniform() * (round % 2)) * random.uniform();
      if (lattice) v = std::floor(v) + 1 + below(1 + random.uniform() * spread);
      if (v == (cells.empty() ? kLargest : cells.back().value)) continue;
      const double rows = std::floor(std::exp(random.uniform() * 12)) * (whole ? 1 : 0.37);
      if (!cells.empty() && random.uniform() < 0.5)
        cells.push_back({v, random.uniform() < 0.1 ? 0 : rows, false});
      if (cells.empty() || cells.back().value != v || random.uniform() < 0.2)
        cells.push_back({v, rows, true});
    }
    const double step = lattice ? 1 : 0;
    round_trip(cells, 512 + static_cast<std::size_t>(below(6000)), step, step);
    if (HasFailure()) return;
  }
}

// The mean error of a count of 0.3 to 10 % of the rows. Rows that lie independently wander about
// a chord over m of them as a Brownian bridge, of mean variance m/6; a range has two ends, and the
// mean of a normal error is sqrt(2/pi) of its deviation: sqrt(2 m/6) sqrt(2/pi) = 0.46 sqrt(m).
// Chords of chosen lengths and heights are better than that, so that it holds with the given cells'
// own error, at four bytes a cell.
TEST(HistogramEncode, MeanErrorOfCounts) {
  constexpr int kRows = 1000000;
  const std::vector<double> normal = samples::normal(kRows, 12);
  for (const bool heavy_tails : {false, true}) {
    std::vector<double> x = heavy_tails ? samples::cauchy(kRows, 13) : normal;
    if (!heavy_tails) {
      for (double& v : x) v = std::exp(2 * v);
    }
    std::sort(x.begin(), x.end());
    const Cells cells = cells_of(x, 9000);
    for (const std::size_t budget : {4096U, 16384U}) {
      const Stored stored = round_trip(cells, budget, 0, 0, false);
      Random random(14);
      double sum = 0;
      constexpr int kRanges = 600;
      for (int i = 0; i < kRanges; ++i) {
        const auto rows = static_cast<int>(kRows * 0.003 * std::pow(10 / 0.3, random.uniform()));
        const auto first = static_cast<std::size_t>(random.uniform() * (kRows - rows - 1));
        const double answer = stored.count(x[first + static_cast<std::size_t>(rows)], true) -
                              stored.count(x[first], true);
        sum += std::fabs(answer - rows);
      }
      const double mean = sum / kRanges;
      const std::string name = (heavy_tails ? "cauchy_" : "lognormal_") + std::to_string(budget);
      RecordProperty(name + "_given_cells", static_cast<int>(cells.size()));
      RecordProperty(name + "_cells", static_cast<int>(stored.parts.size()));
      RecordProperty(name + "_size", static_cast<int>(stored.size));
      RecordProperty(name + "_mean_error_rows", std::to_string(mean));
      EXPECT_LT(mean, 0.46 * std::sqrt(4.0 * kRows / static_cast<double>(budget - sizeof(Header))));
    }
  }
}

// Everywhere within the tolerance, which differs; with their own heights the vertices are nearer in
// the mean of squares, and the function still ascends.
TEST(HistogramEncode, ChordsKeepTheirTolerance) {
  std::vector<double> x = samples::normal(40000, 15);
  for (const bool lattice : {false, true}) {
    if (lattice) {
      for (double& v : x) v = std::nearbyint(500 * v);
    }
    const Cells cells = cells_of(x, 9216);
    const Header h = header_of(cells, lattice ? 1 : 0);
    Steps given, simpler;
    ASSERT_TRUE(steps_of_cells(h, cells, &given).ok());
    const auto squares = [&] {
      const std::vector<Step>& list = simpler.list;
      double sum = 0, before = 0;
      std::size_t k = 0;
      for (const Step& s : given.list) {
        while (list[k].x < s.x) ++k;
        const double at = list[k].x == s.x
                              ? list[k].through
                              : list[k - 1].through + (list[k].below - list[k - 1].through) *
                                                          (s.x - list[k - 1].x) /
                                                          (list[k].x - list[k - 1].x);
        sum += (s.through - before) * (at - s.through) * (at - s.through);
        before = s.through;
      }
      return sum;
    };
    for (const double rows : {5.0, 20.0, 300.0}) {
      const Tolerance tolerance{rows, 1.0 / 16, h.rows};
      simplify(given, tolerance, &simpler);
      EXPECT_LT(simpler.list.size(), given.list.size());
      const double distance = largest_distance(given, simpler);
      EXPECT_LE(distance, rows * (1 + 1e-9));
      EXPECT_GT(distance, rows / 2) << "chords are too short";
      const double chords = squares();
      level(given, {1e9, 1e9, h.rows}, &simpler);
      const double levelled = squares();
      EXPECT_LT(levelled, 0.9 * chords);
      double before = 0;
      for (const Step& s : simpler.list) {
        EXPECT_GE(s.below, before);
        EXPECT_GE(s.through, s.below);
        before = s.through;
      }
      EXPECT_EQ(before, h.rows);
      // Where no vertex is held back, no other height would be nearer.
      if (rows == 300) continue;
      for (const std::size_t part : {3U, 4U, 5U}) {
        Step& s = simpler.list[simpler.list.size() * part / 8];
        for (const double move : {-0.5, 1.0, -0.5}) {
          s.below += move;
          s.through += move;
          EXPECT_GE(squares(), levelled * (1 - 1e-9));
        }
      }
    }
  }
  // The second vertex is drawn upwards and the third downwards, past each other.
  const Cells cells = {{0, 0, false}, {0.1, 1000, false}, {1, 1, false},
                       {2, 2, false}, {2.9, 1, false},    {3, 1000, false}};
  Steps given, simpler;
  ASSERT_TRUE(steps_of_cells(header_of(cells), cells, &given).ok());
  simpler.list = {given.list[0], given.list[2], given.list[3], given.list[5]};
  level(given, {1e9, 1e9, 2004}, &simpler);
  EXPECT_GT(simpler.list[1].through, given.list[2].through);
  EXPECT_LT(simpler.list[2].through, given.list[3].through);
  EXPECT_GT(simpler.list[2].through, simpler.list[1].through);
}

TEST(HistogramEncode, SlackIsAdded) {
  const Cells cells = {{1, 3, true}, {2, 4, true}};
  const Header h = header_of(cells);
  DensityBytes bytes;
  Stored stored;
  ASSERT_TRUE(encode_histogram(h, cells, 0.25, 4096, &bytes).ok());
  decode(bytes, &stored);
  EXPECT_EQ(stored.header.error, 0.25);
}

TEST(HistogramEncode, RefusesWhatIsNoColumn) {
  const auto code = [](const Cells& cells, double step, std::size_t budget) {
    DensityBytes bytes;
    return encode_histogram(header_of(cells, step), cells, 0, budget, &bytes).code;
  };
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(code({{1, 1, true}}, 0, 4096), Code::ok);
  EXPECT_EQ(code({{1, 1, true}}, 0, 511), Code::invalid_argument);
  EXPECT_EQ(code({{1, 1, true}}, 0, kMaxBytes + 1), Code::invalid_argument);
  EXPECT_EQ(code({{1, 1, false}}, 0, 4096), Code::invalid_argument);
  EXPECT_EQ(code({{1, 1, true}, {1, 1, true}}, 0, 4096), Code::invalid_argument);
  EXPECT_EQ(code({{2, 1, true}, {1, 1, true}}, 0, 4096), Code::invalid_argument);
  EXPECT_EQ(code({{1, -1, true}, {2, 5, true}}, 0, 4096), Code::invalid_argument);
  EXPECT_EQ(code({{1, 1, true}, {nan, 1, true}}, 0, 4096), Code::invalid_argument);
  EXPECT_EQ(code({{1, 1, true}, {inf, 1, true}}, 0, 4096), Code::invalid_argument);
  EXPECT_EQ(code({{1, nan, true}}, 0, 4096), Code::invalid_argument);
  EXPECT_EQ(code({{1, 1, true}, {1.5, 1, true}}, 1, 4096), Code::invalid_argument);
  EXPECT_EQ(code({{1, 1e308, true}, {2, 1e308, true}}, 0, 4096), Code::invalid_argument);
  Cells cells = {{1, 1, true}};
  Header h = header_of(cells);
  h.rows = 2;
  DensityBytes bytes;
  EXPECT_EQ(encode_histogram(h, cells, 0, 4096, &bytes).code, Code::invalid_argument);
  h.rows = 1;
  EXPECT_EQ(encode_histogram(h, cells, nan, 4096, &bytes).code, Code::invalid_argument);
}

}  // namespace
}  // namespace kde
