// Summaries against the rows they were made of: exact where they say so, within their bound
// elsewhere, in bounded memory, whatever the order of the rows.
#include "core/summary/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace kde {
namespace {

// Memory that counts, and fails when told to.
class Heap {
 public:
  Memory memory() { return {&allocate, &release, this}; }
  std::size_t bytes = 0, most = 0;
  int allocations_left = std::numeric_limits<int>::max();

  ~Heap() {
    for (const auto& [chunk, size] : chunks_) std::free(chunk);
  }
  Heap() = default;
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

 private:
  static void* allocate(void* context, std::size_t size) {
    Heap& heap = *static_cast<Heap*>(context);
    if (heap.allocations_left-- <= 0) return nullptr;
    void* chunk = std::malloc(size);
    heap.chunks_[chunk] = size;
    heap.bytes += size;
    heap.most = std::max(heap.most, heap.bytes);
    return chunk;
  }
  static void release(void* context, void* chunk) {
    Heap& heap = *static_cast<Heap*>(context);
    const auto at = heap.chunks_.find(chunk);
    ASSERT_NE(at, heap.chunks_.end());
    heap.bytes -= at->second;
    std::free(chunk);
    heap.chunks_.erase(at);
  }
  std::map<void*, std::size_t> chunks_;
};

enum class Shape { lognormal, cauchy, ascending, descending, drifting, whole, late_heap, clusters };
const char* const kShapeNames[] = {"lognormal", "cauchy", "ascending", "descending",
                                   "drifting",  "whole",  "late_heap", "clusters"};
constexpr Shape kShapes[] = {Shape::lognormal, Shape::cauchy, Shape::ascending, Shape::descending,
                             Shape::drifting,  Shape::whole,  Shape::late_heap, Shape::clusters};

std::vector<double> rows_of(Shape shape, std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::cauchy_distribution<double> cauchy;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto t = static_cast<double>(i) / static_cast<double>(n);
    switch (shape) {
      case Shape::lognormal:
        out[i] = std::exp(2 * normal(random));
        break;
      case Shape::cauchy:
        out[i] = cauchy(random);
        break;
      case Shape::ascending:
        out[i] = static_cast<double>(i);
        break;
      case Shape::descending:
        out[i] = -static_cast<double>(i);
        break;
      case Shape::drifting:
        out[i] = normal(random) * (1 + 5 * t) + 3 * std::floor(4 * t);
        break;
      case Shape::whole:
        out[i] = std::floor(30 * std::exp(normal(random)));
        break;
      case Shape::late_heap:
        out[i] = t > 0.5 && uniform(random) < 0.2 ? 0.5 : uniform(random);
        break;
      case Shape::clusters:
        out[i] = 1000 * std::floor(5 * uniform(random)) + uniform(random);
        break;
    }
  }
  return out;
}

void add_all(const std::vector<double>& rows, Summary* summary) {
  for (double x : rows) ASSERT_TRUE(summary->add(x).ok());
}

// The count of rows <= x, or < x, by the cells.
double counted(const Summary& s, double x, bool inclusive) {
  double below = 0;
  double low = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < s.cells(); ++i) {
    const HistogramCell cell = s.cell(i);
    if (cell.point) {
      if (inclusive ? cell.value <= x : cell.value < x) below += cell.rows;
    } else if (cell.value <= x) {
      below += cell.rows;
    } else if (low < x) {
      below += cell.rows * (x - low) / (cell.value - low);
    }
    low = cell.value;
  }
  return below;
}

void expect_within_bound(const Summary& s, std::vector<double> rows, const std::string& what) {
  std::sort(rows.begin(), rows.end());
  const auto n = static_cast<double>(rows.size());
  const double bound = s.error_rows() + 1e-9 * n;
  double sum = 0;
  for (std::size_t i = 0; i < s.cells(); ++i) {
    const HistogramCell cell = s.cell(i);
    ASSERT_GT(cell.rows, 0);
    if (i > 0) {
      const double before = s.cell(i - 1).value;
      ASSERT_TRUE(cell.point ? cell.value >= before : cell.value > before) << what << " " << i;
    }
    sum += cell.rows;
  }
  EXPECT_EQ(sum, n) << what;
  EXPECT_EQ(s.totals().rows(), n) << what;
  std::mt19937_64 random(9);
  for (int i = 0; i < 400; ++i) {
    // A row's value, and a point somewhere near.
    double x = rows[random() % rows.size()];
    if (i % 2 == 1) x += (rows[random() % rows.size()] - x) * 1e-3;
    const auto at_most =
        static_cast<double>(std::upper_bound(rows.begin(), rows.end(), x) - rows.begin());
    const auto less =
        static_cast<double>(std::lower_bound(rows.begin(), rows.end(), x) - rows.begin());
    EXPECT_NEAR(counted(s, x, true), at_most, bound) << what << " at " << x;
    EXPECT_NEAR(counted(s, x, false), less, bound) << what << " below " << x;
  }
}

TEST(Summary, FewValuesAreExact) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::vector<double> rows = rows_of(Shape::whole, 60000, seed);
    Heap heap;
    Summary s(heap.memory());
    add_all(rows, &s);
    ASSERT_TRUE(s.settle().ok());
    std::map<double, double> truth;
    for (double x : rows) ++truth[x];
    ASSERT_EQ(s.cells(), truth.size());
    std::size_t i = 0;
    for (const auto& [value, count] : truth) {
      EXPECT_EQ(s.cell(i).value, value);
      EXPECT_EQ(s.cell(i).rows, count);
      EXPECT_TRUE(s.cell(i).point);
      ++i;
    }
    EXPECT_EQ(s.error_rows(), 0);
    EXPECT_EQ(s.join_limit(), 0);
  }
}

TEST(Summary, ExactUpToItsCellsAndNoFurther) {
  for (const auto& [resolution, most] :
       {std::pair(Resolution::coarse, kCoarseCells), std::pair(Resolution::fine, kFineCells)}) {
    for (std::size_t n : {most, most + 1}) {
      Heap heap;
      Summary s(heap.memory(), resolution);
      std::vector<double> rows;
      for (std::size_t i = 0; i < n; ++i) rows.push_back(std::sqrt(static_cast<double>(i)));
      std::shuffle(rows.begin(), rows.end(), std::mt19937_64(1));
      add_all(rows, &s);
      ASSERT_TRUE(s.settle().ok());
      EXPECT_EQ(s.error_rows() == 0, n == most);
    }
  }
}

// Of both the bound is some times a cell's limit, which is 65,536/9,216 = 7 times less of a fine
// one, but that depths may differ by half; with and without weights, and in the memory that
// summary.h states.
TEST(Summary, FineOnesAreFourTimesAsSure) {
  const std::vector<double> rows = rows_of(Shape::lognormal, 600000, 7);
  for (const bool weighted : {false, true}) {
    double error[2];
    for (const Resolution resolution : {Resolution::coarse, Resolution::fine}) {
      const bool fine = resolution == Resolution::fine;
      Heap heap;
      Summary s(heap.memory(), resolution);
      if (weighted) {
        for (const double x : rows) ASSERT_TRUE(s.add(x, 2).ok());
      } else {
        add_all(rows, &s);
      }
      ASSERT_TRUE(s.settle().ok());
      if (!weighted) expect_within_bound(s, rows, fine ? "fine" : "coarse");
      EXPECT_LE(s.cells(), fine ? kFineCells : kCoarseCells);
      EXPECT_LE(heap.bytes, (fine ? 2048 : 256) * std::size_t{1024});
      error[fine ? 1 : 0] = s.error_rows();
    }
    EXPECT_LT(4 * error[1], error[0]);
    EXPECT_GT(error[1], 0);
  }
}

// A worker's state comes to its leader in bytes: what it becomes there is as fine.
TEST(Summary, ResolutionIsKeptInBytesAndCopies) {
  const std::vector<double> rows = rows_of(Shape::lognormal, 100000, 8);
  Heap heap;
  Summary fine(heap.memory(), Resolution::fine);
  add_all(rows, &fine);
  ASSERT_TRUE(fine.settle().ok());
  ASSERT_GT(fine.cells(), kCoarseCells);
  std::vector<char> bytes(fine.serialized_size());
  fine.serialize(bytes.data());
  Summary read(heap.memory());
  ASSERT_TRUE(read.deserialize(bytes.data(), bytes.size()).ok());
  Summary copy(heap.memory()), coarse(heap.memory());
  ASSERT_TRUE(read.clone(heap.memory(), &copy).ok());
  ASSERT_TRUE(copy.merge(fine).ok());
  ASSERT_TRUE(coarse.merge(fine).ok());
  EXPECT_GT(copy.cells(), kCoarseCells);
  EXPECT_LE(coarse.cells(), kCoarseCells);
  expect_within_bound(coarse, rows, "coarse of fine");
  // No cell of as many rows as a fine one's limit is joined in what it has from a coarse one.
  Summary mixed(heap.memory(), Resolution::fine);
  ASSERT_TRUE(mixed.merge(coarse).ok());
  ASSERT_TRUE(mixed.merge(fine).ok());
  EXPECT_GE(mixed.join_limit(), coarse.join_limit());
  EXPECT_GE(coarse.join_limit(), 1.4 * 100000 / kCoarseCells);
  // Of a coarse one's bytes no more than its cells are taken.
  constexpr std::size_t kResolutionAt = 13;  // magic, version, cells, a flag
  ASSERT_EQ(bytes[kResolutionAt], 1);
  for (const char wrong : {0, 2}) {
    bytes[kResolutionAt] = wrong;
    Summary refused(heap.memory());
    EXPECT_FALSE(refused.deserialize(bytes.data(), bytes.size()).ok());
  }
}

TEST(Summary, CountsAreWithinTheBound) {
  for (Shape shape : kShapes) {
    const std::string name = kShapeNames[static_cast<int>(shape)];
    const std::vector<double> rows = rows_of(shape, 150000, 5);
    Heap heap;
    Summary s(heap.memory());
    add_all(rows, &s);
    ASSERT_TRUE(s.settle().ok());
    ASSERT_LE(s.cells(), kCoarseCells);
    expect_within_bound(s, rows, name);
    // Twice the limit of a join, 1.4/9216 of the rows, for a cell, and as much for its slack over
    // and over in a geometric series; these columns change a few times.
    EXPECT_LT(s.error_rows(), 0.004 * 150000) << name;
  }
}

TEST(Summary, OutermostRowsArePoints) {
  std::vector<double> rows = rows_of(Shape::cauchy, 200000, 6);
  Heap heap;
  Summary s(heap.memory());
  add_all(rows, &s);
  ASSERT_TRUE(s.settle().ok());
  std::sort(rows.begin(), rows.end());
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(s.cell(i).value, rows[i]);
    EXPECT_TRUE(s.cell(i).point);
    EXPECT_EQ(s.cell(s.cells() - 1 - i).value, rows[rows.size() - 1 - i]);
    EXPECT_TRUE(s.cell(s.cells() - 1 - i).point);
  }
}

// A value that comes to have a fifth of half the rows lacks at most what a cell may hold.
TEST(Summary, HeavyValueIsFoundLate) {
  const std::vector<double> rows = rows_of(Shape::late_heap, 200000, 7);
  Heap heap;
  Summary s(heap.memory());
  add_all(rows, &s);
  ASSERT_TRUE(s.settle().ok());
  double rows_there = 0;
  for (std::size_t i = 0; i < s.cells(); ++i)
    if (s.cell(i).point && s.cell(i).value == 0.5) rows_there += s.cell(i).rows;
  const auto truth = static_cast<double>(std::count(rows.begin(), rows.end(), 0.5));
  EXPECT_LE(rows_there, truth);
  EXPECT_GE(rows_there, truth - 2 * s.join_limit());
}

// Rows in order in two runs, with strays: ranges made of strays are divided again at values with
// several rows, light and heavy ones in turn. The cells must stay in order.
TEST(Summary, RunsInOrderWithStrays) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> rows(60000);
    for (double& x : rows) x = std::floor(10000 * std::exp(normal(random)));
    std::sort(rows.begin(), rows.end());
    std::rotate(rows.begin(), rows.begin() + 30000, rows.end());
    for (std::size_t i = 0; i < rows.size(); i += 330)
      std::swap(rows[i], rows[random() % rows.size()]);
    Heap heap;
    Summary s(heap.memory());
    add_all(rows, &s);
    ASSERT_TRUE(s.settle().ok());
    expect_within_bound(s, rows, "seed " + std::to_string(seed));
  }
}

TEST(Summary, NoRowsAreSpreadOverAVoid) {
  const std::vector<double> rows = rows_of(Shape::clusters, 200000, 8);
  Heap heap;
  Summary s(heap.memory());
  add_all(rows, &s);
  ASSERT_TRUE(s.settle().ok());
  for (double x : {2.0, 999.0}) EXPECT_EQ(counted(s, x, true), counted(s, 1.0, true));
}

TEST(Summary, MemoryIsBounded) {
  for (bool weighted : {false, true}) {
    for (Shape shape : kShapes) {
      Heap heap;
      Summary s(heap.memory());
      EXPECT_EQ(heap.bytes, 0u);
      for (double x : rows_of(shape, 60000, 10))
        ASSERT_TRUE(s.add(x, weighted && x > 1 ? 2 : 1).ok());
      EXPECT_LE(heap.bytes + sizeof s, 256u * 1024);
    }
  }
  Heap heap;
  Summary s(heap.memory());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(s.add(i).ok());
  EXPECT_LE(heap.bytes, 128u);  // many small groups
}

TEST(Summary, PartsMergedAreWithinTheBound) {
  for (Shape shape : kShapes) {
    const std::string name = kShapeNames[static_cast<int>(shape)];
    const std::size_t n = 120000;
    const std::vector<double> rows = rows_of(shape, n, 11);
    for (std::size_t parts : {2u, 60u}) {
      Heap heap;
      Summary whole(heap.memory());
      for (std::size_t p = 0; p < parts; ++p) {
        Summary part(heap.memory());
        add_all({rows.begin() + static_cast<std::ptrdiff_t>(n * p / parts),
                 rows.begin() + static_cast<std::ptrdiff_t>(n * (p + 1) / parts)},
                &part);
        // Settled or with rows that wait.
        if (p % 2 == 0) {
          ASSERT_TRUE(part.settle().ok());
        }
        ASSERT_TRUE(whole.merge(part).ok());
      }
      ASSERT_TRUE(whole.settle().ok());
      expect_within_bound(whole, rows, name);
      EXPECT_LT(whole.error_rows(), 0.006 * n) << name;
      EXPECT_LE(heap.bytes, 256u * 1024 * (parts + 1));
    }
  }
}

TEST(Summary, FewValuesMergeToTheSameInAnyOrder) {
  const std::vector<double> rows = rows_of(Shape::whole, 50000, 12);
  Heap heap;
  std::vector<std::string> forms;
  for (int order = 0; order < 3; ++order) {
    std::vector<std::vector<double>> parts(7);
    for (std::size_t i = 0; i < rows.size(); ++i) parts[i % 7].push_back(rows[i]);
    std::shuffle(parts.begin(), parts.end(), std::mt19937_64(static_cast<unsigned>(order)));
    Summary whole(heap.memory());
    for (const auto& part : parts) {
      Summary s(heap.memory());
      add_all(part, &s);
      ASSERT_TRUE(whole.merge(s).ok());
    }
    ASSERT_TRUE(whole.settle().ok());
    std::string form(whole.serialized_size(), '\0');
    whole.serialize(form.data());
    forms.push_back(form);
  }
  EXPECT_EQ(forms[0], forms[1]);
  EXPECT_EQ(forms[0], forms[2]);
}

TEST(Summary, WeightsAreRepetitions) {
  std::mt19937_64 random(13);
  Heap heap;
  Summary weighted(heap.memory());
  Summary repeated(heap.memory());
  for (double x : rows_of(Shape::whole, 20000, 14)) {
    const auto weight = static_cast<int>(1 + random() % 3);
    ASSERT_TRUE(weighted.add(x, weight).ok());
    for (int i = 0; i < weight; ++i) ASSERT_TRUE(repeated.add(x).ok());
  }
  ASSERT_TRUE(weighted.settle().ok());
  ASSERT_TRUE(repeated.settle().ok());
  ASSERT_EQ(weighted.cells(), repeated.cells());
  for (std::size_t i = 0; i < weighted.cells(); ++i) {
    EXPECT_EQ(weighted.cell(i).value, repeated.cell(i).value);
    EXPECT_EQ(weighted.cell(i).rows, repeated.cell(i).rows);
  }
  EXPECT_EQ(weighted.totals().rows(), repeated.totals().rows());
  EXPECT_FALSE(weighted.fractional());
}

TEST(Summary, FractionalWeights) {
  Heap heap;
  Summary s(heap.memory());
  double sum = 0;
  for (double x : rows_of(Shape::lognormal, 60000, 15)) {
    const double weight = 0.25 + x / (1 + x);
    sum += weight;
    ASSERT_TRUE(s.add(x, weight).ok());
  }
  ASSERT_TRUE(s.settle().ok());
  EXPECT_TRUE(s.fractional());
  double cells = 0;
  for (std::size_t i = 0; i < s.cells(); ++i) cells += s.cell(i).rows;
  EXPECT_NEAR(cells, sum, 1e-9 * sum);
  EXPECT_NEAR(s.totals().rows(), sum, 1e-9 * sum);
}

TEST(Summary, WeightsBeginAmongRowsThatWait) {
  Heap heap;
  Summary s(heap.memory());
  const std::vector<double> rows = rows_of(Shape::lognormal, 30000, 16);
  add_all(rows, &s);
  ASSERT_TRUE(s.add(1, 3).ok());
  ASSERT_TRUE(s.settle().ok());
  EXPECT_EQ(s.totals().rows(), 30003);
  EXPECT_EQ(s.totals().count(), 30001);
  double cells = 0;
  for (std::size_t i = 0; i < s.cells(); ++i) cells += s.cell(i).rows;
  EXPECT_EQ(cells, 30003);

  // The same where they come with another summary's.
  Summary other(heap.memory());
  add_all(rows, &other);
  ASSERT_TRUE(other.merge(s).ok());
  Summary light(heap.memory());
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(light.add(i, i < 2000 ? 1 : 2).ok());
  ASSERT_TRUE(other.merge(light).ok());
  ASSERT_TRUE(other.settle().ok());
  EXPECT_EQ(other.totals().rows(), 60003 + 4000);
}

TEST(Summary, SpecialValuesAreCountedApart) {
  const double infinity = std::numeric_limits<double>::infinity();
  Heap heap;
  Summary s(heap.memory());
  ASSERT_TRUE(s.add(std::nan("")).ok());
  ASSERT_TRUE(s.add(infinity, 2).ok());
  ASSERT_TRUE(s.add(-infinity).ok());
  ASSERT_TRUE(s.add(-0.0).ok());
  ASSERT_TRUE(s.add(0.0).ok());
  s.add_null(3);
  ASSERT_TRUE(s.settle().ok());
  Summary twice(heap.memory());
  ASSERT_TRUE(twice.merge(s).ok());
  ASSERT_TRUE(twice.merge(s).ok());
  ASSERT_TRUE(twice.settle().ok());
  EXPECT_EQ(twice.specials().nans, 2);
  EXPECT_EQ(twice.specials().positive_infinities, 4);
  EXPECT_EQ(twice.specials().negative_infinities, 2);
  EXPECT_EQ(twice.specials().nulls, 6);
  ASSERT_EQ(twice.cells(), 1u);  // -0 is 0
  EXPECT_FALSE(std::signbit(twice.cell(0).value));
  EXPECT_EQ(twice.cell(0).rows, 4);
}

TEST(Summary, ExtremeValues) {
  const double most = std::numeric_limits<double>::max();
  const double least = std::numeric_limits<double>::denorm_min();
  Heap heap;
  Summary s(heap.memory());
  std::mt19937_64 random(17);
  for (int i = 0; i < 50000; ++i) {
    // Any finite bits.
    double x = 0;
    do {
      const std::uint64_t bits = random();
      std::memcpy(&x, &bits, sizeof x);
    } while (!std::isfinite(x));
    ASSERT_TRUE(s.add(x).ok());
  }
  for (double x : {most, -most, least, -least}) ASSERT_TRUE(s.add(x).ok());
  ASSERT_TRUE(s.settle().ok());
  double rows = 0;
  for (std::size_t i = 0; i < s.cells(); ++i) rows += s.cell(i).rows;
  EXPECT_EQ(rows, 50004);
  EXPECT_EQ(s.cell(0).value, -most);
  EXPECT_EQ(s.cell(s.cells() - 1).value, most);
  EXPECT_TRUE(std::isfinite(s.error_rows()));
}

TEST(Summary, CloneIsIndependent) {
  Heap heap;
  Heap other;
  Summary s(heap.memory());
  // So many that some rows wait that are in the totals.
  const std::vector<double> rows = rows_of(Shape::lognormal, 300000, 18);
  add_all(rows, &s);
  Summary copy(other.memory());
  ASSERT_TRUE(s.clone(other.memory(), &copy).ok());
  ASSERT_TRUE(copy.settle().ok());
  add_all(rows, &copy);
  ASSERT_TRUE(copy.settle().ok());
  ASSERT_TRUE(s.settle().ok());
  EXPECT_EQ(s.totals().rows(), 300000);
  EXPECT_EQ(copy.totals().rows(), 600000);
  expect_within_bound(s, rows, "original");
}

TEST(Summary, OutOfMemoryIsReported) {
  const std::vector<double> rows = rows_of(Shape::lognormal, 30000, 19);
  bool complete = false;
  for (int allowed = 0; !complete; ++allowed) {
    ASSERT_LT(allowed, 100);
    Heap heap;
    heap.allocations_left = allowed;
    Summary s(heap.memory());
    Summary copy(heap.memory());
    Status status;
    for (std::size_t i = 0; status.ok() && i < rows.size(); ++i)
      status = s.add(rows[i], i < 25000 ? 1 : 2);
    if (status.ok()) status = s.clone(heap.memory(), &copy);
    if (status.ok()) status = s.merge(copy);
    if (status.ok()) status = s.settle();
    complete = status.ok();
    if (!complete) {
      EXPECT_EQ(status.code, Code::out_of_memory);
    }
  }
}

TEST(Summary, SerializedFormIsTheSame) {
  for (Shape shape : {Shape::whole, Shape::lognormal}) {
    Heap heap;
    Summary s(heap.memory());
    add_all(rows_of(shape, 40000, 20), &s);
    s.add_null(5);
    ASSERT_TRUE(s.settle().ok());
    std::string form(s.serialized_size(), '\0');
    s.serialize(form.data());
    Summary read(heap.memory());
    // At an odd address, as bytes from elsewhere may be.
    const std::string moved = "x" + form;
    ASSERT_TRUE(read.deserialize(moved.data() + 1, form.size()).ok());
    std::string again(read.serialized_size(), '\0');
    read.serialize(again.data());
    EXPECT_EQ(form, again);
    EXPECT_EQ(read.error_rows(), s.error_rows());
    EXPECT_EQ(read.specials().nulls, 5);
  }
  Heap heap;
  Summary empty(heap.memory());
  std::string form(empty.serialized_size(), '\0');
  empty.serialize(form.data());
  Summary read(heap.memory());
  EXPECT_TRUE(read.deserialize(form.data(), form.size()).ok());
  EXPECT_EQ(read.cells(), 0u);
}

TEST(Summary, DamagedFormsAreRefusedOrHarmless) {
  Heap heap;
  Summary s(heap.memory());
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(s.add(i * i % 17 - 3.5).ok());
  ASSERT_TRUE(s.settle().ok());
  std::string form(s.serialized_size(), '\0');
  s.serialize(form.data());
  int refused = 0;
  for (std::size_t at = 0; at < form.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = form;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      Summary read(heap.memory());
      const Status status = read.deserialize(damaged.data(), damaged.size());
      if (!status.ok()) {
        EXPECT_EQ(status.code, Code::invalid_format);
        ++refused;
        continue;
      }
      ASSERT_TRUE(read.add(2).ok());
      ASSERT_TRUE(read.settle().ok());
      Summary merged(heap.memory());
      ASSERT_TRUE(merged.merge(read).ok());
      ASSERT_TRUE(merged.merge(s).ok());
      ASSERT_TRUE(merged.settle().ok());
    }
  }
  EXPECT_GT(refused, 300);
  for (std::size_t size = 0; size < form.size(); ++size) {
    Summary read(heap.memory());
    EXPECT_FALSE(read.deserialize(form.data(), size).ok());
  }
}

// Cells of a stored histogram: each range counts as it lies, the error as slack.
TEST(Summary, HistogramsMerge) {
  Header header{};
  header.rows = 111;
  header.nans = 1;
  header.nulls = 4;
  header.sample_rows = 110;
  header.error = 2.0 / 111;
  header.min = 0;
  header.max = 20;
  header.mean = 10;
  header.variance = 4;
  const std::vector<HistogramCell> cells = {
      {0, 10, true}, {10, 40, false}, {10, 20, true}, {20, 40, false}};
  Heap heap;
  Summary s(heap.memory());
  ASSERT_TRUE(s.merge(header, cells).ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(s.add(5).ok());
  ASSERT_TRUE(s.settle().ok());
  EXPECT_EQ(s.specials().nulls, 4);
  EXPECT_EQ(s.specials().nans, 1);
  EXPECT_EQ(s.totals().rows(), 120);
  EXPECT_EQ(counted(s, 0, true), 10);
  EXPECT_EQ(counted(s, 10, true) - counted(s, 10, false), 20);
  EXPECT_EQ(counted(s, 20, true), 120);
  EXPECT_GE(s.error_rows(), 2);
  // Out of order.
  std::vector<HistogramCell> wrong = cells;
  std::swap(wrong[0], wrong[3]);
  EXPECT_EQ(s.merge(header, wrong).code, Code::invalid_argument);
}

// A row that outweighs all others so far that sums do not know of them.
TEST(Summary, WeightBeyondRounding) {
  for (const double x : {-1.0, 0.5, 1e6}) {
    Heap heap;
    Summary s(heap.memory());
    ASSERT_TRUE(s.add(x, Summary::kMostWeight).ok());
    for (int i = 0; i < 20000; ++i) ASSERT_TRUE(s.add(i, Summary::kLeastWeight).ok());
    ASSERT_TRUE(s.settle().ok());
    EXPECT_LE(s.cells(), kCoarseCells);
    EXPECT_TRUE(s.cell(0).point);
    EXPECT_LE(s.error_rows(), 1);
  }
}

// Weights so different that every row outweighs all those before it: tails are joined in the end.
TEST(Summary, WeightsOfAllSizes) {
  Heap heap;
  Summary s(heap.memory());
  for (int i = 0; i < 40000; ++i) ASSERT_TRUE(s.add(i, std::ldexp(1.0, i / 29 - 1050)).ok());
  ASSERT_TRUE(s.settle().ok());
  EXPECT_LE(s.cells(), kCoarseCells);
  // The last row is a fortieth of all; a cell of two is joined at most.
  EXPECT_LE(s.error_rows(), 0.05 * s.totals().rows());
}

// Rows of a weighted summary that wait and are in its totals are counted once.
TEST(Summary, WeightedRowsThatWaitMergeOnce) {
  Heap heap;
  Summary weighted(heap.memory());
  std::size_t n = 0;
  ASSERT_TRUE(weighted.add(1, 2).ok());
  for (double x : rows_of(Shape::lognormal, 300000 + 1500, 21)) {
    ASSERT_TRUE(weighted.add(x, ++n > 300000 ? 2 : 1).ok());
  }
  Summary plain(heap.memory());
  add_all(rows_of(Shape::lognormal, 300000, 22), &plain);
  ASSERT_TRUE(plain.merge(weighted).ok());
  ASSERT_TRUE(plain.settle().ok());
  EXPECT_EQ(plain.totals().rows(), 600000 + 3000 + 2);
  EXPECT_EQ(plain.totals().count(), 600000 + 1500 + 1);
}

// A range (0, 10] of 40 rows, of which nothing is known but that they are there.
class SummaryOfRange : public testing::Test {
 protected:
  SummaryOfRange() : range_(heap_.memory()) {
    Header header{};
    header.rows = header.sample_rows = 41;
    header.min = 0;
    header.max = 10;
    header.mean = 5;
    header.variance = 1;
    const std::vector<HistogramCell> cells = {{0, 1, true}, {10, 40, false}};
    EXPECT_TRUE(range_.merge(header, cells).ok());
    EXPECT_EQ(range_.error_rows(), 40);
  }
  Heap heap_;
  Summary range_;
};

// All 40 may be beside 0, or beside 10; 20 are counted below 5, give or take 20, and between 0 and
// 5 the count is that much off and up to 20 more.
TEST_F(SummaryOfRange, SplitKnowsWhatItDoesNotKnow) {
  ASSERT_TRUE(range_.add(5).ok());
  ASSERT_TRUE(range_.settle().ok());
  ASSERT_EQ(range_.cells(), 4u);
  EXPECT_EQ(counted(range_, 5, false), 21);
  EXPECT_EQ(range_.error_rows(), 40);
}

// Cut at 1, 2, 3 and 4: the counts are 4 k, give or take 40 - 4 k; from 4 to 10, 24 more.
TEST_F(SummaryOfRange, CutWhileMergingKnowsItToo) {
  Summary points(heap_.memory());
  for (int i = 1; i <= 4; ++i) ASSERT_TRUE(points.add(i).ok());
  ASSERT_TRUE(points.merge(range_).ok());
  ASSERT_TRUE(points.settle().ok());
  EXPECT_EQ(counted(points, 1, false), 1 + 4);
  EXPECT_EQ(counted(points, 4, false), 1 + 16 + 3);
  EXPECT_EQ(points.error_rows(), 24 + 24);
  // And the other way round.
  Summary few(heap_.memory());
  for (int i = 1; i <= 4; ++i) ASSERT_TRUE(few.add(i).ok());
  ASSERT_TRUE(range_.merge(few).ok());
  ASSERT_TRUE(range_.settle().ok());
  EXPECT_EQ(counted(range_, 4, false), 1 + 16 + 3);
}

// Rows just below a value and at it stay apart, also where one merge is done in several stretches.
TEST(Summary, PointsBesideRangesMergeWithPoints) {
  for (const int points : {3000, 4000, 4001}) {
    Heap heap;
    Summary s(heap.memory());
    std::vector<HistogramCell> cells;
    for (int i = 0; i < points; ++i) ASSERT_TRUE(s.add(i).ok());
    ASSERT_TRUE(s.settle().ok());
    Header header{};
    for (int i = 0; i < 4000; ++i) {
      if (i > 0) cells.push_back({static_cast<double>(i), 2, false});
      cells.push_back({static_cast<double>(i), 3, true});
    }
    header.rows = header.sample_rows = 4000 * 3 + 3999 * 2;
    header.max = 3999;
    header.mean = 1;
    for (int times = 1; times <= 2; ++times) {
      ASSERT_TRUE(s.merge(header, cells).ok());
      ASSERT_LE(s.cells(), kCoarseCells);
      for (std::size_t i = 1; i < s.cells(); ++i) {
        const HistogramCell cell = s.cell(i);
        EXPECT_FALSE(cell.point && s.cell(i - 1).point && s.cell(i - 1).value == cell.value);
        if (cell.point) {
          EXPECT_EQ(cell.rows, (cell.value < 4000 ? 3 * times : 0) + (cell.value < points ? 1 : 0));
        }
      }
    }
  }
}

// Times that arrive nearly in order, at two rates: some neighbours are far apart, as chance has it,
// and must not keep the others from fitting.
TEST(Summary, NearlyInOrder) {
  std::mt19937_64 random(31);
  std::exponential_distribution<double> gap;
  std::vector<double> rows;
  double t = 0;
  for (int i = 0; i < 300000; ++i) {
    t += gap(random) * (i / 1000 % 2 == 0 ? 1 : 50);
    rows.push_back(t + 30 * gap(random));
  }
  Heap heap;
  Summary s(heap.memory());
  add_all(rows, &s);
  ASSERT_TRUE(s.settle().ok());
  expect_within_bound(s, rows, "bursts");
  // A cell of twice the limit, 2.8/9216, and the slack of another.
  EXPECT_LT(s.error_rows(), 0.001 * 300000);
}

// A table in order, read by two workers in turn: each has voids where the other read, over which it
// must not spread its rows. At a place within a cell of m rows that came by chance a count is off
// by the root of m/6 on average over the cell, and the limit is 1.4 N/9216 rows, or some more to
// fit.
TEST(Summary, PartsInTurnOfATableInOrder) {
  constexpr std::size_t kRows = 1'000'000, kChunk = 5000;
  std::mt19937_64 random(41);
  std::normal_distribution<double> normal;
  std::vector<double> rows(kRows);
  for (double& x : rows) x = std::exp(normal(random));
  std::sort(rows.begin(), rows.end());
  Heap heap;
  Summary part[2] = {Summary(heap.memory()), Summary(heap.memory())};
  for (std::size_t i = 0; i < kRows; ++i) ASSERT_TRUE(part[i / kChunk % 2].add(rows[i]).ok());
  for (Summary& p : part) ASSERT_TRUE(p.settle().ok());
  ASSERT_TRUE(part[0].merge(part[1]).ok());
  ASSERT_TRUE(part[0].settle().ok());
  double off = 0;
  int places = 0;
  for (std::size_t i = 499; i < kRows; i += 1000, ++places)
    off += std::fabs(counted(part[0], rows[i], true) - static_cast<double>(i + 1));
  EXPECT_LT(off / places, std::sqrt(part[0].join_limit() / 6));
  EXPECT_LT(part[0].join_limit(), 1.5 * 1.4 * kRows / 9216);
}

// Whole numbers, where ranges end at values that come as points as well.
TEST(Summary, StatesOfWholeNumbersMergeInOrder) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, 3000);
    std::vector<double> rows(100000);
    for (double& x : rows) x = std::round(normal(random));
    Heap heap;
    Summary whole(heap.memory());
    for (int part = 0; part < 2; ++part) {
      Summary s(heap.memory());
      add_all({rows.begin() + part * 50000, rows.begin() + (part + 1) * 50000}, &s);
      ASSERT_TRUE(whole.merge(s).ok());
    }
    ASSERT_TRUE(whole.settle().ok());
    expect_within_bound(whole, rows, "seed " + std::to_string(seed));
  }
}

// A stored range behind a void begins where it began.
TEST(Summary, StoredVoidsStayEmpty) {
  Header header{};
  header.rows = header.sample_rows = 4000;
  header.max = 1001;
  header.mean = 500;
  header.variance = 250000;
  const std::vector<HistogramCell> cells = {
      {0, 0, true}, {1, 2000, false}, {1000, 0, false}, {1001, 2000, false}};
  Heap heap;
  Summary s(heap.memory());
  ASSERT_TRUE(s.merge(header, cells).ok());
  EXPECT_NEAR(counted(s, 999, true), 2000, 0);
  EXPECT_NEAR(counted(s, 0.5, true), 1000, s.error_rows());
  EXPECT_EQ(counted(s, 1001, true), 4000);
}

// summary.h: a cell that counts rows has at most twice its limit, of which a tail's is 1/32 of the
// rows beyond it; and those only grow.
TEST(Summary, KeepsItsTailsFine) {
  for (const Shape shape : {Shape::lognormal, Shape::cauchy, Shape::late_heap}) {
    Heap heap;
    Summary s(heap.memory());
    add_all(rows_of(shape, 300'000, 21), &s);
    ASSERT_TRUE(s.settle().ok());
    double below = 0;
    for (std::size_t i = 0; i < s.cells(); ++i) {
      const HistogramCell cell = s.cell(i);
      if (!cell.point) {
        const double beyond = std::min(below, s.totals().rows() - below - cell.rows);
        EXPECT_LE(cell.rows, beyond / 16) << kShapeNames[static_cast<int>(shape)] << " " << i;
      }
      below += cell.rows;
    }
  }
}

// The means of 100 and 300 rows, off by 0.3 and 0.4 each by itself: their sums by 30 and 120.
TEST(Summary, ErrorsOfMergedMeansAreThoseOfTheirSums) {
  SummarySampling sampling;
  Header h = {};
  h.rows = 100;
  h.mean_error = 0.3;
  sampling.add(h);
  h.rows = 300;
  h.mean_error = 0.4;
  sampling.add(h);
  h.rows = 400;
  sampling.describe(&h);
  EXPECT_NEAR(h.mean_error, std::hypot(30, 120) / 400, 1e-12);
  // Too large for a double, but finite.
  h.mean_error = std::numeric_limits<double>::max();
  sampling.add(h);
  sampling.describe(&h);
  EXPECT_TRUE(std::isfinite(h.mean_error));
}

}  // namespace
}  // namespace kde
