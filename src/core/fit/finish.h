// From a summary to a stored density: find the lattice, select the bandwidth, encode.
//
// The bandwidth is selected from the summary's own cells, each a weighted value in its middle, so
// it can be selected again whenever rows were added, without going back to them. Cells hold at most
// a few thousandths of a percent of the rows, and a pilot bandwidth some percent of their spread:
// what binning in cells of width w does to a bandwidth's functionals is of the order (w/g)^2
// (M. P. Wand, J. Comp. Graph. Stat. 3, 1994).
//
//   auto        counts are the data's own: a histogram is not smoothed. The kernel, with the
//               plug-in bandwidth and reflected at [min, max], acts in kde_pdf() alone (kBounded).
//   by name     the plain kernel sum with that method's bandwidth, in every answer.
#pragma once

#include "core/summary/measures.h"
#include "core/summary/summary.h"
#include "core/control.h"
#include "core/density/format.h"
#include "core/status.h"

#include <cstddef>

namespace kde {

struct FinishOptions {
  Method method = Method::automatic;
  ValueType value_type = ValueType::float8;
  double lattice_step = 0;  // known from the values' type, through 0; 0: to be found
  // Bytes; in [kLeastHistogramBytes, kMaxBytes]. With measures that of x and one of them: half for
  // each, and at least kLeastMeasuredBytes.
  std::size_t budget = kMaxBytes;
  const Measures* measures = nullptr;          // the summary's, settled; null: none
  ValueType measure_types[kMaxMeasures] = {};  // of each
};

// summary: settled, not changed; without finite rows too (then a density of no rows but NULL, NaN
// and infinite ones).
// The value that comes out has flags kEveryRowRead unless sampled densities are in it and, by auto,
// kBounded; sample_rows the finite rows as they came; method the one asked for (plugin by auto), so
// that densities that were asked for alike can be added. Where it has no bandwidth for the values
// the bandwidth is Silverman's, and where that has none, 0. Errors: cancelled, out_of_memory,
// invalid_argument.
Status finish(const Summary& summary, const FinishOptions& options, const Control& control,
              DensityBytes* density) noexcept;

}  // namespace kde
