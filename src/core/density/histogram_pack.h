// Steps of a distribution function as the blocks and bits of histogram.h.
//
// Rows are rounded as cumulative sums, downwards, to multiples of a block's unit: so errors do not
// add up, and what one block leaves the next one has. Values are told in multiples of a step of the
// grid.
#pragma once

#include "core/density/histogram.h"
#include "core/density/histogram_steps.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kde {

// Appends fields of up to 63 bits from the least significant bit on.
class BitWriter {
 public:
  void put(std::uint64_t field, unsigned bits) {
    const std::size_t word = bit_ / 64;
    const unsigned shift = bit_ % 64;
    bit_ += bits;
    if (words_.size() * 64 < bit_) words_.push_back(0);
    if (bits > 0) words_[word] |= field << shift;
    if (shift + bits > 64) words_[word + 1] |= field >> (64 - shift);
  }
  // The word where the next block's cells begin.
  std::size_t next_word() {
    bit_ = words_.size() * 64;
    return words_.size();
  }
  const std::vector<std::uint64_t>& words() const { return words_; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t bit_ = 0;
};

// The bytes of histogram.h. Of the header version, kind and the numbers of atoms and blocks are set
// here. Throws std::bad_alloc.
DensityBytes lay_out(Header header, std::span<const double> atom_value,
                     std::span<const double> atom_rows, std::span<const HistogramBlock> blocks,
                     std::span<const std::uint64_t> words);

// What is to be packed, and how.
class HistogramPacking {
 public:
  // Of the header is used what keys are multiples of.
  explicit HistogramPacking(const Header& header);

  // Divides steps into blocks. unit: of rows; all rows are less than 2^53 of them. rows_share: they are
  // rounded to this share of the largest of some neighbouring cells'; 0: they are not. Returns about
  // the bytes it will take, of blocks and words.
  std::size_t plan(const Steps& steps, double unit, double rows_share);

  // Carries the plan out. Returns the bytes of blocks and words. keep: packed() is wanted.
  std::size_t pack(bool keep);
  double unit() const { return unit_; }
  const std::vector<HistogramBlock>& blocks() const { return blocks_; }
  const std::vector<std::uint64_t>& words() const { return bits_.words(); }
  // The distribution function as packed.
  const Steps& packed() const { return packed_; }

 private:
  struct Cell {
    std::int64_t key;
    std::uint64_t through;  // units of this and all earlier cells
    bool point;
    std::uint8_t key_shift, rows_shift;  // the most
  };
  // Some cells that stay together.
  struct Chunk {
    std::size_t begin, end;
    bool after_zero;  // a block begins here
    bool points, ranges;
    std::uint8_t key_shift, rows_shift;
    std::uint64_t first_width, other_width;  // of keys, the widest
    std::uint64_t rows;                      // the most
  };
  struct Block {
    std::size_t begin, end;
    std::uint8_t key_shift, rows_shift;
  };

  void list_cells(const Steps& steps, double rows_share);
  void list_chunks();
  std::size_t plan_blocks();
  void pack_block(const Block& planned);
  void append_packed(std::int64_t key, std::uint64_t below, std::uint64_t through);
  std::uint64_t units(double rows) const;
  double rows(std::uint64_t units) const;

  std::uint8_t round_shift(std::uint64_t width, std::uint8_t guess) const;
  std::uint64_t quanta(std::uint64_t width, int key_shift) const {
    return width / key_unit_[key_shift];
  }

  bool has_grid_;
  std::uint64_t key_unit_[64] = {};  // by key_shift; 0: there is no such
  int most_key_shift_ = 0;
  double unit_ = 1;
  bool lattice_ = false, is_by_largest_ = false;
  std::int64_t first_key_ = 0;
  std::vector<Cell> cells_;
  std::vector<Chunk> chunks_;
  std::vector<Block> plan_;

  std::vector<HistogramBlock> blocks_;
  BitWriter bits_;
  std::int64_t key_ = 0;     // of the last cell, as packed
  std::uint64_t units_ = 0;  // of all cells, as packed
  bool keeps_ = false;
  Steps packed_;
};

}  // namespace kde
