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
#include <cstdio>
#include <cstring>
#include <new>
#include <random>
#include <set>
#include <utility>

namespace kde {

namespace {

constexpr std::uint64_t kSeed = 0x6b64655f617170;
constexpr int kRanges = 400;         // that choose
constexpr int kRangesPerScale = 64;  // that measure the errors at each scale
constexpr double kLeastShare = 0.003, kMostShare = 0.1;
// Of the trees of each candidate; the estimate itself has kTrees.
constexpr int kTrialTrees = 2, kTrees = 8;
// Nodes with fewer than this share of the observations are not divided further: beyond what the
// knots of a stored density resolve.
constexpr double kFinestShare = 1.0 / 8192;
constexpr double kFinestTrialShare = 1.0 / 4096;
// From here on one halving and one tree tell enough.
constexpr double kLargeSample = 25000;
constexpr std::size_t kLeastNodes = 1024, kMostNodes = 16384;
constexpr double kNodesPerBandwidth = 4;
constexpr double kLeastNodesOfBody = 8;  // between the 5 % and the 95 % quantile
// A candidate takes the place of an earlier, simpler one only if its squared differences from the
// other half, the other half's own error included, are below this share of the other's.
constexpr double kPreference = 0.98;
// The raw sample is kept unless the best candidate's error is below this share of its own; where
// cells are few, so are the ranges that differ, and the evidence is worth less.
constexpr double kRawMargin = 0.95, kRawMarginOfFewCells = 0.75;
constexpr std::size_t kFewCells = 128;
constexpr double kLeastDifferentRanges = 12;
// Of the errors reported: what a scale's neighbours count for, standard errors added, the errors'
// growth from half the sample to the whole (a kernel estimate's, n^(1/5)), and the least. The
// margins are set by the coverage that `make accuracy` prints: there is no derivation.
constexpr double kNeighbourWeight = 0.5;
constexpr double kCountMargin = 1, kMeanMargin = 0.3;
constexpr double kGrowth = 1.15;
constexpr double kLeastError = 0.05;
// A range whose share differs by more than this factor is none of a scale; with fewer different
// ranges nothing is known.
constexpr double kOtherScale = 3;
constexpr double kLeastRanges = 4;
// Independent ranges that one range is worth over the halvings, at most.
constexpr double kTrialsWorth = 6;
constexpr double kLeastRowsOfMean = 7;

struct Candidate {
  int transformation = 0;  // index
  double multiple = 1;     // of the plug-in bandwidth; 0: the raw sample
  bool heaps = false;
  bool corrected = true;
  double raw_share = 0;  // of the raw sample mixed in
};

// A transformed line with its plug-in bandwidth.
struct Smoothing {
  Transformation transformation;
  LineSmoother smoother;
  double h;  // in t
};

// Cells [first, end).
struct Stretch {
  std::size_t first, end;
};

// Sums over trials, then means: of the ranges that choose, and at each scale with how many ranges
// they are of.
struct Errors {
  double choice;
  double count[kErrorScales], mean[kErrorScales];
  double counts_seen[kErrorScales], means_seen[kErrorScales];
};
constexpr std::size_t kErrorNumbers = sizeof(Errors) / sizeof(double);

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

// Sums of term(0 .. i - 1) less that of term(0 .. middle - 1), for i = 0 .. size: differences of
// two of them lose no digits to what lies far outside.
template <typename Term>
std::vector<double> outward_sums(std::size_t size, std::size_t middle, const Term& term) {
  std::vector<double> out(size + 1, 0);
  for (std::size_t i = middle; i < size; ++i) out[i + 1] = out[i] + term(i);
  for (std::size_t i = middle; i > 0; --i) out[i - 1] = out[i] - term(i - 1);
  return out;
}

class Adaptive {
 public:
  Adaptive(const AdaptiveInput& input, const Control& control)
      : input_(input), cells_(*input.cells), control_(control) {}

  Status run(AdaptiveEstimate* out) {
    n_ = total_of(cells_.count);
    below_.assign(cells_.size() + 1, 0);
    for (std::size_t i = 0; i < cells_.size(); ++i) below_[i + 1] = below_[i] + cells_.count[i];
    if (input_.sampled_share >= 1) {
      take_all(out);
      return Status::success();
    }
    choose_transformations();
    if (Status s = add_smoothings(); !s.ok()) return s;
    if (cells_.lattice) find_periods();
    choose_ranges();
    halvings_ = n_ < 2500 ? 6 : n_ < kLargeSample ? 3 : 1;
    if (Status s = choose(); !s.ok()) return s;
    return finish(out);
  }

 private:
  // Nothing is unseen.
  void take_all(AdaptiveEstimate* out) const {
    out->share = cells_.count;
    for (double& s : out->share) s /= n_;
    out->bandwidth = input_.plugin_bandwidth;
    for (int k = 0; k < kErrorScales; ++k) out->count_error[k] = out->mean_error[k] = 1;
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
      smoothings_.push_back({t, LineSmoother(cells_, t, nodes), h});
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

  Stretch range_at(double start, double share) const {
    const auto cell = [this](double q) {
      const auto at = std::upper_bound(below_.begin() + 1, below_.end() - 1, q * n_);
      return static_cast<std::size_t>(at - below_.begin()) - 1;
    };
    const std::size_t first = cell(start * (1 - share));
    const std::size_t end = cell(start * (1 - share) + share);
    return {first, std::max(end, first + 1)};
  }

  double share_of(const Stretch& r) const { return (below_[r.end] - below_[r.first]) / n_; }

  static double count_distinct(std::span<const Stretch> ranges) {
    std::set<std::pair<std::size_t, std::size_t>> different;
    for (const Stretch& r : ranges) different.emplace(r.first, r.end);
    return static_cast<double>(different.size());
  }

  void choose_ranges() {
    Random random(kSeed);
    std::vector<Stretch> others;
    for (int i = 0; i < 8 * kRanges && static_cast<int>(ranges_.size()) < kRanges; ++i) {
      const double share = kLeastShare * std::pow(kMostShare / kLeastShare, random.uniform());
      const Stretch r = range_at(random.uniform(), share);
      const double p = (below_[r.end] - below_[r.first]) / n_;
      (p >= kLeastShare / 2 && p <= 1.5 * kMostShare ? ranges_ : others).push_back(r);
    }
    if (ranges_.size() < 50) ranges_.insert(ranges_.end(), others.begin(), others.end());
    for (int s = 0; s < kErrorScales; ++s) {
      const double share = std::pow(0.25, s + 1);
      for (int i = 0; i < kRangesPerScale; ++i) {
        const Stretch r = range_at((i + random.uniform()) / kRangesPerScale, share);
        const double p = share_of(r);
        // A heavy value is a range of another scale.
        if (p > share / kOtherScale && p < share * kOtherScale) scale_ranges_[s].push_back(r);
      }
      distinct_ranges_[s] = count_distinct(scale_ranges_[s]);
    }
  }

  // What the candidate expects of n observations in the cells, before any correction.
  std::vector<double> centre_of(const Candidate& candidate, std::span<const double> counts,
                                double n) const {
    const Smoothing& s = smoothings_[static_cast<std::size_t>(candidate.transformation)];
    const double h = s.h * candidate.multiple * std::pow(n_ / n, 0.2);
    std::vector<double> centre = s.smoother.cell_masses(s.smoother.transform(counts), h);
    if (candidate.heaps) {
      const HeapPattern pattern = fit_heaps(cells_, counts, centre, periods_);
      const auto smooth_factor = smoothings_.front().smoother.cell_masses(
          smoothings_.front().smoother.transform(pattern.factor), smoothings_.front().h);
      centre = apply_heaps(centre, pattern.factor, smooth_factor);
    }
    for (std::size_t point : cells_.points) centre[point] = counts[point];
    return centre;
  }

  // The shares of the cells by this candidate, from n observations in the cells.
  Status fit(const Candidate& candidate, std::span<const double> counts, double n,
             const PolyaTreeOptions& trees, const Control& control,
             std::vector<double>* shares) const {
    if (candidate.multiple == 0) {
      shares->assign(counts.begin(), counts.end());
      for (double& x : *shares) x /= n;
      return Status::success();
    }
    std::vector<double> centre = centre_of(candidate, counts, n);
    if (candidate.corrected) {
      if (Status s = polya_tree(counts, centre, trees, control, shares); !s.ok()) return s;
    } else {
      const double total = total_of(centre);
      for (double& x : centre) x /= total;
      *shares = std::move(centre);
    }
    for (std::size_t i = 0; i < shares->size(); ++i)
      (*shares)[i] += candidate.raw_share * (counts[i] / n - (*shares)[i]);
    return Status::success();
  }

  // Divides the observations at random between two halves.
  void halve(int halving, std::vector<double>* one, std::vector<double>* other) const {
    std::mt19937_64 random(kSeed + 1 + static_cast<std::uint64_t>(halving));
    one->resize(cells_.size());
    other->resize(cells_.size());
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      (*one)[i] = fair_coins(cells_.count[i], &random);
      (*other)[i] = cells_.count[i] - (*one)[i];
    }
  }

  // The cell of the median, where the cells' unit has its origin.
  std::size_t middle_cell() const {
    return static_cast<std::size_t>(
        std::lower_bound(cells_.centre.begin(), cells_.centre.end(), 0.0) - cells_.centre.begin());
  }

  // How far the shares are from the counts of the other half.
  Errors compare(std::span<const double> shares, std::span<const double> counts) const {
    const double n = total_of(counts);
    const std::size_t middle = middle_cell();
    const auto below = [&](const auto& term) { return outward_sums(shares.size(), middle, term); };
    const auto share_below = below([&](std::size_t i) { return shares[i]; });
    const auto count_below = below([&](std::size_t i) { return counts[i] / n; });
    const auto share_moment = below([&](std::size_t i) { return shares[i] * cells_.centre[i]; });
    const auto count_moment =
        below([&](std::size_t i) { return counts[i] / n * cells_.centre[i]; });
    const auto count_square =
        below([&](std::size_t i) { return counts[i] / n * cells_.centre[i] * cells_.centre[i]; });
    Errors e{};
    double weight = 0;
    for (const Stretch& r : ranges_) {
      const double p = (below_[r.end] - below_[r.first]) / n_;
      if (!(p > 0 && p < 1)) continue;
      const double d =
          (share_below[r.end] - share_below[r.first]) - (count_below[r.end] - count_below[r.first]);
      e.choice += d * d * n / (p * (1 - p));
      weight += 1;
    }
    if (weight > 0) e.choice = e.choice / weight - 1;
    for (int s = 0; s < kErrorScales; ++s) {
      for (const Stretch& r : scale_ranges_[s]) {
        const double p = (below_[r.end] - below_[r.first]) / n_;
        if (!(p > 0 && p < 1) || p * n < 2) continue;
        const double share = share_below[r.end] - share_below[r.first];
        const double count = count_below[r.end] - count_below[r.first];
        e.count[s] += (share - count) * (share - count) * n / (p * (1 - p)) - 1;
        e.counts_seen[s] += 1;
        if (count * n < kLeastRowsOfMean || !(share > 0)) continue;
        const double mean = (count_moment[r.end] - count_moment[r.first]) / count;
        const double variance = (count_square[r.end] - count_square[r.first]) / count - mean * mean;
        const double width = cells_.edge[r.end] - cells_.edge[r.first];
        if (!(variance > 1e-6 * width * width)) continue;
        const double d = (share_moment[r.end] - share_moment[r.first]) / share - mean;
        // With the variance estimated from the same rows, the other half's own part is a squared
        // Student's t, whose mean is (m - 1)/(m - 3).
        e.mean[s] += d * d * (count * n - 3) / variance - 1;
        e.means_seen[s] += 1;
      }
    }
    return e;
  }

  // The mean errors of the candidates over all halvings, both ways.
  Status try_out(std::span<const Candidate> candidates, std::vector<Errors>* errors) {
    std::vector<double> totals(candidates.size() * kErrorNumbers);
    const std::int64_t trials = 2 * halvings_;
    std::atomic<bool> no_memory{false};
    const auto work = [&](std::int64_t item, double* out) {
      const auto which = static_cast<std::size_t>(item / trials);
      const int trial = static_cast<int>(item % trials);
      try {
        std::vector<double> seen, unseen;
        halve(trial / 2, &seen, &unseen);
        if (trial % 2 == 1) seen.swap(unseen);
        const double n = total_of(seen);
        if (n < 1 || n > n_ - 1) return;
        std::vector<double> shares;
        // One thread of those that share the trials; nothing stops it.
        const PolyaTreeOptions trees = {n_ < kLargeSample ? kTrialTrees : 1,
                                        std::max(1.0, n * kFinestTrialShare)};
        if (!fit(candidates[which], seen, n, trees, Control{}, &shares).ok())
          throw std::bad_alloc();
        const Errors e = compare(shares, unseen);
        std::memcpy(out + which * kErrorNumbers, &e, sizeof e);
      } catch (const std::bad_alloc&) {
        no_memory = true;
      }
    };
    const auto fits = static_cast<std::int64_t>(candidates.size()) * trials;
    const Status s = ordered_sum(control_, fits, work, totals, {WorkUnit::steps, fits});
    if (!s.ok()) return s;
    if (no_memory) throw std::bad_alloc();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      Errors e{};
      std::memcpy(&e, totals.data() + i * kErrorNumbers, sizeof e);
      e.choice /= static_cast<double>(trials);
      for (int k = 0; k < kErrorScales; ++k) {
        e.count[k] = e.counts_seen[k] > 0 ? e.count[k] / e.counts_seen[k] : -1;
        e.mean[k] = e.means_seen[k] > 0 ? e.mean[k] / e.means_seen[k] : -1;
      }
      errors->push_back(e);
    }
    return s;
  }

  // Takes the best of these, if it is better than what there is.
  Status consider(std::span<const Candidate> candidates) {
    std::vector<Errors> errors;
    if (Status s = try_out(candidates, &errors); !s.ok()) return s;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (chosen_any_ && !(1 + errors[i].choice < kPreference * (1 + best_errors_.choice)))
        continue;
      chosen_any_ = true;
      best_ = candidates[i];
      best_errors_ = errors[i];
    }
    return Status::success();
  }

  Status choose() {
    std::vector<Candidate> first;
    for (int t = 0; t < static_cast<int>(smoothings_.size()); ++t) {
      for (double multiple : {1.0, 0.5, 0.25}) first.push_back({t, multiple, false, true});
    }
    if (!periods_.empty()) {
      for (int t = 0; t < static_cast<int>(smoothings_.size()); ++t)
        first.push_back({t, 1.0, true, true});
    }
    first.push_back({0, 1.0, false, false});
    if (Status s = consider(first); !s.ok()) return s;
    std::vector<Candidate> mixed;
    for (double share : {0.25, 0.5}) {
      mixed.push_back(best_);
      mixed.back().raw_share = share;
    }
    if (Status s = consider(mixed); !s.ok()) return s;
    std::vector<Errors> raw;
    if (Status s = try_out(std::vector<Candidate>{{0, 0.0, false, false}}, &raw); !s.ok()) return s;
    const double margin = cells_.size() <= kFewCells ? kRawMarginOfFewCells : kRawMargin;
    if (best_errors_.choice > margin * raw[0].choice ||
        count_distinct(ranges_) < kLeastDifferentRanges) {
      best_ = {0, 0.0, false, false};
      best_errors_ = raw[0];
    }
    return Status::success();
  }

  // Each scale's error from its own and its neighbours' ranges, as many as are independent, with a
  // margin for how well that is known; then of what is stored.
  void report_errors(double f, AdaptiveEstimate* out) const {
    const bool raw = best_.multiple == 0;
    const auto fill = [&](const double(&error)[kErrorScales], const double(&seen)[kErrorScales],
                          double margin, float(&ratio)[kErrorScales]) {
      for (int k = 0; k < kErrorScales; ++k) {
        double sum = 0, weight = 0;
        for (int j = 0; j < kErrorScales; ++j) {
          if (seen[j] <= 0) continue;
          const double independent =
              std::min({std::pow(4.0, j + 1), kTrialsWorth * distinct_ranges_[j], seen[j] / 2});
          const double w = independent * std::pow(kNeighbourWeight, std::abs(j - k));
          sum += w * error[j];
          weight += w;
        }
        double r = 1;
        if (!raw && weight >= kLeastRanges) {
          r = std::max(sum / weight, 0.0);
          r += margin * (1 + r) * std::sqrt(2 / weight);
          r = std::clamp(r * kGrowth, kLeastError, 1.2);
        }
        ratio[k] = static_cast<float>(f + (1 - f) * r);
      }
    };
    fill(best_errors_.count, best_errors_.counts_seen, kCountMargin, out->count_error);
    fill(best_errors_.mean, best_errors_.means_seen, kMeanMargin, out->mean_error);
    // Where the ranges hold too few rows for a mean to be judged, it is no better than the count.
    for (int k = 0; k < kErrorScales; ++k) {
      if (best_errors_.means_seen[k] <= 0)
        out->mean_error[k] = std::max(out->mean_error[k], out->count_error[k]);
    }
  }

  Status finish(AdaptiveEstimate* out) {
    const PolyaTreeOptions trees = {kTrees, std::max(1.0, n_ * kFinestShare)};
    if (Status s = fit(best_, cells_.count, n_, trees, control_, &out->share); !s.ok()) return s;
    const double f = std::clamp(input_.sampled_share, 0.0, 1.0);
    for (std::size_t i = 0; i < out->share.size(); ++i)
      out->share[i] = f * (cells_.count[i] / n_) + (1 - f) * out->share[i];
    const Smoothing& s = smoothings_[static_cast<std::size_t>(best_.transformation)];
    out->bandwidth =
        s.h * (best_.multiple > 0 ? best_.multiple : 1) / s.transformation.slope(quantile(0.5));
    report_errors(f, out);
    char text[200];
    if (best_.multiple == 0) {
      std::snprintf(text, sizeof text, "the sample itself");
    } else {
      std::snprintf(
          text, sizeof text, "%g times the plug-in bandwidth%s%s%s%s%s; error %.2f of the sample's",
          best_.multiple,
          s.transformation.kind == Transformation::Kind::none ? "" : " on a scale of ",
          s.transformation.kind == Transformation::Kind::none
              ? ""
              : transformation_name(s.transformation.kind),
          best_.heaps ? ", heaps" : "", best_.corrected ? ", corrected by the sample" : "",
          best_.raw_share > 0 ? ", mixed with the sample" : "",
          std::sqrt(f + (1 - f) * std::max(best_errors_.choice, kLeastError)));
    }
    out->model = text;
    return Status::success();
  }

  const AdaptiveInput& input_;
  const Cells& cells_;
  const Control& control_;
  double n_ = 0;
  std::vector<double> below_;
  std::vector<Transformation> transformations_;
  std::vector<Smoothing> smoothings_;
  std::vector<int> periods_;
  std::vector<Stretch> ranges_;
  std::vector<Stretch> scale_ranges_[kErrorScales];
  double distinct_ranges_[kErrorScales] = {};
  int halvings_ = 1;
  bool chosen_any_ = false;
  Candidate best_;
  Errors best_errors_{};
};

}  // namespace

Status estimate_adaptively(const AdaptiveInput& input, const Control& control,
                           AdaptiveEstimate* out) {
  return Adaptive(input, control).run(out);
}

}  // namespace kde
