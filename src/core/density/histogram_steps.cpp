// See histogram_steps.h. Two functions that are linear between their steps are farthest apart at a
// step of one of them; on a lattice at one or a point before one.
#include "core/density/histogram_steps.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

// Goes through a function for ascending x.
class Reader {
 public:
  explicit Reader(const std::vector<Step>& list) : list_(list) {}

  double below(double x) { return at(x, false); }
  double through(double x) { return at(x, true); }

 private:
  double at(double x, bool inclusive) {
    while (next_ < list_.size() && list_[next_].x < x) ++next_;
    if (next_ == list_.size()) return list_.empty() ? 0 : list_.back().through;
    const Step& right = list_[next_];
    if (right.x == x) return inclusive ? right.through : right.below;
    if (next_ == 0) return 0;
    const Step& left = list_[next_ - 1];
    return left.through + (right.below - left.through) * ((x - left.x) / (right.x - left.x));
  }

  const std::vector<Step>& list_;
  std::size_t next_ = 0;
};

double distance_at_steps(const Steps& a, const Steps& b) {
  Reader ra(a.list), rb(b.list);
  double largest = 0;
  for (const Step& s : a.list) {
    if (a.lattice) {
      const double before = s.x - 1;
      largest = std::max(largest, std::fabs(ra.through(before) - rb.through(before)));
    } else {
      largest = std::max(largest, std::fabs(s.below - rb.below(s.x)));
    }
    largest = std::max(largest, std::fabs(s.through - rb.through(s.x)));
  }
  return largest;
}

}  // namespace

double largest_distance(const Steps& a, const Steps& b) {
  return std::max(distance_at_steps(a, b), distance_at_steps(b, a));
}

}  // namespace kde
