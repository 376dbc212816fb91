// Exact totals of finite values: rows, sum, sum of squares, least and greatest.
//
// The sums are pairs of doubles, the second holding what rounding took from the first (two-sum and
// two-product: T. J. Dekker, Numer. Math. 18, 1971; D. E. Knuth, The Art of Computer Programming,
// vol. 2, section 4.2.2): some 100 bits, so that sums of whole numbers are exact. Where all values
// lie far from 0 they are of distances from that which is nearest to it, so that a variance
// survives values however far from 0 beside their spread. Where values are so large that their
// squares overflow, all are counted in units of 2^600; squares that underflow then are nothing
// beside those.
#pragma once

#include "core/room.h"

#include <cstdint>
#include <limits>
#include <span>

namespace kde {

// A value and what it counts for: its rows, or its share of them.
struct WeightedValue {
  double value;
  double weight;
};

// Rows that are no finite values.
struct SpecialRows {
  double nulls = 0, nans = 0, negative_infinities = 0, positive_infinities = 0;
};

// high + low, |low| about an ulp of high at most.
struct DoubleDouble {
  double high = 0, low = 0;

  void add(double x) {
    const double sum = high + x;
    const double part = sum - high;
    low += (high - (sum - part)) + (x - part);
    high = sum;
  }
  void add(const DoubleDouble& other) {
    add(other.high);
    low += other.low;
  }
  double value() const { return high + low; }
};

class SummaryTotals {
 public:
  // values: finite. weights: as many, > 0, or none for ones.
  void add(std::span<const double> values, std::span<const double> weights);
  void merge(const SummaryTotals& other);
  // Of what is known by its moments alone. variance may be infinite (it overflowed). scale: all were
  // whole multiples of 1 / scale, so that their sum is, which the mean tells; 0: of none known.
  void merge(double rows, double count, double min, double max, double mean, double variance,
             double scale = 0);
  // Rows that were merged, of which it has more, are no more among them: those that stay lie in what
  // narrow() then says. As before any where none stays.
  void take_out(double rows, double min, double max, double mean, double variance,
                double scale = 0);
  void narrow(double min, double max);
  // Whether its mean and variance are as good as those of `before`, of which it is what stayed.
  bool keeps_digits_of(const SummaryTotals& before, double scale) const;

  double rows() const { return rows_.value(); }  // weighted
  double count() const { return count_; }        // rows as they came, whatever their weight
  double min() const { return min_; }            // infinity where there are no rows
  double max() const { return max_; }
  // Of at least one row; within [min, max].
  double mean() const;
  // Divisor rows; infinite where it overflows.
  double variance() const;

  // Whether numbers of unknown origin can be totals.
  bool valid() const;

 private:
  static SummaryTotals of(double rows, double count, double min, double max, double mean,
                          double variance, double scale);
  void no_less_than_nothing();
  void rescale();
  double unit() const;
  void move_origin(double to);

  DoubleDouble rows_;
  double count_ = 0;
  DoubleDouble sum_, squares_;  // of x - origin_, in units of 2^600 and 2^1200 if large_
  double origin_ = 0;           // in units of 2^600 if large_
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
  std::uint64_t large_ = 0;  // 0 or 1
};

}  // namespace kde
