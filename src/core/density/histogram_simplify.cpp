// See histogram_simplify.h.
#include "core/density/histogram_simplify.h"

#include <limits>

namespace kde {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Steps looked at beyond twice the longest chord so far: bounds the work for what a chord never
// reaches.
constexpr std::size_t kReach = 64;

// Slopes of the chords from (x, rows) that pass all intervals so far.
class Cone {
 public:
  Cone(double x, double rows) : x_(x), rows_(rows) {}

  void narrow(double x, double low, double high) {
    const double width = x - x_;
    low_ = std::max(low_, (low - rows_) / width);
    high_ = std::min(high_, (high - rows_) / width);
  }
  bool has(double x, double rows) const {
    const double slope = (rows - rows_) / (x - x_);
    return low_ <= slope && slope <= high_;
  }
  bool empty() const { return low_ > high_; }

 private:
  double x_, rows_;
  double low_ = -kInf, high_ = kInf;
};

// The function one lattice point before steps[j].
double one_before(const std::vector<Step>& steps, std::size_t j) {
  const Step& left = steps[j - 1];
  const Step& s = steps[j];
  return s.below - (s.below - left.through) / (s.x - left.x);
}

}  // namespace

void simplify(const Steps& given, const Tolerance& tolerance, Steps* simpler) {
  const std::vector<Step>& steps = given.list;
  simpler->lattice = given.lattice;
  simpler->list.clear();
  if (steps.empty()) return;
  simpler->list.push_back(steps[0]);
  for (std::size_t i = 0; i + 1 < steps.size();) {
    Cone cone(steps[i].x, steps[i].through);
    std::size_t end = i + 1;
    bool with_jump = false;
    for (std::size_t j = i + 1; j < steps.size() && j - i <= 2 * (end - i) + kReach; ++j) {
      const Step& s = steps[j];
      const double t = tolerance.at(s);
      if (given.lattice && s.x - steps[j - 1].x > 1) {
        const double before = one_before(steps, j);
        cone.narrow(s.x - 1, before - t, before + t);
      }
      if ((given.lattice || s.through - s.below <= t) && cone.has(s.x, s.through)) {
        end = j;
        with_jump = true;
      } else if (cone.has(s.x, s.below)) {
        end = j;
        with_jump = false;
      }
      // No range has values of both signs; a point of more rows than the tolerance stays one.
      if (!given.lattice && (s.x == 0 || s.through - s.below > t)) break;
      cone.narrow(s.x, s.through - t, (given.lattice ? s.through : s.below) + t);
      if (cone.empty()) break;
    }
    Step s = steps[end];
    if (with_jump) s.below = s.through;
    simpler->list.push_back(s);
    i = end;
  }
}

}  // namespace kde
