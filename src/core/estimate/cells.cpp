// See cells.h.
#include "core/estimate/cells.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

// A distance so many times that of the values near by, on average, is a void.
constexpr double kVoid = 64;
constexpr std::ptrdiff_t kNear = 20;

// Cells as they are cut off from left to right.
class Cutter {
 public:
  explicit Cutter(double low) { cells_.edge.push_back(low); }

  void count(double rows, double at) {
    weight_ += rows;
    moment_ += rows * at;
  }
  double weight() const { return weight_; }
  double start() const { return cells_.edge.back(); }

  void cut(double end) {
    const double middle = start() + (end - start()) / 2;
    cells_.centre.push_back(weight_ > 0 ? std::clamp(moment_ / weight_, start(), end) : middle);
    cells_.count.push_back(weight_);
    cells_.edge.push_back(end);
    weight_ = moment_ = 0;
  }

  Cells& cells() { return cells_; }

 private:
  Cells cells_;
  double weight_ = 0, moment_ = 0;
};

// Whether nothing lies between cell i and its neighbour in that direction (1 or -1), though beyond
// cell i values are near each other: then half their mean distance, else 0.
double half_step_beside_void(std::span<const HistogramCell> rows, std::size_t i, int direction) {
  const auto at = static_cast<std::ptrdiff_t>(i);
  const auto last = static_cast<std::ptrdiff_t>(rows.size()) - 1;
  const std::ptrdiff_t end =
      std::clamp<std::ptrdiff_t>(at - direction * kNear, std::ptrdiff_t{0}, last);
  if (end == at) return 0;
  const double mean = std::fabs(rows[i].value - rows[static_cast<std::size_t>(end)].value) /
                      static_cast<double>(std::abs(end - at));
  const double gap =
      std::fabs(rows[static_cast<std::size_t>(at + direction)].value - rows[i].value);
  return gap > kVoid * mean ? mean / 2 : 0;
}

}  // namespace

Cells lattice_cells(const Line& line, double first_value, double step, std::int64_t first,
                    std::int64_t last) {
  Cells cells;
  const auto size = static_cast<std::size_t>(last - first + 1);
  cells.lattice = true;
  cells.first_point = first;
  cells.count.assign(size, 0);
  for (std::size_t i = 0; i < size; ++i) {
    const double value = first_value + static_cast<double>(i) * step;
    cells.centre.push_back(value);
    cells.edge.push_back(i == 0 ? line.low : value - step / 2);
  }
  cells.edge.push_back(line.high);
  const auto point_at = [&](double x) {
    const double at = std::nearbyint((x - first_value) / step);
    return static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(size - 1)));
  };
  for (std::size_t i = 0; i < line.rows.size(); ++i) {
    const HistogramCell& c = line.rows[i];
    const std::size_t end = point_at(c.value);
    const std::size_t begin =
        c.point || i == 0 ? end : std::min(point_at(line.rows[i - 1].value) + 1, end);
    const double each = c.rows / static_cast<double>(end - begin + 1);
    for (std::size_t k = begin; k <= end; ++k) cells.count[k] += each;
  }
  return cells;
}

Cells value_cells(const Line& line, std::span<const std::size_t> atoms) {
  const std::span<const HistogramCell> rows = line.rows;
  double total = 0;
  for (const HistogramCell& c : rows) total += c.rows;
  // Atoms take up to three cells each.
  const std::size_t most = kMaxCells - std::min(kMaxCells / 2, 3 * atoms.size());
  const double enough = rows.size() <= most ? 0 : 2 * total / static_cast<double>(most);
  Cutter cutter(line.low);
  auto atom = atoms.begin();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const HistogramCell& c = rows[i];
    if (atom != atoms.end() && *atom == i) {
      // What lies before a void does not reach into it.
      if (i > 0 && cutter.weight() > 0) {
        const double step = half_step_beside_void(rows, i - 1, 1);
        if (step > 0) cutter.cut(rows[i - 1].value + step);
      }
      if (cutter.start() < c.value) cutter.cut(c.value);
      cutter.count(c.rows, c.value);
      cutter.cells().points.push_back(cutter.cells().size());
      cutter.cut(c.value);
      ++atom;
      const bool atom_follows = atom != atoms.end() && *atom == i + 1;
      if (i + 1 < rows.size() && rows[i + 1].point && !atom_follows) {
        const double step = half_step_beside_void(rows, i + 1, -1);
        if (step > 0) cutter.cut(rows[i + 1].value - step);
      }
      continue;
    }
    const bool is_last = i + 1 == rows.size();
    const bool before_atom = !is_last && atom != atoms.end() && *atom == i + 1;
    if (c.point) {
      cutter.count(c.rows, c.value);
      if (is_last || before_atom || cutter.weight() < enough || !(cutter.weight() > 0)) continue;
      const HistogramCell& next = rows[i + 1];
      const double end = next.point ? c.value + (next.value - c.value) / 2 : c.value;
      if (end > cutter.start()) cutter.cut(end);
      continue;
    }
    if (!(c.rows > 0)) continue;
    const double begin = i > 0 ? rows[i - 1].value : line.low;
    cutter.count(c.rows, begin + (c.value - begin) / 2);
    if (is_last || before_atom || cutter.weight() < enough) continue;
    if (c.value > cutter.start()) cutter.cut(c.value);
  }
  if (cutter.start() < line.high || cutter.weight() > 0) cutter.cut(line.high);
  return std::move(cutter.cells());
}

}  // namespace kde
