// Read access to a stored histogram (histogram.h).
#pragma once

#include "core/density/histogram.h"
#include "core/density/range_effects.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kde {

// What the keys of a block's cells are multiples of, from its first on; 0: there is no such unit.
std::int64_t key_unit(const Header& h, unsigned key_shift);

// Of Header::grid_level > 0: the key of a value, 2k or 2k + 1. x: of at most kMostIndex steps.
std::int64_t grid_key(const Header& h, double x);
// Ends are numbered up to here.
inline constexpr double kMostIndex = 0x1p50;

inline constexpr std::size_t kWordBits = 64;

// ---- the cells of a block, one after the other, from their bits (histogram.h)

// Reads fields of up to 63 bits from the least significant on. Touches no word that holds none of
// a field's bits.
class BitReader {
 public:
  BitReader(const std::uint64_t* words, std::size_t bit) : words_(words), bit_(bit) {}

  std::uint64_t take(unsigned bits) {
    if (bits == 0) return 0;
    const std::size_t word = bit_ / 64;
    const unsigned shift = bit_ % 64;
    std::uint64_t field = words_[word] >> shift;
    if (shift + bits > 64) field |= words_[word + 1] << (64 - shift);
    bit_ += bits;
    return field & ((std::uint64_t{1} << bits) - 1);
  }

 private:
  const std::uint64_t* words_;
  std::size_t bit_;
};

// Bits of a cell and of a block.
inline unsigned cell_bits(const HistogramBlock& block) {
  return unsigned{block.kinds == CellKinds::mixed} + block.key_bits + block.rows_bits;
}
inline std::size_t block_bits(const HistogramBlock& block) {
  return (std::size_t{block.last_cell} + 1) * cell_bits(block);
}
inline std::size_t block_words(const HistogramBlock& block) {
  return (block_bits(block) + kWordBits - 1) / kWordBits;
}

// A cell as stored: from `begin` to `key`, with `units` of row_unit. Of a range `key` is that
// of the last value before its end.
struct StoredCell {
  std::int64_t begin = 0, key = 0;
  std::uint64_t units = 0;
  bool point = false;
};

// Goes through a block's cells. Keys are added up without sign, so that bytes that nobody checked
// give wrong keys and nothing worse.
class CellReader {
 public:
  CellReader() : bits_(nullptr, 0) {}
  CellReader(const Header& h, const HistogramBlock& block, const std::uint64_t* words)
      : bits_(words, block.word * kWordBits),
        key_(static_cast<std::uint64_t>(block.first_key)),
        unit_(static_cast<std::uint64_t>(key_unit(h, block.key_shift))),
        left_(block.last_cell + 1),
        key_bits_(block.key_bits),
        rows_bits_(block.rows_bits),
        rows_shift_(block.rows_shift),
        kinds_(block.kinds) {}

  bool next(StoredCell* cell) {
    if (left_ == 0) return false;
    --left_;
    cell->point = kinds_ == CellKinds::mixed ? bits_.take(1) != 0 : kinds_ == CellKinds::points;
    cell->begin = static_cast<std::int64_t>(key_);
    key_ += bits_.take(key_bits_) * unit_;
    cell->key = static_cast<std::int64_t>(key_ - (cell->point ? 0 : 1));
    cell->units = bits_.take(rows_bits_) << rows_shift_;
    return true;
  }

 private:
  BitReader bits_;
  std::uint64_t key_ = 0, unit_ = 0;
  int left_ = 0;
  unsigned key_bits_ = 0, rows_bits_ = 0, rows_shift_ = 0;
  CellKinds kinds_ = {};
};

// ---- the view

// What a block's cells have in sum, so that whoever asks often need not go through them
// (integrate.h, add_up_blocks()).
struct BlockMoments {
  double mean, deviation;  // of the rows; deviation: divisor n
  double begin, end;       // of the cells that have rows
  double spread;           // the sum of rows times the width of their cell
  std::int64_t last_key;   // of the last cell
};

// The same of a density that a Gaussian kernel smooths (integrate/histogram_kernel.h).
inline constexpr int kSeriesOrder = 20;
struct BlockSeries {
  double middle;                    // of the cells that have rows
  double radius;                    // their reach from it, in bandwidths
  double moment[kSeriesOrder + 1];  // sum over the rows of u^j/j!, u = (x - middle)/bandwidth
};

class LastCuts;  // integrate/last_cuts.h

// What is known of a density's blocks.
struct BlockSums {
  const BlockMoments* moments = nullptr;  // one of each block, or null
  const BlockSeries* series = nullptr;
  // Of the density with all that belongs to it, whose bytes stay where they are as long as it is
  // used; null: none.
  LastCuts* cuts = nullptr;
};

// Holds pointers into the bytes; trivially copyable.
class DensityView {
 public:
  // bytes: 8-byte aligned, validated (or built by this library). sums: none, or what
  // add_up_blocks() gave for these bytes; they must outlive the view.
  explicit DensityView(const void* bytes, const BlockSums& sums = {});

  const Header& header() const { return *header_; }
  int atoms() const { return static_cast<int>(header_->atoms); }
  double atom_value(int i) const { return atom_value_[i]; }
  double atom_cumulative_rows(int i) const { return atom_rows_[i]; }
  // Number of atoms <= x (inclusive) or < x.
  int atoms_below(double x, bool inclusive) const {
    const double* end = atom_value_ + header_->atoms;
    const double* at =
        inclusive ? std::upper_bound(atom_value_, end, x) : std::lower_bound(atom_value_, end, x);
    return static_cast<int>(at - atom_value_);
  }
  int blocks() const { return static_cast<int>(header_->blocks); }
  const HistogramBlock& block(int b) const { return block_[b]; }
  const BlockSums& sums() const { return sums_; }

  const std::uint64_t* words() const { return words_; }
  CellReader cells(int b) const { return {*header_, block_[b], words_}; }
  // Rows of all cells up to block b, its own not among them; b <= blocks().
  double rows_below(int b) const {
    return b < blocks() ? block_[b].rows_below : header_->cell_rows;
  }

  // Of ranges; null: none are known.
  const RangeEffectsHeader* effects() const {
    if (header_->effects == 0) return nullptr;
    return reinterpret_cast<const RangeEffectsHeader*>(reinterpret_cast<const char*>(header_) +
                                                       cells_bytes());
  }
  std::size_t bytes() const {
    return cells_bytes() + (header_->effects == 0 ? 0 : effects()->bytes);
  }
  // Of a histogram: its blocks' cells lie one after the other (histogram_size).
  std::size_t cells_bytes() const {
    const std::size_t words =
        blocks() > 0 ? block(blocks() - 1).word + block_words(block(blocks() - 1)) : 0;
    return static_cast<std::size_t>(reinterpret_cast<const char*>(words_) -
                                    reinterpret_cast<const char*>(header_)) +
           words * sizeof(std::uint64_t);
  }

  // How many steps its distribution function has: cells and atoms.
  int steps() const;

  // x of a key, within [min, max]: ascends with it.
  double value(std::int64_t key) const;

 private:
  const Header* header_;
  const double* atom_value_;
  const double* atom_rows_;
  const HistogramBlock* block_;
  const std::uint64_t* words_;
  BlockSums sums_;
};

// Bytes of a histogram whose first `available` bytes (at least a Header) are given; 0 where it
// cannot be known from them, would exceed kMostListBytes, or a block's cells are out of place.
std::size_t histogram_size(const void* bytes, std::size_t available);
// The same without the effects of ranges, which need not be given.
std::size_t histogram_cells_size(const void* bytes, std::size_t available);

// A bound for how far the count of the rows below any value is from the density's, in rows.
double error_rows(const DensityView& view);

// The distribution function as cells, atoms among them: ascending and a partition of the line, the
// first a point or of no rows. An atom within a range divides it by width. Throws std::bad_alloc.
void decode_histogram(const DensityView& view, std::vector<HistogramCell>* cells);

// Every rule of histogram.h, on bytes of unknown origin. bytes: 8-byte aligned. Errors:
// invalid_format with what is wrong. (validate() of format.h calls it for Kind::one_column.)
// measures: whether it is of rows, so that some, or groups or words, may follow; else a measure's
// part.
Status validate_one_column(const void* bytes, std::size_t size, bool measures = false);

}  // namespace kde
