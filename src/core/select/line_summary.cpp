// Moments in passes, with weights; quartiles by R's type 7 (Hyndman & Fan, The
// American Statistician 50, 1996): the order statistic of 0-based rank p (n - 1), interpolated.
#include "core/select/line_summary.h"

#include <algorithm>
#include <cmath>

namespace kde {
namespace {

// Of sigma. So small a part of it has a square that is still a number, and bandwidths searched from
// a part of that up are some hundreds of octaves, not endless.
constexpr double kLeastIqr = 0x1p-400;

class WeightedLine {
 public:
  WeightedLine(std::span<const double> x, std::span<const double> weights)
      : x_(x), weights_(weights) {
    for (std::size_t i = 0; i < x.size(); ++i) total_ += weight(i);
  }

  double total() const { return total_; }
  double weight(std::size_t i) const { return weights_.empty() ? 1 : weights_[i]; }

  // Chan, Golub & LeVeque (1983): the mean refined once, the squares corrected for its last error.
  double sd() const {
    double sum = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) sum += weight(i) * x_[i];
    double mean = sum / total_;
    double rest = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) rest += weight(i) * (x_[i] - mean);
    mean += rest / total_;
    double squares = 0;
    rest = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const double d = x_[i] - mean;
      squares += weight(i) * d * d;
      rest += weight(i) * d;
    }
    return std::sqrt(std::max(squares - rest * rest / total_, 0.0) / (total_ - 1));
  }

  double iqr() const { return quantile(0.75) - quantile(0.25); }

  double tied_pairs() const {
    double pairs = 0;
    for (std::size_t i = 0; i < x_.size();) {
      double count = 0;
      const double value = x_[i];
      for (; i < x_.size() && x_[i] == value; ++i) count += weight(i);
      pairs += std::max(count * (count - 1) / 2, 0.0);
    }
    return pairs;
  }

 private:
  double quantile(double p) const {
    const double rank = p * (total_ - 1);
    const double below = std::floor(rank);
    std::size_t i = 0;
    double through = weight(0);  // weight of values 0 .. i
    while (through <= below && i + 1 < x_.size()) through += weight(++i);
    const double low = x_[i];
    while (through <= below + 1 && i + 1 < x_.size()) through += weight(++i);
    return low + (rank - below) * (x_[i] - low);
  }

  std::span<const double> x_;
  std::span<const double> weights_;
  double total_ = 0;
};

// Written so that a NaN anywhere makes it false.
bool is_ascending(std::span<const double> x) {
  for (std::size_t i = 1; i < x.size(); ++i) {
    if (!(x[i - 1] <= x[i])) return false;
  }
  return true;
}

}  // namespace

double LineSummary::robust_scale(double divisor) const {
  return iqr > kLeastIqr * sigma ? std::fmin(sigma, iqr / divisor) : sigma;
}

Status summarize_line(std::span<const double> sorted, std::span<const double> weights,
                      LineSummary* out) {
  if (sorted.size() < 2) {
    return Status::error(Code::invalid_argument, "a bandwidth needs at least two values");
  }
  if (!weights.empty() && weights.size() != sorted.size()) {
    return Status::error(Code::invalid_argument, "there must be as many weights as values");
  }
  if (!is_ascending(sorted) || !std::isfinite(sorted.front()) || !std::isfinite(sorted.back())) {
    return Status::error(Code::invalid_argument, "values must be finite and in ascending order");
  }
  if (!std::all_of(weights.begin(), weights.end(),
                   [](double w) { return w > 0 && std::isfinite(w); })) {
    return Status::error(Code::invalid_argument, "weights must be positive and finite");
  }
  if (sorted.front() == sorted.back()) {
    return Status::error(Code::degenerate, "all values are equal");
  }
  const WeightedLine line(sorted, weights);
  if (!(line.total() >= 2) || !(line.total() < 0x1p62)) {
    return Status::error(Code::invalid_argument, "a bandwidth needs at least two values");
  }
  LineSummary summary;
  summary.n = std::llround(line.total());
  summary.sigma = line.sd();
  summary.iqr = line.iqr();
  summary.tied_pairs = line.tied_pairs();
  if (!(summary.sigma > 0) || !std::isfinite(summary.sigma) || !std::isfinite(summary.iqr)) {
    return Status::error(Code::degenerate, "the spread of the values is out of range");
  }
  *out = summary;
  return Status::success();
}

}  // namespace kde
