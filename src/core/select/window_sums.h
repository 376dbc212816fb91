// Internal to src/core/select: sums over the pairs of a sorted sample that lie within a window,
//
//   sum_{j < i, (x_i - x_j)/h <= s} w_i w_j f((x_i - x_j)/h),
//
// for a function that separates, f(p - y) = sum_k a_k(p) b_k(y): a polynomial, b_k = y^k and a_k(p)
// = (-1)^k f^(k)(p)/k!, or one of the cosine kernel's. O(n) for each h.
//
// The sample is cut into blocks no wider than the window, so that the window below x_i is the end
// of one block and the beginning of the next: both are running sums of w_j b_k(y_j) about the
// block's middle, one from the right and one from the left. Nothing is ever subtracted from a sum,
// and |y| <= s/2, |p| <= 3s/2 whatever the sample's range: what cancels in a_k(p) b_k(y) is a few
// digits. (Moments about one centre would lose all of them, and moments carried along with the
// window drift.)
#pragma once

#include "core/control.h"
#include "core/room.h"
#include "core/status.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

namespace kde {

// f(a) = sum_k c_k a^k, degree Terms - 1.
template <std::size_t Terms>
struct Polynomial {
  std::array<double, Terms> c;

  static constexpr std::size_t kTerms = Terms;

  static void basis(double y, double* b) {
    b[0] = 1;
    for (std::size_t k = 1; k < Terms; ++k) b[k] = b[k - 1] * y;
  }

  // f^(k)(p)/k! by repeated division by (a - p).
  double combine(double p, const double* sums) const {
    std::array<double, Terms> t = c;
    double total = 0;
    double sign = 1;
    for (std::size_t k = 0; k < Terms; ++k) {
      for (std::size_t i = Terms - 1; i > k; --i) t[i - 1] += p * t[i];
      total += sign * t[k] * sums[k];
      sign = -sign;
    }
    return total;
  }
};

// f(a) = (constant + linear a) cos(pi a/2) + sine sin(pi a/2).
struct Sinusoid {
  double constant = 0, linear = 0, sine = 0;

  static constexpr std::size_t kTerms = 4;

  static void basis(double y, double* b) {
    const double v = std::numbers::pi / 2 * y;
    b[0] = std::cos(v);
    b[1] = std::sin(v);
    b[2] = y * b[0];
    b[3] = y * b[1];
  }

  double combine(double p, const double* sums) const {
    const double c = std::cos(std::numbers::pi / 2 * p);
    const double s = std::sin(std::numbers::pi / 2 * p);
    // cos and sin of pi (p - y)/2, and y times the cosine, summed over y.
    const double cosines = c * sums[0] + s * sums[1];
    const double sines = s * sums[0] - c * sums[1];
    const double y_cosines = c * sums[2] + s * sums[3];
    return (constant + linear * p) * cosines - linear * y_cosines + sine * sines;
  }
};

// x: ascending, finite. weights: as many, or none for ones. Throws std::bad_alloc.
template <typename Function>
Status window_sum(const Function& f, std::span<const double> x, std::span<const double> weights,
                  double h, double window, const Control& control, double* sum) {
  constexpr std::size_t kTerms = Function::kTerms;
  constexpr std::size_t kPointsPerPoll = 8192;  // about a millisecond
  using Sums = std::array<double, kTerms>;
  const auto weight = [&](std::size_t i) { return weights.empty() ? 1.0 : weights[i]; };

  *sum = 0;
  std::vector<Sums> tails;  // of the block before: sums over its points from here to its end
  std::size_t tail_begin = 0;
  std::size_t lowest = 0;  // of the window below x_i
  for (std::size_t begin = 0; begin < x.size();) {
    const auto to_y = [&](double v, std::size_t block) {
      return (v - x[block]) / h - window / 2;  // about the block's middle
    };
    const auto add = [&](std::size_t i, Sums* to) {
      Sums b;
      Function::basis(to_y(x[i], begin), b.data());
      for (std::size_t k = 0; k < kTerms; ++k) (*to)[k] += weight(i) * b[k];
    };
    Sums head{};
    std::size_t i = begin;
    for (; i < x.size() && (x[i] - x[begin]) / h <= window; ++i) {
      if (i % kPointsPerPoll == 0 && control.stop_requested())
        return Status::error(Code::cancelled, "cancelled");
      while ((x[i] - x[lowest]) / h > window) ++lowest;
      double below = f.combine(to_y(x[i], begin), head.data());
      if (lowest < begin)
        below += f.combine(to_y(x[i], tail_begin), tails[lowest - tail_begin].data());
      *sum += weight(i) * below;
      add(i, &head);
    }
    tails.resize(i - begin);
    Sums tail{};
    for (std::size_t j = i; j-- > begin;) {
      add(j, &tail);
      tails[j - begin] = tail;
    }
    tail_begin = begin;
    begin = i;
  }
  return Status::success();
}

}  // namespace kde
