// The rules of format.h and histogram.h, checked on bytes of unknown origin.
#include "core/density/checks.h"
#include "core/density/fields.h"
#include "core/density/histogram_view.h"
#include "core/density/round_ends.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

// But for the rounding of a product.
bool is_whole(double x) { return std::fabs(x - std::nearbyint(x)) <= 0x1p-50 * std::fabs(x); }

Status validate_header(const Header& h) {
  if (h.version != kFormatVersion)
    return Status::error(Code::invalid_format, "unknown format version %d", int{h.version});
  if (h.kind != Kind::one_column) return invalid("unknown kind of density");
  if (Status s = check_fields(h); !s.ok()) return s;
  if (!(h.min <= h.mean && h.mean <= h.max)) return invalid("mean is outside [min, max]");
  if (h.lattice_step > 0 && !lattice_resolved(h)) return invalid("lattice step is too small");
  if (h.lattice_scale != 0) {
    if (h.lattice_scale < 1) return invalid("lattice scale is out of range");
    if (!is_whole(h.lattice_step * h.lattice_scale) ||
        !is_whole(h.lattice_offset * h.lattice_scale))
      return invalid("lattice scale does not fit the lattice");
  }
  // A coarser one would make two points one.
  if (h.lattice_scale > 0 && !(h.lattice_step * h.lattice_scale >= 1 - 1e-9))
    return invalid("lattice scale is too small for the step");
  if (!(h.known_below < h.known_above)) return invalid("limits of the known rows are out of order");
  if (h.finite_rows() < -h.rounding_of_rows()) return invalid("special values exceed the rows");
  // They are counted one by one.
  if (!(h.sample_rows == 0 || (h.sample_rows >= 1 && h.sample_rows <= 0x1p62)))
    return invalid("number of sample rows is out of range");
  if (h.sample_rows == 0 && h.finite_rows() > h.rounding_of_rows())
    return invalid("rows without a row that was read");
  if (h.blocks > 0 && !(h.row_unit > 0)) return invalid("unit of the cells' rows is 0");
  if (h.blocks == 0 && h.cell_rows > 0) return invalid("rows of cells without cells");
  constexpr std::uint8_t kNeeded = kBounded | kEveryRowRead;
  if (h.has_exact_ends() && (h.flags & kNeeded) != kNeeded)
    return invalid("exact ends of what has none");
  const RoundEnds ends(h.chain);
  if (!is_chain_of(h.value_type, h.chain) ||
      (is_told(h.value_type, h.chain) && !(std::max(-h.min, h.max) < ends.farthest())))
    return invalid("chain of steps does not fit the values");
  if (h.grid_level > 0) {
    if (h.lattice_step > 0 || h.grid_level > ends.levels() ||
        !(std::max(std::fabs(h.min), std::fabs(h.max)) < kMostIndex * ends.step(h.grid_level - 1)))
      return invalid("level of the grid is out of range");
  }
  return Status::success();
}

Status validate_histogram_atoms(const DensityView& d) {
  const Header& h = d.header();
  double previous = 0;
  for (int i = 0; i < d.atoms(); ++i) {
    const double v = d.atom_value(i);
    const double rows = d.atom_cumulative_rows(i);
    if (!(v >= h.min && v <= h.max)) return invalid("an atom is outside [min, max]");
    if (i > 0 && v <= d.atom_value(i - 1)) return invalid("atoms are not in ascending order");
    // Else a bound near it would be taken for the point that it is not.
    if (h.lattice_step > 0 &&
        h.lattice_point(std::nearbyint((v - h.lattice_offset) / h.lattice_step)) != v)
      return invalid("an atom is not on the lattice");
    if (!std::isfinite(rows) || rows <= previous) return invalid("an atom has no rows");
    previous = rows;
  }
  return Status::success();
}

// The least key and, where every key is known to the last bit, the greatest.
struct KeyLimits {
  std::int64_t low, high;

  explicit KeyLimits(const Header& h)
      : low(key_of(-std::numeric_limits<double>::max())),
        // A range may end beyond max, whatever it is.
        high(std::numeric_limits<std::int64_t>::max()) {
    if (h.grid_level > 0) {
      // A range may have what is at min and max.
      low = 2 * (grid_key(h, h.min) / 2 - 2);
      high = 2 * (grid_key(h, h.max) / 2 + 2);
    } else if (h.lattice_step > 0) {
      // A range begins before its first point, and ends behind its last.
      low = point(h, h.min) - 1;
      high = point(h, h.max) + 1;
    }
  }

 private:
  // Of less than 53 bits, as lattice_resolved() says.
  static std::int64_t point(const Header& h, double x) {
    return static_cast<std::int64_t>(std::nearbyint((x - h.lattice_offset) / h.lattice_step));
  }
};

// Keys and rows of a block. *last: the last key before it, and then its own last one.
Status validate_cells(const DensityView& d, int b, const KeyLimits& limits, std::int64_t* last) {
  const Header& h = d.header();
  const HistogramBlock& block = d.block(b);
  if (h.grid_level > 0 && block.first_key % 2 != 0) return invalid("a key is between ends");
  if (block.first_key < *last) return invalid("blocks are not in ascending order");
  const std::int64_t unit = key_unit(h, block.key_shift);
  if (unit <= 0) return invalid("a block's keys have no unit");
  BitReader bits(d.words(), block.word * kWordBits);
  std::int64_t key = block.first_key;
  std::uint64_t units = 0;  // 64 fields of 53 bits
  for (int i = 0; i <= block.last_cell; ++i) {
    const bool point =
        block.kinds == CellKinds::mixed ? bits.take(1) != 0 : block.kinds == CellKinds::points;
    const std::uint64_t step = bits.take(block.key_bits);
    const std::int64_t before = key;
    std::int64_t width;
    if (__builtin_mul_overflow(static_cast<std::int64_t>(step), unit, &width) ||
        __builtin_add_overflow(before, width, &key) || key > limits.high)
      return invalid("a key is out of range");
    const std::uint64_t own = bits.take(block.rows_bits) << block.rows_shift;
    // Rows of a range lie between its ends.
    if (!point && width < (own > 0 ? 2 : 1)) return invalid("a range of values has no width");
    if (!point && h.lattice_step == 0 && before < 0 && key > 0)
      return invalid("a range of values has both signs");
    units += own;
  }
  *last = key;
  const double after = block.rows_below + static_cast<double>(units) * h.row_unit;
  if (!(std::fabs(after - d.rows_below(b + 1)) <= h.rounding_of_rows()))
    return invalid("rows of cells do not add up");
  return Status::success();
}

Status validate_blocks(const DensityView& d) {
  const Header& h = d.header();
  const KeyLimits limits(h);
  std::int64_t last = limits.low;
  double rows = 0;
  for (int b = 0; b < d.blocks(); ++b) {
    const HistogramBlock& block = d.block(b);
    // To the next word all bits are 0: a density has one form.
    const std::size_t bits = block_bits(block);
    BitReader rest(d.words(), block.word * kWordBits + bits);
    if (rest.take(static_cast<unsigned>(block_words(block) * kWordBits - bits)) != 0)
      return invalid("unused bits are not 0");
    if (!(block.rows_below >= rows && block.rows_below <= h.cell_rows) ||
        (b == 0 && block.rows_below != 0))
      return invalid("rows of cells do not add up");
    rows = block.rows_below;
    if (Status s = validate_cells(d, b, limits, &last); !s.ok()) return s;
  }
  return Status::success();
}

}  // namespace

Status validate_one_column(const void* bytes, std::size_t size, bool measures) {
  if (size < sizeof(Header)) return invalid("too short");
  const Header& h = *static_cast<const Header*>(bytes);
  if (size > kMostListBytes) return invalid("too long");
  if (h.kind != Kind::one_column) return invalid("not of one column");
  if ((h.measures > 0 || h.grouped > 0 || h.words > 0) && !measures)
    return invalid("measures, groups or words where none can be");
  if (Status s = validate_header(h); !s.ok()) return s;
  // A measure's parts count what it weighs.
  if (measures && !(std::max(h.rows, h.nulls) <= kMostRows))
    return invalid("a number of rows is out of range");
  if (histogram_size(bytes, size) != size) return invalid("length does not fit its contents");
  const DensityView d(bytes);
  if (Status s = validate_histogram_atoms(d); !s.ok()) return s;
  if (Status s = validate_blocks(d); !s.ok()) return s;
  if (h.effects != 0)
    if (Status s = validate_count_effects(h, *d.effects()); !s.ok()) return s;
  const double atom_rows = d.atoms() > 0 ? d.atom_cumulative_rows(d.atoms() - 1) : 0;
  if (!(std::fabs(atom_rows + h.cell_rows - h.finite_rows()) <= h.rounding_of_rows()))
    return invalid("rows do not add up");
  return Status::success();
}

}  // namespace kde
