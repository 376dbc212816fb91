// From a sample to a stored density: select the bandwidth, estimate, encode.
#pragma once

#include "core/density/format.h"
#include "core/sampling/sampler.h"
#include "core/select/plugin.h"
#include "core/status.h"
#include "core/sums/pair_sums.h"

#include <cstdint>
#include <vector>

namespace kde {

struct FitOptions {
  // automatic: the plug-in bandwidth; no mass outside the values' range (reflection); the lattice
  // respected; values that all repeat (>= 10 rows each on average, at most kMaxDistinct of them)
  // kept as atoms, else those far heavier than their neighbours (estimate/atoms.h), the bandwidth
  // being that of the rest. plugin, silverman: the plain kernel sum.
  Method method = Method::automatic;
  // The selectors choose for a Gaussian kernel; another's bandwidth is theirs, rescaled canonically
  // (estimate/kernel.h).
  Kernel kernel = Kernel::gaussian;
  ValueType value_type = ValueType::float8;
  double lattice_step = 0;       // known from the column's type; 0: none. Used by automatic.
  double rows_per_row_read = 1;  // >= 1: rows of the table per row the scan read
  bool every_row_read = false;
  // automatic computes the plug-in's sums over every value of the sample by the spectral engine
  // where there are more than a few thousand (sums/spectral.h states its error), unless `exact` or
  // engine.kind reference asks for exact sums over the sample's bandwidth_values. plugin by name is
  // always exact.
  bool exact = false;
  Engine engine;
};

struct FitReport {
  Method method = Method::plugin;  // resolved
  double bandwidth = 0;  // the kernel's; 0: fewer than two distinct values, nothing to select
  std::int64_t sample_rows = 0;
  std::int64_t bandwidth_rows = 0;  // values the pair sums used; 0 for silverman
  int atoms = 0, knots = 0;
  double representation_error = 0;  // fraction of the rows, measured, see Header::error
  double select_ms = 0, estimate_ms = 0;
  PluginTrace plugin;     // for the Gaussian kernel
  char notice[240] = {};  // what a user should know, e.g. why another rule was used; or empty
};

// out: the stored density (words * 8 bytes hold `size` bytes), varlena word 0.
// Errors: invalid_argument (no value at all), degenerate, cancelled, out_of_memory, internal.
Status fit_column(const Sample& sample, const FitOptions& options, const Control& control,
                  std::vector<std::uint64_t>* words, std::size_t* size, FitReport* report) noexcept;

}  // namespace kde
