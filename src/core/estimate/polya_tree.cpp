// See polya_tree.h for the method.
#include "core/estimate/polya_tree.h"

#include "core/sums/ordered_sum.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <new>
#include <numbers>

namespace kde {

namespace {

// Prior strengths a; the first stands for infinity.
constexpr int kStrengthCount = 9;
constexpr std::array<double, kStrengthCount> kStrengths = {0, 8192, 2048,           512, 128, 32,
                                                           8, 2,    kSampleStrength};
// Of the levels' probabilities, in nodes: the centre is to be believed unless there is evidence.
constexpr double kCentrePrior = 1.0;
constexpr double kOtherPrior = 0.05;
constexpr int kIterations = 12;
constexpr int kMaxDepth = 48;
// Mixed into the centre, so that it excludes nothing.
constexpr double kUniformShare = 1e-9;

struct Node {
  std::size_t first, end;  // cells
  double factor;           // posterior over centre so far
};

// One halving.
struct Halving {
  std::size_t first, middle, end;
  double left, count;  // observations
  double share;        // the centre's on the left
  double factor;
};

using Strengths = std::array<double, kStrengthCount>;

// Stirling's series of log Gamma(x), without log(2 pi)/2, holds from here on.
constexpr double kLeastStirling = 10;

double stirling(double x, double log_x) {
  const double i = 1 / x;
  const double r = i * i;
  return (x - 0.5) * log_x - x +
         i * (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680))));
}

// Below, Gamma(x) = Gamma(x + k) / (x (x + 1) .. (x + k - 1)): shifts x, and returns the divisor.
double shift(double* x) {
  double product = 1;
  while (*x < kLeastStirling) {
    product *= *x;
    *x += 1;
  }
  return product;
}

// Logarithms of each finite strength and of its Gamma, this as by stirling().
struct LogStrengths {
  Strengths value{}, gamma{};
};

const LogStrengths& log_strengths() {
  static const LogStrengths logs = [] {
    LogStrengths of;
    for (int j = 1; j < kStrengthCount; ++j) {
      of.value[j] = std::log(kStrengths[j]);
      of.gamma[j] = log_gamma(kStrengths[j]) - 0.5 * std::log(2 * std::numbers::pi);
    }
    return of;
  }();
  return logs;
}

// The likelihood of each strength, over the largest of them: with a of its strength on the left and
// b on the right, that of left and right, l and r of them,
//
//   Gamma(l + a) Gamma(r + b) Gamma(a + b) / (Gamma(a) Gamma(b) Gamma(l + r + a + b)),
//
// with as few logarithms as it takes: they are most of a tree's time.
Strengths likelihoods(const Halving& h) {
  const LogStrengths& logs = log_strengths();
  Strengths log_likelihood;
  const double right = h.count - h.left;
  const double log_share = std::log(h.share);
  const double log_rest = std::log1p(-h.share);
  log_likelihood[0] = h.left * log_share + right * log_rest;
  // Of one side, and what remains to be multiplied.
  const auto side = [](double prior, double log_prior, double rows, double* factor) {
    double sum = prior + rows;
    *factor /= shift(&sum);
    double x = prior;
    if (x < kLeastStirling) {
      *factor *= shift(&x);
      log_prior = std::log(x);
    }
    return stirling(sum, std::log(sum)) - stirling(x, log_prior);
  };
  for (int j = 1; j < kStrengthCount; ++j) {
    const double a = kStrengths[j] * h.share;
    double all = h.count + kStrengths[j];
    double factor = shift(&all);
    log_likelihood[j] = side(a, logs.value[j] + log_share, h.left, &factor) +
                        side(kStrengths[j] - a, logs.value[j] + log_rest, right, &factor) -
                        stirling(all, std::log(all)) + logs.gamma[j];
    if (factor != 1) log_likelihood[j] += std::log(factor);
  }
  const double largest = *std::max_element(log_likelihood.begin(), log_likelihood.end());
  for (double& x : log_likelihood) x = std::exp(x - largest);
  return log_likelihood;
}

double dot(const Strengths& a, const Strengths& b) {
  double sum = 0;
  for (int j = 0; j < kStrengthCount; ++j) sum += a[j] * b[j];
  return sum;
}

// The level's probabilities of the strengths.
Strengths estimate_probabilities(std::span<const Strengths> likelihood) {
  Strengths p;
  p.fill(1.0 / kStrengthCount);
  for (int i = 0; i < kIterations; ++i) {
    Strengths next;
    next.fill(kOtherPrior);
    next[0] = kCentrePrior;
    for (const Strengths& l : likelihood) {
      const double scale = 1 / dot(l, p);
      for (int j = 0; j < kStrengthCount; ++j) next[j] += scale * l[j] * p[j];
    }
    double total = 0;
    for (double x : next) total += x;
    for (int j = 0; j < kStrengthCount; ++j) p[j] = next[j] / total;
  }
  return p;
}

// The mean of the left share over the node's posterior.
double posterior_share(const Halving& h, const Strengths& likelihood, const Strengths& p) {
  double sum = likelihood[0] * p[0] * h.share;
  for (int j = 1; j < kStrengthCount; ++j) {
    const double a = kStrengths[j];
    sum += likelihood[j] * p[j] * ((h.left + a * h.share) / (h.count + a));
  }
  return sum / dot(likelihood, p);
}

class Tree {
 public:
  Tree(std::span<const double> counts, std::span<const double> centre,
       const PolyaTreeOptions& options)
      : options_(options) {
    const std::size_t cells = counts.size();
    double total = 0;
    for (double c : centre) total += c;
    below_.assign(cells + 1, 0);
    centre_below_.assign(cells + 1, 0);
    const double floor = kUniformShare / static_cast<double>(cells);
    for (std::size_t i = 0; i < cells; ++i) {
      below_[i + 1] = below_[i] + counts[i];
      centre_below_[i + 1] = centre_below_[i] + (1 - kUniformShare) * (centre[i] / total) + floor;
    }
  }

  // Adds the posterior's cells, times `weight`. root: the centre's share left of the first halving.
  void add(double root, double weight, std::span<double> out) {
    std::vector<Node> nodes = {{0, below_.size() - 1, 1}};
    for (int depth = 0; depth < kMaxDepth && !nodes.empty(); ++depth) {
      divide(nodes, depth == 0 ? root : 0.5, weight, out);
      likelihood_.clear();
      for (const Halving& h : halvings_) {
        if (!is_the_samples(h)) likelihood_.push_back(likelihoods(h));
      }
      const Strengths p = estimate_probabilities(likelihood_);
      nodes.clear();
      auto likelihood = likelihood_.begin();
      for (const Halving& h : halvings_) {
        const double left =
            is_the_samples(h) ? sample_share(h) : posterior_share(h, *likelihood++, p);
        nodes.push_back({h.first, h.middle, h.factor * (left / h.share)});
        nodes.push_back({h.middle, h.end, h.factor * ((1 - left) / (1 - h.share))});
      }
    }
    for (const Node& n : nodes) write(n, weight, out);
  }

 private:
  bool is_the_samples(const Halving& h) const {
    if (options_.edge.empty()) return false;
    return h.first == 0 || h.end + 1 == below_.size() ||
           options_.edge[h.end] - options_.edge[h.first] > kSmoothWidth;
  }

  // Of a node of so many: as many count as one.
  double rows_worth(double count) const {
    if (options_.effect == nullptr) return 1;
    const double share = std::min(count / below_.back(), 0.5);
    return std::max<double>(ratio_at(*options_.effect, share), 1);
  }

  static double sample_share(const Halving& h) {
    return (h.left + kSampleStrength * h.share) / (h.count + kSampleStrength);
  }

  void write(const Node& n, double weight, std::span<double> out) const {
    for (std::size_t i = n.first; i < n.end; ++i)
      out[i] += weight * n.factor * (centre_below_[i + 1] - centre_below_[i]);
  }

  // halvings_ of those nodes that can be divided; the others are written.
  void divide(std::span<const Node> nodes, double at, double weight, std::span<double> out) {
    halvings_.clear();
    for (const Node& n : nodes) {
      const double count = below_[n.end] - below_[n.first];
      if (n.end - n.first < 2 || count < options_.least_count) {
        write(n, weight, out);
        continue;
      }
      const double low = centre_below_[n.first];
      const double high = centre_below_[n.end];
      const double wanted = low + at * (high - low);
      const auto begin = centre_below_.begin();
      auto middle = static_cast<std::size_t>(
          std::lower_bound(begin + static_cast<std::ptrdiff_t>(n.first),
                           begin + static_cast<std::ptrdiff_t>(n.end), wanted) -
          begin);
      if (middle > n.first && wanted - centre_below_[middle - 1] < centre_below_[middle] - wanted)
        --middle;
      middle = std::clamp(middle, n.first + 1, n.end - 1);
      const double share =
          std::clamp((centre_below_[middle] - low) / (high - low), 1e-12, 1 - 1e-12);
      const double worth = rows_worth(count);
      halvings_.push_back({n.first, middle, n.end, (below_[middle] - below_[n.first]) / worth,
                           count / worth, share, n.factor});
    }
  }

  const PolyaTreeOptions options_;
  std::vector<double> below_;         // observations in all cells before
  std::vector<double> centre_below_;  // the centre's mass in them
  std::vector<Halving> halvings_;
  std::vector<Strengths> likelihood_;
};

}  // namespace

double log_gamma(double x) {
  const double product = shift(&x);
  return stirling(x, std::log(x)) + 0.5 * std::log(2 * std::numbers::pi) - std::log(product);
}

Status polya_tree(std::span<const double> counts, std::span<const double> centre,
                  const PolyaTreeOptions& options, const Control& control,
                  std::vector<double>* out) {
  out->assign(counts.size(), counts.size() < 2 ? 1 : 0);
  if (counts.size() < 2) return Status::success();
  const Tree prototype(counts, centre, options);
  std::atomic<bool> no_memory{false};
  const auto work = [&](std::int64_t item, double* cells) {
    try {
      Tree tree(prototype);
      // Root halvings spread over the middle third of the centre's mass.
      const double root = 1.0 / 3 + (static_cast<double>(item) + 0.5) / (3.0 * options.trees);
      tree.add(root, 1.0 / options.trees, {cells, counts.size()});
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
  };
  if (Status s = ordered_sum(control, options.trees, work, *out); !s.ok()) return s;
  if (no_memory) throw std::bad_alloc();
  double total = 0;
  for (double x : *out) total += x;
  for (double& x : *out) x /= total;
  return Status::success();
}

}  // namespace kde
