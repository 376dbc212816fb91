// What joint densities answer where smoothing is wrong, and how sure they are of rows that lie together: the
// bounds of sum_box.cpp and contrasts.h, on points made by rule (accuracy/made_points.h).
#include "core/joint/box_plan.h"
#include "core/joint/contrasts.h"
#include "core/joint/joint_moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "accuracy/joint_estimators.h"
#include "accuracy/places.h"

namespace kde {
namespace {

using accuracy::MadePoints;

const MadePoints& made(const char* name) {
  static const std::vector<MadePoints> kAll = accuracy::made_points();
  return *std::find_if(kAll.begin(), kAll.end(),
                       [name](const MadePoints& m) { return m.table.name == name; });
}

// --- counting and smoothing ----------------------------------------------------------------------

struct Boxed {
  BoxSums kernels;
  JointMoments moments;
};

Boxed ask(const JointView& d, double x, double y, double half, int target) {
  std::vector<BoxSide> box(2);
  for (int k = 0; k < 2; ++k) {
    const double centre = k == 0 ? x : y;
    box[static_cast<std::size_t>(k)] = {k, accuracy::closed_range(centre - half, centre + half)};
  }
  BoxPlan plan;
  EXPECT_TRUE(plan_box(d, box, target, &plan));
  return {sum_blocks(plan), joint_moments(d, box, target)};
}

// With the sum of what its points' kernels leave of them, an answer is at most 0.4 of a standard deviation
// from the count, and between it and the kernels'.
TEST(JointPlaces, AnswersStayNearTheCount) {
  const MadePoints& points = made("hot_spot");
  const accuracy::JointDraw draw =
      accuracy::draw_joint(points.table, {0, 1, 2}, 2000, points.table.rows.rows, 1);
  const auto fitted = accuracy::fit_joint(draw, points.table, JointMethod::automatic);
  const JointView d = fitted->view();
  const double factor = d.header().sampling_variance;
  EXPECT_NEAR(factor, 1 - 2000.0 / accuracy::kPlaceRows, 1e-9);
  int moved = 0;
  for (const double half : {0.02, 0.05, 0.2, 0.5, 1.0}) {
    const Boxed b = ask(d, 1, 1, half, 2);
    const Counted& c = b.kernels.counted;
    const double counted = b.kernels.rows + c.rows;
    const double most = 0.4 * std::sqrt(c.row_squares * factor);
    EXPECT_LE(std::fabs(b.moments.count - counted), most * (1 + 1e-9)) << half;
    EXPECT_GE(b.moments.count, std::min(counted, b.kernels.rows) * (1 - 1e-9));
    EXPECT_LE(b.moments.count, std::max(counted, b.kernels.rows) * (1 + 1e-9));
    moved += std::fabs(c.rows) > most ? 1 : 0;
  }
  EXPECT_GE(moved, 2);
}

// A fiftieth of the spread is far less than a bandwidth: kernels leave a fifth of the spot's rows in it. No
// box is off by more than 1.08 times as much as by counting; 3 standard errors for the samples' chance.
TEST(JointPlaces, NoPlaceIsWorseThanCounting) {
  accuracy::PlacesPlan plan;
  plan.samples = 16;
  plan.boxes = 16;
  for (const char* name : {"hot_spot", "corner", "disc"}) {
    const std::vector<accuracy::PlaceFigures> boxes = measure_places(made(name), plan);
    ASSERT_GE(boxes.size(), 8U);
    for (const int q : {accuracy::kCount, accuracy::kMean}) {
      accuracy::Tally held;
      for (const accuracy::PlaceFigures& box : boxes) {
        EXPECT_LE(box.beyond(q, 1.12), 3) << name << " " << q << " " << box.ratio(q);
        held.add(box.held[q]);
      }
      EXPECT_GE(held.share(), 0.9) << name << " " << q;
    }
  }
}

// --- contrasts -----------------------------------------------------------------------------------

struct Sampled {
  std::vector<std::uint8_t> code;
  int contrasts;
};

Sampled contrasts_of(std::size_t blocks, std::size_t rows_of_block, std::uint64_t seed) {
  std::vector<std::uint32_t> row, row_block;
  for (std::size_t i = 0; i < blocks * rows_of_block; ++i) {
    row.push_back(static_cast<std::uint32_t>(i));
    row_block.push_back(static_cast<std::uint32_t>(i / rows_of_block));
  }
  Sampled s;
  s.contrasts = make_contrasts(row, row_block, blocks, seed, &s.code);
  return s;
}

TEST(JointContrasts, NeighboursHaveOppositeSigns) {
  const Sampled s = contrasts_of(301, 2, 5);
  EXPECT_EQ(s.contrasts, kMostContrasts);
  ASSERT_EQ(s.code.size(), 602U);
  for (std::size_t b = 0; b + 1 < 301; b += 2) {
    EXPECT_EQ(s.code[2 * b], s.code[2 * b + 1]);
    EXPECT_EQ(s.code[2 * b] ^ 1, s.code[2 * b + 2]);
  }
  EXPECT_LT(*std::max_element(s.code.begin(), s.code.end()), 2 * s.contrasts);
  EXPECT_EQ(contrasts_of(7, 2, 5).contrasts, 0);
  EXPECT_EQ(contrasts_of(8, 2, 5).contrasts, 4);
}

// The effect of rows that come `together` by together in one block. Of 128 contrasts it has the relative
// standard deviation sqrt(2/128) at most, as sums of few are flatter than normal ones; of 40 draws 2 %.
TEST(JointContrasts, TellRowsThatLieTogether) {
  constexpr std::size_t kBlocks = 400, kRows = 20;
  constexpr int kDraws = 40;
  for (const std::size_t together : {1UL, 5UL, 20UL}) {
    Random random(9);
    double count = 0, mean = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const Sampled s = contrasts_of(kBlocks, kRows, 100 + static_cast<std::uint64_t>(draw));
      ContrastSums sums;
      double rows = 0, power = 0;
      for (std::size_t first = 0; first < s.code.size(); first += together) {
        if (random.uniform() >= 0.05) continue;
        const double y = random.uniform();
        for (std::size_t i = first; i < first + together; ++i) {
          const int g = s.code[i] / 2;
          const double sign = s.code[i] % 2 == 0 ? 1 : -1;
          sums.rows[g] += sign;
          sums.valued[g] += sign;
          sums.power[g] += sign * y;
          sums.alone += 1;
          for (int k = 0; k < 3; ++k) sums.valued_alone[k] += std::pow(y, k);
          rows += 1;
          power += y;
        }
      }
      // Blocks are of equal size, so that contrasts of all rows are 0.
      const std::vector<float> balance(kMostContrasts);
      count += count_effect(sums, balance, rows / double{kBlocks * kRows}) / kDraws;
      mean += mean_effect(sums, power / rows) / kDraws;
    }
    const double effect = static_cast<double>(together);
    EXPECT_NEAR(count, effect, 3 * 0.02 * effect + 0.01 * effect) << together;
    EXPECT_NEAR(mean, effect, 3 * 0.02 * effect + 0.01 * effect) << together;
  }
}

// Customers' rows one after the other: means are as sure as the textbook's are, but for four points.
TEST(JointContrasts, MeansAlongRunsHold) {
  accuracy::PlacesPlan plan;
  plan.samples = 16;
  plan.boxes = 24;
  const std::vector<accuracy::PlaceFigures> boxes = measure_places(made("runs"), plan);
  for (const int q : {accuracy::kCount, accuracy::kMean}) {
    accuracy::Tally held, textbook;
    for (const accuracy::PlaceFigures& box : boxes) {
      held.add(box.held[q]);
      textbook.add(box.textbook[q]);
    }
    EXPECT_GE(held.share(), 0.9) << q;
    EXPECT_GE(held.share(), textbook.share() - 0.04) << q;
  }
}

}  // namespace
}  // namespace kde
