// Inverse quadratic interpolation where three points promise well, else bisection: T. R.
// Chandrupatla, A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear
// function without using derivatives, Advances in Engineering Software 28 (1997).
#include "core/select/root.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {
namespace {

struct Point {
  double x, f;
};

// Where between newest.x (0) and opposite.x (1) to look next.
double next_fraction(const Point& newest, const Point& opposite, const Point& older) {
  const double xi = (newest.x - opposite.x) / (older.x - opposite.x);
  const double phi = (newest.f - opposite.f) / (older.f - opposite.f);
  const bool promising = phi * phi < xi && (1 - phi) * (1 - phi) < 1 - xi;
  if (!promising) return 0.5;
  return newest.f / (opposite.f - newest.f) * older.f / (opposite.f - older.f) +
         (older.x - newest.x) / (opposite.x - newest.x) * newest.f / (older.f - newest.f) *
             opposite.f / (older.f - opposite.f);
}

}  // namespace

Status bracketed_root(const Evaluated& f, double low, double f_low, double high, double f_high,
                      double tolerance, double* root) {
  constexpr int kMostEvaluations = 200;
  if (!(f_low * f_high <= 0)) {
    return Status::error(Code::invalid_argument, "no change of sign");
  }
  Point newest{high, f_high};
  Point opposite{low, f_low};
  double fraction = 0.5;
  for (int k = 0; k < kMostEvaluations; ++k) {
    const Point& best = std::fabs(newest.f) < std::fabs(opposite.f) ? newest : opposite;
    *root = best.x;
    const double near =
        2 * std::numeric_limits<double>::epsilon() * std::fabs(best.x) + tolerance / 2;
    const double least = near / std::fabs(opposite.x - newest.x);
    if (best.f == 0 || !(least <= 0.5)) return Status::success();

    fraction = std::clamp(fraction, least, 1 - least);
    Point tried{newest.x + fraction * (opposite.x - newest.x), 0};
    if (Status s = f(tried.x, &tried.f); !s.ok()) return s;
    Point older = newest;
    if ((tried.f > 0) != (newest.f > 0)) {
      older = opposite;
      opposite = newest;
    }
    newest = tried;
    fraction = next_fraction(newest, opposite, older);
  }
  return Status::success();
}

}  // namespace kde
