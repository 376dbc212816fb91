// The sums of kernel_lscv.h by window moments, and the search.
#include "core/select/kernel_lscv.h"

#include "core/control.h"
#include "core/kernel/kernel.h"
#include "core/select/line_summary.h"
#include "core/status.h"
#include "core/guarded.h"

#include <algorithm>
#include <array>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <numbers>
#include <span>
#include <vector>

namespace kde {

namespace {

// Sums over the pairs of a sorted sample that lie within a window,
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
      if (i % kPointsPerPoll == 0 && control.stop_requested()) return cancelled();
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

using std::numbers::pi;

// The smaller the sample, the narrower the valleys of g. The uniform kernel's g is rough on every
// scale: finer steps would only find more of its roughness.
double steps_per_octave(Kernel kernel, std::int64_t n) {
  return n <= 20'000 && kernel != Kernel::uniform ? 16 : 8;
}

constexpr int kPointsInBracket = 16;
constexpr int kRefinedBits = 26;  // of the place in a bracket
constexpr std::uintmax_t kMostSteps = 60;

// A sample as its different values, each with how often it occurs, in units of 2^exponent and from
// the lowest: g is rough, so that a search in other units would end in another of its valleys.
struct Line {
  std::vector<double> x, weight;
  int exponent = 0;
  LineSummary summary;
};

// Throws std::bad_alloc.
Status gather(std::span<const double> sorted, std::span<const double> weights, Line* out) {
  std::vector<double> scaled(sorted.begin(), sorted.end());
  if (!sorted.empty()) {
    const double spread = sorted.back() - sorted.front();
    if (std::isinf(spread) && std::isfinite(sorted.front()) && std::isfinite(sorted.back()))
      return Status::error(Code::degenerate, "the spread of the values is out of range");
    std::frexp(spread, &out->exponent);
    for (double& v : scaled) v = std::ldexp(v - sorted.front(), -out->exponent);
  }
  if (Status s = summarize_line(scaled, weights, &out->summary); !s.ok()) return s;
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const double w = weights.empty() ? 1 : weights[i];
    if (out->x.empty() || scaled[i] != out->x.back()) {
      out->x.push_back(scaled[i]);
      out->weight.push_back(w);
    } else {
      out->weight.back() += w;
    }
  }
  return Status::success();
}

// Sums over pairs, of (K*K)(D/h) and of K(D/h).
struct PairTotals {
  double convolution = 0, kernel = 0;
};

// g from its sums.
class Formula {
 public:
  Formula(Kernel kernel, double n, LscvDivisor divisor)
      : kernel_(kernel),
        n_(n),
        diagonal_(kernel_roughness(kernel) / n),
        once_(2 / (n * n)),
        twice_(-4 / (n * (divisor == LscvDivisor::leave_one_out ? n - 1 : n))) {}

  double times_h(const PairTotals& sums) const {
    return diagonal_ + once_ * sums.convolution + twice_ * sums.kernel;
  }
  // What that many pairs of equal values add to the sums.
  PairTotals ties(double pairs) const {
    return {pairs * kernel_roughness(kernel_), pairs * kernel_pdf(kernel_, 0)};
  }
  double tie_bound() const { return -diagonal_ / (times_h(ties(1)) - diagonal_) / n_; }

 private:
  Kernel kernel_;
  double n_, diagonal_, once_, twice_;
};

// --------------------------------------------------------------------------- by window moments

// K of kernel.cpp and K*K, multiplied out.
class WindowTotals {
 public:
  WindowTotals(const Line& line, double h, const Control& control)
      : line_(line), h_(h), control_(control) {}

  Status run(Kernel kernel, PairTotals* out) {
    switch (kernel) {
      case Kernel::biweight:
        add(Polynomial<10>{{5.0 / 7, 0, -15.0 / 14, 0, 15.0 / 16, -15.0 / 32, 0, 15.0 / 448, 0,
                            -5.0 / 3584}},
            2, &out->convolution);
        add(Polynomial<5>{{15.0 / 16, 0, -15.0 / 8, 0, 15.0 / 16}}, 1, &out->kernel);
        break;
      case Kernel::triangular:
        // Two pieces: what holds as far as 2, and what more there is as far as 1.
        add(Polynomial<4>{{4.0 / 3, -2, 1, -1.0 / 6}}, 2, &out->convolution);
        add(Polynomial<4>{{-2.0 / 3, 2, -2, 2.0 / 3}}, 1, &out->convolution);
        add(Polynomial<2>{{1, -1}}, 1, &out->kernel);
        break;
      case Kernel::uniform:
        add(Polynomial<2>{{1.0 / 2, -1.0 / 4}}, 2, &out->convolution);
        add(Polynomial<1>{{1.0 / 2}}, 1, &out->kernel);
        break;
      case Kernel::cosine:
        add(Sinusoid{pi * pi / 16, -pi * pi / 32, pi / 16}, 2, &out->convolution);
        add(Sinusoid{pi / 4, 0, 0}, 1, &out->kernel);
        break;
      default:
        add(Polynomial<6>{{3.0 / 5, 0, -3.0 / 4, 3.0 / 8, 0, -3.0 / 160}}, 2, &out->convolution);
        add(Polynomial<3>{{3.0 / 4, 0, -3.0 / 4}}, 1, &out->kernel);
    }
    return status_;
  }

 private:
  template <typename Function>
  void add(const Function& f, double window, double* total) {
    if (!status_.ok()) return;
    double sum = 0;
    status_ = window_sum(f, line_.x, line_.weight, h_, window, control_, &sum);
    *total += sum;
  }

  const Line& line_;
  double h_;
  const Control& control_;
  Status status_;
};

// --------------------------------------------------------------------------------- the search

class Search {
 public:
  Search(Kernel kernel, const Line& line, LscvDivisor divisor, const Control& control)
      : kernel_(kernel),
        line_(line),
        formula_(kernel, static_cast<double>(line.summary.n), divisor),
        control_(control) {}

  // In the line's units, as all of this class but run's result.
  Status objective(double h, double* g) const {
    PairTotals sums;
    const Status status = WindowTotals(line_, h, control_).run(kernel_, &sums);
    const PairTotals tied = formula_.ties(line_.summary.tied_pairs);
    *g = formula_.times_h({sums.convolution + tied.convolution, sums.kernel + tied.kernel}) / h;
    if (status.ok() && !std::isfinite(*g))
      return Status::error(Code::degenerate, "the criterion is not finite at bandwidth %g", h);
    return status;
  }

  Status run(KernelLscv* out) {
    const LineSummary& s = line_.summary;
    const double n = static_cast<double>(s.n);
    const double h0 = canonical_rescale(std::pow(4 / (3 * n), 0.2), kernel_);
    const std::vector<Point> grid =
        points(std::log(h0 / 64 * s.robust_scale(1.34)), std::log(4 * h0 * s.sigma),
               steps_per_octave(kernel_, s.n) / kLog2);
    KernelLscv result;
    result.tie_bound = formula_.tie_bound();
    const bool tied = formula_.times_h(formula_.ties(s.tied_pairs)) < 0;
    Point best{0, std::numeric_limits<double>::infinity()};
    for (std::size_t k = 1; k + 1 < grid.size() && status_.ok(); ++k) {
      if (!is_minimum(grid, k)) continue;
      ++result.minima;
      const Point found = refine(grid[k - 1], grid[k], grid[k + 1]);
      if (found.g < best.g) best = found;
    }
    if (!status_.ok()) return status_;
    if (tied && result.minima == 0) {
      return Status::error(Code::degenerate,
                           "least-squares cross-validation has no minimum: %.15g pairs of equal "
                           "values among %.15g, more than its bound of %.4g a value",
                           s.tied_pairs, n, result.tie_bound);
    }
    const Point end = grid.front().g < grid.back().g ? grid.front() : grid.back();
    if (tied) {
      result.end = LscvEnd::tied_values;
    } else if (!(best.g <= end.g)) {
      best = end;
      result.end = LscvEnd::at_bound;
    }
    result.bandwidth = std::ldexp(std::exp(best.log_h), line_.exponent);
    result.objective = std::ldexp(best.g, -line_.exponent);
    *out = result;
    return Status::success();
  }

 private:
  static constexpr double kLog2 = std::numbers::ln2;

  struct Point {
    double log_h, g;
  };

  // After a failure everything is infinite, and the search comes to its end.
  Point at(double log_h) {
    double g = std::numeric_limits<double>::infinity();
    if (status_.ok()) status_ = objective(std::exp(log_h), &g);
    return {log_h, g};
  }

  // Both ends and what is between, at least `density` a unit of log h.
  std::vector<Point> points(double low, double high, double density) {
    // Whole octaves take as many steps whatever the rounding of their ends.
    const int steps = std::max(2, static_cast<int>(std::ceil((high - low) * density - 1e-9)));
    std::vector<Point> out;
    const WorkAmount all{WorkUnit::steps, steps + 1};
    for (int k = 0; k <= steps && status_.ok(); ++k) {
      control_.tell(all, k);
      out.push_back(at(k == steps ? high : low + (high - low) * k / steps));
    }
    control_.tell(all, all.total);
    return out;
  }

  static bool is_minimum(const std::vector<Point>& p, std::size_t k) {
    return p[k].g < p[k - 1].g && p[k].g <= p[k + 1].g;
  }

  // The lowest point seen between two neighbours of a grid point that is lower than both. A finer
  // grid first: for the uniform kernel g is rough on every scale.
  Point refine(const Point& below, const Point& middle, const Point& above) {
    std::vector<Point> fine =
        points(below.log_h, above.log_h, kPointsInBracket / (above.log_h - below.log_h));
    if (!status_.ok()) return middle;
    std::size_t lowest = 1;
    for (std::size_t k = 1; k + 1 < fine.size(); ++k) {
      if (fine[k].g < fine[lowest].g) lowest = k;
    }
    Point best = fine[lowest].g < middle.g ? fine[lowest] : middle;
    // From the bracket's begin, so that the precision does not depend on the unit of x.
    const double begin = fine[lowest - 1].log_h;
    const auto g = [this, begin, &best](double beyond) {
      const Point here = at(begin + beyond);
      if (here.g < best.g) best = here;
      return here.g;
    };
    std::uintmax_t steps = kMostSteps;
    boost::math::tools::brent_find_minima(g, 0.0, fine[lowest + 1].log_h - begin, kRefinedBits,
                                          steps);
    return best;
  }

  Kernel kernel_;
  const Line& line_;
  Formula formula_;
  const Control& control_;
  Status status_;
};

Status check_arguments(Kernel kernel, double h) {
  if (!is_compact(kernel))
    return Status::error(Code::invalid_argument, "the kernel has no end: use select_lscv_h");
  if (!(h > 0) || !std::isfinite(h))
    return Status::error(Code::invalid_argument, "the bandwidth must be positive");
  return Status::success();
}

// Calls work(line) on the gathered sample.
template <typename Work>
Status with_line(std::span<const double> sorted, std::span<const double> weights, Work work) {
  return guarded([&] {
    Line line;
    if (Status s = gather(sorted, weights, &line); !s.ok()) return s;
    return work(line);
  });
}

}  // namespace

Status kernel_lscv_objective(Kernel kernel, std::span<const double> sorted,
                             std::span<const double> weights, LscvDivisor divisor, double h,
                             const Control& control, double* g) {
  if (Status s = check_arguments(kernel, h); !s.ok()) return s;
  return with_line(sorted, weights, [&](const Line& line) {
    const Search search(kernel, line, divisor, control);
    const Status status = search.objective(std::ldexp(h, -line.exponent), g);
    *g = std::ldexp(*g, -line.exponent);
    return status;
  });
}

Status select_kernel_lscv(Kernel kernel, std::span<const double> sorted,
                          std::span<const double> weights, LscvDivisor divisor,
                          const Control& control, KernelLscv* out) {
  if (Status s = check_arguments(kernel, 1); !s.ok()) return s;
  return with_line(sorted, weights, [&](const Line& line) {
    return Search(kernel, line, divisor, control).run(out);
  });
}

}  // namespace kde
