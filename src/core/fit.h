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
  // being that of the rest. Any other method: the plain kernel sum with that bandwidth.
  Method method = Method::automatic;
  // lscv is the kernel's own; what the others choose for a Gaussian kernel is rescaled canonically
  // (estimate/kernel.h).
  Kernel kernel = Kernel::gaussian;
  ValueType value_type = ValueType::float8;
  double lattice_step = 0;       // known from the column's type; 0: none. Used by automatic.
  double rows_per_row_read = 1;  // >= 1: rows of the table per row the scan read
  bool every_row_read = false;
  // >= 0: see Header::sampling_variance; negative: what independent draws without replacement from
  // the rows the density stands for have, 1 - sample rows / rows.
  double sampling_variance = -1;
  // Sums over pairs are near-exact sums over every value of the sample (the spectral engine,
  // sums/spectral.h states its error) where these are more than a few thousand, unless `exact` or
  // engine.kind reference asks for exact sums over the sample's bandwidth_values.
  bool exact = false;
  Engine engine;
};

struct FitReport {
  Method method = Method::plugin;  // the one used: never automatic
  double bandwidth = 0;  // the kernel's; 0: fewer than two distinct values, nothing to select
  std::int64_t sample_rows = 0;
  std::int64_t bandwidth_rows = 0;  // rows in the sums over pairs; 0: the method has none
  const char* engine = nullptr;     // of those sums, as in LineBandwidth
  // How the method's search ended (lscv_end_name), or "fallback" where it had no bandwidth for
  // these values and Silverman's rule chose; null where nothing is searched.
  const char* status = nullptr;
  int atoms = 0, knots = 0;
  double representation_error = 0;  // fraction of the rows, measured, see Header::error
  double select_ms = 0, estimate_ms = 0;
  PluginTrace plugin;  // for the Gaussian kernel
  // What a user should know, or empty: of the bandwidth's choice (why another rule was used), and
  // of the estimate (how well it is stored).
  char notice[240] = {};
  char estimate_notice[240] = {};
  char model[240] = {};  // of automatic: what the estimate is made of and the evidence for it
};

// out: the stored density (words * 8 bytes hold `size` bytes), varlena word 0.
// Errors: invalid_argument (no value at all), degenerate, cancelled, out_of_memory, internal.
Status fit_column(const Sample& sample, const FitOptions& options, const Control& control,
                  std::vector<std::uint64_t>* words, std::size_t* size, FitReport* report) noexcept;

}  // namespace kde
