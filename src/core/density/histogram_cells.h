// The cells of a block, one after the other, from their bits (histogram.h).
#pragma once

#include "core/density/histogram.h"

#include <cstdint>

namespace kde {

// Reads fields of up to 63 bits from the least significant on. Touches no word that holds none of
// a field's bits.
class BitReader {
 public:
  BitReader(const std::uint64_t* words, std::size_t byte) : words_(words), bit_(byte * 8) {}

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

// A cell as stored: from `begin` to `key`, with `units` of row_unit.
struct StoredCell {
  std::int64_t begin = 0, key = 0;
  std::uint64_t units = 0;
  bool point = false;
};

// Goes through a block's cells. Keys are added up without sign, so that bytes that nobody checked
// give wrong keys and nothing worse.
class CellReader {
 public:
  CellReader(const HistogramBlock& block, const std::uint64_t* words)
      : bits_(words, block.byte),
        key_(static_cast<std::uint64_t>(block.first_key)),
        left_(block.last_cell + 1),
        shift_(block.key_shift),
        key_bits_(block.key_bits),
        rows_bits_(block.rows_bits),
        rows_shift_(block.rows_shift),
        kinds_(block.kinds) {}

  bool next(StoredCell* cell) {
    if (left_ == 0) return false;
    --left_;
    cell->point = kinds_ == CellKinds::mixed ? bits_.take(1) != 0 : kinds_ == CellKinds::points;
    cell->begin = static_cast<std::int64_t>(key_);
    key_ += bits_.take(key_bits_) << shift_;
    cell->key = static_cast<std::int64_t>(key_);
    cell->units = bits_.take(rows_bits_) << rows_shift_;
    return true;
  }

 private:
  BitReader bits_;
  std::uint64_t key_;
  int left_;
  unsigned shift_, key_bits_, rows_bits_, rows_shift_;
  CellKinds kinds_;
};

}  // namespace kde
