// See single_values.h.
#include "core/density/single_values.h"

#include "core/density/word_format.h"

#include <algorithm>
#include <cmath>

namespace kde {

void SingleValues::find_point() {
  const Header& h = density_.header();
  has_point_ = false;
  while (block_ < density_.blocks()) {
    StoredCell cell;
    while (cells_ && cells_->next(&cell)) {
      if (cell.units == 0) continue;
      const double rows = static_cast<double>(cell.units) * h.row_unit;
      if (!cell.point && !(h.lattice_step > 0 && cell.key - cell.begin == 1)) {
        rows_in_ranges_ += rows;
        continue;
      }
      has_point_ = true;
      point_ = density_.value(cell.key);
      point_rows_ = rows;
      return;
    }
    if (++block_ < density_.blocks()) cells_.emplace(density_.cells(block_));
  }
}

bool SingleValues::next(double* value, double* rows) {
  *rows = 0;
  while (!(*rows > 0)) {
    const bool has_atom = atom_ < density_.atoms();
    if (!has_atom && !has_point_) return false;
    *value = has_atom && !(has_point_ && point_ < density_.atom_value(atom_))
                 ? density_.atom_value(atom_)
                 : point_;
    for (; atom_ < density_.atoms() && density_.atom_value(atom_) == *value; ++atom_)
      *rows += density_.atom_cumulative_rows(atom_) -
               (atom_ > 0 ? density_.atom_cumulative_rows(atom_ - 1) : 0);
    for (; has_point_ && point_ == *value; find_point()) *rows += point_rows_;
  }
  return true;
}

bool may_have_lost_digits(const Header& h) {
  const double farthest = std::max(std::fabs(h.min), std::fabs(h.max));
  switch (h.value_type) {
    case ValueType::int8:
      return farthest >= 0x1p53;
    case ValueType::timestamp:
    case ValueType::timestamptz:
    case ValueType::interval: {
      // Doubles tell microseconds apart up to 2^33 seconds. Beyond, what is none of them has a last
      // bit of 1, so that it is on no lattice of 64ths, which are whole microseconds.
      const auto in_64ths = [](double x) { return 64 * x == std::nearbyint(64 * x); };
      if (farthest < 0x1p33) return false;
      return !(farthest < 0x1p46 && h.lattice_step > 0 && in_64ths(h.lattice_step) &&
               in_64ths(h.lattice_offset) && lattice_resolved(h));
    }
    case ValueType::numeric:
      return h.lattice_step == 0 ? h.finite_rows() > 0 : farthest >= 0x1p50 * h.lattice_step;
    default:
      return h.lattice_step > 0 && !lattice_resolved(h);
  }
}

double distinct_values(const DensityView& density) {
  constexpr double kUnknown = -1;
  const Header& h = density.header();
  if ((h.flags & kEveryRowRead) == 0) return kUnknown;
  if (h.value_type == ValueType::category)
    return h.words != 0 ? WordsView(&h).header().distinct : kUnknown;
  if (h.error > 0) return kUnknown;
  if (may_have_lost_digits(h)) return kUnknown;
  SingleValues values(density);
  double distinct = 0;
  double value, rows;
  while (values.next(&value, &rows)) ++distinct;
  if (values.rows_in_ranges() > 0) return kUnknown;
  for (double special : {h.nans, h.negative_infinities, h.positive_infinities})
    distinct += special > 0 ? 1 : 0;
  return distinct;
}

}  // namespace kde
