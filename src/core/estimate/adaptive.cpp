// See adaptive.h for the method.
#include "core/estimate/adaptive.h"

#include "core/estimate/heaps.h"
#include "core/estimate/line_smoother.h"
#include "core/estimate/polya_tree.h"
#include "core/random.h"
#include "core/select/line_bandwidth.h"
#include "core/sums/ordered_sum.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <new>
#include <random>
#include <set>
#include <span>
#include <utility>

namespace kde {

namespace {

constexpr std::uint64_t kSeed = 0x6b64655f617170;
// Ranges that judge: with two ends, and with one, of each side; their shares of the rows.
constexpr int kTwoEnds = 400, kOneEnd = 100;
constexpr double kLeastShare = 0.003, kMostShare = 0.3;
// The folds come of as many halvings; small samples are divided more than once.
constexpr int kSplits = 3, kFolds = 1 << kSplits;
constexpr double kSmallSample = 2500;
constexpr int kDivisionsOfSmall = 2;
// Of the trees of each candidate; the estimate itself has kTrees.
constexpr int kTrialTrees = 2, kTrees = 8;
// Nodes with fewer observations, or fewer than this share of them, are not divided further: beyond
// what a stored density resolves.
constexpr double kLeastObservations = 4;
constexpr double kFinestShare = 1.0 / 8192;
constexpr double kFinestTrialShare = 1.0 / 4096;
// From here on one tree tells enough.
constexpr double kLargeSample = 25000;
constexpr std::size_t kLeastNodes = 1024, kMostNodes = 16384;
constexpr double kNodesPerBandwidth = 4;
constexpr double kLeastNodesOfBody = 8;  // between the 5 % and the 95 % quantile
// A candidate takes the place of an earlier, simpler one only if its squared differences from the
// unseen folds, their own error included, are below this share of the other's.
constexpr double kPreference = 0.998;
// The sample is kept unless the best candidate's error is below this share of its own; where cells
// are few, so are the ranges that differ, and the evidence is worth less.
constexpr double kSampleMargin = 0.95, kSampleMarginOfFewCells = 0.75;
constexpr std::size_t kFewCells = 128;
constexpr double kLeastDifferentRanges = 12;
// What is said to be gained is never less than this share of the sample's squared error.
constexpr double kLeastError = 0.05;

struct Candidate {
  int transformation = -1;  // index; -1: the sample
  bool heaps = false;
};

// A transformed line with its plug-in bandwidth.
struct Smoothing {
  Transformation transformation;
  LineSmoother smoother;
  double h;                  // in t
  std::vector<double> edge;  // the cells', in t
};

// Cells [first, end).
struct Stretch {
  std::size_t first, end;
};

// Mean squared differences from the unseen folds, over the variance of the sample's count: of all
// ranges, and of those with two ends.
struct Errors {
  double all = 0, two_ends = 0;
};

double total_of(std::span<const double> x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum;
}

// Ones among `count` fair coins.
double fair_coins(double count, std::mt19937_64* random) {
  double ones = 0;
  while (count >= 1) {
    const int coins = static_cast<int>(std::min(count, 64.0));
    const std::uint64_t bits = (*random)() >> (64 - coins);
    ones += std::popcount(bits);
    count -= coins;
  }
  // Of a fraction of an observation (a compacted stream has lighter ones), all or none.
  if (count > 0 && ((*random)() >> 63) != 0) ones += count;
  return ones;
}

// Each observation to one of two parts, by a coin.
void halve(std::span<const double> counts, std::mt19937_64* random, std::vector<double>* one,
           std::vector<double>* other) {
  one->resize(counts.size());
  other->resize(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    (*one)[i] = fair_coins(counts[i], random);
    (*other)[i] = counts[i] - (*one)[i];
  }
}

std::vector<double> sums_below(std::span<const double> x) {
  std::vector<double> below(x.size() + 1, 0);
  for (std::size_t i = 0; i < x.size(); ++i) below[i + 1] = below[i] + x[i];
  return below;
}

class Adaptive {
 public:
  Adaptive(const AdaptiveInput& input, const Control& control)
      : input_(input), cells_(*input.cells), control_(control) {}

  Status run(AdaptiveEstimate* out) {
    below_ = sums_below(cells_.count);
    n_ = below_.back();
    if (input_.sampled_share >= 1) {
      take_all(out);
      return Status::success();
    }
    choose_transformations();
    if (Status s = add_smoothings(); !s.ok()) return s;
    if (cells_.lattice) find_periods();
    choose_ranges();
    divide();
    if (Status s = choose(); !s.ok()) return s;
    return finish(out);
  }

 private:
  // Nothing is unseen.
  void take_all(AdaptiveEstimate* out) const {
    out->share = cells_.count;
    for (double& s : out->share) s /= n_;
    out->bandwidth = input_.plugin_bandwidth;
    out->is_sample = true;
    out->model = "every row";
  }

  double quantile(double q) const {
    const auto at = std::lower_bound(below_.begin() + 1, below_.end() - 1, q * n_);
    return cells_.centre[static_cast<std::size_t>(at - below_.begin()) - 1];
  }

  // On x, and where a tail is long on a scale that shortens it.
  void choose_transformations() {
    transformations_.push_back({});
    const double low = cells_.edge.front();
    const double high = cells_.edge.back();
    const double q05 = quantile(0.05), q25 = quantile(0.25), q50 = quantile(0.5),
                 q75 = quantile(0.75), q95 = quantile(0.95);
    const double body = std::max(q75 - q25, 1e-3 * (q95 - q05));
    if (!(body > 0)) return;
    const double right = (high - q50) / body;
    const double left = (q50 - low) / body;
    constexpr double kLong = 4;
    if (right > kLong && left > kLong) {
      transformations_.push_back({Transformation::Kind::arsinh, q50, body / 2});
    } else if (right > kLong) {
      const double shift = std::max((q50 - low) / 4, body / 64);
      transformations_.push_back({Transformation::Kind::log_right, low - shift, 1});
    } else if (left > kLong) {
      const double shift = std::max((high - q50) / 4, body / 64);
      transformations_.push_back({Transformation::Kind::log_left, high + shift, 1});
    }
  }

  Status add_smoothings() {
    const double range = cells_.edge.back() - cells_.edge.front();
    for (const Transformation& t : transformations_) {
      double h = input_.plugin_bandwidth;
      double width = range;
      if (t.kind != Transformation::Kind::none) {
        const double low = t(cells_.edge.front());
        width = t(cells_.edge.back()) - low;
        // Values of magnitude about 1, as the sums want them.
        std::vector<double> values, weights;
        std::size_t point = 0;
        for (std::size_t i = 0; i < cells_.size(); ++i) {
          if (point < cells_.points.size() && cells_.points[point] == i) {
            ++point;
            continue;
          }
          if (!(cells_.count[i] > 0)) continue;
          const double v = 2 * (t(cells_.centre[i]) - low) / width - 1;
          if (!values.empty() && !(v > values.back())) {
            weights.back() += cells_.count[i];
            continue;
          }
          values.push_back(v);
          weights.push_back(cells_.count[i]);
        }
        if (values.size() < 2) continue;
        LineRequest request;
        request.engine.kind = Engine::Kind::spectral;
        LineBandwidth found;
        Status s = select_line_bandwidth(
            request, {values, weights, std::llround(total_of(weights))}, control_, &found);
        if (s.code == Code::cancelled || s.code == Code::out_of_memory) return s;
        if (!s.ok()) continue;
        h = found.h * width / 2;
      }
      const double wanted = kNodesPerBandwidth * width / (h / 4);
      std::size_t nodes = kLeastNodes;
      while (nodes < kMostNodes && static_cast<double>(nodes) < wanted) nodes *= 2;
      std::vector<double> edge;
      for (double x : cells_.edge) edge.push_back(t(x));
      smoothings_.push_back({t, LineSmoother(cells_, t, nodes), h, std::move(edge)});
    }
    // Far outliers can put the whole body of the values into a node or two of x itself.
    const double body = quantile(0.95) - quantile(0.05);
    if (!cells_.lattice && smoothings_.size() > 1 &&
        body * static_cast<double>(kMostNodes) < kLeastNodesOfBody * range)
      smoothings_.erase(smoothings_.begin());
    return Status::success();
  }

  void find_periods() {
    const Smoothing& s = smoothings_.front();
    const auto smooth = s.smoother.cell_masses(s.smoother.transform(cells_.count), s.h);
    periods_ = find_heaps(cells_, cells_.count, smooth).periods;
  }

  // The cell that the q-th row is in.
  std::size_t cell_at(double q) const {
    const auto at = std::upper_bound(below_.begin() + 1, below_.end() - 1, q * n_);
    return static_cast<std::size_t>(at - below_.begin()) - 1;
  }

  double share_of(const Stretch& r) const { return (below_[r.end] - below_[r.first]) / n_; }

  bool is_judged(const Stretch& r) const {
    const double p = share_of(r);
    return p >= kLeastShare / 2 && p <= 1 - kLeastShare / 2;
  }

  void choose_ranges() {
    Random random(kSeed);
    const auto share = [&random] {
      return kLeastShare * std::pow(kMostShare / kLeastShare, random.uniform());
    };
    for (int i = 0; i < kTwoEnds; ++i) {
      const double length = share();
      const double start = (1 - length) * random.uniform();
      const std::size_t first = cell_at(start);
      const Stretch r = {first, std::max(cell_at(start + length), first + 1)};
      if (is_judged(r)) two_ends_.push_back(r);
    }
    for (int i = 0; i < kOneEnd; ++i) {
      for (const Stretch r :
           {Stretch{0, cell_at(share()) + 1}, Stretch{cell_at(1 - share()), cells_.size()}}) {
        if (is_judged(r)) one_end_.push_back(r);
      }
    }
  }

  double different_ranges() const {
    std::set<std::pair<std::size_t, std::size_t>> different;
    for (const Stretch& r : two_ends_) different.emplace(r.first, r.end);
    return static_cast<double>(different.size());
  }

  // Every fold of the divisions.
  void divide() {
    if (!input_.drawn_block.empty()) {
      divide_blocks();
      return;
    }
    seen_ = cells_.count;
    std::mt19937_64 random(kSeed);
    const int divisions = n_ < kSmallSample ? kDivisionsOfSmall : 1;
    for (int d = 0; d < divisions; ++d) {
      std::vector<std::vector<double>> parts = {cells_.count};
      for (int split = 0; split < kSplits; ++split) {
        std::vector<std::vector<double>> halves(2 * parts.size());
        for (std::size_t i = 0; i < parts.size(); ++i)
          halve(parts[i], &random, &halves[2 * i], &halves[2 * i + 1]);
        parts = std::move(halves);
      }
      for (std::vector<double>& fold : parts) folds_.push_back(std::move(fold));
    }
  }

  // By turns, so that each fold has blocks from all over the table.
  void divide_blocks() {
    seen_.assign(cells_.size(), 0);
    folds_.assign(kFolds, seen_);
    for (std::size_t i = 0; i < input_.drawn.size(); ++i) {
      const std::size_t cell = cell_of(input_.drawn[i]);
      seen_[cell] += 1;
      folds_[input_.drawn_block[i] % kFolds][cell] += 1;
    }
  }

  // A cell has its upper end, a point its value.
  std::size_t cell_of(double u) const {
    const auto begin = cells_.edge.begin();
    const auto at =
        static_cast<std::size_t>(std::lower_bound(begin, cells_.edge.end() - 1, u) - begin);
    if (cells_.edge[at] == u && at < cells_.size() && cells_.edge[at + 1] == u) return at;
    return at > 0 ? at - 1 : 0;
  }

  // The shares of the cells by this candidate, from n observations in the cells.
  Status fit(const Candidate& candidate, std::span<const double> counts, double n,
             PolyaTreeOptions trees, const Control& control, std::vector<double>* shares) const {
    if (candidate.transformation < 0) {
      shares->assign(counts.begin(), counts.end());
      for (double& x : *shares) x /= n;
      return Status::success();
    }
    const Smoothing& s = smoothings_[static_cast<std::size_t>(candidate.transformation)];
    const double h = s.h * std::pow(n_ / n, 0.2);
    std::vector<double> centre = s.smoother.cell_masses(s.smoother.transform(counts), h);
    if (candidate.heaps) {
      const HeapPattern pattern = fit_heaps(cells_, counts, centre, periods_);
      const Smoothing& plain = smoothings_.front();
      const auto smooth_factor =
          plain.smoother.cell_masses(plain.smoother.transform(pattern.factor), plain.h);
      centre = apply_heaps(centre, pattern.factor, smooth_factor);
    }
    for (std::size_t point : cells_.points) centre[point] = counts[point];
    std::vector<double> edge = s.edge;
    for (double& t : edge) t /= h;
    trees.edge = edge;
    return polya_tree(counts, centre, trees, control, shares);
  }

  // Mean squared differences of the shares of these ranges, over the variance of one row's.
  double difference(std::span<const Stretch> ranges, std::span<const double> share_below,
                    std::span<const double> fold_below) const {
    double sum = 0;
    for (const Stretch& r : ranges) {
      const double p = share_of(r);
      const double d = (share_below[r.end] - share_below[r.first]) -
                       (fold_below[r.end] - fold_below[r.first]) / fold_below.back();
      sum += d * d / (p * (1 - p));
    }
    return ranges.empty() ? 0 : sum / static_cast<double>(ranges.size());
  }

  // The errors of the candidates over all folds.
  Status try_out(std::span<const Candidate> candidates, std::vector<Errors>* errors) {
    constexpr std::size_t kNumbers = 3;  // of a candidate: two errors, and of how many folds
    std::vector<double> totals(candidates.size() * kNumbers);
    const auto folds = static_cast<std::int64_t>(folds_.size());
    std::atomic<bool> no_memory{false};
    const auto work = [&](std::int64_t item, double* out) {
      const auto which = static_cast<std::size_t>(item / folds);
      const std::vector<double>& fold = folds_[static_cast<std::size_t>(item % folds)];
      try {
        const std::vector<double> fold_below = sums_below(fold);
        const double unseen = fold_below.back();
        const double n = total_of(seen_) - unseen;
        if (unseen < 1 || n < 1) return;
        std::vector<double> seen = seen_;
        for (std::size_t i = 0; i < seen.size(); ++i) seen[i] -= fold[i];
        std::vector<double> shares;
        // One thread of those that share the trials; nothing stops it.
        const PolyaTreeOptions trees = {n_ < kLargeSample ? kTrialTrees : 1,
                                        std::max(kLeastObservations, n * kFinestTrialShare),
                                        {},
                                        input_.effect};
        if (!fit(candidates[which], seen, n, trees, Control{}, &shares).ok())
          throw std::bad_alloc();
        const std::vector<double> share_below = sums_below(shares);
        const double two = difference(two_ends_, share_below, fold_below);
        const double one = difference(one_end_, share_below, fold_below);
        const auto twos = static_cast<double>(two_ends_.size());
        const auto ones = static_cast<double>(one_end_.size());
        double* sums = out + which * kNumbers;
        sums[0] += n * ((twos * two + ones * one) / std::max(twos + ones, 1.0) - 1 / unseen);
        sums[1] += n * (two - 1 / unseen);
        sums[2] += 1;
      } catch (const std::bad_alloc&) {
        no_memory = true;
      }
    };
    const auto fits = static_cast<std::int64_t>(candidates.size()) * folds;
    const Status s = ordered_sum(control_, fits, work, totals, {WorkUnit::steps, fits});
    if (!s.ok()) return s;
    if (no_memory) throw std::bad_alloc();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const double* sums = &totals[i * kNumbers];
      const double trials = std::max(sums[2], 1.0);
      errors->push_back({sums[0] / trials, sums[1] / trials});
    }
    return s;
  }

  Status choose() {
    std::vector<Candidate> candidates = {{}};
    for (const bool heaps : {false, true}) {
      if (heaps && periods_.empty()) break;
      for (int t = 0; t < static_cast<int>(smoothings_.size()); ++t)
        candidates.push_back({t, heaps});
    }
    std::vector<Errors> errors;
    if (Status s = try_out(candidates, &errors); !s.ok()) return s;
    // What any has that differs from the fold by nothing but the fold's own error.
    const double own = kFolds - 1;
    std::size_t best = 1;
    for (std::size_t i = 2; i < candidates.size(); ++i) {
      if (own + errors[i].all < kPreference * (own + errors[best].all)) best = i;
    }
    // All have what the folds happen to differ from the rest: the sample's own error is known to
    // be 1.
    const double own_luck = errors[0].all - 1;
    const double margin = cells_.size() <= kFewCells ? kSampleMarginOfFewCells : kSampleMargin;
    if (errors[best].all - own_luck > margin || different_ranges() < kLeastDifferentRanges)
      best = 0;
    error_ = 1 + errors[best].two_ends - errors[0].two_ends;
    best_ = candidates[best];
    return Status::success();
  }

  Status finish(AdaptiveEstimate* out) {
    const PolyaTreeOptions trees = {
        kTrees, std::max(kLeastObservations, n_ * kFinestShare), {}, input_.effect};
    if (Status s = fit(best_, cells_.count, n_, trees, control_, &out->share); !s.ok()) return s;
    const double f = std::clamp(input_.sampled_share, 0.0, 1.0);
    for (std::size_t i = 0; i < out->share.size(); ++i)
      out->share[i] = f * (cells_.count[i] / n_) + (1 - f) * out->share[i];
    const Smoothing& s = smoothings_[static_cast<std::size_t>(std::max(best_.transformation, 0))];
    out->bandwidth = s.h / s.transformation.slope(quantile(0.5));
    if (best_.transformation < 0) {
      out->is_sample = true;
      out->model = "the sample itself";
      return Status::success();
    }
    const bool plain = s.transformation.kind == Transformation::Kind::none;
    char text[200];
    std::snprintf(
        text, sizeof text,
        "the plug-in bandwidth%s%s%s, corrected by the sample; error %.2f of the sample's "
        "for ranges with two ends, the sample's own for others",
        plain ? "" : " on a scale of ", plain ? "" : transformation_name(s.transformation.kind),
        best_.heaps ? ", heaps" : "",
        std::sqrt(f + (1 - f) * std::clamp(error_, kLeastError, 1.0)));
    out->model = text;
    return Status::success();
  }

  const AdaptiveInput& input_;
  const Cells& cells_;
  const Control& control_;
  double n_ = 0;
  std::vector<double> below_;  // observations in all cells before
  std::vector<Transformation> transformations_;
  std::vector<Smoothing> smoothings_;
  std::vector<int> periods_;
  std::vector<Stretch> two_ends_, one_end_;
  std::vector<double> seen_;  // what is divided into folds
  std::vector<std::vector<double>> folds_;
  Candidate best_;
  double error_ = 1;  // squared, of ranges with two ends, over the sample's
};

}  // namespace

Status estimate_adaptively(const AdaptiveInput& input, const Control& control,
                           AdaptiveEstimate* out) {
  return Adaptive(input, control).run(out);
}

}  // namespace kde
