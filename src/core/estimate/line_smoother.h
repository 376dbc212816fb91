// A Gaussian kernel estimate on a transformed line, on a grid, for many bandwidths of one sample.
//
// The sample's cells are put on a grid of `nodes` equal steps of t = T(x) between the ends of the
// support, each divided between the two nearest nodes so that its mean stays; the grid is reflected
// at both ends (no mass outside; Silverman, Density Estimation, 1986, section 2.10) and
// smoothed by its cosine transform: coefficient k times exp(-(pi k h)^2 / 2), h in units of the
// support's width. A transformation makes the bandwidth vary with x, as h / T'(x): narrow where a
// skewed column is dense, wide in its tail (M. P. Wand, J. S. Marron & D. Ruppert, Transformations
// in density estimation, JASA 86, 1991).
#pragma once

#include "core/estimate/cells.h"

#include <kissfft/kissfft.hh>

#include <complex>
#include <span>
#include <vector>

namespace kde {

// x to t, strictly increasing.
struct Transformation {
  enum class Kind { none, log_right, log_left, arsinh };
  Kind kind = Kind::none;
  // log_right: log(x - origin), log_left: -log(origin - x), arsinh: arsinh((x - origin) / scale).
  double origin = 0, scale = 1;

  double operator()(double x) const;
  double slope(double x) const;  // dt/dx
};

const char* transformation_name(Transformation::Kind kind);

class LineSmoother {
 public:
  // cells, whose edges are the support, must outlive the smoother. nodes: a power of two.
  LineSmoother(const Cells& cells, const Transformation& transformation, std::size_t nodes);

  double width() const { return width_; }  // of the support in t

  // The cosine transform of these counts, one per cell.
  std::vector<double> transform(std::span<const double> counts) const;

  // What a kernel estimate of bandwidth h (in t) gives each cell, in observations; points get 0.
  std::vector<double> cell_masses(std::span<const double> transformed, double h) const;

 private:
  const Cells* cells_;
  std::size_t nodes_;
  double low_, width_;
  std::vector<double> centre_node_;  // of each cell, in nodes from the lower end
  std::vector<double> edge_node_;
  kissfft<double> forward_, backward_;
  std::vector<std::complex<double>> turn_;  // by half a node, for each frequency
};

}  // namespace kde
