// The steps of white_sample.h. A column is divided by a power of two to lie in [-1, 1], centred,
// and divided by another to have a standard deviation in [1/2, 1): then no square overflows or
// vanishes, and division by a power of two is exact but for values 2^1022 below the column's
// largest.
//
// The first whitening divides by pivots that are differences, and loses twice the digits that a
// column shares with those before it; its result is nearly white, so that the second, by the same
// steps, loses none. The Cholesky factorisation is written out for the sake of its pivots, which
// tell a collinear column. Means and squares in passes, corrected for the rounding of the mean:
// Chan, Golub & LeVeque, The American Statistician 37 (1983). Rounding of sums and of the Cholesky
// factor: N. J. Higham, Accuracy and Stability of Numerical Algorithms (2002), sections 3.1
// and 10.1.
#include "core/select/white_sample.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <new>
#include <numbers>
#include <numeric>
#include <utility>

#include "core/select/matrix.h"
#include "core/share_items.h"
#include "core/sums/gaussian_sums.h"

namespace kde {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// Thrown by an ordering in the middle of a sort, and caught in this file.
struct Cancelled {};

// Below it the quartiles of w, some tens at most, are apart by rounding alone.
constexpr double kLeastIqr = 1024 * kEpsilon;
constexpr double kNormalIqr = 1.34;  // of the standard normal

constexpr int kComparisonsBetweenPolls = 1 << 14;

// Pairs of equal elements, which `less` orders. Sorts them.
template <class Element, class Less>
double tied_pairs(std::vector<Element>* elements, const Control& control, const Less& less) {
  int comparisons = 0;
  std::sort(elements->begin(), elements->end(), [&](const Element& a, const Element& b) {
    if (++comparisons == kComparisonsBetweenPolls) {
      comparisons = 0;
      if (control.stop_requested()) throw Cancelled();
    }
    return less(a, b);
  });
  double pairs = 0;
  double before = 0;  // equal elements just before
  for (std::size_t i = 1; i < elements->size(); ++i) {
    before = less((*elements)[i - 1], (*elements)[i]) ? 0 : before + 1;
    pairs += before;
  }
  return pairs;
}

// R's type 7. Reorders the values, of which there are two or more.
double quantile(std::vector<double>* values, double p) {
  const double rank = p * static_cast<double>(values->size() - 1);
  const double below = std::floor(rank);
  const auto low = values->begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values->begin(), low, values->end());
  if (low + 1 == values->end()) return *low;
  return *low + (rank - below) * (*std::min_element(low + 1, values->end()) - *low);
}

class Whitening {
 public:
  Whitening(std::span<const double> points, int d, const Control& control)
      : points_(points),
        control_(control),
        d_(static_cast<std::size_t>(d)),
        n_(points.size() / d_) {
    out_.n = static_cast<std::int64_t>(n_);
    out_.d = d;
  }

  Status run(Ties ties, WhiteSample* out) {
    if (n_ <= d_) {
      return Status::error(Code::degenerate, "%zu points are too few in %zu dimensions", n_, d_);
    }
    z_.resize(static_cast<Eigen::Index>(n_), static_cast<Eigen::Index>(d_));
    out_.exponent.resize(d_);
    for (std::size_t k = 0; k < d_; ++k) {
      if (Status s = scale_column(k); !s.ok()) return s;
    }
    if (Status s = whiten(); !s.ok()) return s;
    find_robust_scale();
    if (ties == Ties::counted) count_ties();
    *out = std::move(out_);
    return Status::success();
  }

 private:
  double x(std::size_t i, std::size_t k) const { return points_[i * d_ + k]; }

  // Between passes over the points, a fraction of a second each for the largest of arrays.
  void poll() const {
    if (control_.stop_requested()) throw Cancelled();
  }

  // Into column k of z_, centred, with a standard deviation in [1/2, 1).
  Status scale_column(std::size_t k) {
    double low = x(0, k);
    double high = low;
    for (std::size_t i = 1; i < n_; ++i) {
      low = std::min(low, x(i, k));
      high = std::max(high, x(i, k));
    }
    if (low == high) {
      return Status::error(Code::degenerate, "all values of column %zu are equal", k + 1);
    }
    poll();
    int first = 0;
    const double largest = std::frexp(std::max(-low, high), &first);
    auto column = z_.col(static_cast<Eigen::Index>(k));
    for (std::size_t i = 0; i < n_; ++i)
      column(static_cast<Eigen::Index>(i)) = std::ldexp(x(i, k), -first);
    poll();
    for (int pass = 0; pass < 2; ++pass) {
      column.array() -= column.mean();
      poll();
    }
    int second = 0;
    const double sd = std::sqrt(column.squaredNorm() / static_cast<double>(n_ - 1));
    std::frexp(sd, &second);
    for (double& v : column) v = std::ldexp(v, -second);
    out_.exponent[k] = first + second;
    offset_ = std::max(offset_, largest / sd);
    return Status::success();
  }

  Status whiten() {
    const double n = static_cast<double>(n_);
    const double d = static_cast<double>(d_);
    const double tolerance = n * kEpsilon + d * kEpsilon * offset_ * kEpsilon * offset_;
    Matrix factor = Matrix::Identity(z_.cols(), z_.cols());
    for (const double least : {tolerance, 0.0}) {
      Matrix step;
      if (Status s = factorise(covariance(), least, &step); !s.ok()) return s;
      poll();
      step.triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(z_);
      poll();
      factor = Matrix(factor * step).triangularView<Eigen::Lower>();
    }
    for (std::size_t k = 0; k < d_; ++k) {
      const auto at = static_cast<Eigen::Index>(k);
      out_.log_det += std::log(factor(at, at)) + std::numbers::ln2 * out_.exponent[k];
    }
    out_.factor.assign(factor.data(), factor.data() + factor.size());
    out_.w.assign(z_.data(), z_.data() + z_.size());
    return Status::success();
  }

  Matrix covariance() const {
    const double n = static_cast<double>(n_);
    const Eigen::RowVectorXd rest = z_.colwise().sum();
    Matrix sigma = Matrix::Zero(z_.cols(), z_.cols());
    poll();
    sigma.noalias() = z_.transpose() * z_;
    poll();
    sigma.noalias() -= rest.transpose() * rest / n;
    return sigma / (n - 1);
  }

  // sigma = factor factor', a column refused of which no more than the fraction `least` is left.
  Status factorise(const Matrix& sigma, double least, Matrix* out) const {
    Matrix factor = Matrix::Zero(sigma.rows(), sigma.cols());
    for (Eigen::Index k = 0; k < sigma.cols(); ++k) {
      for (Eigen::Index j = 0; j < k; ++j) {
        const double dot = factor.row(k).head(j).dot(factor.row(j).head(j));
        factor(k, j) = (sigma(k, j) - dot) / factor(j, j);
      }
      const double left = sigma(k, k) - factor.row(k).head(k).squaredNorm();
      if (!(left > least * sigma(k, k))) {
        return Status::error(Code::degenerate, "column %d is collinear with those before it",
                             static_cast<int>(k + 1));
      }
      factor(k, k) = std::sqrt(left);
    }
    *out = std::move(factor);
    return Status::success();
  }

  void find_robust_scale() {
    for (Eigen::Index k = 0; k < z_.cols(); ++k) {
      poll();
      std::vector<double> column(z_.col(k).begin(), z_.col(k).end());
      const double iqr = quantile(&column, 0.75) - quantile(&column, 0.25);
      if (iqr > kLeastIqr) out_.robust_scale = std::min(out_.robust_scale, iqr / kNormalIqr);
    }
  }

  void count_ties() {
    std::vector<double> pairs(d_);
    std::atomic<bool> no_memory{false};
    const auto count = [&](std::int64_t k, const Control& own) {
      try {
        std::vector<double> column(n_);
        for (std::size_t i = 0; i < n_; ++i) column[i] = x(i, static_cast<std::size_t>(k));
        pairs[static_cast<std::size_t>(k)] = tied_pairs(&column, own, std::less<double>());
      } catch (const std::bad_alloc&) {
        no_memory = true;
      } catch (const Cancelled&) {
        // As share_items says.
      }
    };
    Control control = control_;
    control.on_progress = nullptr;
    if (!share_items(control, std::ssize(pairs), count).ok()) throw Cancelled();
    if (no_memory) throw std::bad_alloc();
    for (std::size_t k = 0; k < d_; ++k) {
      if (pairs[k] > out_.tied_in_column) {
        out_.tied_in_column = pairs[k];
        out_.tied_column = static_cast<int>(k + 1);
      }
    }
    // Points that are equal are so in every column.
    if (std::find(pairs.begin(), pairs.end(), 0) != pairs.end()) return;
    std::vector<std::size_t> order(n_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    out_.tied_pairs = tied_pairs(&order, control_, [this](std::size_t i, std::size_t j) {
      const auto a = points_.subspan(i * d_, d_);
      const auto b = points_.subspan(j * d_, d_);
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
    });
  }

  std::span<const double> points_;
  const Control& control_;
  std::size_t d_;
  std::size_t n_;
  Matrix z_;           // n x d: the points centred and scaled, then whitened
  double offset_ = 0;  // the largest max|x_k|/sigma_k
  WhiteSample out_;
};

}  // namespace

Status whiten_sample(std::span<const double> points, int d, const Control& control,
                     WhiteSample* out, Ties ties) {
  if (d < 1 || d > kMaxDimensions) {
    return Status::error(Code::invalid_argument, "a sample has 1 to %d dimensions, not %d",
                         kMaxDimensions, d);
  }
  if (points.size() % static_cast<std::size_t>(d) != 0) {
    return Status::error(Code::invalid_argument, "every point must have %d coordinates", d);
  }
  if (points.size() / static_cast<std::size_t>(d) < 2) {
    return Status::error(Code::invalid_argument, "a bandwidth needs at least two points");
  }
  if (!std::all_of(points.begin(), points.end(), [](double v) { return std::isfinite(v); })) {
    return Status::error(Code::invalid_argument, "values must be finite");
  }
  try {
    return Whitening(points, d, control).run(ties, out);
  } catch (const Cancelled&) {
    return cancelled();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for a sample of %zu values",
                         points.size());
  }
}

}  // namespace kde
