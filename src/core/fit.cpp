// The steps of fit.h: scale, select, estimate, encode.
#include "core/fit.h"

#include "core/density/text.h"
#include "core/estimate/atoms.h"
#include "core/estimate/compact_nodes.h"
#include "core/estimate/kernel.h"
#include "core/estimate/kernel_grid.h"
#include "core/estimate/smooth.h"
#include "core/fit_automatic.h"
#include "core/select/line_bandwidth.h"
#include "core/stopwatch.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <memory>
#include <new>
#include <span>

namespace kde {

namespace {

// Values that repeat this often on average are the column's alphabet, not a continuum.
constexpr std::int64_t kAtomRepeats = 10;
// Atoms beside a smooth part: 4 KB of the 16.
constexpr std::size_t kAtomsBesideSmooth = 256;
// Of the rows, for any range; two values of G are in it.
constexpr double kPromisedError = 1e-5;
// The narrowest bandwidth that the stored positions resolve, in units of u (|u| <= 1).
constexpr double kNarrowest = 0x1p-34;
// A spread in u whose square, and the squares of its parts, are still numbers.
constexpr double kNothingBeside = 0x1p-400;

// x = origin + u 2^exponent, |u| <= 1. A power of two: exact, whatever the column's scale.
struct Scale {
  double origin = 0;
  int exponent = 0;

  double to_u(double x) const { return std::ldexp(x - origin, -exponent); }
};

// The middle value, so that where most of the data are u is small and its digits are many.
double middle(const Sample& sample) {
  double total = 0;
  for (const WeightedValue& v : sample.values) total += v.weight;
  double below = 0;
  for (const WeightedValue& v : sample.values) {
    below += v.weight;
    if (2 * below >= total) return v.value;
  }
  return sample.values.back().value;
}

class Fit {
 public:
  Fit(const Sample& sample, const FitOptions& options, const Control& control, FitReport* report)
      : sample_(sample), options_(options), control_(control), report_(*report) {}

  Status run(std::vector<std::uint64_t>* words, std::size_t* size) {
    const Totals& t = sample_.totals;
    if (t.non_null() == 0) return Status::error(Code::invalid_argument, "no values");
    report_ = {};
    report_.method = options_.method == Method::automatic ? Method::plugin : options_.method;
    report_.sample_rows = sample_.sample_rows;
    write_totals();
    if (t.finite > 0) {
      if (t.min == t.max) {
        parts_.header.origin = t.min;
        add_alphabet();  // sample.distinct has exactly this one value
      } else if (automatic() && options_.kernel == Kernel::gaussian) {
        if (Status s = fit_automatically(sample_, options_, control_, &parts_, &report_); !s.ok())
          return s;
      } else {
        separate_atoms();
        scale_values();
        if (Status s = select(); !s.ok()) return s;
        if (Status s = estimate(); !s.ok()) return s;
      }
    }
    report_.atoms = static_cast<int>(parts_.atom_value.size());
    report_.knots = static_cast<int>(parts_.knot_u.size());
    report_.representation_error = parts_.header.error;
    return encode(parts_, words, size);
  }

 private:
  bool automatic() const { return options_.method == Method::automatic; }

  void write_totals() {
    const Totals& t = sample_.totals;
    const double scale = options_.rows_per_row_read;
    Header& h = parts_.header;
    h.kernel = options_.kernel;
    h.flags = static_cast<std::uint8_t>((automatic() ? kBounded : 0) |
                                        (options_.every_row_read ? kEveryRowRead : 0));
    h.value_type = options_.value_type;
    h.method = report_.method;
    h.rows = static_cast<double>(t.non_null()) * scale;
    h.nulls = static_cast<double>(t.nulls) * scale;
    h.nans = static_cast<double>(t.nans) * scale;
    h.negative_infinities = static_cast<double>(t.negative_infinities) * scale;
    h.positive_infinities = static_cast<double>(t.positive_infinities) * scale;
    h.sample_rows = static_cast<double>(sample_.sample_rows);
    h.min = t.min;
    h.max = t.max;
    h.mean = t.mean;
    h.variance = t.variance;
    const double share = h.finite_rows() > 0 ? h.sample_rows / h.finite_rows() : 1;
    h.sampling_variance =
        options_.sampling_variance >= 0 ? options_.sampling_variance : std::max(1 - share, 0.0);
    for (int i = 0; i < kErrorScales; ++i) h.count_error[i] = h.mean_error[i] = 1;
    if (automatic() && options_.lattice_step > 0 && t.finite > 0) {
      h.lattice_step = options_.lattice_step;
      h.lattice_offset = 0;
      if (!lattice_resolved(h) || !lattice_cells_in_range(h)) h.lattice_step = 0;
    }
  }

  // Every value is an atom, with the rows counted.
  void add_alphabet() {
    double rows = 0;
    for (const auto& [value, count] : sample_.distinct) {
      rows += static_cast<double>(count) * options_.rows_per_row_read;
      parts_.atom_value.push_back(value);
      parts_.atom_rows.push_back(rows);
    }
    parts_.header.slope_unit = 0;
  }

  // Decides what the bandwidth and the smooth part are made of.
  void separate_atoms() {
    smooth_values_ = sample_.values;
    if (!automatic() || is_alphabet()) return;
    split_ = split_atoms(sample_.values, parts_.header.lattice_step > 0, kAtomsBesideSmooth);
    if (split_.atoms.empty()) return;
    // The median background makes atoms a minority among their neighbours, so much is left.
    if (split_.rest.empty() || split_.rest.front().value == split_.rest.back().value) {
      split_ = {};
      return;
    }
    smooth_values_ = split_.rest;
  }

  // The values for the pair sums, without the share of them that atoms hold.
  std::vector<double> smooth_bandwidth_values() const {
    const std::vector<double>& all = sample_.bandwidth_values;
    if (split_.atoms.empty()) return all;
    std::vector<double> out;
    auto atom = split_.atoms.begin();
    auto rest = split_.rest.begin();
    for (auto at = all.begin(); at != all.end();) {
      const auto end = std::upper_bound(at, all.end(), *at);
      while (atom != split_.atoms.end() && atom->value < *at) ++atom;
      std::size_t kept = static_cast<std::size_t>(end - at);
      if (atom != split_.atoms.end() && atom->value == *at) {
        while (rest != split_.rest.end() && rest->value < *at) ++rest;
        const double left = rest != split_.rest.end() && rest->value == *at ? rest->weight : 0;
        const double share = left / (left + atom->weight);
        kept = static_cast<std::size_t>(std::lround(share * static_cast<double>(kept)));
      }
      out.insert(out.end(), kept, *at);
      at = end;
    }
    return out;
  }

  // Rows of the table per unit of the sample's weight.
  double rows_per_weight() const {
    return parts_.header.finite_rows() / static_cast<double>(sample_.sample_rows);
  }

  void add_split_atoms() {
    double rows = 0;
    for (const WeightedValue& v : split_.atoms) {
      rows += v.weight * rows_per_weight();
      parts_.atom_value.push_back(v.value);
      parts_.atom_rows.push_back(rows);
    }
    parts_.header.smooth_rows = std::max(parts_.header.finite_rows() - rows, 0.0);
  }

  void scale_values() {
    const Totals& t = sample_.totals;
    // Where even the distances overflow, the values themselves are as good.
    scale_.origin = std::isfinite(t.max - t.min) ? middle(sample_) : 0;
    std::frexp(std::max(t.max - scale_.origin, scale_.origin - t.min), &scale_.exponent);
    bandwidth_u_ = smooth_bandwidth_values();
    for (double& x : bandwidth_u_) x = scale_.to_u(x);
  }

  // Of the sample, those that are not atoms.
  std::int64_t smooth_rows_of_sample() const {
    if (split_.atoms.empty()) return sample_.sample_rows;
    double weight = 0;
    for (const WeightedValue& v : smooth_values_) weight += v.weight;
    return std::max<std::int64_t>(std::llround(weight),
                                  static_cast<std::int64_t>(bandwidth_u_.size()));
  }

  // h_u_, the bandwidth in u.
  Status select() {
    control_.begin(Stage::selecting);
    const Stopwatch watch;
    const std::int64_t n = smooth_rows_of_sample();
    const bool varied = !bandwidth_u_.empty() && bandwidth_u_.front() != bandwidth_u_.back();
    Status status;
    if (!varied && needs_pair_sums(report_.method)) {
      // Nearly constant: the few other values are not among the bandwidth's.
      status = fall_back(n, "too few of the sampled values differ");
    } else {
      status = by_method(n);
      if (status.code == Code::degenerate) status = fall_back(n, status.message);
    }
    report_.select_ms = watch.ms();
    if (!status.ok()) return status;
    report_.plugin = scaled(report_.plugin, scale_.exponent);
    // Two values at both ends of double precision can have a bandwidth beyond it.
    parts_.header.method = report_.method;
    parts_.header.bandwidth =
        std::min(std::ldexp(h_u_, scale_.exponent), std::numeric_limits<double>::max());
    report_.bandwidth = parts_.header.bandwidth;
    return status;
  }

  LineRequest request() const {
    LineRequest request;
    request.method = report_.method;
    request.kernel = options_.kernel;
    request.engine = options_.engine;
    return request;
  }

  Status by_method(std::int64_t n) {
    if (!needs_pair_sums(report_.method) || has_window_sums(report_.method, options_.kernel))
      return by_all_values(request(), n);
    const bool near_exact = !options_.exact && options_.engine.kind != Engine::Kind::reference &&
                            static_cast<std::int64_t>(smooth_values_.size()) > kFewValues;
    if (near_exact) {
      LineRequest spectral = request();
      spectral.engine.kind = Engine::Kind::spectral;
      const Status status = by_all_values(spectral, n);
      if (status.code != Code::too_large) return status;
    }
    LineBandwidth found;
    const Status status = select_line_bandwidth(request(), {bandwidth_u_, {}, n}, control_, &found);
    if (status.ok()) take(found);
    return status;
  }

  // By every value of the sample but the atoms.
  Status by_all_values(const LineRequest& request, std::int64_t n) {
    std::vector<double> values;
    std::vector<double> weights;
    values.reserve(smooth_values_.size());
    weights.reserve(smooth_values_.size());
    for (const WeightedValue& v : smooth_values_) {
      values.push_back(scale_.to_u(v.value));
      weights.push_back(v.weight);
    }
    // Not even in the sample: only the totals know that something else exists.
    if (values.front() == values.back()) {
      const Totals& t = sample_.totals;
      const double gaussian = std::ldexp(t.max / 2 - t.min / 2, 1 - scale_.exponent) *
                              std::pow(static_cast<double>(std::max<std::int64_t>(n, 1)), -0.2);
      h_u_ = canonical_rescale(gaussian, options_.kernel);
      note("the bandwidth was chosen by the column's range: no two of the sampled values differ");
      return Status::success();
    }
    // The totals know of an outlier that the sample lacks, beside which its values are so near each
    // other that their squares are nothing. smooth() raises what is narrower than kNarrowest.
    if (values.back() - values.front() < kNothingBeside) {
      h_u_ = values.back() - values.front();
      return Status::success();
    }
    LineBandwidth found;
    const Status status = select_line_bandwidth(request, {values, weights, n}, control_, &found);
    if (status.ok()) take(found);
    return status;
  }

  void take(const LineBandwidth& found) {
    h_u_ = found.h;
    report_.bandwidth_rows = found.rows_used;
    report_.plugin = found.plugin;
    report_.status = found.status;
    report_.engine = found.engine;
    if (found.notice[0] != '\0') note("%s", found.notice);
  }

  // The method asked for has no bandwidth for these values; Silverman's rule always has.
  Status fall_back(std::int64_t n, const char* why) {
    note("the bandwidth was chosen by Silverman's rule: %s", why);
    report_.method = Method::silverman;
    const Status status = by_all_values(request(), n);
    report_.status = "fallback";
    return status;
  }

  __attribute__((format(printf, 2, 3))) void note(const char* format, ...) {
    va_list args;
    va_start(args, format);
    std::vsnprintf(report_.notice, sizeof report_.notice, format, args);
    va_end(args);
  }

  void note_estimate(const char* text) {
    std::snprintf(report_.estimate_notice, sizeof report_.estimate_notice, "%s", text);
  }

  bool is_alphabet() const {
    if (!automatic() || !sample_.distinct_known) return false;
    return static_cast<std::int64_t>(sample_.distinct.size()) * kAtomRepeats <=
           sample_.totals.finite;
  }

  Status estimate() {
    control_.begin(Stage::estimating);
    const Stopwatch watch;
    Status status;
    if (is_alphabet()) {
      parts_.header.origin = scale_.origin;
      parts_.header.exponent = scale_.exponent;
      add_alphabet();
    } else {
      status = smooth();
    }
    report_.estimate_ms = watch.ms();
    return status;
  }

  // The estimate cannot use the bandwidth selected: what is stored and shown is the one used.
  void use_bandwidth(double bandwidth) {
    if (bandwidth > h_u_) {
      note_estimate(
          "the bandwidth was raised to the narrowest that can be stored beside the column's range");
    }
    h_u_ = bandwidth;
    parts_.header.bandwidth = std::ldexp(h_u_, scale_.exponent);
    report_.bandwidth = parts_.header.bandwidth;
  }

  Status smooth() {
    Header& h = parts_.header;
    std::vector<WeightedValue> values;
    values.reserve(smooth_values_.size());
    for (const WeightedValue& v : smooth_values_)
      values.push_back({scale_.to_u(v.value), v.weight});
    double bandwidth = std::max(h_u_, kNarrowest);
    double low = scale_.to_u(h.min);
    double high = scale_.to_u(h.max);
    if (automatic()) {
      const double half_step = std::ldexp(h.lattice_step / 2, -scale_.exponent);
      low -= half_step;
      high += half_step;
      bandwidth = std::min(bandwidth, high - low);
    } else {
      // The sample's ends, not the table's: the plain kernel sum knows only its sample.
      const double reach = kernel_reach(options_.kernel) * bandwidth;
      low = values.front().value - reach;
      high = values.back().value + reach;
    }
    // |u| <= 1 for every knot: rescale by another power of two where the kernel reaches further.
    int shift = 0;
    std::frexp(std::max(std::fabs(low), std::fabs(high)), &shift);
    shift = std::max(shift, 0);
    // Values that lie on no points of their lattice may be as near each other as nothing beside it.
    if (automatic()) bandwidth = std::max(bandwidth, std::ldexp(kNarrowest, shift));
    if (bandwidth != h_u_) use_bandwidth(bandwidth);
    for (WeightedValue& v : values) v.value = std::ldexp(v.value, -shift);
    bandwidth = std::ldexp(bandwidth, -shift);
    h.origin = scale_.origin;
    h.exponent = scale_.exponent + shift;

    low = std::ldexp(low, -shift);
    high = std::ldexp(high, -shift);
    SmoothPart part;
    const Status status = is_compact(options_.kernel)
                              ? fit_compact(values, bandwidth, low, high, &part)
                              : fit_gaussian(values, bandwidth, low, high, &part);
    if (!status.ok()) return status;
    parts_.knot_u = std::move(part.knot_u);
    parts_.knot_mass = std::move(part.knot_mass);
    parts_.knot_slope = std::move(part.knot_slope);
    parts_.block_moment = std::move(part.block_moment);
    h.slope_unit = part.slope_unit;
    h.error = std::min(part.error + sample_.rank_error, 1.0);
    if (part.error > kPromisedError / 2) {
      note_estimate(
          is_compact(options_.kernel)
              ? "the stored density may differ from the kernel estimate by more than 1e-5 of the "
                "rows: the kernel has too many corners, or the column spans too many scales"
              : "the stored density may differ from the kernel estimate by more than 1e-5 of the "
                "rows: the column spans too many scales");
    }
    h.smooth_rows = h.finite_rows();
    if (!split_.atoms.empty()) add_split_atoms();
    return Status::success();
  }

  // All in u; low and high bound the support of automatic.
  Status fit_gaussian(std::span<const WeightedValue> values, double bandwidth, double low,
                      double high, SmoothPart* part) {
    const KernelGrid grid = automatic() ? KernelGrid::bounded(values, bandwidth, low, high)
                                        : KernelGrid::unbounded(values, bandwidth);
    return fit_smooth(grid, max_knots(split_.atoms.size()), control_, part);
  }

  Status fit_compact(std::span<const WeightedValue> values, double bandwidth, double low,
                     double high, SmoothPart* part) {
    CompactNodes nodes;
    const Kernel kernel = options_.kernel;
    const Status status =
        automatic() ? CompactNodes::bounded(kernel, values, bandwidth, low, high, control_, &nodes)
                    : CompactNodes::unbounded(kernel, values, bandwidth, control_, &nodes);
    if (!status.ok()) return status;
    return fit_smooth(nodes, max_knots(split_.atoms.size()), control_, part);
  }

  const Sample& sample_;
  const FitOptions& options_;
  const Control& control_;
  FitReport& report_;
  DensityParts parts_;
  AtomSplit split_;                               // empty unless automatic found atoms
  std::span<const WeightedValue> smooth_values_;  // the sample, or what atoms leave of it
  Scale scale_;
  std::vector<double> bandwidth_u_;
  double h_u_ = 0;
};

}  // namespace

Status fit_column(const Sample& sample, const FitOptions& options, const Control& control,
                  std::vector<std::uint64_t>* words, std::size_t* size,
                  FitReport* report) noexcept {
  try {
    return Fit(sample, options, control, report).run(words, size);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory while fitting a density");
  } catch (...) {
    return Status::error(Code::internal, "unexpected exception while fitting a density");
  }
}

}  // namespace kde
