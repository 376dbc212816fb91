// How rows of an open range are spread: evenly over its width or, on a lattice, over its points.
#pragma once

#include "core/density/format.h"

#include <algorithm>
#include <cmath>

namespace kde {

class EvenCell {
 public:
  // Between low and high; without a lattice its step is 0.
  EvenCell(const Header& lattice, double low, double high)
      : h_(lattice), low_(low), width_(high / 2 - low / 2) {
    if (!(h_.lattice_step > 0)) return;
    before_ = points_through(low);
    points_ = points_below(high) - before_;
  }

  // The share of the rows at values below x, or at it.
  double share(double x, bool at) const {
    if (h_.lattice_step > 0 && points_ > 0)
      return std::clamp(((at ? points_through(x) : points_below(x)) - before_) / points_, 0.0, 1.0);
    return width_ > 0 ? std::clamp((x / 2 - low_ / 2) / width_, 0.0, 1.0) : 1;
  }

 private:
  // Numbers of the lattice's points.
  double points_through(double x) const {
    double k = 0;
    return h_.is_at_lattice_point(x, &k) ? k
                                         : std::floor((x - h_.lattice_offset) / h_.lattice_step);
  }
  double points_below(double x) const {
    double k = 0;
    return h_.is_at_lattice_point(x, &k) ? k - 1
                                         : std::floor((x - h_.lattice_offset) / h_.lattice_step);
  }

  const Header& h_;
  double low_, width_;
  double before_ = 0, points_ = 0;
};

}  // namespace kde
