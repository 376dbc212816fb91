// What `auto` makes of a sample: a kernel estimate corrected by the sample, or the sample itself,
// whichever comes nearer to the counts of rows it has not seen.
//
// Candidates: kernel estimates at the plug-in bandwidth, on x or on a transformation of it, with or
// without heaping that repeats along the lattice (heaps.h), each corrected by a Polya tree
// (polya_tree.h); and the sample. Each is fitted to all folds of the sample but one and predicts
// the counts of ranges in that one (cross-validation: M. Stone, JRSS B 36, 1974), ranges of all
// sizes from 0.3 % of the rows on, with two ends and with one. A range with the share p of the rows
// has, from n rows of its own, the variance p (1 - p)/n: in units of that, the mean squared
// difference less 1, which is the fold's own, tells the candidate's error from that of the sample.
//
// The rows that were seen are known: with f = n/N the sampled share of the table, the estimate of
// the table is f times the sample plus 1 - f times the estimate of the rest.
#pragma once

#include "core/control.h"
#include "core/estimate/cells.h"
#include "core/estimate/polya_tree.h"
#include "core/status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kde {

struct AdaptiveInput {
  const Cells* cells = nullptr;
  double plugin_bandwidth = 0;  // of the values but the atoms, in the cells' unit; > 0
  double sampled_share = 0;     // f, in [0, 1]
  // Where rows came by block: some of them in the cells' unit with their blocks, which are unseen
  // as a whole, and the design effects (polya_tree.h). Else none, and null: rows are independent.
  std::span<const double> drawn = {};
  std::span<const std::uint32_t> drawn_block = {};
  const Effects* effect = nullptr;
};

struct AdaptiveEstimate {
  std::vector<double> share;  // of the rows, one per cell, adding up to 1
  double bandwidth = 0;       // of the kernel estimate chosen, at the median; the cells' unit
  bool is_sample = false;     // nothing was to be gained: the shares are the sample's
  std::string model;          // what was chosen and what it gains, for people
};

// Errors: cancelled; what the plug-in's sums report. Throws std::bad_alloc.
Status estimate_adaptively(const AdaptiveInput& input, const Control& control,
                           AdaptiveEstimate* out);

}  // namespace kde
