// Every shape of question in every class of the share of rows it holds: how often the 95 %
// intervals hold the truth, how wide they are, and errors over those of counting the same rows.
//
// Ranges have two ends, are open above, or open below; a class's share is log-uniform on it, the
// ends are values that occur. Equality is asked of random rows' values, where a value has at least
// five rows on average. A question belongs to the class of what it truly holds, ties included.
// Quantiles are asked by their fraction; the truth is the least value with so many rows up to it.
//
// Rows are drawn in three ways, as kde_fit does:
//   1,000 and 10,000  sample_rows: every row is read, so many are drawn
//   blocks            of kRowsOfABlock rows in the table's order, NULLs among them: one of each of
//                     kMostBlocks strata (core/sampling/block_choice.h), of fewer where there are
//                     not twice as many; every row of those counts
// and counted for comparison are the rows drawn.
#pragma once

#include "coverage.h"
#include "table.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace kde::accuracy {

enum Asked { kTwoEnds, kAbove, kBelow, kEqual, kQuantile };
inline constexpr int kAskeds = 5;
inline constexpr std::array<const char*, kAskeds> kAskedNames = {"two ends", "above", "below",
                                                                 "equal", "quantile"};

// Class i holds shares from kShares[i] on, below kShares[i + 1].
inline constexpr std::array<double, 6> kShares = {1e-4, 1e-3, 1e-2, 1e-1, 0.5, 0.999};
inline constexpr std::array<double, 9> kFractions = {.001, .01, .1, .25, .5, .75, .9, .99, .999};
// Of ranges by share, of quantiles by fraction.
inline constexpr int kMostClasses = 9;
int classes_of(int asked);
std::string class_name(int asked, int c);
// The least share of the rows that a question of the class has to either side.
double least_share(int asked, int c);

inline constexpr int kDraws = 3;
inline constexpr std::array<const char*, kDraws> kDrawNames = {"1,000", "10,000", "blocks"};
inline constexpr std::array<std::size_t, kDraws> kDrawRows = {1000, 10000, 0};
inline constexpr int kByBlock = 2;
inline constexpr std::size_t kRowsOfABlock = 100, kMostBlocks = 500;

// The questions of one class and their samples. Of quantiles the quantity is COUNT.
struct ShapeFigures {
  std::array<Tally, kQuantities> held;
  std::array<double, kQuantities> error{}, error_of_rows{};  // sums
  std::array<std::vector<float>, kQuantities> width;         // over the textbook's

  void add(const ShapeFigures& other);
  // The error over that of counting; NaN where counting has none.
  double ratio(int quantity) const;
};

struct ShapesColumn {
  std::string name;
  std::array<std::size_t, kDraws> rows{};  // drawn
  std::array<std::array<std::array<ShapeFigures, kMostClasses>, kAskeds>, kDraws> figures;
};

struct ShapesPlan {
  int samples = 60, questions = 20;  // of each shape and class
  std::uint64_t seed = 1;
};

// All columns of numbers, over columns and ways to draw in parallel. Throws std::runtime_error.
std::vector<ShapesColumn> measure_shapes(const std::vector<Table>& tables, const ShapesPlan& plan);

}  // namespace kde::accuracy
