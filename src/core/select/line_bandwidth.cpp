// Each method of line_bandwidth.h with what it needs.
#include "core/select/line_bandwidth.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <vector>

#include "core/summary/sort.h"
#include "core/select/line_summary.h"
#include "core/select/rules_of_thumb.h"
#include "core/select/sheather_jones.h"
#include "core/select/smoothed_cv.h"
#include "core/sums/gaussian_sums.h"
#include "core/sums/spectral.h"
#include "core/guarded.h"

namespace kde {
namespace {

constexpr char kAtBound[] =
    "cross-validation is lowest at an end of the range searched: the bandwidth is that end";

Status make_sums(const Engine& engine, const LineValues& values, const Control& control,
                 std::unique_ptr<PairSums>* sums) {
  if (engine.kind == Engine::Kind::spectral)
    return make_spectral_sums(values.sorted, values.weights, control, sums);
  if (values.weights.empty()) return make_pair_sums(engine, values.sorted, control, sums);
  return guarded([&] {
    *sums =
        make_tied_sums({values.sorted.begin(), values.sorted.end()},
                       {values.weights.begin(), values.weights.end()}, best_simd_target(), control);
    return Status::success();
  });
}

void note_ties(const LineSummary& line, double bound, LineBandwidth* out) {
  std::snprintf(out->notice, sizeof out->notice,
                "%.15g pairs of equal values among %lld rows are more than the %.4g a row that "
                "least-squares cross-validation bears: the bandwidth is an interior minimum",
                line.tied_pairs, static_cast<long long>(line.n), bound);
}

void note_end(LscvEnd end, const LineSummary& line, double tie_bound, LineBandwidth* out) {
  out->status = lscv_end_name(end);
  if (end == LscvEnd::tied_values) note_ties(line, tie_bound, out);
  if (end == LscvEnd::at_bound) std::snprintf(out->notice, sizeof out->notice, "%s", kAtBound);
}

Status lscv(const LineRequest& request, const LineValues& values, const LineSummary& line,
            const Control& control, LineBandwidth* out) {
  // Pairs of equal values grow as the square of the rows: whether they are too many is a question
  // about the whole sample.
  LineSummary whole = line;
  whole.n = std::max(values.n, line.n);
  const double growth = static_cast<double>(whole.n) / static_cast<double>(line.n);
  whole.tied_pairs *= growth * growth;
  LscvSample sample = lscv_sample(line);
  sample.tied_pairs *= growth;

  std::unique_ptr<PairSums> pairs;
  std::unique_ptr<GaussianPairSums> sums;
  LscvScalar found;
  if (Status s = make_sums(request.engine, values, control, &pairs); !s.ok()) return s;
  if (Status s = make_line_gaussian_sums(*pairs, &sums); !s.ok()) return s;
  if (Status s = select_lscv_h(*sums, sample, request.divisor, LscvSearch::refined, &found);
      !s.ok())
    return s;
  if (is_single(request.engine)) {
    Engine precise = request.engine;
    precise.precision = Precision::full;
    // A device may have room for one sample.
    sums.reset();
    pairs.reset();
    if (Status s = make_sums(precise, values, control, &pairs); !s.ok()) return s;
    if (Status s = make_line_gaussian_sums(*pairs, &sums); !s.ok()) return s;
    if (Status s = polish_lscv_h(*sums, sample, request.divisor, &found); !s.ok()) return s;
  }
  out->h = found.h * line.sigma;
  note_end(found.end, whole, found.tie_bound, out);
  return Status::success();
}

Status smoothed_cv(PairSums& sums, const LineSummary& line, LineBandwidth* out) {
  SmoothedCv found;
  if (Status s = select_smoothed_cv(sums, line, &found); !s.ok()) return s;
  out->h = found.h;
  out->status = lscv_end_name(found.at_bound ? LscvEnd::at_bound : LscvEnd::converged);
  if (found.at_bound) std::snprintf(out->notice, sizeof out->notice, "%s", kAtBound);
  return Status::success();
}

double rule_of_thumb(Method method, const LineSummary& line) {
  if (method == Method::scott) return scott_bandwidth(line);
  if (method == Method::normal_reference) return normal_reference_bandwidth(line);
  return silverman_bandwidth(line);
}

}  // namespace

bool needs_pair_sums(Method method) {
  return method != Method::silverman && method != Method::scott &&
         method != Method::normal_reference;
}

Status select_line_bandwidth(const LineRequest& request, const LineValues& values,
                             const Control& control, LineBandwidth* out) {
  LineSummary line;
  if (Status s = summarize_line(values.sorted, values.weights, &line); !s.ok()) return s;
  if (control.stop_requested()) return cancelled();
  const std::int64_t n = std::max(values.n, line.n);
  LineBandwidth found;
  if (!needs_pair_sums(request.method)) {
    line.n = n;
    found.h = rule_of_thumb(request.method, line);
    *out = found;
    return Status::success();
  }

  const double whole = std::pow(static_cast<double>(line.n) / static_cast<double>(n), 0.2);
  found.rows_used = line.n;
  if (request.engine.kind == Engine::Kind::spectral) found.engine = "spectral";
  std::unique_ptr<PairSums> sums;
  Status status;
  if (request.method == Method::lscv) {
    status = lscv(request, values, line, control, &found);
  } else {
    status = make_sums(request.engine, values, control, &sums);
    if (!status.ok()) return status;
  }
  if (request.method == Method::plugin) {
    status = select_plugin(*sums, line.sigma, line.n, n, &found.plugin);
    found.h = found.plugin.h;
  } else if (request.method == Method::sheather_jones) {
    status = select_sheather_jones(*sums, line, &found.h);
  } else if (request.method == Method::smoothed_cv) {
    status = smoothed_cv(*sums, line, &found);
  }
  if (request.method != Method::plugin) found.h *= whole;
  if (!status.ok()) return status;
  *out = found;
  return Status::success();
}

namespace {

Status select_sorted(const LineRequest& request, std::vector<double>* x, bool exact,
                     const Control& control, LineBandwidth* out) {
  // In units of about 1, so that no power of a bandwidth overflows. Where even the range does, the
  // values themselves are as good as their distances.
  const bool centred = std::isfinite(x->back() - x->front());
  const double origin = centred ? (*x)[x->size() / 2] : 0;
  int exponent = 0;
  std::frexp(std::max(x->back() - origin, origin - x->front()), &exponent);
  for (double& v : *x) v = std::ldexp(v - origin, -exponent);

  if (control.stop_requested()) return cancelled();
  const auto n = static_cast<std::int64_t>(x->size());
  const LineValues values{*x, {}, n};
  LineRequest near = request;
  near.engine.kind = Engine::Kind::spectral;
  Status status = Status::error(Code::too_large, "not tried");
  if (!exact && n > kFewValues && request.engine.kind != Engine::Kind::reference)
    status = select_line_bandwidth(near, values, control, out);
  if (status.code == Code::too_large) status = select_line_bandwidth(request, values, control, out);
  if (!status.ok()) return status;

  out->plugin = scaled(out->plugin, exponent);
  out->h = std::min(std::ldexp(out->h, exponent), std::numeric_limits<double>::max());
  return status;
}

}  // namespace

Status select_bandwidth(const LineRequest& request, std::span<const double> x, bool exact,
                        const Control& control, LineBandwidth* out) noexcept {
  if (x.size() < 2) {
    return Status::error(Code::invalid_argument, "a bandwidth needs at least two values");
  }
  if (!std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); })) {
    return Status::error(Code::invalid_argument, "values must be finite");
  }
  return guarded([&] {
    if (control.stop_requested()) return cancelled();
    std::vector<double> sorted(x.begin(), x.end());
    if (!sort_values(&sorted, control)) return cancelled();
    if (sorted.front() == sorted.back())
      return Status::error(Code::degenerate, "all values are equal");
    return select_sorted(request, &sorted, exact, control, out);
  });
}

}  // namespace kde
