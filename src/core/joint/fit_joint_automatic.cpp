// Of fit_joint.h: normal scores, a product kernel whose scale predicts held-out rows best, weights
// calibrated to the columns' own distributions.
//
// A row of the sample stands for itself, and the kernels for the rows that were not drawn: the
// predictor of a finite population's total under a model (R. M. Royall, Biometrika 57, 1970). With
// every row in the sample nothing is left to predict, and counts are exact.
#include "core/joint/axis.h"
#include "core/joint/contrasts.h"
#include "core/joint/fitting.h"
#include "core/joint/sample_reuse.h"
#include "core/joint/margins.h"
#include "core/share_items.h"
#include "core/stopwatch.h"
#include "core/guarded.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>

namespace kde {

namespace {

// Candidates for the bandwidth of normal scores: these times n^(-1/3), the rate of what smooths a
// distribution function best (A. Azzalini, Biometrika 68, 1981). The least is next to none.
constexpr double kScales[] = {0.1, 0.25, 0.5, 0.75, 1.0, 1.4, 2.0, 2.8, 4.0};
constexpr double kDefaultScale = 1;
// All are measured on so many halves of the sample, the best so many on all halves (successive
// halving: K. Jamieson & A. Talwalkar, AISTATS 2016).
constexpr int kFirstHalves = 2;
constexpr int kFinalists = 3;
constexpr double kWidest = 0.7;

double bandwidth_of(double scale, std::size_t rows) {
  return std::clamp(scale / std::cbrt(static_cast<double>(rows)), kLeastScoreBandwidth, kWidest);
}

// That the numbers of lattice points from first to last take, at most `most`: of fewer than four
// counted from the middle (and its rounding). 0: more.
int bytes_of_lattice(double first, double last, int most) {
  for (int bytes = 2; bytes < 4; ++bytes) {
    if (last - first < 2.0 * most_packed(bytes) - 4) return std::fabs(first) < 0x1p30 ? bytes : 0;
  }
  return most == 4 && std::max(std::fabs(first), std::fabs(last)) < most_packed(4) ? 4 : 0;
}

// As many pieces as there are statuses: the first that is not ok.
Status share_pieces(const Control& control, std::vector<Status>* status,
                    FunctionRef<Status(std::int64_t piece, const Control& own)> work) {
  const auto keep = [&](std::int64_t piece, const Control& own) {
    (*status)[static_cast<std::size_t>(piece)] = work(piece, own);
  };
  if (Status s = share_items(control, std::ssize(*status), keep); !s.ok()) return s;
  for (const Status& s : *status)
    if (!s.ok()) return s;
  return Status::success();
}

class AutomaticFit {
 public:
  AutomaticFit(const FitInput& input, const Marginals& marginals, JointFitReport* report)
      : input_(input), marginals_(marginals), report_(report), d_(input.columns()) {}

  Status run(DensityBytes* density) {
    input_.control.begin(Stage::selecting);
    const Stopwatch selecting;
    std::vector<std::uint32_t> rows(static_cast<std::size_t>(input_.sample.rows));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint32_t>(i);
    if (Status s = describe_columns(&rows); !s.ok()) return s;
    if (Status s = classify_columns(rows); !s.ok()) return s;
    store_values(rows);
    const double n = static_cast<double>(rows.size());
    // Beside categories, by which numbers may be cut off sharply, no more than what was measured.
    const bool mixed = !input_.sample.words.empty();
    double h = bandwidth_of(mixed ? kScales[0] : kDefaultScale, rows.size());
    PredictionError error;
    bool measured = false;
    const bool needless = input_.table_rows() <= n;  // every row is in the sample
    const bool few = std::ssize(rows) < kLeastRowsForReuse;
    if (!needless && !few) {
      if (Status s = choose_bandwidth(rows, &h, &error, &measured); !s.ok()) return s;
    }
    report_->select_ms = selecting.ms();
    input_.control.begin(Stage::estimating);
    const Stopwatch estimating;
    const double table = std::max(input_.table_rows(), n);
    JointHeader header = describe_rows(input_, table, 1);
    header.points = static_cast<std::uint32_t>(rows.size());
    if (Status s = describe_sampling(input_, &header, &effect_); !s.ok()) return s;
    if (measured) describe_errors(error, &header);
    JointParts parts;
    parts.header = header;
    if (Status s = weigh(rows, header, input_.control, &parts.weight); !s.ok()) return s;
    if (tells_blocks())
      parts.header.contrasts = static_cast<std::uint8_t>(
          make_contrasts(rows, input_.sample.row_block, input_.sample.block_rows.size(),
                         input_.options.seed, &parts.contrast));
    if (Status s = encode_automatic(rows, h, &parts, density); !s.ok()) return s;
    report_->bandwidth_rows = report_->points = std::ssize(rows);
    report_->bandwidth.assign(d_ * d_, 0);
    for (std::size_t k = 0; k < d_; ++k)
      report_->bandwidth[k * d_ + k] = input_.sample.is_category(k) ? 0 : h * h;
    if (measured) {
      std::snprintf(report_->model, sizeof report_->model,
                    "normal scores of each column, product kernel of bandwidth %.3g, weights "
                    "calibrated to the columns: squared error of a count over that of the raw "
                    "sample %.2f at 6 %% of the rows, %.2f at 0.4 %%",
                    h, error.count[1], error.count[3]);
    } else {
      std::snprintf(report_->model, sizeof report_->model, "%s",
                    needless ? "every row is stored"
                    : few    ? "too few rows to choose a bandwidth by"
                             : "too few values to choose a bandwidth by");
    }
    report_->estimate_ms = estimating.ms();
    return Status::success();
  }

 private:
  // *measured: whether the rows have anything to choose by.
  Status choose_bandwidth(const std::vector<std::uint32_t>& rows, double* h, PredictionError* error,
                          bool* measured) const {
    const SampleReuse reuse(input_.sample, rows, marginals_.header, input_.options.seed,
                            input_.control);
    if (!reuse.has_boxes()) return Status::success();
    std::vector<float> weight[kHalves];
    if (Status s = weigh_halves(reuse, weight); !s.ok()) return s;
    const auto make_of = [&](double scale) {
      return [&, scale](int half, std::span<const std::uint32_t> kept, DensityBytes* out) {
        JointParts parts;
        parts.draft = true;
        parts.header = describe_rows(input_, static_cast<double>(kept.size()), 0);
        parts.header.sampling_variance = 1;  // as of rows drawn from many
        parts.weight = weight[half];
        return encode_automatic(kept, bandwidth_of(scale, kept.size()), &parts, out);
      };
    };
    std::vector<Candidate> candidates;
    for (const double scale : kScales) candidates.push_back({scale, {}});
    const auto measure = [&](int first, int end) {
      const int halves = end - first;
      std::vector<Status> status(candidates.size() * static_cast<std::size_t>(halves));
      return share_pieces(input_.control, &status, [&](std::int64_t i, const Control& own) {
        Candidate& candidate = candidates[static_cast<std::size_t>(i / halves)];
        const int half = first + static_cast<int>(i % halves);
        return reuse.measure_half(make_of(candidate.scale), half, own, &candidate.half[half]);
      });
    };
    // Few halves tell which are far from the best.
    if (Status s = measure(0, kFirstHalves); !s.ok()) return s;
    keep_finalists(&candidates);
    if (Status s = measure(kFirstHalves, kHalves); !s.ok()) return s;
    for (const Candidate& candidate : candidates) {
      const PredictionError e = SampleReuse::sum_up(candidate.half);
      if (*measured && e.loss >= error->loss) continue;
      *error = e;
      *h = bandwidth_of(candidate.scale, rows.size());
      *measured = true;
    }
    return Status::success();
  }

  struct Candidate {
    double scale;
    HalfError half[kHalves];

    double first_loss() const {
      return SampleReuse::sum_up({half, static_cast<std::size_t>(kFirstHalves)}).loss;
    }
  };

  // Weights do not depend on the bandwidth.
  Status weigh_halves(const SampleReuse& reuse, std::vector<float> (&weight)[kHalves]) const {
    std::vector<Status> status(kHalves);
    const auto weigh_half = [&](std::int64_t half, const Control& own) {
      const std::span<const std::uint32_t> kept = reuse.rows_of_half(static_cast<int>(half));
      const JointHeader header = describe_rows(input_, static_cast<double>(kept.size()), 0);
      return weigh(kept, header, own, &weight[half]);
    };
    return share_pieces(input_.control, &status, weigh_half);
  }

  static void keep_finalists(std::vector<Candidate>* candidates) {
    std::vector<double> loss;
    for (const Candidate& c : *candidates) loss.push_back(c.first_loss());
    std::nth_element(loss.begin(), loss.begin() + kFinalists - 1, loss.end());
    std::erase_if(*candidates, [most = loss[kFinalists - 1]](const Candidate& c) {
      return c.first_loss() > most;
    });
  }

  // Where all rows of the table are kept, their values are kept to the last bit that a float has,
  // as their counts are exact; of a sample's with fewer bits, and more of them. Rows that would be
  // all there with fewer bits alone are a sample of those with all.
  Status describe_columns(std::vector<std::uint32_t>* rows) {
    const std::vector<std::uint32_t> given = *rows;
    const bool all = input_.table_rows() <= static_cast<double>(given.size());
    if (Status s = keep_rows(all ? 4 : 3, rows); !s.ok()) return s;
    if (!all || rows->size() == given.size()) return Status::success();
    *rows = given;
    if (Status s = keep_rows(3, rows); !s.ok() || rows->size() < given.size()) return s;
    return keep_rows(4, rows);
  }

  Status keep_rows(int value_bytes, std::vector<std::uint32_t>* rows) {
    columns_.assign(d_, {});
    std::size_t bytes = 0;
    for (std::size_t k = 0; k < d_; ++k) {
      JointColumn& column = columns_[k];
      column.value_type = input_.options.value_type[k];
      column.value_unit = 1;
      if (column.is_category()) continue;
      column.flags = kNormalScores;
      column.value_bytes = static_cast<std::uint8_t>(value_bytes);
      scale_values(k, &column);
      bytes += column.value_bytes;
    }
    const std::uint8_t flags = kWeights | kValues | (tells_blocks() ? kContrasts : 0);
    return thin_to_budget(input_, marginals_, flags, bytes, rows);
  }

  // *parts: with a header and weights.
  Status encode_automatic(std::span<const std::uint32_t> rows, double h, JointParts* whole,
                          DensityBytes* density) const {
    JointParts& parts = *whole;
    parts.header.flags |= kWeights | kValues;
    parts.marginal = marginals_.density;
    parts.effect = effect_;
    parts.coordinate.resize(rows.size() * d_);
    parts.value.resize(rows.size() * d_);
    for (std::size_t k = 0; k < d_; ++k) {
      JointColumn column = columns_[k];
      if (column.is_category()) {
        put_ranks(rows, k, &parts);
        continue;
      }
      column.bandwidth = h;
      parts.heavy.push_back(heavy_values(marginals_.header[k], h));
      Axis axis;
      axis.normal_scores = true;
      axis.bandwidth = h;
      axis.marginal = marginals_.header[k];
      axis.heavy = parts.heavy.back();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const double x = input_.value(rows[i], k);
        parts.coordinate[i * d_ + k] = input_.is_null(rows[i], k) ? kNowhere
                                       : std::isnan(x)            ? kNotANumber
                                       : std::isinf(x)            ? axis.coordinate(x)
                                                       : axis.place(classes_[k].score[rows[i]], x);
        parts.value[i * d_ + k] = raw_[k][rows[i]];
      }
      parts.column.push_back(column);
    }
    return encode_joint(parts, density);
  }

  // Whether it matters which blocks rows were read by: not where all were.
  bool tells_blocks() const {
    return input_.options.unread() > 0 && !input_.sample.block_rows.empty();
  }

  void put_ranks(std::span<const std::uint32_t> rows, std::size_t k, JointParts* parts) const {
    for (std::size_t i = 0; i < rows.size(); ++i)
      parts->coordinate[i * d_ + k] =
          input_.is_null(rows[i], k) ? kNowhere : static_cast<float>(input_.value(rows[i], k));
    parts->heavy.emplace_back();
    parts->column.push_back(columns_[k]);
    parts->column.back().bandwidth = 1;
  }

  // Errors: cancelled; out_of_memory.
  Status weigh(std::span<const std::uint32_t> rows, const JointHeader& header,
               const Control& control, std::vector<float>* weight) const noexcept {
    return guarded([&] { return calibrate_weights(rows, header, control, weight); });
  }

  Status calibrate_weights(std::span<const std::uint32_t> rows, const JointHeader& header,
                           const Control& control, std::vector<float>* weight) const {
    std::vector<Margin> margins(d_);
    for (std::size_t k = 0; k < d_; ++k) {
      Margin& m = margins[k];
      const Header& h = *marginals_.header[k];
      const double scale = header.rows / std::max(h.rows + h.nulls, 1.0);
      m.target = classes_[k].margin.target;
      for (double& t : m.target) t *= scale;
      m.row_class.reserve(rows.size());
      for (const std::uint32_t row : rows) {
        const std::uint16_t c = classes_[k].margin.row_class[row];
        m.row_class.push_back(c);
        m.target[c] -= header.own_rows;
      }
      for (double& t : m.target) t = std::max(t, 0.0);
    }
    const double total =
        std::max(header.rows - header.own_rows * static_cast<double>(rows.size()), 0.0);
    std::vector<double> w;
    if (Status s = calibrate(margins, rows.size(), total, control, &w); !s.ok()) return s;
    weight->assign(w.begin(), w.end());
    return Status::success();
  }

  // Lattice points are kept as whole numbers about one in the middle where these fit, other values
  // as floats of their distance from the median in units of the middle rows' spread: by the range,
  // a single outlier would leave the others no digits.
  void scale_values(std::size_t k, JointColumn* column) const {
    const Header& h = *marginals_.header[k];
    column->value_center = 0;
    column->value_unit = 1;
    if (!(h.finite_rows() > 0)) return;
    if (h.lattice_step > 0) {
      const double first = std::nearbyint((h.min - h.lattice_offset) / h.lattice_step);
      const double last = std::nearbyint((h.max - h.lattice_offset) / h.lattice_step);
      const int bytes = bytes_of_lattice(first, last, column->value_bytes);
      if (bytes > 0 && lattice_resolved(h)) {
        column->flags |= kLatticeValues;
        column->value_bytes = static_cast<std::uint8_t>(bytes);
        column->value_center = h.lattice_point(std::floor(first / 2 + last / 2));
        column->value_unit = h.lattice_step;
        return;
      }
    }
    column->value_center = column_median(marginals_.header[k]);
    column->value_unit = column_spread(marginals_.header[k]);
  }

  Status classify_columns(std::span<const std::uint32_t> rows) {
    classes_.resize(d_);
    std::vector<Status> status(d_);
    return share_pieces(input_.control, &status, [&](std::int64_t k, const Control& own) {
      return classify(rows, static_cast<std::size_t>(k), own);
    });
  }

  // Errors: cancelled; out_of_memory.
  Status classify(std::span<const std::uint32_t> rows, std::size_t k,
                  const Control& control) noexcept {
    const auto of = input_.sample.is_category(k) ? classify_category : classify_column;
    return guarded([&] {
      return of(input_.sample, rows, static_cast<int>(k), marginals_.header[k], control,
                &classes_[k]);
    });
  }

  void store_values(std::span<const std::uint32_t> rows) {
    raw_.resize(d_);
    for (std::size_t k = 0; k < d_; ++k) {
      if (columns_[k].is_category()) continue;
      raw_[k].resize(static_cast<std::size_t>(input_.sample.rows));
      for (const std::uint32_t row : rows)
        raw_[k][row] = raw_value(k, columns_[k], input_.value(row, k));
    }
  }

  std::int32_t raw_value(std::size_t k, const JointColumn& column, double x) const {
    if (!std::isfinite(x)) return 0;
    const Header& h = *marginals_.header[k];
    if ((column.flags & kLatticeValues) != 0) {
      constexpr double kMost = std::numeric_limits<std::int32_t>::max();
      const double point = std::nearbyint((x - h.lattice_offset) / h.lattice_step);
      return static_cast<std::int32_t>(std::clamp(point, -kMost, kMost));
    }
    return std::bit_cast<std::int32_t>(raw_number(column, x));
  }

  const FitInput& input_;
  const Marginals& marginals_;
  JointFitReport* report_;
  const std::size_t d_;
  std::vector<JointColumn> columns_;            // but for the bandwidth
  std::vector<std::vector<std::int32_t>> raw_;  // what is stored of values; of the sample's rows
  std::vector<ColumnClasses> classes_;
  std::vector<float> effect_;  // none while candidates are compared
};

}  // namespace

Status fit_automatically(const FitInput& input, const Marginals& marginals, DensityBytes* density,
                         JointFitReport* report) {
  return AutomaticFit(input, marginals, report).run(density);
}

}  // namespace kde
