// Evidence added up: of several groups, values of a list, or parts of a range, whose rows are
// disjoint.
//
//   count, sum  of rows that were drawn one by one (evidence.h) the variance of all parts is
//
//                 N^2 u (Q - A^2),   Q = sum p (s^2 + m^2),   A = sum p m,
//
//               with p the share of a part, m and s its values' mean and deviation, of a count 1 and
//               0 (W. G. Cochran, Sampling Techniques, 1977, section 2.11); of a count Wilson's
//               interval in its place. By what the interval of a part is wider than that, its blocks'
//               effect say, is added up end to end, as it may go the same way in all, and is added in
//               quadrature. Where rows were not drawn the intervals are added end to end
//   mean        of one part its own. Of several, where part i has n_i rows of n with the mean m_i, is as
//               far off as its parts' means, and their numbers of rows, are:
//
//                 d = (sum (n_i + |dn_i|) |dm_i| + sum |dn_i| |m_i - m|)/(n - |dn|)
//
//               but for rows drawn one by one, of which the variance is u (Q/P - (A/P)^2)/P, P = sum
//               p. Where the mean of a part is not known, the quotient of sum and count, each as far
//               off as it may be: |d(s/n)| <= (|ds| + |s/n| |dn|)/(n - |dn|)
//   most rows   are counted by all rows and those that they leave out: the errors of large parts all
//               but cancel, and do not tell what blocks do to few rows
//   changed     k rows changed since however many parts there are: what they may do comes to all of
//               them at the end
#pragma once

#include "core/answer/interval.h"

#include <limits>

namespace kde {

// Adds an interval, or, out, takes out what is a part of it.
void add_up(Interval* to, const Interval& x, bool out = false);

// How far off a sum over parts may be.
class PartErrors {
 public:
  // alone: by rows that were drawn one by one. What it is more.
  Reach add(const Interval& part, const Reach& alone);
  // alone: of all parts.
  Reach together(const Reach& alone) const;

 private:
  Reach ends_, beyond_;  // added up: of what each part has, and of what that is more
};

class Total {
 public:
  // As of the fit, until as_of_now(). Of no part all 0.
  Interval count = {0, 0, 0};  // of rows with a value
  Interval sum = {0, 0, 0};
  Interval mean = {0, 0, 0};
  ChangedRows changed;

  // Of rows alone. drawn: none where that is not known. out: of parts that were not added, but are in
  // one that was; what is left is asked for.
  void add_count(const Interval& more, const ChangedRows& by, const DrawnRows& drawn,
                 bool out = false);
  // Of values: `by` in the place of the evidence's changes; wants_mean: else no mean is made.
  void add(const Evidence& evidence, const ChangedRows& by, bool wants_mean);

  // Rows that are counted apart; or, out, some of these rows, of which the other total is. Its changes
  // are none. mean: of what is left.
  void add(const Total& other, bool out);

  // With what the rows changed may do. NaN estimates where there was no row.
  Total as_of_now() const;

 private:
  // Whether they are of the sample that the parts before are of.
  bool are_drawn(const DrawnRows& from);
  Reach alone_of_count(double rows) const;
  // Of so many rows whose differences from middle_, and these squared, have those sums.
  double alone_of_sum(double rows, double off, double squares) const;
  double alone_of_mean(double rows, double off, double squares) const;
  Reach add_rows(const Interval& more, const DrawnRows& drawn, bool out);
  void set_count();
  void set_sum();
  void set_mean();

  DrawnRows drawn_;     // of the first part
  double counted_ = 0;  // rows drawn
  // The mean of the first part with values, NaN before: sums of squares about it lose no digits.
  double middle_ = std::numeric_limits<double>::quiet_NaN();
  // Rows drawn that have values, their differences from it, and these squared.
  double rows_ = 0, off_ = 0, squares_ = 0;
  PartErrors count_errors_, sum_errors_;
  // Of the mean: whether that of each part is known, sum (n_i + |dn_i|) |dm_i| + |dn_i| |m_i - middle_|,
  // and sum |dn_i|.
  bool has_means_ = true;
  double of_means_ = 0, of_counts_ = 0;
};

}  // namespace kde
