// What `auto` makes of a sample: the candidate whose counts come nearest to those of rows it has
// not seen.
//
// Candidates: kernel estimates at the plug-in bandwidth and fractions of it, on x or on a
// transformation of it, each with or without heaping that repeats along the lattice (heaps.h), each
// corrected by a Polya tree (polya_tree.h) or not; and the raw sample. Each is fitted to one half
// of the sample and predicts the counts of kRanges ranges of 0.3 to 10 % in the other half, in
// several random halvings (repeated split-sample cross-validation). A range with the share p of the
// rows has, from n observations of its own, the variance p (1 - p)/n: in units of that, the mean
// squared difference less 1, which is the other half's own, is the candidate's error r relative to
// the raw sample's.
//
// The rows that were seen are known: with f = n/N the sampled share of the table, the estimate of
// the table is f times the sample plus 1 - f times the estimate of the rest, and its error relative
// to the raw sample's is f + (1 - f) r.
#pragma once

#include "core/control.h"
#include "core/density/format.h"
#include "core/estimate/cells.h"
#include "core/room.h"
#include "core/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kde {

struct AdaptiveInput {
  const Cells* cells = nullptr;
  double plugin_bandwidth = 0;  // of the values but the atoms, in the cells' unit; > 0
  double sampled_share = 0;     // f, in [0, 1]
};

struct AdaptiveEstimate {
  std::vector<double> share;  // of the rows, one per cell, adding up to 1
  double bandwidth = 0;       // of the kernel estimate chosen, at the median; the cells' unit
  float count_error[kErrorScales] = {};  // as in Header
  float mean_error[kErrorScales] = {};
  std::string model;  // what was chosen and its error, for people
};

// Errors: cancelled; what the plug-in's sums report. Throws std::bad_alloc.
Status estimate_adaptively(const AdaptiveInput& input, const Control& control,
                           AdaptiveEstimate* out);

}  // namespace kde
