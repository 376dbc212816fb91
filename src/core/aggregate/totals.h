// Exact totals of finite values: rows, sum, sum of squares, least and greatest.
//
// The sums are pairs of doubles, the second holding what rounding took from the first (two-sum,
// two-product: T. J. Dekker, Numer. Math. 18, 1971; D. E. Knuth, TAOCP vol. 2, section 4.2.2): some
// 100 bits, so that a variance survives values a million million times their spread, and sums of
// whole numbers are exact. Values whose squares would overflow count by their distance from the
// origin in units of 2^600.
#pragma once

#include "core/room.h"

#include <cmath>
#include <limits>

namespace kde {

// high + low, |low| <= ulp(high)/2.
struct DoubleDouble {
  double high = 0, low = 0;

  void add(double x) {
    const double sum = high + x;
    const double part = sum - high;
    low += (high - (sum - part)) + (x - part);
    high = sum;
  }
  // a b, to the last bit.
  void add_product(double a, double b) {
    const double product = a * b;
    low += std::fma(a, b, -product);
    add(product);
  }
  void add(const DoubleDouble& other) {
    add(other.high);
    low += other.low;
  }
  double value() const { return high + low; }
};

struct Totals {
  double rows = 0;   // weighted
  double count = 0;  // rows as they came, whatever their weight
  DoubleDouble sum, squares;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
};

}  // namespace kde
