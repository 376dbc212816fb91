// See fit.h.
#include "core/joint/fit.h"

#include "core/aggregate/finish.h"
#include "core/density/histogram_view.h"
#include "core/joint/axis.h"
#include "core/joint/calibrate.h"
#include "core/joint/evidence.h"
#include "core/select/bandwidth_matrix.h"
#include "core/select/white_sample.h"
#include "core/stopwatch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <new>

namespace kde {

namespace {

// Candidates for the bandwidth of normal scores: these times n^(-1/6), the rate of bandwidths in
// two dimensions. The least is next to none.
constexpr double kScales[] = {0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.45, 0.65, 1.0};
constexpr double kDefaultScale = 0.3;
constexpr double kWidest = 0.7;
// Classes a column's weights are calibrated to, at most; and rows a class has at least.
constexpr std::size_t kMostClasses = 40, kLeastClassRows = 5;
// Share of the budget that marginals take.
constexpr std::size_t kMarginalShare = 8;

bool matrix_method(JointMethod method, MatrixMethod* out) {
  switch (method) {
    case JointMethod::automatic:
      return false;
    case JointMethod::lscv:
      *out = MatrixMethod::lscv;
      break;
    case JointMethod::lscv_matrix:
      *out = MatrixMethod::lscv_matrix;
      break;
    case JointMethod::lscv_diagonal:
      *out = MatrixMethod::lscv_diagonal;
      break;
    case JointMethod::plugin_product:
      *out = MatrixMethod::plugin_product;
      break;
    case JointMethod::normal_reference:
      *out = MatrixMethod::normal_reference;
      break;
    case JointMethod::scott:
      *out = MatrixMethod::scott;
      break;
  }
  return true;
}

class Fitting {
 public:
  Fitting(const JointSample& sample, const JointSampler& sampler, const JointFitOptions& options,
          const Control& control, JointFitReport* report)
      : sample_(sample),
        sampler_(sampler),
        options_(options),
        control_(control),
        report_(report),
        d_(static_cast<std::size_t>(sample.columns)) {}

  Status run(std::vector<std::uint64_t>* words, std::size_t* size, int* column) {
    if (sample_.columns < 2 || sample_.columns > kMaxColumns)
      return Status::error(Code::invalid_argument, "a joint density has 2 to %d columns",
                           kMaxColumns);
    if (sample_.rows < 2)
      return Status::error(Code::degenerate, "a joint density needs at least 2 rows, there %s",
                           sample_.rows == 1 ? "is 1" : "are none");
    report_->method = options_.method;
    report_->sample_rows = sample_.rows;
    if (Status s = make_marginals(); !s.ok()) return s;
    MatrixMethod method;
    return matrix_method(options_.method, &method) ? by_name(method, words, size, column)
                                                   : automatic(words, size);
  }

 private:
  double value(std::uint32_t row, std::size_t k) const { return sample_.value[row * d_ + k]; }
  bool is_null(std::uint32_t row, std::size_t k) const { return (sample_.null[row] >> k & 1) != 0; }
  double rows_of_table() const {
    return static_cast<double>(sample_.rows_read) * options_.rows_per_row_read;
  }

  Status make_marginals() {
    FinishOptions options;
    options.budget =
        std::clamp(options_.budget / (kMarginalShare * d_), kLeastHistogramBytes, kMaxBytes) &
        ~std::size_t{7};
    marginal_words_.resize(d_);
    for (std::size_t k = 0; k < d_; ++k) {
      options.value_type = options_.value_type[k];
      options.lattice_step = options_.lattice_step[k];
      std::size_t size;
      if (Status s = finish(sampler_.summary(static_cast<int>(k)), options, control_,
                            &marginal_words_[k], &size);
          !s.ok())
        return s;
      marginal_bytes_ += size;
      marginal_.push_back(reinterpret_cast<const Header*>(marginal_words_[k].data()));
    }
    return Status::success();
  }

  // The rows that fit in the budget, drawn at random from `rows`.
  Status thin(bool automatic, std::vector<std::uint32_t>* rows) const {
    JointHeader header{};
    header.columns = static_cast<std::uint8_t>(d_);
    if (automatic) header.flags = kWeights | kValues;
    const auto bytes = [&](std::size_t points) {
      header.points = static_cast<std::uint32_t>(points);
      return joint_size(header, d_ * 64, marginal_bytes_);
    };
    std::size_t points = std::min<std::size_t>(rows->size(), kMaxJointBytes);
    if (bytes(points) > options_.budget) {
      std::size_t low = 0;
      while (points - low > 1) {
        const std::size_t middle = low + (points - low) / 2;
        (bytes(middle) > options_.budget ? points : low) = middle;
      }
      points = low;
    }
    if (points < 2)
      return Status::error(Code::too_large, "%zu bytes hold no sample of %zu columns",
                           options_.budget, d_);
    Random random(options_.seed ^ 0xbb67ae8584caa73bu);
    for (std::size_t i = 0; i < points; ++i)
      std::swap((*rows)[i], (*rows)[i + random.below(rows->size() - i)]);
    rows->resize(points);
    std::sort(rows->begin(), rows->end());
    return Status::success();
  }

  JointHeader describe(double rows, double own_rows) const {
    JointHeader header{};
    header.method = options_.method;
    header.flags = options_.every_row_read ? kJointEveryRowRead : 0;
    header.rows = rows;
    header.own_rows = own_rows;
    header.sample_rows = static_cast<double>(sample_.rows);
    for (int i = 0; i < kErrorScales; ++i) header.count_error[i] = header.mean_error[i] = 1;
    return header;
  }

  // What sampling leaves: of the points from the rows of the sample as well, which may be more.
  void describe_sampling(double points, JointHeader* header) const {
    const double rows = rows_of_table();
    const double share = rows > 0 ? points / rows : 1;
    const double sample_share = rows > 0 ? static_cast<double>(sample_.rows) / rows : 1;
    header->sampling_variance =
        std::max(options_.sampling_variance - (1 - sample_share), 0.0) + std::max(1 - share, 0.0);
    header->reading_variance =
        options_.reading_variance * points / std::max(static_cast<double>(sample_.rows_read), 1.0);
  }

  void describe_errors(const PredictionError& error, JointHeader* header) const {
    // Rows that stand for themselves are as the raw sample's.
    const double own = header->rows > 0 ? header->own_rows * header->points / header->rows : 0;
    for (int i = 0; i < kErrorScales; ++i) {
      header->count_error[i] = static_cast<float>((1 - own) * error.count[i] + own);
      header->mean_error[i] = static_cast<float>((1 - own) * error.mean[i] + own);
    }
  }

  // ------------------------------------------------------------------------------- automatic

  Status automatic(std::vector<std::uint64_t>* words, std::size_t* size) {
    const Stopwatch selecting;
    std::vector<std::uint32_t> rows(static_cast<std::size_t>(sample_.rows));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint32_t>(i);
    if (Status s = thin(true, &rows); !s.ok()) return s;
    if (Status s = place(rows); !s.ok()) return s;
    const double n = static_cast<double>(rows.size());
    const double rate = std::pow(n, -1.0 / 6);
    double h = std::min(kDefaultScale * rate, kWidest);
    PredictionError error;
    bool measured = false;
    const bool needless = rows_of_table() <= n;  // every row is in the sample
    if (!needless && std::ssize(rows) >= kLeastRowsForEvidence) {
      const Evidence evidence(sample_, rows, marginal_, options_.seed);
      for (const double scale : kScales) {
        const double candidate = std::min(scale * rate, kWidest);
        PredictionError e;
        const auto make = [&](std::span<const std::uint32_t> kept, std::vector<std::uint64_t>* out,
                              std::size_t* bytes) {
          JointHeader header = describe(static_cast<double>(kept.size()), 0);
          return encode_automatic(kept, candidate, header, out, bytes);
        };
        if (Status s = evidence.measure(make, control_, &e); !s.ok()) return s;
        if (measured && e.loss >= error.loss) continue;
        error = e;
        h = candidate;
        measured = true;
      }
    }
    report_->select_ms = selecting.ms();
    const Stopwatch estimating;
    const double table = std::max(rows_of_table(), n);
    JointHeader header = describe(table, 1);
    header.points = static_cast<std::uint32_t>(rows.size());
    describe_sampling(n, &header);
    if (measured) describe_errors(error, &header);
    if (Status s = encode_automatic(rows, h, header, words, size); !s.ok()) return s;
    report_->bandwidth_rows = report_->points = std::ssize(rows);
    report_->bandwidth.assign(d_ * d_, 0);
    for (std::size_t k = 0; k < d_; ++k) report_->bandwidth[k * d_ + k] = h * h;
    if (measured) {
      std::snprintf(report_->model, sizeof report_->model,
                    "normal scores of each column, product kernel of bandwidth %.3g, weights "
                    "calibrated to the columns: squared error of a count over that of the raw "
                    "sample %.2f at 6 %% of the rows, %.2f at 0.4 %%",
                    h, error.count[1], error.count[3]);
    } else {
      std::snprintf(report_->model, sizeof report_->model, "%s",
                    needless ? "every row is stored" : "too few rows to choose a bandwidth by");
    }
    report_->estimate_ms = estimating.ms();
    return Status::success();
  }

  // Each row's level (share of the column's rows below it, half of those equal to it among them)
  // and class, and what share of the rows each class should have.
  Status place(std::span<const std::uint32_t> rows) {
    const auto n = static_cast<std::size_t>(sample_.rows);
    level_.assign(d_, std::vector<double>(n));
    margin_.assign(d_, {});
    for (std::size_t k = 0; k < d_; ++k) {
      Axis axis;
      axis.normal_scores = true;
      axis.marginal = marginal_[k];
      std::size_t finite = 0, polled = 0;
      for (const std::uint32_t row : rows) {
        if (++polled % 1024 == 0 && control_.stop_requested())
          return Status::error(Code::cancelled, "cancelled");
        if (is_null(row, k) || !std::isfinite(value(row, k))) continue;
        level_[k][row] = axis.level(value(row, k));
        ++finite;
      }
      classify(k, rows, std::clamp<std::size_t>(finite / (10 * d_), 1, kMostClasses));
    }
    return Status::success();
  }

  void classify(std::size_t k, std::span<const std::uint32_t> rows, std::size_t classes) {
    Margin& m = margin_[k];
    const Header& h = *marginal_[k];
    const auto class_of = [&](double level) {
      return std::min(static_cast<std::size_t>(level * static_cast<double>(classes)), classes - 1);
    };
    // NULL, NaN and the infinities after the classes of levels.
    m.target.assign(classes + 4, 0);
    m.target[classes] = h.nulls;
    m.target[classes + 1] = h.nans;
    m.target[classes + 2] = h.negative_infinities;
    m.target[classes + 3] = h.positive_infinities;
    std::vector<HistogramCell> cells;
    decode_histogram(HistogramView(marginal_[k]), &cells);
    const double finite = h.finite_rows();
    double below = 0;
    for (const HistogramCell& cell : cells) {
      if (finite > 0) spread_cell(cell, below / finite, (below + cell.rows) / finite, &m, classes);
      below += cell.rows;
    }
    m.row_class.assign(static_cast<std::size_t>(sample_.rows), 0);
    for (const std::uint32_t row : rows) {
      const double x = value(row, k);
      std::size_t c = class_of(level_[k][row]);
      if (is_null(row, k)) {
        c = classes;
      } else if (!std::isfinite(x)) {
        c = classes + (std::isnan(x) ? 1 : x < 0 ? 2 : 3);
      }
      m.row_class[row] = static_cast<std::uint16_t>(c);
    }
    join_rare(rows, classes, &m);
  }

  // A point's rows are all in the class of its middle; others lie evenly between their levels.
  static void spread_cell(const HistogramCell& cell, double from, double to, Margin* m,
                          std::size_t classes) {
    const auto n = static_cast<double>(classes);
    if (cell.point || !(to > from)) {
      const auto c = static_cast<std::size_t>(std::max((from + to) / 2 * n, 0.0));
      m->target[std::min(c, classes - 1)] += cell.rows;
      return;
    }
    for (auto c = static_cast<std::size_t>(from * n); c < classes; ++c) {
      const double low = std::max(from, static_cast<double>(c) / n);
      const double high = c + 1 == classes ? to : std::min(to, static_cast<double>(c + 1) / n);
      if (high <= low) break;
      m->target[c] += cell.rows * (high - low) / (to - from);
    }
  }

  // Classes of levels with fewer than kLeastClassRows rows go to the next one.
  static void join_rare(std::span<const std::uint32_t> rows, std::size_t classes, Margin* m) {
    std::vector<std::size_t> held(classes + 4);
    for (const std::uint32_t row : rows) ++held[m->row_class[row]];
    std::vector<std::uint16_t> moved(classes + 4);
    for (std::size_t c = 0; c < moved.size(); ++c) moved[c] = static_cast<std::uint16_t>(c);
    std::size_t open = classes;  // a class that is still too small
    std::size_t last = classes;  // the last that is not
    for (std::size_t c = 0; c < classes; ++c) {
      if (open < classes) {
        for (std::size_t j = open; j < c; ++j) moved[j] = static_cast<std::uint16_t>(c);
        held[c] += held[c - 1];
        m->target[c] += m->target[c - 1];
        m->target[c - 1] = 0;
        if (held[c] >= kLeastClassRows) {
          open = classes;
          last = c;
        }
      } else if (held[c] < kLeastClassRows) {
        open = c;
      } else {
        last = c;
      }
    }
    if (open < classes && last < classes) {
      for (std::size_t j = open; j < classes; ++j) moved[j] = static_cast<std::uint16_t>(last);
      m->target[last] += m->target[classes - 1];
      m->target[classes - 1] = 0;
    }
    for (const std::uint32_t row : rows) m->row_class[row] = moved[m->row_class[row]];
  }

  Status encode_automatic(std::span<const std::uint32_t> rows, double h, const JointHeader& header,
                          std::vector<std::uint64_t>* words, std::size_t* size) const {
    JointParts parts;
    parts.header = header;
    parts.header.flags |= kWeights | kValues;
    parts.marginal = marginal_words_;
    parts.coordinate.resize(rows.size() * d_);
    parts.value.resize(rows.size() * d_);
    for (std::size_t k = 0; k < d_; ++k) {
      JointColumn column{};
      column.value_type = options_.value_type[k];
      column.flags = kNormalScores;
      column.bandwidth = h;
      scale_values(k, &column);
      parts.heavy.push_back(heavy_values(marginal_[k], h));
      Axis axis;
      axis.normal_scores = true;
      axis.bandwidth = h;
      axis.marginal = marginal_[k];
      axis.heavy = parts.heavy.back();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const double x = value(rows[i], k);
        parts.coordinate[i * d_ + k] = is_null(rows[i], k) ? kNowhere
                                       : std::isfinite(x)  ? axis.place(level_[k][rows[i]], x)
                                                           : axis.coordinate(x);
        parts.value[i * d_ + k] = raw_value(k, column, x);
      }
      parts.column.push_back(column);
    }
    if (Status s = weigh(rows, header, &parts.weight); !s.ok()) return s;
    return encode_joint(parts, words, size);
  }

  Status weigh(std::span<const std::uint32_t> rows, const JointHeader& header,
               std::vector<float>* weight) const {
    std::vector<Margin> margins(d_);
    for (std::size_t k = 0; k < d_; ++k) {
      Margin& m = margins[k];
      const Header& h = *marginal_[k];
      const double scale = header.rows / std::max(h.rows + h.nulls, 1.0);
      m.target = margin_[k].target;
      for (double& t : m.target) t *= scale;
      m.row_class.reserve(rows.size());
      for (const std::uint32_t row : rows) {
        const std::uint16_t c = margin_[k].row_class[row];
        m.row_class.push_back(c);
        m.target[c] -= header.own_rows;
      }
      for (double& t : m.target) t = std::max(t, 0.0);
    }
    const double total =
        std::max(header.rows - header.own_rows * static_cast<double>(rows.size()), 0.0);
    std::vector<double> w;
    if (Status s = calibrate(margins, rows.size(), total, control_, &w); !s.ok()) return s;
    weight->assign(w.begin(), w.end());
    return Status::success();
  }

  // Lattice points are kept as whole numbers about one in the middle, other values as floats.
  void scale_values(std::size_t k, JointColumn* column) const {
    const Header& h = *marginal_[k];
    column->value_center = 0;
    column->value_unit = 1;
    if (!(h.finite_rows() > 0)) return;
    if (h.lattice_step > 0) {
      const double first = std::nearbyint((h.min - h.lattice_offset) / h.lattice_step);
      const double last = std::nearbyint((h.max - h.lattice_offset) / h.lattice_step);
      constexpr double kMost = std::numeric_limits<std::int32_t>::max();
      if (std::abs(first) < kMost && std::abs(last) < kMost && lattice_resolved(h)) {
        column->flags |= kLatticeValues;
        column->value_center = h.lattice_point(std::floor(first / 2 + last / 2));
        column->value_unit = h.lattice_step;
        return;
      }
    }
    column->value_center = h.min / 2 + h.max / 2;
    const double half = h.max / 2 - h.min / 2;
    if (half > 0) column->value_unit = half;
  }

  std::int32_t raw_value(std::size_t k, const JointColumn& column, double x) const {
    if (!std::isfinite(x)) return 0;
    const Header& h = *marginal_[k];
    if ((column.flags & kLatticeValues) != 0) {
      constexpr double kMost = std::numeric_limits<std::int32_t>::max();
      const double point = std::nearbyint((x - h.lattice_offset) / h.lattice_step);
      return static_cast<std::int32_t>(std::clamp(point, -kMost, kMost));
    }
    return std::bit_cast<std::int32_t>(
        static_cast<float>((x - column.value_center) / column.value_unit));
  }

  // --------------------------------------------------------------------------------- by name

  Status by_name(MatrixMethod method, std::vector<std::uint64_t>* words, std::size_t* size,
                 int* column) {
    const Stopwatch selecting;
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(sample_.rows); ++i) {
      bool complete = true;
      for (std::size_t k = 0; k < d_; ++k)
        complete = complete && !is_null(i, k) && std::isfinite(value(i, k));
      if (complete) rows.push_back(i);
    }
    const double complete = static_cast<double>(rows.size());
    if (std::ssize(rows) < least_joint_rows(sample_.columns))
      return Status::error(Code::degenerate,
                           "%zu columns need at least %lld rows without null, NaN and infinite "
                           "values, the sample has %zu",
                           d_, static_cast<long long>(least_joint_rows(sample_.columns)),
                           rows.size());
    BandwidthMatrix found;
    if (Status s = select(method, rows, &found, column); !s.ok()) return s;
    report_->status = found.status;
    std::snprintf(report_->notice, sizeof report_->notice, "%s", found.notice);
    report_->bandwidth = found.matrix;
    report_->select_ms = selecting.ms();
    const Stopwatch estimating;
    if (rows.size() < static_cast<std::size_t>(sample_.rows) && report_->notice[0] == '\0')
      std::snprintf(report_->notice, sizeof report_->notice,
                    "%lld of %lld rows of the sample have null, NaN or infinite values and are "
                    "left out",
                    static_cast<long long>(sample_.rows - std::ssize(rows)),
                    static_cast<long long>(sample_.rows));
    if (Status s = thin(false, &rows); !s.ok()) return s;
    const double n = static_cast<double>(rows.size());
    const double table =
        std::max(rows_of_table() * complete / static_cast<double>(sample_.rows), n);
    PredictionError error;
    bool measured = false;
    if (std::ssize(rows) >= kLeastRowsForEvidence) {
      const Evidence evidence(sample_, rows, marginal_, options_.seed);
      const auto make = [&](std::span<const std::uint32_t> kept, std::vector<std::uint64_t>* out,
                            std::size_t* bytes) {
        return encode_by_name(kept, found.factor, describe(static_cast<double>(kept.size()), 0),
                              out, bytes);
      };
      if (Status s = evidence.measure(make, control_, &error); !s.ok()) return s;
      measured = true;
    }
    JointHeader header = describe(table, 0);
    header.points = static_cast<std::uint32_t>(rows.size());
    describe_sampling(n, &header);
    if (measured) describe_errors(error, &header);
    if (Status s = encode_by_name(rows, found.factor, header, words, size); !s.ok()) return s;
    report_->points = std::ssize(rows);
    report_->estimate_ms = estimating.ms();
    return Status::success();
  }

  Status select(MatrixMethod method, std::span<const std::uint32_t> rows, BandwidthMatrix* found,
                int* column) {
    for (std::size_t k = 0; k < d_; ++k) {
      if (marginal_[k]->max > marginal_[k]->min) continue;
      *column = static_cast<int>(k);
      return Status::error(Code::degenerate, "its values are all equal");
    }
    std::vector<std::uint32_t> used(rows.begin(), rows.end());
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(options_.bandwidth_rows, 2));
    if (used.size() > most) {
      Random random(options_.seed ^ 0x3c6ef372fe94f82bu);
      for (std::size_t i = 0; i < most; ++i)
        std::swap(used[i], used[i + random.below(used.size() - i)]);
      used.resize(most);
    }
    report_->bandwidth_rows = std::ssize(used);
    MatrixRequest request;
    request.method = method;
    request.engine = options_.engine;
    const std::vector<double> points = table_of(used, d_);
    const Status status =
        select_bandwidth_matrix(request, points, sample_.columns, control_, found);
    if (status.code == Code::degenerate) *column = collinear_column(used);
    return status;
  }

  // The first `columns` columns of those rows, row by row.
  std::vector<double> table_of(std::span<const std::uint32_t> rows, std::size_t columns) const {
    std::vector<double> out;
    out.reserve(rows.size() * columns);
    for (const std::uint32_t row : rows) {
      for (std::size_t k = 0; k < columns; ++k) out.push_back(value(row, k));
    }
    return out;
  }

  // The first column that is constant or collinear with those before it; -1 if none is.
  int collinear_column(std::span<const std::uint32_t> rows) const {
    for (std::size_t columns = 1; columns <= d_; ++columns) {
      WhiteSample white;
      const Status s = whiten_sample(table_of(rows, columns), static_cast<int>(columns), control_,
                                     &white, Ties::ignored);
      if (s.code == Code::degenerate) return static_cast<int>(columns) - 1;
    }
    return -1;
  }

  // factor: L of H = L L'.
  Status encode_by_name(std::span<const std::uint32_t> rows, const std::vector<double>& factor,
                        const JointHeader& header, std::vector<std::uint64_t>* words,
                        std::size_t* size) const {
    JointParts parts;
    parts.header = header;
    parts.marginal = marginal_words_;
    parts.heavy.resize(d_);
    bool correlated = false;
    for (std::size_t j = 0; j < d_; ++j) {
      // A row of L in units of its length is a row of the factor of the correlation matrix.
      double length = 0;
      for (std::size_t k = 0; k <= j; ++k) length = std::hypot(length, factor[j * d_ + k]);
      JointColumn column{};
      column.value_type = options_.value_type[j];
      column.center = column.value_center = marginal_[j]->mean;
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
        axis.marginal = marginal_[k];
        parts.coordinate.push_back(axis.coordinate(value(row, k)));
      }
    }
    return encode_joint(parts, words, size);
  }

  const JointSample& sample_;
  const JointSampler& sampler_;
  const JointFitOptions& options_;
  const Control& control_;
  JointFitReport* report_;
  const std::size_t d_;
  std::vector<std::vector<std::uint64_t>> marginal_words_;
  std::vector<const Header*> marginal_;
  std::size_t marginal_bytes_ = 0;
  std::vector<std::vector<double>> level_;
  std::vector<Margin> margin_;  // of the whole sample; targets are shares times the rows read
};

}  // namespace

Status fit_joint(const JointSample& sample, const JointSampler& sampler,
                 const JointFitOptions& options, const Control& control,
                 std::vector<std::uint64_t>* words, std::size_t* size, JointFitReport* report,
                 int* column) noexcept {
  try {
    *report = {};
    *column = -1;
    return Fitting(sample, sampler, options, control, report).run(words, size, column);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for a sample of %lld rows",
                         static_cast<long long>(sample.rows));
  } catch (...) {
    return Status::error(Code::internal, "unexpected exception while fitting a joint density");
  }
}

}  // namespace kde
