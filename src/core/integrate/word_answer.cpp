// The answers of word_answer.h.
#include "core/integrate/word_answer.h"

#include "core/integrate/interval_parts.h"
#include "core/kernel/normal.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Range rank_alone(double rank) {
  Range r;
  r.lower = r.upper = rank;
  r.lower_unbounded = r.upper_unbounded = false;
  return r;
}

// The rows of a set of values.
class Rows {
 public:
  Rows(const DensityView& density, const WordsView& words, const WordSet& set)
      : density_(density), h_(density.header()), words_(words), set_(set) {
    double varied = 0;
    for (const std::uint32_t rank : set.ranks) {
      const double rows = of_rank(rank);
      if (rows > 0)
        varied += rows * words.spread(rank);
      else
        ++unmet_;
      known_ += rows;
    }
    own_ = known_ > 0 ? varied / known_ : 0;
    others_ = std::min(set.unknown, words.others());
    if (others_ > 0) others_rows_ = of_rank(words.others_rank()) * others_ / words.others();
  }

  double of_rank(double rank) const { return kde::count(density_, rank_alone(rank)); }
  double estimate() const { return known_ + others_rows_; }
  double others() const { return others_rows_; }
  bool sampled() const { return (h_.flags & kEveryRowRead) == 0; }

  Interval interval(const IntervalOptions& options) const {
    if (set_.ranks.empty() && set_.unknown == 0) return {};
    const double z = normal_central_quantile(options.confidence);
    Interval out = {known_, known_, known_};
    if (h_.rows > 0 && sampled() && known_ > 0) {
      const double p = std::min(known_ / h_.rows, 1.0);
      double low;
      double high;
      wilson_interval(p, unit_variance(p, own_), z, &low, &high);
      if (low < p) out.lower = low * h_.rows;
      if (high > p) out.upper = high * h_.rows;
    }
    if (h_.rows_variance > 0) {
      const double all = z * std::sqrt(h_.rows_variance) * known_;
      out.lower = known_ - std::hypot(known_ - out.lower, all);
      out.upper = known_ + std::hypot(out.upper - known_, all);
    }
    const double stored = 2 * h_.error * h_.rows * static_cast<double>(set_.ranks.size());
    out.lower -= stored;
    out.upper += stored + not_known(z);
    out.estimate = estimate();
    out.lower = std::clamp(out.lower, 0.0, out.estimate);
    if (h_.rows_variance == 0) out.upper = std::min(out.upper, h_.rows);
    out.upper = std::max(out.upper, out.estimate);
    out.lower = std::max(out.lower - options.changed_rows, 0.0);
    out.upper += options.changed_rows;
    return out;
  }

 private:
  double unit_variance(double p, double own) const {
    const double v =
        std::max<double>(ratio_at(h_.count_variance[static_cast<int>(Shape::two_ends)], p), own);
    return v > 0 && h_.sample_rows > 0 ? v / h_.sample_rows : 0;
  }

  // Rows at most of what was asked for and is not kept, or was not met.
  double not_known(double z) const {
    const WordsHeader& w = words_.header();
    if (!sampled()) return std::min(others_ * w.others_most, of_rank(words_.others_rank()));
    const double unseen = z * z * w.unseen_one;
    double most = unseen;
    if (words_.others() > 0 && h_.rows > 0) {
      double low;
      double high;
      const double p = std::min(w.others_most / h_.rows, 1.0);
      const double together = w.unseen_one * h_.sample_rows / h_.rows;
      wilson_interval(p, unit_variance(p, together), z, &low, &high);
      most = std::max(most, high * h_.rows);
    }
    return unmet_ * unseen + set_.unknown * most;
  }

  const DensityView& density_;
  const Header& h_;
  const WordsView& words_;
  const WordSet& set_;
  double known_ = 0;   // rows of words that are kept
  double own_ = 0;     // their spread
  double unmet_ = 0;   // words that are kept and have no rows
  double others_ = 0;  // of those unknown, as many as were met at most
  double others_rows_ = 0;
};

// A measure over a set of values: each rank's part.
template <typename Visit>
void for_parts(const DensityView& density, const WordsView& words, const MeasureView& measure,
               const WordSet& set, Visit visit) {
  for (const std::uint32_t rank : set.ranks) {
    const Range range = rank_alone(rank);
    visit(range, measure_moments(density, measure, range), 1.0);
  }
  const double others = std::min(set.unknown, words.others());
  if (!(others > 0)) return;
  const Range range = rank_alone(words.others_rank());
  visit(range, measure_moments(density, measure, range), others / words.others());
}

class Measured {
 public:
  Measured(const DensityView& density, const WordsView& words, const MeasureView& measure,
           const WordSet& set, const IntervalOptions& options)
      : measure_(measure) {
    IntervalOptions given = options;
    given.changed_rows = 0;
    moments_ = words_measure_moments(density, words, measure, set);
    count_ = words_measure_count_interval(density, words, measure, set, given);
    double between = 0;
    const double others = std::min(set.unknown, words.others());
    for (const std::uint32_t rank : set.ranks) {
      const Range range = rank_alone(rank);
      const RangeMoments m = measure_moments(density, measure, range);
      if (!(m.finite > 0)) continue;
      const Interval mean = measure_mean_interval(density, measure, range, given);
      const double share = m.finite / moments_.finite;
      low_ += share * (m.mean - mean.lower);
      high_ += share * (mean.upper - m.mean);
      if (set.ranks.size() < 2 && !(others > 0)) continue;
      const std::uint32_t alone[] = {rank};
      const Interval own = words_measure_count_interval(density, words, measure, {alone, 0}, given);
      const double off = std::max(own.upper - own.estimate, own.estimate - own.lower);
      between += std::pow((m.mean - moments_.mean) * off / moments_.finite, 2);
    }
    between = std::sqrt(between);
    low_ += between;
    high_ += between;
    // Values that are not kept may have any y.
    const double missing = set.unknown > 0 ? count_.upper - count_.estimate : 0;
    const double unknown = set.unknown > 0 ? missing + Rows(density, words, set).others() : 0;
    if (unknown > 0) {
      const MeasureHeader& h = measure.header();
      const double share = std::min(unknown / std::max(moments_.finite, unknown), 1.0);
      low_ += share * (moments_.mean - std::min(h.min, moments_.mean));
      high_ += share * (std::max(h.max, moments_.mean) - moments_.mean);
    }
  }

  const RangeMoments& moments() const { return moments_; }
  const Interval& count() const { return count_; }
  bool any() const { return moments_.finite > 0; }
  bool may_be_there(const IntervalOptions& options) const {
    return count_.upper + options.changed_rows > 0;
  }
  double width() const { return measure_.header().max - measure_.header().min; }

  Interval mean(const IntervalOptions& options) const {
    Interval out = {moments_.mean, moments_.mean - low_, moments_.mean + high_};
    if (options.changed_rows > 0) {
      const double fewest = std::max(count_.lower - options.changed_rows, 0.0);
      const double half =
          width() > 0 ? (fewest > 0 ? options.changed_rows / fewest : kInfinity) * width() : 0;
      out.lower -= half;
      out.upper += half;
    }
    return out;
  }

  Interval sum(const IntervalOptions& options) const {
    const double mean = moments_.mean;
    const double rows = moments_.finite;
    const double fewer = count_.estimate - count_.lower;
    const double more = count_.upper - count_.estimate;
    const double magnitude = std::fabs(mean);
    Interval out = {mean * rows, mean * rows, mean * rows};
    out.lower -= std::hypot(magnitude * (mean > 0 ? fewer : more), low_ * rows);
    out.upper += std::hypot(magnitude * (mean > 0 ? more : fewer), high_ * rows);
    if (options.changed_rows > 0) {
      const MeasureHeader& h = measure_.header();
      const double half =
          options.changed_rows * std::max({std::fabs(h.min), std::fabs(h.max), width()});
      out.lower -= half;
      out.upper += half;
    }
    return out;
  }

 private:
  const MeasureView& measure_;
  RangeMoments moments_;
  Interval count_;
  double low_ = 0, high_ = 0;  // of the mean
};

Interval nothing(bool may_be_there, double least) {
  if (!may_be_there) return {kNan, kNan, kNan};
  return {kNan, least, kInfinity};
}

}  // namespace

double words_count(const DensityView& density, const WordsView& words, const WordSet& set) {
  return Rows(density, words, set).estimate();
}

Interval words_count_interval(const DensityView& density, const WordsView& words,
                              const WordSet& set, const IntervalOptions& options) {
  return Rows(density, words, set).interval(options);
}

RangeMoments words_measure_moments(const DensityView& density, const WordsView& words,
                                   const MeasureView& measure, const WordSet& set) {
  RangeMoments out;
  double sum = 0;
  for_parts(density, words, measure, set, [&](const Range&, const RangeMoments& m, double share) {
    out.count += m.finite * share;
    sum += m.mean * m.finite * share;
  });
  out.finite = out.count;
  if (!(out.finite > 0)) return out;
  out.mean = sum / out.finite;
  double squares = 0;
  for_parts(density, words, measure, set, [&](const Range&, const RangeMoments& m, double share) {
    squares += m.finite * share * (m.variance + (m.mean - out.mean) * (m.mean - out.mean));
  });
  out.variance = squares / out.finite;
  return out;
}

Interval words_measure_count_interval(const DensityView& density, const WordsView& words,
                                      const MeasureView& measure, const WordSet& set,
                                      const IntervalOptions& options) {
  Interval out = words_count_interval(density, words, set, options);
  if (measure.header().nulls == 0) return out;
  // Of the rows of those values so many as have a y: their share varies as draws do.
  const double rows = words_measure_moments(density, words, measure, set).count;
  IntervalOptions given = options;
  given.changed_rows = 0;
  double fewer = 0, more = 0;
  for_parts(density, words, measure, set, [&](const Range& range, const RangeMoments&, double s) {
    const Interval own = measure_count_interval(density, measure, range, given);
    fewer += s * (own.estimate - own.lower);
    more += s * (own.upper - own.estimate);
  });
  fewer = std::max(fewer, out.estimate > 0 ? (out.estimate - out.lower) * rows / out.estimate : 0);
  more = std::max(more, out.upper - out.estimate);
  return {rows, std::max(rows - fewer - options.changed_rows, 0.0),
          rows + more + options.changed_rows};
}

Interval words_measure_mean_interval(const DensityView& density, const WordsView& words,
                                     const MeasureView& measure, const WordSet& set,
                                     const IntervalOptions& options) {
  const Measured measured(density, words, measure, set, options);
  if (!measured.any()) return nothing(measured.may_be_there(options), -kInfinity);
  return measured.mean(options);
}

Interval words_measure_sum_interval(const DensityView& density, const WordsView& words,
                                    const MeasureView& measure, const WordSet& set,
                                    const IntervalOptions& options) {
  const Measured measured(density, words, measure, set, options);
  if (!measured.any()) return nothing(measured.may_be_there(options), -kInfinity);
  return measured.sum(options);
}

Interval words_measure_variance_interval(const DensityView& density, const WordsView& words,
                                         const MeasureView& measure, const WordSet& set,
                                         const IntervalOptions& options) {
  const Measured measured(density, words, measure, set, options);
  if (!measured.any()) return nothing(measured.may_be_there(options), 0);
  // Of several values: that of each, and of how far their means are from the whole's, which the
  // means' own errors and those of the counts move.
  const RangeMoments& all = measured.moments();
  double low = 0, high = 0;
  for_parts(density, words, measure, set,
            [&](const Range& range, const RangeMoments& m, double share) {
              if (!(m.finite > 0)) return;
              const Interval own = measure_variance_interval(density, measure, range, options);
              const double part = m.finite * share / all.finite;
              low += part * (own.estimate - own.lower);
              high += part * (own.upper - own.estimate);
            });
  const bool several = set.ranks.size() > 1 || set.unknown > 0;
  if (several) {
    const Interval mean = measured.mean(options);
    const double off = std::max(mean.upper - mean.estimate, mean.estimate - mean.lower);
    const double half = off * (2 * measured.width() + off);
    low += half;
    high += half;
  }
  return {all.variance, std::max(all.variance - low, 0.0), all.variance + high};
}

double most_unseen(const WordsHeader& words, double confidence) {
  return words.unseen + normal_central_quantile(confidence) * words.unseen_error;
}

}  // namespace kde
