// NLopt calls back from C, which no exception may cross: a callback that fails keeps the status and
// forces a stop.
#include "core/select/optimise.h"

#include <nlopt.h>

#include <eigen3/Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <utility>

namespace kde {
namespace {

struct Destroy {
  void operator()(nlopt_opt opt) const { nlopt_destroy(opt); }
};
using Optimiser = std::unique_ptr<std::remove_pointer_t<nlopt_opt>, Destroy>;

// What NLopt returns says little: it has failed for lack of memory, or for rounding, which is as
// near as it gets; `run` keeps the best point itself.
bool is_failure(nlopt_result result) {
  return result == NLOPT_OUT_OF_MEMORY || result == NLOPT_INVALID_ARGS;
}

// Of f in the units of p; less of it may be an error of the gradients. What these make of it goes
// with 1/|step|: free steps, which follow the curvature seen, learn from longer ones down to this
// share of it, without which a flat minimum is approached by the same share of the way each time.
constexpr double kLeastCurvature = 0.01;
constexpr double kCertain = 0.01;
constexpr double kLargest = 10;       // |p|
constexpr double kConstraint = 1e-4;  // by so much a constraint may be violated
constexpr double kTouching = 1e-3;    // and nearer than this to 0 it holds the minimum
constexpr double kStationary = 1e-3;  // with a longer step left a point is no minimum
// Held by a constraint, a minimum is as good as found after so many evaluations without so much of
// a gain, relative to the value: its algorithm slides along bent constraints in ever smaller steps.
constexpr int kPatience = 8;
// Points that have no value cost nothing and do not count as evaluations; but they must end.
constexpr int kMostPoints = 20'000;
constexpr double kGain = 1e-6;
// A step is long enough to be taken that lowers f by that share of what its slope promises. Where
// values are apart by no more than that share of them, which may be rounding, slopes tell: W. W.
// Hager & H. Zhang, SIAM J. Optim. 16 (2005), the approximate Wolfe condition.
constexpr double kDecrease = 0.1;
constexpr double kRounding = 1e-6;
constexpr int kTries = 11;  // lengths of a step that are tried
// A step shorter than that along which f goes on to fall, its slope no less than that share of what
// it was, tells of units that are not f's: in them the way to the minimum takes hundreds of steps,
// which do not get shorter either. Kraft's algorithm, which looks along its steps, finds its own.
constexpr double kShort = 0.1;
constexpr double kAsSteep = 0.9;
// What a step leaves is what it is of the one before, or up to so many times that.
constexpr double kCaution = 10;

class SmoothSearch {
 public:
  SmoothSearch(const SmoothFunction& f, const Constraints& constraints, const SmoothStart& start,
               int count, const SmoothStop& stop)
      : f_(f), constraints_(constraints), start_(start), count_(count), stop_(stop) {}

  Status run(Minimum* out, SmoothStart* next) {
    bool free = false;
    begin();
    free_ = stop_.freely;
    if (stop_.freely) {
      if (Status s = descend_freely(&free); !s.ok()) return s;
    }
    if (!free) {
      begin();
      free_ = false;
      stop_.tolerance = std::max(stop_.tolerance, stop_.held_tolerance);
      if (Status s = descend_between(); !s.ok()) return s;
    }
    out->at = start_.at + start_.units * best_.p;
    out->value = best_.value;
    out->evaluations = evaluations_;
    out->stationary = !limit_ && (step_left(best_) < kStationary || touches_a_constraint());
    next->at = out->at;
    next->units = start_.units * Matrix(inverse_.llt().matrixL());
    return Status::success();
  }

 private:
  struct Point {
    Vector p;
    double value = 0;
    Vector gradient;
  };

  void begin() {
    const Vector zero = Vector::Zero(start_.at.size());
    inverse_.setIdentity(zero.size(), zero.size());
    last_ = {Vector(), HUGE_VAL, Vector()};
    best_ = {zero, HUGE_VAL, zero};
    idle_ = 0;
    limit_ = false;
  }

  // The steps of Kraft's algorithm where no constraint holds it, Newton's by the curvature seen so
  // far; without its quadratic program, which in many variables takes longer than f. *free: false
  // where a constraint came within reach, or where steps are too short for the way.
  Status descend_freely(bool* free) {
    *free = look_freely_at(best_.p);
    double least = HUGE_VAL;  // step left
    double before = 0;        // step left before, if it was taken as it was
    int idle = 0;             // steps since `least` was halved
    Point nearest;            // when it was,
    Matrix curvature;         // and `inverse_` then
    while (*free && !limit_) {
      const Point from = last_;
      const Vector step = -(inverse_ * from.gradient);
      const double length = step.norm();
      if (length < stop_.tolerance || kCaution * length * length < before * stop_.tolerance) {
        best_ = {from.p + step, from.value + from.gradient.dot(step) / 2, from.gradient * 0};
        break;
      }
      if (length < least / 2) {
        least = length;
        idle = 0;
        nearest = from;
        curvature = inverse_;
      } else {
        ++idle;
      }
      before = length;
      const bool lost = (idle > stop_.patience && least < kStationary) ||
                        !shorten_until_lower(from, step, &before, free);
      if (lost) {
        best_ = nearest;
        inverse_ = curvature;
        break;
      }
    }
    return status_;
  }

  // Takes the step, or as much of it as lowers f; false where nothing does. *taken: 0 where it was
  // less than all.
  bool shorten_until_lower(const Point& from, Vector step, double* taken, bool* free) {
    double slope = step.dot(from.gradient);
    const int tries = step.norm() < kStationary ? std::min(1 + stop_.patience / 4, kTries) : kTries;
    for (int k = 0; k < tries; ++k) {
      *free = look_freely_at(from.p + step);
      if (!*free || limit_) return true;
      if (is_lower(from, step, slope)) {
        *free = k > 0 || !is_slow(from, step, slope);
        return true;
      }
      const double change = last_.value - from.value;
      const double shorter = std::max(slope / (2 * (slope - change)), 0.1);
      step *= shorter;
      slope *= shorter;
      *taken = 0;
    }
    return false;
  }

  // False: not free, or f has failed.
  bool look_freely_at(const Vector& p) {
    const bool free =
        p.cwiseAbs().maxCoeff() < kLargest && (constraints_at(p).array() < -kTouching).all();
    if (!free || !look_at(p)) return free && limit_;
    if (last_.value < best_.value) best_ = last_;
    return std::isfinite(last_.value);
  }

  bool is_lower(const Point& from, const Vector& step, double slope) const {
    const double change = last_.value - from.value;
    return change <= kDecrease * slope || (change <= kRounding * std::fabs(from.value) &&
                                           last_.gradient.dot(step) <= (2 * kDecrease - 1) * slope);
  }

  // By more than rounding, which slopes may be nothing else than.
  bool is_slow(const Point& from, const Vector& step, double slope) const {
    return step.norm() < kShort && last_.value - from.value < -kRounding * std::fabs(from.value) &&
           last_.gradient.dot(step) < kAsSteep * slope;
  }

  Status descend_between() {
    const unsigned n = static_cast<unsigned>(start_.at.size());
    const Optimiser opt(nlopt_create(NLOPT_LD_SLSQP, n));
    if (!opt) return out_of_memory();
    opt_ = opt.get();
    nlopt_set_min_objective(opt_, &SmoothSearch::objective, this);
    const Vector tolerances = Vector::Constant(count_, kConstraint / 10);
    if (count_ > 0) {
      nlopt_add_inequality_mconstraint(opt_, static_cast<unsigned>(count_),
                                       &SmoothSearch::constraint, this, tolerances.data());
    }
    nlopt_set_lower_bounds1(opt_, -kLargest);
    nlopt_set_upper_bounds1(opt_, kLargest);
    nlopt_set_maxeval(opt_, kMostPoints);
    Vector p = Vector::Zero(start_.at.size());
    double value = 0;
    const nlopt_result result = nlopt_optimize(opt_, p.data(), &value);
    if (!status_.ok()) return status_;
    if (is_failure(result)) return out_of_memory();
    if (result == NLOPT_MAXEVAL_REACHED || !std::isfinite(best_.value)) limit_ = true;
    return Status::success();
  }

  static double objective(unsigned n, const double* p, double* gradient, void* self) {
    return static_cast<SmoothSearch*>(self)->guarded([&](SmoothSearch& search) {
      return search.evaluate(Eigen::Map<const Vector>(p, n), gradient);
    });
  }

  static void constraint(unsigned count, double* c, unsigned n, const double* p, double* jacobian,
                         void* self) {
    static_cast<SmoothSearch*>(self)->guarded([&](SmoothSearch& search) {
      Vector value(count);
      Matrix by_x(count, n);
      search.constraints_(search.start_.at + search.start_.units * Eigen::Map<const Vector>(p, n),
                          &value, jacobian != nullptr ? &by_x : nullptr);
      Eigen::Map<Vector>(c, count) = value;
      if (jacobian != nullptr) Eigen::Map<Matrix>(jacobian, count, n) = by_x * search.start_.units;
      return 0.0;
    });
  }

  template <class F>
  double guarded(const F& work) {
    try {
      return work(*this);
    } catch (const std::bad_alloc&) {
      return fail(out_of_memory());
    }
  }

  double fail(const Status& status) {
    status_ = status;
    nlopt_force_stop(opt_);
    return HUGE_VAL;
  }

  double evaluate(const Eigen::Map<const Vector>& p, double* gradient) {
    // The algorithm asks for a value first, and for the gradient if it likes the value.
    if (last_.p.size() == 0 || p != last_.p) {
      const Vector before = last_.p;
      if (!look_at(p)) {
        nlopt_force_stop(opt_);
        return HUGE_VAL;
      }
      judge(before);
    }
    if (gradient != nullptr) Eigen::Map<Vector>(gradient, p.size()) = last_.gradient;
    return last_.value;
  }

  // f at p, which is learnt from and kept in last_. False: f has failed, or out of evaluations.
  bool look_at(const Vector& p) {
    if (evaluations_ >= stop_.evaluations) {
      limit_ = true;
      return false;
    }
    Point here{p, HUGE_VAL, Vector::Zero(p.size())};
    Vector by_x = here.gradient;
    status_ = f_(start_.at + start_.units * p, &here.value, &by_x);
    if (!status_.ok()) return false;
    here.gradient = start_.units.transpose() * by_x;
    if (std::isfinite(here.value)) {
      if (std::isfinite(last_.value)) learn(here.p - last_.p, here.gradient - last_.gradient);
      ++evaluations_;
    }
    last_ = std::move(here);
    return true;
  }

  // Keeps the last point if it is the best, and stops if it is good enough. before: the point
  // before, or empty.
  void judge(const Vector& before) {
    const Point& here = last_;
    if (!std::isfinite(here.value)) return;
    const double step = before.size() == 0 ? HUGE_VAL : (here.p - before).norm();
    const bool feasible = (constraints_at(here.p).array() <= kConstraint).all();
    const bool stationary = step_left(here) < stop_.tolerance;
    // Among points that near, values are in the order of their rounding.
    if (feasible && (stationary || here.value < best_.value)) {
      if (best_.value - here.value > kGain * std::fabs(here.value)) idle_ = -1;
      best_ = here;
    }
    ++idle_;
    const bool held = idle_ > kPatience && touches_a_constraint();
    if ((feasible && stationary) || step < stop_.tolerance || held) nlopt_force_stop(opt_);
  }

  // Newton's, by the curvature seen so far.
  double step_left(const Point& here) const { return (inverse_ * here.gradient).norm(); }

  Vector constraints_at(const Vector& p) const {
    Vector c(count_);
    constraints_(start_.at + start_.units * p, &c, nullptr);
    return c;
  }

  bool touches_a_constraint() const { return (constraints_at(best_.p).array() > -kTouching).any(); }

  // The BFGS update of the inverse of the second derivatives: Nocedal & Wright, Numerical
  // Optimization (2006), eq. (6.17).
  void learn(const Vector& step, const Vector& change) {
    const double curvature = step.dot(change);
    const double length = step.norm();
    const double certain = free_ ? std::clamp(stop_.least_step / length, kCertain, 1.0) : 1.0;
    if (!(length > stop_.least_step) || !(curvature > kLeastCurvature * certain * length * length))
      return;
    const Vector by = inverse_ * change;
    inverse_ += (1 + change.dot(by) / curvature) / curvature * step * step.transpose() -
                (by * step.transpose() + step * by.transpose()) / curvature;
  }

  const SmoothFunction& f_;
  const Constraints& constraints_;
  const SmoothStart& start_;
  int count_;
  SmoothStop stop_;
  nlopt_opt opt_ = nullptr;
  Status status_;
  int evaluations_ = 0;
  int idle_ = 0;  // evaluations since the last gain
  bool limit_ = false;
  bool free_ = false;
  Point last_;  // evaluated
  Point best_;
  Matrix inverse_;  // of the second derivatives in p
};

class SimplexSearch {
 public:
  SimplexSearch(const Function& f, int evaluations) : f_(f), most_(evaluations) {}

  Status run(const Vector& start, double step, double tolerance, Minimum* out) {
    const Optimiser opt(nlopt_create(NLOPT_LN_NELDERMEAD, static_cast<unsigned>(start.size())));
    if (!opt) return out_of_memory();
    opt_ = opt.get();
    nlopt_set_min_objective(opt_, &SimplexSearch::objective, this);
    nlopt_set_xtol_abs1(opt_, tolerance);
    nlopt_set_initial_step1(opt_, step);
    nlopt_set_maxeval(opt_, most_);
    Vector x = start;
    double value = 0;
    const nlopt_result result = nlopt_optimize(opt_, x.data(), &value);
    if (!status_.ok()) return status_;
    if (is_failure(result)) return out_of_memory();
    out->at = x;
    out->value = value;
    out->evaluations = nlopt_get_numevals(opt_);
    out->stationary = result != NLOPT_MAXEVAL_REACHED;
    return Status::success();
  }

 private:
  static double objective(unsigned n, const double* x, double*, void* self) {
    SimplexSearch& search = *static_cast<SimplexSearch*>(self);
    double value = HUGE_VAL;
    try {
      search.status_ = search.f_(Eigen::Map<const Vector>(x, n), &value);
    } catch (const std::bad_alloc&) {
      search.status_ = out_of_memory();
    }
    if (search.status_.ok()) return value;
    nlopt_force_stop(search.opt_);
    return HUGE_VAL;
  }

  const Function& f_;
  int most_;
  nlopt_opt opt_ = nullptr;
  Status status_;
};

}  // namespace

Status minimise_simplex(const Function& f, const Vector& start, double step, double tolerance,
                        int evaluations, Minimum* out) {
  return SimplexSearch(f, evaluations).run(start, step, tolerance, out);
}

Status minimise_smooth(const SmoothFunction& f, const Constraints& constraints, int count,
                       const SmoothStart& start, const SmoothStop& stop, Minimum* out,
                       SmoothStart* next) {
  return SmoothSearch(f, constraints, start, count, stop).run(out, next);
}

}  // namespace kde
