// See histogram_level.h. Unknown are the distances d of the vertices from the given function; a
// given step, in the middle of its jump, counts by its rows.
#include "core/density/histogram_level.h"

#include <algorithm>

namespace kde {

namespace {

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
