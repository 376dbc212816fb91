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

namespace {

// Of level() unknown are the distances d of the vertices from the given function; a given step, in
// the middle of its jump, counts by its rows.

// Of the rows on either side of a vertex: with less than half it still ascends.
constexpr double kMostMove = 0.49;

// Row k of the normal equations: before[k] d[k-1] + own[k] d[k] + before[k+1] d[k+1] = right[k].
struct Equations {
  std::vector<double> own, before, right;

  explicit Equations(std::size_t n) : own(n, 0), before(n + 1, 0), right(n, 0) {}

  // Solves them into `right`: elimination without pivots, as the matrix is positive definite.
  void solve() {
    const std::size_t n = own.size();
    for (std::size_t k = 1; k < n; ++k) {
      const double factor = before[k] / own[k - 1];
      own[k] -= factor * before[k];
      right[k] -= factor * right[k - 1];
    }
    for (std::size_t k = n; k-- > 0;) {
      if (k + 1 < n) right[k] -= before[k + 1] * right[k + 1];
      right[k] /= own[k];
    }
  }
};

}  // namespace

void level(const Steps& given, const Tolerance& tolerance, Steps* simpler) {
  std::vector<Step>& vertices = simpler->list;
  const std::size_t n = vertices.size();
  if (n < 3) return;
  // How far each may move.
  std::vector<double> most(n, 0);
  for (std::size_t k = 1; k + 1 < n; ++k) {
    const Step& s = vertices[k];
    if (s.below != s.through) continue;
    const double rows =
        std::min(s.below - vertices[k - 1].through, vertices[k + 1].below - s.through);
    most[k] = std::min(tolerance.at(s), kMostMove * rows);
  }
  Equations equations(n);
  std::size_t k = 0;  // the vertex before
  double before = 0;
  for (const Step& s : given.list) {
    const double rows = s.through - before;
    before = s.through;
    while (k + 1 < n && vertices[k + 1].x <= s.x) ++k;
    if (s.x == vertices[k].x) {
      equations.own[k] += rows;
      continue;
    }
    const Step& left = vertices[k];
    const Step& right = vertices[k + 1];
    const double t = (s.x - left.x) / (right.x - left.x);
    const double chord = left.through + (right.below - left.through) * t;
    const double middle = given.lattice ? s.through : s.below + (s.through - s.below) / 2;
    equations.own[k] += rows * (1 - t) * (1 - t);
    equations.own[k + 1] += rows * t * t;
    equations.before[k + 1] += rows * t * (1 - t);
    equations.right[k] += rows * (1 - t) * (middle - chord);
    equations.right[k + 1] += rows * t * (middle - chord);
  }
  for (std::size_t v = 0; v < n; ++v) {
    // Its own rows may be none, and its distance is 0 where it cannot move.
    if (most[v] > 0 && equations.own[v] > 0) continue;
    equations.own[v] = 1;
    equations.right[v] = 0;
    equations.before[v] = equations.before[v + 1] = 0;
  }
  equations.solve();
  for (std::size_t v = 1; v + 1 < n; ++v) {
    const double d = std::clamp(equations.right[v], -most[v], most[v]);
    vertices[v].below += d;
    vertices[v].through += d;
  }
}

}  // namespace kde
