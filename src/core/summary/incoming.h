// What is merged into a summary's cells, cell by cell: distinct rows in order, or the cells of
// another summary.
//
// The receiving cells may end within a cell that comes: then it is taken in parts, a part of a
// range having its share of the rows by width. The count at such an end is known within
//   max(slack of the range's lower end + s, slack of its upper end + rows - s),
// s the rows below the end: the truth lies between the counts at the range's ends.
#pragma once

#include "core/summary/summary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace kde {

// Of `rows` spread evenly over (low, high], those at or below x; a whole number if `whole`.
inline double share_below(double x, double low, double high, double rows, bool whole) {
  // Halves, as the difference may overflow.
  const double width = high / 2 - low / 2;
  if (x >= high || !(width > 0)) return rows;
  const double share = rows * std::clamp((x / 2 - low / 2) / width, 0.0, 1.0);
  return whole ? std::nearbyint(share) : share;
}

// A bound rounded up to single precision, as far as that goes.
inline float slack_above(double bound) {
  if (!(bound < std::numeric_limits<float>::max())) return std::numeric_limits<float>::max();
  const auto rounded = static_cast<float>(bound);
  return rounded >= bound ? rounded : std::nextafter(rounded, INFINITY);
}

class Incoming {
 public:
  // A part of a cell, or all of it.
  struct Piece {
    double value;  // upper end
    double rows;
    bool point;
    float slack;  // at the upper end
  };

  // value: ascending; rows: of points negative, as in CellArrays; slack: null for none.
  // whole: shares of the rows are to be whole numbers.
  Incoming(const double* value, const double* rows, const float* slack, std::size_t size,
           bool whole)
      : value_(value), rows_(rows), slack_of_(slack), size_(size), whole_(whole) {}

  std::size_t left() const { return size_ - next_; }
  // The next `cells` are a stretch, which take() does not go beyond; at its end slack() is 0.
  void begin_stretch(std::size_t cells) { end_ = next_ + cells; }
  bool at_end() const { return next_ == end_; }
  double stretch_rows() const {
    double sum = 0;
    for (std::size_t i = next_; i < end_; ++i) sum += std::fabs(rows_[i]);
    return sum;
  }
  // Receiving cells that end before this, or at it if it is not inclusive, are not touched by the
  // stretch.
  double low() const { return next_ > 0 ? value_[next_ - 1] : value_[next_]; }
  bool low_inclusive() const { return next_ == 0 || value_[next_ - 1] == value_[next_]; }

  // The rows of the stretch up to x that were not taken yet, of points at x if `inclusive`; stops
  // adding beyond `enough`.
  double rows_until(double x, bool inclusive, double enough) const {
    double sum = 0;
    for (std::size_t i = next_; i < end_ && sum <= enough; ++i) {
      const double v = value_[i];
      if (rows_[i] < 0) {
        if (!(inclusive ? v <= x : v < x)) break;
        sum -= rows_[i];
      } else {
        if (!(start(i) < x)) break;
        sum += share_below(x, start(i), v, rows_[i], whole_) - (i == next_ ? taken_ : 0);
      }
    }
    return sum;
  }

  // Takes the next piece up to x, cut there if need be; false if there is none.
  bool take(double x, bool inclusive, Piece* piece) {
    if (next_ == end_) return false;
    const double v = value_[next_];
    const double rows = rows_[next_];
    if (rows < 0) {
      if (!(inclusive ? v <= x : v < x)) return false;
      *piece = {v, -rows, true, slack_at(next_)};
      advance();
      return true;
    }
    const double from = start(next_);
    if (v <= x) {
      *piece = {v, rows - taken_, false, slack_at(next_)};
      advance();
      return true;
    }
    const double share = share_below(x, from, v, rows, whole_);
    if (!(x > from) || !(x > cut_)) return false;
    const double low_slack = next_ > 0 ? slack_at(next_ - 1) : 0;
    cut_slack_ = slack_above(std::max(low_slack + share, slack_at(next_) + (rows - share)));
    *piece = {x, share - taken_, false, cut_slack_};
    taken_ = share;
    cut_ = x;
    return true;
  }

  // Bound for the error of the count of all that was taken so far.
  float slack() const {
    if (slack_of_ == nullptr || next_ == size_) return 0;
    if (cut_ > -INFINITY) return cut_slack_;
    return next_ > 0 ? slack_at(next_ - 1) : 0;
  }

 private:
  float slack_at(std::size_t i) const { return slack_of_ != nullptr ? slack_of_[i] : 0; }
  double start(std::size_t i) const { return i > 0 ? value_[i - 1] : value_[i]; }
  void advance() {
    ++next_;
    taken_ = 0;
    cut_ = -INFINITY;
  }

  const double* value_;
  const double* rows_;
  const float* slack_of_;
  std::size_t size_;
  bool whole_;
  std::size_t next_ = 0, end_ = 0;
  // Of the next cell: rows taken, and up to where; -infinity if none were.
  double taken_ = 0, cut_ = -INFINITY;
  float cut_slack_ = 0;
};

}  // namespace kde
