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

// Of errors of several values, at one confidence: those of values that vary by themselves in
// quadrature; as much more as counts of these values vary together; all together at most.
class Errors {
 public:
  explicit Errors(double inflation) : inflation_(inflation) {}
  void add(double error) {
    sum_ += error;
    squares_ += error * error;
  }
  double all() const { return std::min(sum_, std::sqrt(inflation_ * squares_)); }

 private:
  double inflation_;
  double sum_ = 0, squares_ = 0;
};

// Rows of values together, and how their count varies.
struct Counted {
  double rows = 0;
  double varied = 0;      // rows times spreads
  double deviations = 0;  // standard deviations, of the share of all rows, as of one draw
  int values = 0;

  void add(double own_rows, double all_rows, double spread) {
    const double p = std::min(own_rows / all_rows, 1.0);
    rows += own_rows;
    varied += own_rows * spread;
    deviations += std::sqrt(p * (1 - p) * spread);
    ++values;
  }
  // Of each by itself: the mean.
  double own() const { return rows > 0 ? varied / rows : 0; }
  // Of all: their standard deviations at most add up, and no combination has more than `most`.
  double together(double all_rows, double most) const {
    const double p = rows / all_rows;
    if (values < 2 || !(p < 1)) return own();
    return std::max(own(), std::min(deviations * deviations / (p * (1 - p)), most));
  }
};

// The rows of a set of values.
class Rows {
 public:
  Rows(const DensityView& density, const WordsView& words, const WordSet& set)
      : density_(density), h_(density.header()), words_(words), set_(set) {
    for (const std::uint32_t rank : set.ranks) {
      const double rows = of_rank(rank);
      if (!(rows > 0)) {
        ++unmet_;
        continue;
      }
      const double spread = words.spread(rank);
      all_.add(rows, h_.rows, spread);
      if (sampled() && is_of_one_block(rows, spread))
        of_one_block_ += rows;
      else
        of_more_.add(rows, h_.rows, spread);
    }
    known_ = all_.rows;
    others_ = std::min(set.unknown, words.others());
    if (others_ > 0) others_rows_ = of_rank(words.others_rank()) * others_ / words.others();
  }

  double of_rank(double rank) const { return kde::count(density_, rank_alone(rank)); }
  double estimate() const { return known_ + others_rows_; }
  double others() const { return others_rows_; }
  double spread() const { return sampled() ? spread(all_) : 0; }
  bool sampled() const { return (h_.flags & kEveryRowRead) == 0; }
  // The variance of their count over what it were if each varied by itself.
  double inflation() const { return all_.own() > 0 ? std::max(spread(all_) / all_.own(), 1.0) : 1; }

  Interval interval(const IntervalOptions& options) const {
    if (set_.ranks.empty() && set_.unknown == 0) return {};
    const double z = normal_central_quantile(options.confidence);
    Interval out = {known_, known_, known_};
    if (h_.rows > 0 && sampled() && known_ > 0) {
      const double p = std::min(known_ / h_.rows, 1.0);
      double low;
      double high;
      wilson_interval(p, unit_variance(p, spread(all_)), z, &low, &high);
      if (low < p) out.lower = lower(z);
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
    // Rows that were read are there.
    if (sampled()) out.lower = std::max(out.lower, (known_ - stored) * share_read());
    out.lower = std::clamp(out.lower, 0.0, out.estimate);
    // And no list has more than the table; where all that was read is NULL, no more than one value
    // may have, as no block with any was met.
    out.upper = std::min(out.upper, most_of_all(options.confidence, z));
    out.upper = std::max(out.upper, out.estimate);
    words_changed_rows(set_, options).count(&out);
    return out;
  }

 private:
  double most_of_all(double confidence, double z) const {
    if (!(h_.rows > 0)) return std::min<double>(z * z * words_.header().unseen_one, h_.nulls);
    IntervalOptions options;
    options.confidence = confidence;
    return count_interval(density_, Range(), options).upper;
  }
  double share_read() const { return h_.rows > 0 ? std::min(h_.sample_rows / h_.rows, 1.0) : 1; }
  double spread(const Counted& counted) const {
    return counted.together(h_.rows, words_.header().most_spread);
  }
  // In how many blocks values were met that vary so, if each has as many rows of them: c rows in a
  // block are c^2 of the variance of (1 - f) sum c^2 that spread stands for.
  double blocks_met(double rows, double spread) const {
    const double f = share_read();
    return spread > 0 ? rows * f * (1 - f) / spread : kInfinity;
  }
  // spread is rounded up by an eighth of a power of two at most.
  bool is_of_one_block(double rows, double spread) const { return blocks_met(rows, spread) < 1.1; }

  // A sample has the most of the values that it meets: of all that it met in one block alone the
  // estimates are too high by the rows of those that it did not meet (I. J. Good, as in words.h).
  // So the least there may be of them is what was read. Others are known by as many draws as there
  // are blocks, by Student's quantile.
  double lower(double z) const {
    const double read = of_one_block_ * share_read();
    const double p = std::min(of_more_.rows / h_.rows, 1.0);
    if (!(p > 0)) return read;
    const double own = spread(of_more_);
    const double blocks = blocks_met(of_more_.rows, own);
    if (!(blocks > 1)) return read + of_more_.rows * share_read();
    double low;
    double high;
    wilson_interval(p, unit_variance(p, own), z + student_excess(z, blocks - 1), &low, &high);
    return read + low * h_.rows;
  }

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
  Counted all_, of_more_;    // of words that are kept: all, and those met in several blocks
  double of_one_block_ = 0;  // rows of the others of them
  double known_ = 0;         // rows of all_
  double unmet_ = 0;         // words that are kept and have no rows
  double others_ = 0;        // of those unknown, as many as were met at most
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
      : measure_(measure), changed_(words_measure_changed_rows(density, measure, set, options)) {
    const IntervalOptions given = unchanged(options);
    moments_ = words_measure_moments(density, words, measure, set);
    count_ = words_measure_count_interval(density, words, measure, set, given);
    const Rows rows(density, words, set);
    Errors within(rows.inflation()), between(rows.inflation());
    const double others = std::min(set.unknown, words.others());
    for (const std::uint32_t rank : set.ranks) {
      const Range range = rank_alone(rank);
      const RangeMoments m = measure_moments(density, measure, range);
      if (!(m.finite > 0)) continue;
      const MeanErrors errors = measure_mean_errors(density, measure, range, given);
      const double share = m.finite / moments_.finite;
      low_ += share * errors.below;
      high_ += share * errors.above;
      within.add(share * errors.sampled);
      if (set.ranks.size() < 2 && !(others > 0)) continue;
      const std::uint32_t alone[] = {rank};
      const Interval own = words_measure_count_interval(density, words, measure, {alone, 0}, given);
      const double off = std::max(own.upper - own.estimate, own.estimate - own.lower);
      between.add(std::fabs(m.mean - moments_.mean) * off / moments_.finite);
    }
    is_sampled_ = rows.sampled();
    sampled_ = std::hypot(within.all(), between.all());
    // Values that are not kept may have any y.
    const double missing = set.unknown > 0 ? count_.upper - count_.estimate : 0;
    const double unknown = set.unknown > 0 ? missing + rows.others() : 0;
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
  // As of the fit.
  bool may_be_there() const { return count_.upper > 0; }
  const ChangedRows& changed() const { return changed_; }
  double width() const { return measure_.header().max - measure_.header().min; }

  // As of the fit, like the next.
  Interval mean() const {
    return {moments_.mean, moments_.mean - low_ - sampled_, moments_.mean + high_ + sampled_};
  }

  Interval sum() const {
    const double mean = moments_.mean;
    const double rows = moments_.finite;
    const double fewer = count_.estimate - count_.lower;
    const double more = count_.upper - count_.estimate;
    const double magnitude = std::fabs(mean);
    Interval out = {mean * rows, mean * rows, mean * rows};
    const double sampled = sampled_ * rows;
    out.lower -= std::hypot(magnitude * (mean > 0 ? fewer : more), sampled) + low_ * rows;
    out.upper += std::hypot(magnitude * (mean > 0 ? more : fewer), sampled) + high_ * rows;
    const MeasureHeader& h = measure_.header();
    // Of every row: a sum of what is never negative, or never positive.
    if (!is_sampled_ && h.min >= 0) out.lower = std::max(out.lower, std::min(0.0, out.estimate));
    if (!is_sampled_ && h.max <= 0) out.upper = std::min(out.upper, std::max(0.0, out.estimate));
    return out;
  }

 private:
  const MeasureView& measure_;
  ChangedRows changed_;
  RangeMoments moments_;
  Interval count_;
  bool is_sampled_ = false;
  // Of the mean: bounds, and what sampling does at the confidence asked for.
  double low_ = 0, high_ = 0, sampled_ = 0;
};

Interval nothing(bool may_be_there, double least) {
  if (!may_be_there) return {kNan, kNan, kNan};
  return {kNan, least, kInfinity};
}

}  // namespace

ChangedRows words_changed_rows(const WordSet& set, const IntervalOptions& options) {
  if (set.ranks.empty() && set.unknown == 0) return {};
  return changed_rows(true, kInfinity, -kInfinity, options);
}

ChangedRows words_measure_changed_rows(const DensityView& density, const MeasureView& measure,
                                       const WordSet& set, const IntervalOptions& options) {
  if (set.ranks.empty() && set.unknown == 0) return {};
  return measure_changed_rows(density, measure, Range(), options);
}

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
  if (measure.header().nulls == 0) return words_count_interval(density, words, set, options);
  Interval out = words_count_interval(density, words, set, unchanged(options));
  // Of the rows of those values so many as have a y: their share varies as draws do.
  const double rows = words_measure_moments(density, words, measure, set).count;
  const IntervalOptions given = unchanged(options);
  const double inflation = Rows(density, words, set).inflation();
  Errors less_sampled(inflation), more_sampled(inflation);
  double stored = 0;
  for_parts(density, words, measure, set, [&](const Range& range, const RangeMoments&, double s) {
    const Interval own = measure_count_interval(density, measure, range, given);
    const double error = measure_mean_errors(density, measure, range, given).rows;
    stored += s * error;
    less_sampled.add(s * std::max(own.estimate - own.lower - error, 0.0));
    more_sampled.add(s * std::max(own.upper - own.estimate - error, 0.0));
  });
  double fewer = stored + less_sampled.all();
  double more = stored + more_sampled.all();
  fewer = std::max(fewer, out.estimate > 0 ? (out.estimate - out.lower) * rows / out.estimate : 0);
  more = std::max(more, out.upper - out.estimate);
  out = {rows, std::max(rows - fewer, 0.0), rows + more};
  words_changed_rows(set, options).count(&out);
  return out;
}

Interval words_measure_mean_interval(const DensityView& density, const WordsView& words,
                                     const MeasureView& measure, const WordSet& set,
                                     const IntervalOptions& options) {
  const Measured measured(density, words, measure, set, options);
  Interval out = measured.any() ? measured.mean() : nothing(measured.may_be_there(), -kInfinity);
  measured.changed().mean(measured.any() ? measured.count().lower : 0, &out);
  return out;
}

Interval words_measure_sum_interval(const DensityView& density, const WordsView& words,
                                    const MeasureView& measure, const WordSet& set,
                                    const IntervalOptions& options) {
  const Measured measured(density, words, measure, set, options);
  Interval out = measured.any() ? measured.sum() : nothing(measured.may_be_there(), -kInfinity);
  measured.changed().sum(&out);
  return out;
}

Interval words_measure_variance_interval(const DensityView& density, const WordsView& words,
                                         const MeasureView& measure, const WordSet& set,
                                         const IntervalOptions& options) {
  const Measured measured(density, words, measure, set, options);
  if (!measured.any()) {
    Interval out = nothing(measured.may_be_there(), 0);
    measured.changed().variance(0, &out);
    return out;
  }
  const IntervalOptions given = unchanged(options);
  // Of several values: that of each, and of how far their means are from the whole's, which the
  // means' own errors and those of the counts move.
  const RangeMoments& all = measured.moments();
  double low = 0, high = 0;
  for_parts(density, words, measure, set,
            [&](const Range& range, const RangeMoments& m, double share) {
              if (!(m.finite > 0)) return;
              const Interval own = measure_variance_interval(density, measure, range, given);
              const double part = m.finite * share / all.finite;
              low += part * (own.estimate - own.lower);
              high += part * (own.upper - own.estimate);
            });
  const bool several = set.ranks.size() > 1 || set.unknown > 0;
  if (several) {
    const Interval mean = measured.mean();
    const double off = std::max(mean.upper - mean.estimate, mean.estimate - mean.lower);
    const double half = off * (2 * measured.width() + off);
    low += half;
    high += half;
  }
  Interval out = {all.variance, std::max(all.variance - low, 0.0), all.variance + high};
  measured.changed().variance(measured.count().lower, &out);
  return out;
}

double words_spread(const DensityView& density, const WordsView& words, const WordSet& set) {
  return Rows(density, words, set).spread();
}

double most_unseen(const WordsHeader& words, double confidence) {
  return words.unseen + normal_central_quantile(confidence) * words.unseen_error;
}

}  // namespace kde
