// The places part of `make accuracy`: what a joint density answers where points lie as made_points.h says,
// box by box, beside counting the rows of the same sample.
//
// Boxes on x and y, as joint_boxes.h draws them, are asked for COUNT and for AVG of the third column.
// kPlaceSample rows are drawn from all; of tables whose order matters, one of each kStretch blocks of
// kBlockRows rows, which are then all in the sample. The textbook's intervals are those of coverage.h, and of
// blocks those of ratio estimates from the totals of blocks (W. G. Cochran, Sampling Techniques, 1977,
// section 6.3), with Student's quantile.
#pragma once

#include "made_points.h"

#include "coverage.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace kde::accuracy {

inline constexpr std::size_t kPlaceSample = 1000;
inline constexpr int kBlockRows = 100, kStretch = 8;

// Of one box: a sample each. Of AVG samples without a row in the box are left out.
struct PlaceFigures {
  std::array<std::vector<double>, kQuantities> error, error_of_rows;  // |estimate - truth|
  std::array<Tally, kQuantities> held, textbook;

  double ratio(int quantity) const;  // of their means
  // By how many standard errors the mean error is more than `times` that of counting: of many boxes
  // three may be chance.
  double beyond(int quantity, double times) const;
};

struct PlacesPlan {
  int samples = 40, boxes = 40;
  std::uint64_t seed = 1;
  double lowest = 0.002, highest = 0.1;  // shares of the rows
};

std::vector<PlaceFigures> measure_places(const MadePoints& made, const PlacesPlan& plan);

// All of made_points(), with what is short of what is asked for:
//   an error of any box at most 1.12 times that of counting, as far as the samples tell; of smooth
//   points at most 0.9 times in the geometric mean
//   coverage at least 90 %, and no more than 4 points below the textbook's
void run_places(std::FILE* out);

}  // namespace kde::accuracy
