// The bandwidth of one column by any method: what a fit and kde_bandwidth() have in common. Each
// method has a file of its own beside this one; here it is given its sums and its sample.
#pragma once

#include <cstdint>
#include <span>

#include "core/control.h"
#include "core/density/format.h"
#include "core/select/lscv.h"
#include "core/select/plugin.h"
#include "core/status.h"
#include "core/sums/engine.h"

namespace kde {

struct LineRequest {
  Method method = Method::plugin;  // not automatic
  LscvDivisor divisor = LscvDivisor::n_squared;
  // Unused by the rules of thumb. With weights either the spectral one, or any other for exact sums
  // (make_tied_sums), and then no value twice.
  Engine engine;
};

// A sample, or the part of one that the sums can afford.
struct LineValues {
  std::span<const double> sorted;   // two or more finite values, ascending, of magnitude about 1
  std::span<const double> weights;  // as many, or none for ones
  std::int64_t n = 0;               // rows of the whole sample, at least the sum of the weights
};

struct LineBandwidth {
  double h = 0;                // in units of the values
  std::int64_t rows_used = 0;  // rows in the sums over pairs; 0: the method has none
  // What computed those sums: "spectral"; null for the engine asked for, or none.
  const char* engine = nullptr;
  // How a search ended (lscv_end_name); null where nothing is searched.
  const char* status = nullptr;
  char notice[240] = {};  // what a user should know of that end; or empty
  PluginTrace plugin;     // of the plug-in method
};

// Whether the method needs sums over pairs.
bool needs_pair_sums(Method method);

// Up to this many values exact sums take a few milliseconds, and nobody need think about the
// spectral ones.
inline constexpr std::int64_t kFewValues = 512;

// A method that knows only the part of a sample it was given has its h taken to the whole by
// (m/n)^(1/5), the rate at which each of them falls: J. S. Marron, Partitioned cross-validation,
// Econometric Reviews 6 (1987). PLUGIN has a formula of its own for it (plugin.h).
// Errors: degenerate (all values equal, or the method has no bandwidth for them); invalid_argument;
// what the sums report.
Status select_line_bandwidth(const LineRequest& request, const LineValues& values,
                             const Control& control, LineBandwidth* out);

// A bandwidth for values of any magnitude and in any order; h in units of x. engine: for the exact
// sums, which are used where `exact` or where the values are few, and where the spectral ones fail.
// Errors: also invalid_argument (fewer than two values, NaN or infinite ones), out_of_memory.
Status select_bandwidth(const LineRequest& request, std::span<const double> x, bool exact,
                        const Control& control, LineBandwidth* out) noexcept;

}  // namespace kde
