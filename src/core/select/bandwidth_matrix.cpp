// Each method of bandwidth_matrix.h with what it needs.
#include "core/select/bandwidth_matrix.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>

#include "core/density/name_list.h"
#include "core/select/line_bandwidth.h"
#include "core/sums/gaussian_sums.h"
#include "core/guarded.h"

namespace kde {
namespace {

constexpr const char* kNames[] = {"lscv_matrix",         "lscv_diagonal", "lscv",
                                  "lscv_matrix_simplex", "lscv_grid",     "plugin_product",
                                  "normal_reference",    "scott"};

std::size_t at(int d, int i, int j) {
  return static_cast<std::size_t>(i) * static_cast<std::size_t>(d) + static_cast<std::size_t>(j);
}

void note_end(LscvEnd end, BandwidthMatrix* out) {
  out->status = lscv_end_name(end);
  const char* text = nullptr;
  if (end == LscvEnd::at_bound)
    text = "the bandwidth is at a bound of its search: no minimum was found inside";
  if (end == LscvEnd::iteration_limit)
    text = "the search for the bandwidth ended at its limit of steps: it may not be the best";
  if (text != nullptr) std::snprintf(out->notice, sizeof out->notice, "%s", text);
}

// The search over matrices falls along a column of equal values before it does along equal points.
void note_ties(LscvEnd end, const WhiteSample& sample, bool in_column, BandwidthMatrix* out) {
  if (end != LscvEnd::tied_values) return;
  char where[40] = "points";
  double pairs = sample.tied_pairs;
  if (in_column && sample.tied_in_column > pairs) {
    pairs = sample.tied_in_column;
    std::snprintf(where, sizeof where, "values in column %d", sample.tied_column);
  }
  std::snprintf(out->notice, sizeof out->notice,
                "%.15g pairs of equal %s make least-squares cross-validation fall without bound: "
                "the bandwidth is an interior minimum",
                pairs, where);
}

// L = h scale C, the factor of h^2 Sigma.
void scaled_covariance(const WhiteSample& sample, double h, std::vector<double>* factor) {
  factor->assign(sample.factor.size(), 0);
  for (int i = 0; i < sample.d; ++i) {
    for (int j = 0; j <= i; ++j) {
      (*factor)[at(sample.d, i, j)] = std::ldexp(h * sample.factor[at(sample.d, i, j)],
                                                 sample.exponent[static_cast<std::size_t>(i)]);
    }
  }
}

Status scalar(const MatrixRequest& request, const WhiteSample& sample, const Control& control,
              BandwidthMatrix* out) {
  std::unique_ptr<GaussianPairSums> sums;
  if (Status s = make_gaussian_sums(request.engine, sample.w, sample.d, control, &sums); !s.ok())
    return s;
  const LscvSearch search =
      request.method == MatrixMethod::lscv_grid ? LscvSearch::grid : LscvSearch::refined;
  LscvScalar found;
  if (Status s = select_lscv_h(*sums, lscv_sample(sample), request.divisor, search, &found);
      !s.ok())
    return s;
  if (is_single(request.engine) && search == LscvSearch::refined) {
    Engine precise = request.engine;
    precise.precision = Precision::full;
    sums.reset();  // a device may have room for one sample
    if (Status s = make_gaussian_sums(precise, sample.w, sample.d, control, &sums); !s.ok())
      return s;
    if (Status s = polish_lscv_h(*sums, lscv_sample(sample), request.divisor, &found); !s.ok())
      return s;
  }
  scaled_covariance(sample, found.h, &out->factor);
  note_end(found.end, out);
  note_ties(found.end, sample, false, out);
  return Status::success();
}

Status matrix(const MatrixRequest& request, const WhiteSample& sample, const Control& control,
              BandwidthMatrix* out) {
  LscvMatrixOptions options;
  options.divisor = request.divisor;
  if (request.method == MatrixMethod::lscv_diagonal) options.shape = LscvShape::diagonal;
  if (request.method == MatrixMethod::lscv_matrix_simplex)
    options.optimiser = LscvOptimiser::nelder_mead;
  LscvMatrix found;
  if (Status s = select_lscv_matrix(sample, request.engine, options, control, &found); !s.ok())
    return s;
  out->factor = found.factor;
  for (int i = 0; i < sample.d; ++i) {
    for (int j = 0; j <= i; ++j) {
      double& l = out->factor[at(sample.d, i, j)];
      l = std::ldexp(l, sample.exponent[static_cast<std::size_t>(i)]);
    }
  }
  note_end(found.end, out);
  note_ties(found.end, sample, true, out);
  return Status::success();
}

Status product(const MatrixRequest& request, std::span<const double> points, int d,
               const Control& control, BandwidthMatrix* out) {
  out->factor.assign(static_cast<std::size_t>(d) * static_cast<std::size_t>(d), 0);
  const std::size_t n = points.size() / static_cast<std::size_t>(d);
  std::vector<double> column(n);
  for (int k = 0; k < d; ++k) {
    for (std::size_t i = 0; i < n; ++i)
      column[i] = points[i * static_cast<std::size_t>(d) + static_cast<std::size_t>(k)];
    LineRequest line;
    line.engine = request.engine;
    LineBandwidth found;
    if (Status s = select_bandwidth(line, column, false, control, &found); !s.ok()) return s;
    out->factor[at(d, k, k)] = found.h;
  }
  return Status::success();
}

// H = L L'. Each product within range of its sum where the result is.
void multiply_out(int d, BandwidthMatrix* out) {
  out->matrix.assign(out->factor.size(), 0);
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j < d; ++j) {
      double sum = 0;
      for (int k = 0; k <= std::min(i, j); ++k)
        sum += out->factor[at(d, i, k)] * out->factor[at(d, j, k)];
      out->matrix[at(d, i, j)] = sum;
      const bool lost = i == j && sum < std::numeric_limits<double>::min();
      if (lost || !std::isfinite(sum)) out->in_range = false;
    }
  }
}

Status select(const MatrixRequest& request, std::span<const double> points, int d,
              const Control& control, BandwidthMatrix* out) {
  // Also checks the points, and refuses those whose covariance is singular, for every method.
  WhiteSample sample;
  const bool is_lscv = request.method != MatrixMethod::plugin_product &&
                       request.method != MatrixMethod::normal_reference &&
                       request.method != MatrixMethod::scott;
  if (Status s =
          whiten_sample(points, d, control, &sample, is_lscv ? Ties::counted : Ties::ignored);
      !s.ok())
    return s;
  const double n = static_cast<double>(sample.n);
  Status status;
  switch (request.method) {
    case MatrixMethod::lscv:
    case MatrixMethod::lscv_grid:
      status = scalar(request, sample, control, out);
      break;
    case MatrixMethod::lscv_matrix:
    case MatrixMethod::lscv_diagonal:
    case MatrixMethod::lscv_matrix_simplex:
      status = matrix(request, sample, control, out);
      break;
    case MatrixMethod::plugin_product:
      status = product(request, points, d, control, out);
      break;
    case MatrixMethod::normal_reference:
      scaled_covariance(sample, std::pow(4 / ((d + 2) * n), 1.0 / (d + 4)), &out->factor);
      break;
    case MatrixMethod::scott:
      scaled_covariance(sample, std::pow(n, -1.0 / (d + 4)), &out->factor);
      break;
  }
  if (status.ok()) multiply_out(d, out);
  return status;
}

}  // namespace

const char* matrix_method_list() {
  static constexpr NameList kList = name_list(kNames);
  return kList.text;
}

bool parse_matrix_method(std::string_view name, MatrixMethod* method) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (name != kNames[i]) continue;
    *method = static_cast<MatrixMethod>(i);
    return true;
  }
  return false;
}

Status select_bandwidth_matrix(const MatrixRequest& request, std::span<const double> points, int d,
                               const Control& control, BandwidthMatrix* out) noexcept {
  return guarded([&] {
    *out = {};
    return select(request, points, d, control, out);
  });
}

}  // namespace kde
