// To a stored density: select the bandwidth, estimate, encode. From a sample (fit_column):
//
//   auto      the counts of unseen rows as far as they can be told (estimate/adaptive.h): a
//             lattice's points, single values, cells; the counts themselves where every row was
//             read, or where nothing is to be gained. The kernel acts in pdf() alone (kBounded).
//   by name   the plain kernel sum over the sample with that method's bandwidth, in every answer.
//
// Either is stored in cells with round ends (estimate_list.h, grid/grid_encode.h). Of every row, and of
// what was added up, see fit_cells.h.
#pragma once

#include "core/density/bytes.h"
#include "core/density/format.h"
#include "core/sampling/sampler.h"
#include "core/select/plugin.h"
#include "core/status.h"
#include "core/sums/engine.h"

#include <algorithm>
#include <cstdint>

namespace kde {

struct FitOptions : ReadShare {
  Method method = Method::automatic;
  ValueType value_type = ValueType::float8;
  double lattice_step = 0;  // known from the column's type, through 0; 0: none. By automatic.
  // Sums over pairs are near-exact sums over all of the sample (the spectral engine,
  // sums/spectral.h states its error) where its values are more than kFewValues
  // (select/line_bandwidth.h), unless `exact` or engine.kind reference asks for exact sums over at
  // most bandwidth_rows of the rows drawn.
  bool exact = false;
  // automatic: the counts of the rows read as they are, and no bandwidth.
  bool as_counted = false;
  bool added_up = false;                // by an aggregate: no fit, and perhaps of NULLs alone
  bool seeks_lattice = false;           // then: also a lattice that is not the type's own
  std::int64_t bandwidth_rows = 32768;  // >= 2
  std::uint64_t seed = 0;               // of which rows those are
  // Of the density with its measures, at least kLeastHistogramBytes; 0: bytes_of_sample().
  std::size_t budget = 0;
  ValueType measure_types[kMaxMeasures] = {};
  std::uint32_t word_type = 0, word_flags = 0;  // of a category: WordsHeader's
  Engine engine;
};

// Of a sample's list with its first measure; each measure more takes half of that.
inline constexpr std::size_t kSampleBytes = 65536;
inline std::size_t bytes_of_sample(int measures) {
  return kSampleBytes + kSampleBytes / 2 * static_cast<std::size_t>(std::max(measures - 1, 0));
}

struct FitReport {
  Method method = Method::plugin;  // the one used: never automatic
  double bandwidth = 0;  // the kernel's; 0: fewer than two distinct values, nothing to select
  std::int64_t sample_rows = 0;
  std::int64_t bandwidth_rows = 0;  // rows in the sums over pairs; 0: the method has none
  const char* engine = nullptr;     // of those sums, as in LineBandwidth
  // How the method's search ended (lscv_end_name), or "fallback" where it had no bandwidth for
  // these values and Silverman's rule chose; null where nothing is searched.
  const char* status = nullptr;
  double select_ms = 0, estimate_ms = 0;
  PluginTrace plugin;
  char notice[240] = {};  // what a user should know of the bandwidth's choice, or empty
  char model[240] = {};   // of automatic: what the estimate is made of and the evidence for it
};

// How many rows at most are in exact sums over pairs.
std::int64_t rows_of_exact_sums(const Sample& sample, const FitOptions& options);

// Errors: invalid_argument (no value at all), degenerate, cancelled,
// out_of_memory, internal.
Status fit_column(const Sample& sample, const FitOptions& options, const Control& control,
                  DensityBytes* density, FitReport* report) noexcept;

}  // namespace kde
