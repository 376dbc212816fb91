// The stored form of a density of one column, fitted, aggregated or merged: Kind::one_column.
//
// The rows are kept as their distribution function, piecewise linear: a histogram whose cells are
// chosen so that no count is off by more than a bound (Header::error), as equi-depth histograms and
// quantile summaries are. Nothing is smoothed by the stored form itself, so that densities can be
// added; where a kernel acts, it does when asked, with the bandwidth in the header.
//
//   offset  what
//   0       Header                      atoms, blocks: their numbers
//   ...     double   atom_value[atoms]  ascending: values with rows of their own, exact
//   ...     double   atom_rows[atoms]   cumulative: rows at this and all earlier atoms
//   ...     HistogramBlock block[blocks]
//   ...     uint64   word[...]          the cells' bits, from the least significant on
//   ...     the effects of ranges, if Header::effects (range_effects.h)
//
// A cell is a value and its rows: those strictly between the previous value and it, evenly spread (over
// the lattice points in it, where the column has a lattice), or, of a point, those at the value itself.
// So counts up to an end (density/round_ends.h), with it or without, are exact. Values are whole
// numbers, keys:
//
//   with a lattice     k of the point lattice_offset + k lattice_step (Header::lattice_point)
//   without            the double's bits as an integer that ascends with it: the bits themselves of
//                      what is >= 0, their negative without the sign bit of what is < 0 (IEEE 754;
//                      no -0)
//
// Up to kHistogramCells consecutive cells are a block, all with fields of the same widths:
//
//   1 bit         whether the cell is a point; only in blocks of CellKinds::mixed
//   key_bits      (key - previous key)/key_unit(key_shift) (histogram_view.h); the previous key of a
//                 block's first cell is first_key. 0 only for a point.
//   rows_bits     rows in units of row_unit 2^rows_shift: blocks of the tails are finer
//
// so that a cell within a block is found by adding up; blocks' cells begin at multiples of 8 bytes. Decoded
// values beyond Header::max stand for it, as a range's end may lie there. Without a lattice no cell but a
// point has keys of both signs at its ends, so that differences of keys fit in 63 bits.
//
// On a lattice the keys' differences are multiples of a step of the grid, whose number is key_shift. Off
// a lattice keys may number the ends of one of its levels (grid_level): 2k is that of the k-th end,
// 2k + 1 of what is between it and the next one.
#pragma once

#include "core/density/format.h"
#include "core/status.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kde {

inline constexpr int kHistogramCells = 64;

enum class CellKinds : std::uint8_t { ranges = 0, points = 1, mixed = 2 };

struct HistogramBlock {
  std::int64_t first_key;  // where the block's first cell begins; >= the last key before
  double rows_below;       // rows of all cells of earlier blocks
  std::uint16_t word;      // where the block's cells begin in word[]
  std::uint8_t last_cell;  // number of cells less 1
  std::uint8_t key_shift;  // 0 .. 62
  std::uint8_t key_bits;   // 0 .. 63
  std::uint8_t rows_bits;  // 0 .. 53
  CellKinds kinds;
  std::uint8_t rows_shift;  // 0 .. 53 - rows_bits
};
static_assert(sizeof(HistogramBlock) == 24);

// Keys of finite doubles.
inline std::int64_t key_of(double x) {
  const auto bits = std::bit_cast<std::int64_t>(x + 0.0);
  return bits >= 0 ? bits : -(bits & std::int64_t{0x7fffffffffffffff});
}
inline double value_of_key(std::int64_t key) {
  return key >= 0 ? std::bit_cast<double>(key) : -std::bit_cast<double>(-key);
}

// One step of the distribution function, decoded.
struct HistogramCell {
  double value = 0;    // its upper end
  double rows = 0;     // >= 0
  bool point = false;  // all rows are at the value; otherwise over (previous value, value]
};

// Of the cells of a density, that asked for may be no less.
inline constexpr std::size_t kLeastHistogramBytes = 512;

}  // namespace kde
