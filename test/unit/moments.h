// Mean and standard deviation in passes over the data, never by sum(x^2) - n mean^2, which cancels
// (the one-pass formula of Andrzejewski, Gramacki & Gramacki, AMCS 23(4), 2013, eq. (6)).
//
// The mean is refined once, mean += sum (x - mean)/n, and the squares are corrected for what error
// it still has: sum (x - mean)^2 - [sum (x - mean)]^2 / n. Source: Chan, Golub & LeVeque,
// "Algorithms for computing the sample variance", The American Statistician 37 (1983).
#pragma once

#include <cmath>
#include <span>

namespace kde {

struct Moments {
  double mean = 0;
  double sd = 0;  // divisor n - 1; 0 for n < 2
};

// x: finite values. Accurate at any scale and offset that double represents without overflow of
// (x - mean)^2; callers with extreme scales rescale by a power of two first.
inline Moments two_pass_moments(std::span<const double> x) {
  Moments moments;
  if (x.empty()) return moments;
  const double n = static_cast<double>(x.size());

  double sum = 0;
  for (const double v : x) sum += v;
  moments.mean = sum / n;

  // After this step the mean of equal values is that value exactly, and their sd exactly 0.
  double rest = 0;
  for (const double v : x) rest += v - moments.mean;
  moments.mean += rest / n;
  if (x.size() < 2) return moments;

  double squares = 0;
  rest = 0;
  for (const double v : x) {
    const double d = v - moments.mean;
    squares += d * d;
    rest += d;
  }
  const double variance = (squares - rest * rest / n) / (n - 1);
  moments.sd = variance > 0 ? std::sqrt(variance) : 0;
  return moments;
}

}  // namespace kde
