// The bandwidths and matrices that the textbook's formulas take.
#pragma once

#include <span>
#include <vector>

namespace kde::bench {

// h0 of lscv.h: the bandwidth, in units of the covariance, that suits a normal sample.
double normal_reference(int n, int d);

// What a search over bandwidths tries: `count` >= 2 of them, evenly from a quarter of
// normal_reference to four times that.
std::vector<double> bandwidths(int n, int d, int count);

// Of the covariance (divisor n - 1) of n points, n x d, row-major; d x d.
std::vector<double> inverse_covariance(std::span<const double> points, int d);

// Of L L', L lower triangular, d x d, row-major.
std::vector<double> inverse_of_product(std::span<const double> factor, int d);

}  // namespace kde::bench
