// See cells.h.
#include "core/estimate/cells.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

// Cells as they are cut off from left to right.
class Cutter {
 public:
  explicit Cutter(double low) { cells_.edge.push_back(low); }

  void count(const WeightedValue& v) {
    weight_ += v.weight;
    moment_ += v.weight * v.value;
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
  for (const WeightedValue& v : line.distinct) {
    const double at = std::nearbyint((v.value - first_value) / step);
    cells.count[static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(size - 1)))] +=
        v.weight;
  }
  return cells;
}

Cells value_cells(const Line& line, std::span<const WeightedValue> atoms) {
  double total = 0;
  for (const WeightedValue& v : line.distinct) total += v.weight;
  // Atoms take up to three cells each.
  const std::size_t most = kMaxCells - std::min(kMaxCells / 2, 3 * atoms.size());
  const double enough = line.distinct.size() <= most ? 0 : 2 * total / static_cast<double>(most);
  Cutter cutter(line.low);
  auto atom = atoms.begin();
  for (std::size_t i = 0; i < line.distinct.size(); ++i) {
    const WeightedValue& v = line.distinct[i];
    const bool is_atom = atom != atoms.end() && atom->value == v.value;
    const bool is_last = i + 1 == line.distinct.size();
    const bool before_atom =
        !is_last && atom != atoms.end() && !is_atom && line.distinct[i + 1].value == atom->value;
    if (is_atom) {
      if (cutter.start() < v.value) cutter.cut(v.value);
      cutter.count(v);
      cutter.cells().points.push_back(cutter.cells().size());
      cutter.cut(v.value);
      ++atom;
      continue;
    }
    cutter.count(v);
    if (is_last || before_atom || cutter.weight() < enough) continue;
    const double next = line.distinct[i + 1].value;
    cutter.cut(v.value + (next - v.value) / 2);
  }
  if (cutter.start() < line.high || cutter.weight() > 0) cutter.cut(line.high);
  return std::move(cutter.cells());
}

}  // namespace kde
