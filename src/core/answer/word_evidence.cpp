// See word_evidence.h.
#include "core/answer/word_evidence.h"

#include "core/answer/interval_parts.h"
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
    return out;
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

 private:
  double most_of_all(double confidence, double z) const {
    if (!(h_.rows > 0)) return std::min<double>(z * z * words_.header().unseen_one, h_.nulls);
    IntervalOptions options;
    options.confidence = confidence;
    return interval_of(Wanted::count, density_, Range(), options).upper;
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

bool asks_nothing(const WordSet& set) { return set.ranks.empty() && set.unknown == 0; }

// Of the rows of those values so many as have a y: their share varies as draws do.
Interval count_measured(const DensityView& density, const WordsView& words,
                        const MeasureView& measure, const WordSet& set,
                        const IntervalOptions& options) {
  const Rows known(density, words, set);
  const Interval all = known.interval(options);
  if (measure.header().nulls == 0) return all;
  const double rows = words_measure_moments(density, words, measure, set).count;
  Errors less_sampled(known.inflation()), more_sampled(known.inflation());
  double stored = 0;
  for_parts(density, words, measure, set, [&](const Range& range, const RangeMoments&, double s) {
    const Interval own = evidence_of(Wanted::count, density, measure, range, options).count;
    const double error = measure_count_error(density, measure, range);
    stored += s * error;
    less_sampled.add(s * std::max(own.estimate - own.lower - error, 0.0));
    more_sampled.add(s * std::max(own.upper - own.estimate - error, 0.0));
  });
  double fewer = stored + less_sampled.all();
  double more = stored + more_sampled.all();
  fewer = std::max(fewer, all.estimate > 0 ? (all.estimate - all.lower) * rows / all.estimate : 0);
  more = std::max(more, all.upper - all.estimate);
  return {rows, std::max(rows - fewer, 0.0), rows + more};
}

// Of several values the mean: by those of each, and by how many rows each has.
void add_means(const DensityView& density, const WordsView& words, const MeasureView& measure,
               const WordSet& set, const IntervalOptions& options, bool several, Evidence* e) {
  const Rows rows(density, words, set);
  Errors within(rows.inflation()), between(rows.inflation());
  for (const std::uint32_t rank : set.ranks) {
    const Evidence own = evidence_of(Wanted::mean, density, measure, rank_alone(rank), options);
    if (!(own.rows > 0)) continue;
    const double share = own.rows / e->rows;
    e->stored_mean.below += share * own.stored_mean.below;
    e->stored_mean.above += share * own.stored_mean.above;
    within.add(share * own.sampled.below);
    if (!several) continue;
    const std::uint32_t alone[] = {rank};
    const Interval count = count_measured(density, words, measure, {alone, 0}, options);
    const double off = std::max(count.upper - count.estimate, count.estimate - count.lower);
    between.add(std::fabs(own.mean - e->mean) * off / e->rows);
  }
  const double sampled = std::hypot(within.all(), between.all());
  e->sampled = {sampled, sampled};
  e->stored_sum = {e->stored_mean.below * e->rows, e->stored_mean.above * e->rows};
}

// That of each value, and of how far their means are from the whole's, which the means' own errors
// and those of the counts move.
double variance_half(const DensityView& density, const WordsView& words, const MeasureView& measure,
                     const WordSet& set, const IntervalOptions& options, bool several,
                     const Evidence& e) {
  double half = 0;
  for_parts(density, words, measure, set,
            [&](const Range& range, const RangeMoments& m, double share) {
              if (!(m.finite > 0)) return;
              const Evidence own = evidence_of(Wanted::variance, density, measure, range, options);
              half += m.finite * share / e.rows * own.variance_half;
            });
  if (!several) return half;
  Evidence fitted = e;
  fitted.changed = {};
  const Interval mean = interval_of(Wanted::mean, fitted);
  const double off = std::max(mean.upper - mean.estimate, mean.estimate - mean.lower);
  const double width = measure.header().max - measure.header().min;
  return half + off * (2 * width + off);
}

}  // namespace

Evidence evidence_of(Wanted, const DensityView& density, const WordsView& words, const WordSet& set,
                     const IntervalOptions& options) {
  Evidence e;
  if (asks_nothing(set)) return e;
  e.changed = changed_rows(true, kInfinity, -kInfinity, options);
  e.count = Rows(density, words, set).interval(options);
  return e;
}

Evidence evidence_of(Wanted wanted, const DensityView& density, const WordsView& words,
                     const MeasureView& measure, const WordSet& set,
                     const IntervalOptions& options) {
  Evidence e;
  if (asks_nothing(set)) return e;
  // Of everything, whatever the value; its bounds are those of any.
  const Evidence all = evidence_of(Wanted::sum, density, measure, Range(), options);
  e.changed = all.changed;
  e.values = all.values;
  e.count = count_measured(density, words, measure, set, options);
  if (wanted == Wanted::count) return e;
  const RangeMoments m = words_measure_moments(density, words, measure, set);
  const Rows rows(density, words, set);
  e.unseen = m.finite > 0
                 ? rows.not_known(normal_central_quantile(options.confidence)) + rows.others()
                 : e.count.upper;
  e.unseen_values = e.values;
  if (!(m.finite > 0)) return e;
  e.rows = m.finite;
  e.mean = e.varying = m.mean;
  e.more = {m.mean, m.mean};
  e.variance = m.variance;
  const bool several = set.ranks.size() > 1 || std::min(set.unknown, words.others()) > 0;
  add_means(density, words, measure, set, options, several, &e);
  if (wanted >= Wanted::variance)
    e.variance_half = variance_half(density, words, measure, set, unchanged(options), several, e);
  return e;
}

double words_count(const DensityView& density, const WordsView& words, const WordSet& set) {
  return Rows(density, words, set).estimate();
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

double words_spread(const DensityView& density, const WordsView& words, const WordSet& set) {
  return Rows(density, words, set).spread();
}

double most_unseen(const WordsHeader& words, double confidence) {
  return words.unseen + normal_central_quantile(confidence) * words.unseen_error;
}

}  // namespace kde
