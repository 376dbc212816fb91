// Of fit_joint.h: the methods by name. H by select_bandwidth_matrix (select/bandwidth_matrix.h); in units
// of its diagonal's roots the kernel is N(0, P), P the correlation matrix of H. H is chosen from
// the rows that are complete, without NULL, NaN or infinite values; the points are all rows of the
// sample, so that a question about some of the columns finds the rows that have values in those.
#include "core/joint/axis.h"
#include "core/joint/fitting.h"
#include "core/joint/sample_reuse.h"
#include "core/select/bandwidth_matrix.h"
#include "core/select/white_sample.h"
#include "core/stopwatch.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kde {

namespace {

MatrixMethod matrix_method(JointMethod method) {
  switch (method) {
    case JointMethod::lscv:
      return MatrixMethod::lscv;
    case JointMethod::lscv_diagonal:
      return MatrixMethod::lscv_diagonal;
    case JointMethod::plugin_product:
      return MatrixMethod::plugin_product;
    case JointMethod::normal_reference:
      return MatrixMethod::normal_reference;
    case JointMethod::scott:
      return MatrixMethod::scott;
    case JointMethod::automatic:
    case JointMethod::lscv_matrix:
      break;
  }
  return MatrixMethod::lscv_matrix;
}

// The ratio that was measured of half the rows, of all of them: their bandwidth is the same, and so
// is the squared bias, while the raw sample's variance is half. No kernel sum varies more than the
// raw sample, so that what is above 1 is bias.
double of_all_rows(double ratio_of_half) {
  return ratio_of_half + std::max(ratio_of_half - 1, 0.0);
}

class NamedFit {
 public:
  NamedFit(const FitInput& input, const Marginals& marginals, JointFitReport* report)
      : input_(input), marginals_(marginals), report_(report), d_(input.columns()) {}

  Status run(DensityBytes* density, int* column) {
    input_.control.begin(Stage::selecting);
    const Stopwatch selecting;
    std::vector<std::uint32_t> rows;
    std::vector<std::uint32_t> complete;
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(input_.sample.rows); ++i) {
      rows.push_back(i);
      bool all = true;
      for (std::size_t k = 0; k < d_; ++k)
        all = all && !input_.is_null(i, k) && std::isfinite(input_.value(i, k));
      if (all) complete.push_back(i);
    }
    if (std::ssize(complete) < least_joint_rows(input_.sample.columns))
      return Status::error(Code::degenerate,
                           "%zu columns need at least %lld rows without null, NaN and infinite "
                           "values, the sample has %zu",
                           d_, static_cast<long long>(least_joint_rows(input_.sample.columns)),
                           complete.size());
    BandwidthMatrix found;
    if (Status s = select(complete, &found, column); !s.ok()) return s;
    report_->status = found.status;
    std::snprintf(report_->notice, sizeof report_->notice, "%s", found.notice);
    report_->bandwidth = found.matrix;
    report_->select_ms = selecting.ms();
    input_.control.begin(Stage::estimating);
    const Stopwatch estimating;
    if (complete.size() < rows.size() && report_->notice[0] == '\0')
      std::snprintf(report_->notice, sizeof report_->notice,
                    "%zu of %zu rows of the sample have null, NaN or infinite values: the "
                    "bandwidth is chosen without them",
                    rows.size() - complete.size(), rows.size());
    if (Status s = thin_to_budget(input_, marginals_, kCorrelated, 0, &rows); !s.ok()) return s;
    const double n = static_cast<double>(rows.size());
    PredictionError error;
    bool measured = false;
    if (std::ssize(rows) >= kLeastRowsForReuse) {
      const SampleReuse reuse(input_.sample, rows, marginals_.header, input_.options.seed,
                              input_.control);
      const auto make = [&](int /*half*/, std::span<const std::uint32_t> kept, DensityBytes* out) {
        return encode_by_name(kept, found.factor,
                              describe_rows(input_, static_cast<double>(kept.size()), 0), out);
      };
      if (Status s = reuse.measure(make, input_.control, &error); !s.ok()) return s;
      measured = true;
      for (int i = 0; i < kErrorScales; ++i) {
        error.count[i] = of_all_rows(error.count[i]);
        error.mean[i] = of_all_rows(error.mean[i]);
      }
    }
    JointHeader header = describe_rows(input_, std::max(input_.table_rows(), n), 0);
    header.points = static_cast<std::uint32_t>(rows.size());
    if (Status s = describe_sampling(input_, &header, &effect_); !s.ok()) return s;
    // The kernel's own error does not end where every row is a point: no finite population's
    // correction but that of rows that stand for themselves, and here none does.
    header.sampling_variance = 1;
    if (measured) describe_errors(error, &header);
    if (Status s = encode_by_name(rows, found.factor, header, density); !s.ok()) return s;
    report_->points = std::ssize(rows);
    report_->estimate_ms = estimating.ms();
    return Status::success();
  }

 private:
  Status select(std::span<const std::uint32_t> rows, BandwidthMatrix* found, int* column) {
    for (std::size_t k = 0; k < d_; ++k) {
      if (marginals_.header[k]->max > marginals_.header[k]->min) continue;
      *column = static_cast<int>(k);
      return Status::error(Code::degenerate, "its values are all equal");
    }
    std::vector<std::uint32_t> used(rows.begin(), rows.end());
    const auto most =
        static_cast<std::size_t>(std::max<std::int64_t>(input_.options.bandwidth_rows, 2));
    if (used.size() > most) {
      Random random(input_.options.seed ^ 0x3c6ef372fe94f82bu);
      for (std::size_t i = 0; i < most; ++i)
        std::swap(used[i], used[i + random.below(used.size() - i)]);
      used.resize(most);
    }
    report_->bandwidth_rows = std::ssize(used);
    MatrixRequest request;
    request.method = matrix_method(input_.options.method);
    request.engine = input_.options.engine;
    const std::vector<double> points = table_of(used, d_);
    const Status status =
        select_bandwidth_matrix(request, points, input_.sample.columns, input_.control, found);
    if (!status.ok() && status.code != Code::degenerate) return status;
    // Rounding may leave a little of a column that follows from others: less than can be stored.
    *column = status.ok() ? singular_column(found->factor) : collinear_column(used);
    if (*column < 0) return status;
    return Status::error(Code::degenerate,
                         "its values follow from those of the columns before it, by a sum of "
                         "multiples");
  }

  // The first column whose correlations with those before it leave less than kLeastEigenvalue, with
  // room for rounding, as the checks of the stored form find it; -1 if none is. factor: L of
  // H = L L'.
  int singular_column(const std::vector<double>& factor) const {
    std::vector<double> unit = factor;
    for (std::size_t j = 0; j < d_; ++j) {
      double length = 0;
      for (std::size_t k = 0; k <= j; ++k) length = std::hypot(length, factor[j * d_ + k]);
      for (std::size_t k = 0; k <= j; ++k) unit[j * d_ + k] /= length;
    }
    std::vector<double> rest(d_ * d_);
    for (std::size_t j = 0; j < d_; ++j) {
      for (std::size_t k = 0; k <= j; ++k) {
        double r = j == k ? 1 - 2 * kLeastEigenvalue : 0;
        for (std::size_t i = 0; i <= k && j != k; ++i) r += unit[j * d_ + i] * unit[k * d_ + i];
        for (std::size_t i = 0; i < k; ++i) r -= rest[j * d_ + i] * rest[k * d_ + i];
        if (j == k && !(r > 0)) return static_cast<int>(j);
        rest[j * d_ + k] = j == k ? std::sqrt(r) : r / rest[k * d_ + k];
      }
    }
    return -1;
  }

  // The first `columns` columns of those rows, row by row.
  std::vector<double> table_of(std::span<const std::uint32_t> rows, std::size_t columns) const {
    std::vector<double> out;
    out.reserve(rows.size() * columns);
    for (const std::uint32_t row : rows) {
      for (std::size_t k = 0; k < columns; ++k) out.push_back(input_.value(row, k));
    }
    return out;
  }

  // The first column that is constant or collinear with those before it; -1 if none is.
  int collinear_column(std::span<const std::uint32_t> rows) const {
    for (std::size_t columns = 1; columns <= d_; ++columns) {
      WhiteSample white;
      const Status s = whiten_sample(table_of(rows, columns), static_cast<int>(columns),
                                     input_.control, &white, Ties::ignored);
      if (s.code == Code::degenerate) return static_cast<int>(columns) - 1;
    }
    return -1;
  }

  // factor: L of H = L L'.
  Status encode_by_name(std::span<const std::uint32_t> rows, const std::vector<double>& factor,
                        const JointHeader& header, DensityBytes* density) const {
    JointParts parts;
    parts.header = header;
    parts.marginal = marginals_.density;
    parts.effect = effect_;
    parts.heavy.resize(d_);
    bool correlated = false;
    for (std::size_t j = 0; j < d_; ++j) {
      // A row of L in units of its length is a row of the factor of the correlation matrix.
      double length = 0;
      for (std::size_t k = 0; k <= j; ++k) length = std::hypot(length, factor[j * d_ + k]);
      JointColumn column{};
      column.value_type = input_.options.value_type[j];
      // Not the mean, which one outlier takes out of reach of all others.
      column.center = column.value_center = column_median(marginals_.header[j]);
      column.bandwidth = column.value_unit = length;
      for (std::size_t i = 0; i < j; ++i) {
        double p = 0;
        for (std::size_t k = 0; k <= i; ++k)
          p += (factor[j * d_ + k] / length) * (factor[i * d_ + k] / parts.column[i].bandwidth);
        parts.correlation.push_back(p);
        correlated = correlated || p != 0;
      }
      parts.column.push_back(column);
    }
    if (correlated) {
      parts.header.flags |= kCorrelated;
    } else {
      parts.correlation.clear();
    }
    parts.coordinate.reserve(rows.size() * d_);
    for (const std::uint32_t row : rows) {
      for (std::size_t k = 0; k < d_; ++k) {
        Axis axis;
        axis.center = parts.column[k].center;
        axis.bandwidth = parts.column[k].bandwidth;
        axis.marginal = marginals_.header[k];
        const double x = input_.value(row, k);
        parts.coordinate.push_back(input_.is_null(row, k) ? kNowhere
                                   : std::isnan(x)        ? kNotANumber
                                                          : axis.coordinate(x));
      }
    }
    return encode_joint(parts, density);
  }

  const FitInput& input_;
  const Marginals& marginals_;
  JointFitReport* report_;
  const std::size_t d_;
  std::vector<float> effect_;  // none while the error is measured
};

}  // namespace

Status fit_by_name(const FitInput& input, const Marginals& marginals, DensityBytes* density,
                   JointFitReport* report, int* column) {
  return NamedFit(input, marginals, report).run(density, column);
}

}  // namespace kde
