// How often 95 % intervals hold the truth, and how wide they are beside a textbook's.
//
// The textbook's, of a raw sample of n of N rows, k of them in the range, f = 1 - n/N (the finite
// population's correction):
//   COUNT  Wilson's at k/n with n/f rows: E. B. Wilson, JASA 22 (1927)
//   SUM    N mean(y) +- z N s_y sqrt(f/n), y = x in the range and 0 elsewhere; s_y^2 has divisor
//   n-1 AVG    mean +- z s sqrt(f/k) of the k rows; s^2 has divisor k-1; none for k < 2
#pragma once

#include "core/answer/column_evidence.h"

#include "errors.h"

#include <array>
#include <optional>
#include <vector>

namespace kde::accuracy {

// The 0.975 quantile of the normal distribution: 95 % lie within +- that.
inline constexpr double kNormal95 = 1.959963984540054;

// By the fraction of the rows that a range holds.
inline constexpr int kClasses = 3;
inline constexpr std::array<const char*, kClasses> kClassNames = {"0.3-1 %", "1-3 %", "3-10 %"};
int class_of(double fraction);  // up to 0.01, up to 0.03, above

// {} where there is none.
std::optional<Interval> textbook_interval(Quantity quantity, const Slice& slice,
                                          std::size_t sample_rows, std::size_t rows);

// That of the stored density; {} where it has no ends. It may have where the estimate is NaN.
std::optional<Interval> density_interval(Quantity quantity, const DensityView& density,
                                         const Range& range);

// Whether the truth is in it, but for what rounding of the last digits does: 1e-9 of the rows
// (COUNT), of the sum of |x| (SUM), of the larger end of the range (AVG).
bool covers(const Interval& interval, Quantity quantity, const Question& question);

struct Tally {
  long covered = 0, total = 0;

  void add(bool is_covered) {
    ++total;
    if (is_covered) ++covered;
  }
  void add(const Tally& other) {
    covered += other.covered;
    total += other.total;
  }
  double share() const;  // NaN of none
};

// Of one quantity: what is counted of each question and sample.
struct Coverage {
  std::array<Tally, kClasses> density, textbook;
  std::array<std::vector<float>, kClasses> width_ratio;  // density's over textbook's

  void add(const Coverage& other);
  Tally density_total() const;
  Tally textbook_total() const;
  std::vector<double> width_ratios() const;  // of all classes
};

// Adds the question's intervals, `ours` being the density's. Not for AVG where all rows in the
// range are equal. A missing interval of the density does not cover; one of the textbook is not
// counted. The ratio of widths is taken where the textbook's is not 0.
void count_question(Quantity quantity, const std::optional<Interval>& ours, const Slice& slice,
                    std::size_t sample_rows, std::size_t rows, const Question& question,
                    Coverage* coverage);
void count_question(Quantity quantity, const DensityView& density, const Slice& slice,
                    std::size_t sample_rows, std::size_t rows, const Question& question,
                    Coverage* coverage);

}  // namespace kde::accuracy
