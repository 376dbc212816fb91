// Internal to src/core/joint: how well a density predicts the counts and means of rows it has not
// seen.
//
// The sample's rows are cut in halves, several times; of each half A a density is made as the
// final one will be, and asked for boxes on two and three columns that hold 0.4 to 25 % of the
// rows. With p_B the fraction of the rows of the other half B that are in a box,
//
//   E (estimate - p_B)^2 = (mean squared error of the estimate) + p (1 - p)/n_B,
//
// so that candidates can be compared without knowing p (predictive sample reuse: S. Geisser, JASA
// 70, 1975; cross-validation of distribution functions: A. Bowman, P. Hall & T. Prvan, Biometrika
// 85, 1998), and the ratio to the raw sample's own p (1 - p)/n_A is an estimate without bias,
// but for what A and B share through the columns' own distributions.
// A category in a box has one value, whose rows are all that the box may hold.
#pragma once

#include "core/control.h"
#include "core/function_ref.h"
#include "core/density/joint_format.h"
#include "core/joint/ranked_rows.h"
#include "core/joint/joint_sampler.h"
#include "core/random.h"
#include "core/status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kde {

inline constexpr int kSplits = 4;
inline constexpr int kHalves = 2 * kSplits;
inline constexpr int kBoxesPerHalf = 120;
// Fewer rows predict nothing that would tell candidates apart.
inline constexpr std::int64_t kLeastRowsForReuse = 100;

struct PredictionError {
  // Mean of (estimate - p_B)^2/(p (1 - p)) over the boxes: to compare candidates by.
  double loss = 0;
  // Mean squared errors of counts and means relative to the raw sample's of A, by the fraction of
  // the rows: 4^-(i + 1). In [kLeastErrorRatio, kMostErrorRatio].
  double count[kErrorScales];
  double mean[kErrorScales];
};

inline constexpr double kLeastErrorRatio = 0.05, kMostErrorRatio = 1000;

// Makes a density of the sample's rows `rows` (their numbers), those of that half; own_rows 0 is
// meant. Called by several threads at once.
using MakeDensity =
    FunctionRef<Status(int half, std::span<const std::uint32_t> rows, DensityBytes* density)>;

// What the boxes of one half say, by scale.
struct HalfError {
  struct Scale {
    double square = 0, expected = 0;            // of counts
    double mean_square = 0, mean_expected = 0;  // of means
    int boxes = 0, means = 0;
  };
  Scale scale[kErrorScales];
  double loss = 0;
  int boxes = 0;
};

class SampleReuse {
 public:
  // sample: at least kLeastRowsForReuse rows; outlives this. rows: those that densities may be
  // made of (all, or those without NULL ...). marginals: the columns' own densities, in which
  // boxes' bounds are quantiles. Draws the boxes; where it is asked to stop it draws no more, and
  // what measures says so. Throws std::bad_alloc.
  SampleReuse(const JointSample& sample, std::vector<std::uint32_t> rows,
              std::span<const Header* const> marginals, std::uint64_t seed, const Control& control);

  // Whether there is a box to compare candidates by: of columns that have hardly more than one
  // value each there is none, and then nothing to measure.
  bool has_boxes() const;

  // In an order in which neighbours are near (ranked_rows.h).
  std::span<const std::uint32_t> rows_of_half(int half) const {
    return half_[static_cast<std::size_t>(half)];
  }
  // Errors: those of `make`; cancelled; out_of_memory. Safe from any thread.
  Status measure_half(MakeDensity make, int half, const Control& control,
                      HalfError* out) const noexcept;
  // halves: of the first ones, kHalves or fewer, of which only the loss is set.
  static PredictionError sum_up(std::span<const HalfError> halves);
  // Of all halves, among threads. Errors: measure_half()'s.
  Status measure(MakeDensity make, const Control& control, PredictionError* out) const;

 private:
  struct Box {
    int columns = 0;
    int column[3];
    double lower[3], upper[3];  // both inclusive; of a category the same
    int target = -1;            // a column that is not among them, if there is one
    double wanted = 0;          // the share of the rows it was made for
    double share = 0;           // of the rows
    double variance = 0;        // of the target over them
    double left_out = 0;        // share of the other half's rows that are in it
    double left_out_mean = 0;   // of the target over these
    double left_out_rows = 0;   // with a finite target
  };

  bool is_category(int column) const {
    return sample_.is_category(static_cast<std::size_t>(column));
  }
  double share_of_value(int column, double rank) const;
  std::vector<std::uint32_t> rows_of_values(const Box& box) const;
  double value(std::uint32_t row, int column) const;
  bool has(std::uint32_t row, int column) const;
  // some: of rows_, as many as decide a box's size.
  bool draw_box(const RankTable& some, Random* random, Box* box) const;
  std::size_t sides_of(const Box& box, RankSide* sides) const;
  void divide(int split);
  void list_values();
  void describe(int half, Box* box) const;
  Status ask(MakeDensity make, int half, const Control& control, HalfError* out) const;

  const JointSample& sample_;
  std::vector<std::uint32_t> rows_;  // in the order in which they were last shuffled
  // Of each category, by the rank of the value: the rows that have it, in that order.
  std::vector<std::vector<std::vector<std::uint32_t>>> rows_of_value_;
  RankedRows ranked_;
  // Of split i, in the order of ranked_, by block: the rows of half 2 i. Half 2 i + 1 has the
  // others.
  std::vector<std::uint64_t> first_half_[kSplits];
  std::vector<std::uint32_t> half_[kHalves];
  std::vector<const Header*> marginals_;
  std::vector<int> usable_;  // columns with more than one value
  std::vector<Box> boxes_[kHalves];
  bool stopped_ = false;  // while the boxes were drawn
};

}  // namespace kde
