// See histogram_steps.h. Two functions that are linear between their steps are farthest apart at a
// step of one of them; on a lattice at one or a point before one.
#include "core/density/histogram_steps.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

// Beyond, the numbers of lattice points are no longer whole numbers apart.
constexpr double kLastPoint = 0x1p53;

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

Status steps_of_cells(const Header& header, std::span<const HistogramCell> cells, Steps* steps) {
  steps->lattice = header.lattice_step > 0;
  std::vector<Step>& list = steps->list;
  list.clear();
  list.reserve(cells.size() + 2);
  for (const HistogramCell& cell : cells) {
    if (!std::isfinite(cell.value) || !(cell.rows >= 0 && std::isfinite(cell.rows)))
      return Status::error(Code::invalid_argument, "a cell is not finite or has negative rows");
    Step s;
    if (steps->lattice) {
      s.x = std::nearbyint((cell.value - header.lattice_offset) / header.lattice_step);
      if (!(std::fabs(s.x) <= kLastPoint &&
            std::fabs(header.lattice_point(s.x) - cell.value) <= header.lattice_step / 4))
        return Status::error(Code::invalid_argument, "a cell is not on the lattice");
      s.key = static_cast<std::int64_t>(s.x);
    } else {
      s.x = cell.value + 0.0;
      s.key = key_of(s.x);
    }
    if (list.empty()) {
      if (!cell.point && cell.rows > 0)
        return Status::error(Code::invalid_argument, "the first cell has no lower end");
      s.through = cell.rows;
      list.push_back(s);
      continue;
    }
    const Step last = list.back();
    if (last.x == s.x && cell.point && last.through == last.below) {
      list.back().through += cell.rows;
      continue;
    }
    if (!(s.x > last.x))
      return Status::error(Code::invalid_argument, "cells are not in ascending order");
    s.through = last.through + cell.rows;
    s.below = cell.point ? last.through : s.through;
    if (!steps->lattice && last.x < 0 && s.x > 0) {
      Step zero;
      // -l / (x - l), whose divisor might overflow.
      const double share = cell.point ? 0 : 1 / (1 - s.x / last.x);
      zero.below = zero.through = last.through + (s.below - last.through) * share;
      list.push_back(zero);
    }
    list.push_back(s);
  }
  if (!std::isfinite(steps->rows())) return Status::error(Code::invalid_argument, "too many rows");
  return Status::success();
}

double largest_distance(const Steps& a, const Steps& b) {
  return std::max(distance_at_steps(a, b), distance_at_steps(b, a));
}

}  // namespace kde
