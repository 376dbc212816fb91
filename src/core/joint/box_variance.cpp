// The boxes of box_variance.h, and their residuals.
#include "core/joint/box_variance.h"

#include "core/random.h"
#include "core/sampling/block_variance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace kde {

namespace {

// Centres for every two columns: as many as make kBoxes of all pairs, within these.
constexpr std::size_t kBoxes = 192, kLeastCentres = 4, kMostCentres = 48;
constexpr std::size_t kMostRows = 16384;  // of the sample
// Fewer rows do not tell whether they lie together (block_variance.cpp).
constexpr std::size_t kLeastRows = 8;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The mean over boxes.
struct Tally {
  double sum[kErrorScales] = {};
  int boxes[kErrorScales] = {};

  void add(int scale, double effect) {
    if (!std::isfinite(effect)) return;
    sum[scale] += effect;
    ++boxes[scale];
  }
  // Scales without boxes have the effect of the one before; of a category, none of whose values may
  // have so many rows, those before the first have that one's.
  BoxEffects effects(double q, bool category = false) const {
    BoxEffects out;
    double effect = 1;
    for (int i = kErrorScales - 1; category && i >= 0; --i) {
      if (boxes[i] > 0) effect = without_thinning(sum[i] / boxes[i], q);
    }
    for (int i = 0; i < kErrorScales; ++i) {
      if (boxes[i] > 0) effect = without_thinning(sum[i] / boxes[i], q);
      out[static_cast<std::size_t>(i)] = static_cast<float>(effect);
    }
    return out;
  }
};

class Boxes {
 public:
  Boxes(const JointSample& sample, std::uint64_t seed)
      : sample_(sample),
        d_(static_cast<std::size_t>(sample.columns)),
        n_(std::min(static_cast<std::size_t>(sample.rows), kMostRows)),
        random_(seed ^ 0x510e527fade682d1u),
        drawn_in_(sample.block_rows.size()),
        in_box_(sample.block_rows.size()),
        residual_(sample.block_rows.size()),
        rank_(d_) {
    // Rows lie in a reservoir in no order but that of the first ones.
    std::vector<std::uint32_t> all(static_cast<std::size_t>(sample.rows));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>(i);
    for (std::size_t i = 0; i < n_; ++i) std::swap(all[i], all[i + random_.below(all.size() - i)]);
    rows_.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n_));
    for (const std::uint32_t row : rows_) ++drawn_in_[sample.row_block[row]];
  }

  // False if control asked to stop.
  bool run(const Control& control, BoxVariance* out) {
    for (std::size_t k = 0; k < d_; ++k) {
      if (control.stop_requested()) return false;
      rank_column(k);
    }
    std::vector<Tally> count, mean(2 * d_);
    const std::size_t pairs = std::max<std::size_t>(d_ * (d_ - 1) / 2, 1);
    const std::size_t centres =
        std::clamp((kBoxes + pairs - 1) / pairs, kLeastCentres, kMostCentres);
    for (std::size_t k = 0; k < d_; ++k) {
      for (std::size_t j = 0; j <= k; ++j) {
        Tally tally;  // of boxes on one column: a marginal's
        for (std::size_t i = 0; i < centres; ++i) {
          if (control.stop_requested()) return false;
          add_boxes(j, k, &tally, &mean);
        }
        if (j < k) count.push_back(tally);
      }
    }
    const double q =
        std::min(static_cast<double>(n_) / static_cast<double>(sample_.rows_read), 1.0);
    std::size_t pair = 0;
    for (std::size_t k = 1; k < d_; ++k) {
      for (std::size_t j = 0; j < k; ++j)
        out->count.push_back(
            count[pair++].effects(q, sample_.is_category(j) || sample_.is_category(k)));
    }
    for (const Tally& t : mean) out->mean.push_back(t.effects(q));
    return true;
  }

 private:
  struct Near {
    double distance;
    std::uint32_t row;
  };

  double value(std::uint32_t row, std::size_t k) const {
    const bool null = (sample_.null[row] >> k & 1) != 0;
    return null ? kNan : sample_.value[row * d_ + k];
  }

  // Of each of rows_ the share of the finite values that are less, equal ones by half; NaN of what
  // is not finite.
  void rank_column(std::size_t k) {
    std::vector<double> sorted;
    for (const std::uint32_t row : rows_) {
      if (std::isfinite(value(row, k))) sorted.push_back(value(row, k));
    }
    std::sort(sorted.begin(), sorted.end());
    rank_[k].assign(static_cast<std::size_t>(sample_.rows), kNan);
    for (const std::uint32_t row : rows_) {
      const double x = value(row, k);
      if (!std::isfinite(x)) continue;
      const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), x);
      rank_[k][row] = static_cast<double>((first - sorted.begin()) + (last - sorted.begin())) /
                      (2 * static_cast<double>(sorted.size()));
    }
  }

  // Of two rows on a column; infinite where one is in no box about the other.
  double distance(std::uint32_t row, std::uint32_t centre, std::size_t k) const {
    const double d = std::fabs(rank_[k][row] - rank_[k][centre]);
    return sample_.is_category(k) && d > 0 ? kInfinity : d;
  }

  // About one row, of all scales; on one column where j is k.
  void add_boxes(std::size_t j, std::size_t k, Tally* count, std::vector<Tally>* mean) {
    const std::uint32_t centre = rows_[random_.below(rows_.size())];
    const double aspect = std::exp(random_.uniform() - 0.5);
    near_.clear();
    for (const std::uint32_t row : rows_) {
      const double both = std::max(distance(row, centre, j) * aspect, distance(row, centre, k));
      const double other = rank_[j][row] + rank_[k][row];  // NaN where one is
      if (both >= 0 && both < kInfinity && other >= 0) near_.push_back({both, row});
    }
    std::size_t t = random_.below(d_);
    std::size_t held = near_.size();
    for (int scale = 0; scale < kErrorScales; ++scale) {
      const auto wanted =
          static_cast<std::size_t>(std::pow(0.25, scale + 1) * static_cast<double>(n_));
      if (wanted < kLeastRows) return;
      if (wanted >= held) continue;
      // Equal values are all in the box.
      const auto at = [this](std::size_t i) {
        return near_.begin() + static_cast<std::ptrdiff_t>(i);
      };
      std::nth_element(at(0), at(wanted), at(held),
                       [](const Near& a, const Near& b) { return a.distance < b.distance; });
      const double reach = near_[wanted].distance;
      held = static_cast<std::size_t>(
          std::partition(at(wanted), at(held),
                         [reach](const Near& a) { return a.distance <= reach; }) -
          near_.begin());
      if (2 * held > n_) continue;
      count->add(scale, count_effect(held));
      for (const std::size_t target : {j, k, t}) {
        if (sample_.is_category(target)) continue;
        (*mean)[2 * target + (target == j || target == k)].add(scale, mean_effect(held, target));
      }
    }
  }

  // The first `held` of near_ are in the box.
  double count_effect(std::size_t held) {
    std::fill(in_box_.begin(), in_box_.end(), 0);
    for (std::size_t i = 0; i < held; ++i) in_box_[sample_.row_block[near_[i].row]] += 1;
    const double p = static_cast<double>(held) / static_cast<double>(n_);
    for (std::size_t b = 0; b < residual_.size(); ++b) residual_[b] = in_box_[b] - p * drawn_in_[b];
    const double blocks = static_cast<double>(residual_.size());
    return variance_by_differences(residual_) * blocks / (static_cast<double>(n_) * p * (1 - p));
  }

  double mean_effect(std::size_t held, std::size_t target) {
    double rows = 0, mean = 0;
    for (std::size_t i = 0; i < held; ++i) {
      const double y = value(near_[i].row, target);
      if (std::isfinite(y)) mean += (y - mean) / ++rows;
    }
    std::fill(residual_.begin(), residual_.end(), 0);
    double squares = 0;
    for (std::size_t i = 0; i < held; ++i) {
      const double y = value(near_[i].row, target);
      if (!std::isfinite(y)) continue;
      residual_[sample_.row_block[near_[i].row]] += y - mean;
      squares += (y - mean) * (y - mean);
    }
    // Not a number where squares overflow, or where there is nothing to vary.
    return variance_by_differences(residual_) * static_cast<double>(residual_.size()) / squares;
  }

  const JointSample& sample_;
  const std::size_t d_, n_;
  Random random_;
  std::vector<std::uint32_t> rows_;  // of the sample
  std::vector<double> drawn_in_;     // rows of rows_ in each block
  std::vector<double> in_box_, residual_;
  std::vector<std::vector<double>> rank_;
  std::vector<Near> near_;
};

}  // namespace

bool estimate_box_variance(const JointSample& sample, std::uint64_t seed, const Control& control,
                           BoxVariance* out) {
  *out = {};
  const auto d = static_cast<std::size_t>(sample.columns);
  if (sample.block_rows.size() >= 3 && sample.rows >= 4 * static_cast<std::int64_t>(kLeastRows))
    return Boxes(sample, seed).run(control, out);
  BoxEffects one;
  one.fill(1);
  out->count.assign(d * (d - 1) / 2, one);
  out->mean.assign(2 * d, one);
  return true;
}

}  // namespace kde
