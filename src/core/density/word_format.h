// The stored form of the words of a category: a column whose values are compared for equality
// alone. Its density is one of ranks, 0 for the most frequent value, on the lattice of the whole
// numbers; behind its cells, and before its measures, lie the values themselves.
//
//   offset  what
//   0       the density of ranks (histogram.h), Header::words 1, value_type category
//   ...     WordsHeader, 8-byte aligned
//   ...     uint32   end[words]      of each word in text[]: rank r begins where r - 1 ends
//   ...     uint16   order[words]    ranks in the order of the words' bytes
//   ...     uint16   place[words]    kPlaced: where the word is in its type's own order
//   ...     uint8    spread[words]   kSpread: how it varies between blocks (spread_of())
//   ...     char     text[]          zeros up to a multiple of 8
//
// The values of the greatest counts are kept, as their type prints them; the others share the rank
// `words`. Words of no rows (of an enum, all that it has) come last among those kept.
#pragma once

#include "core/density/bytes.h"
#include "core/density/format.h"
#include "core/status.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kde {

enum WordsFlags : std::uint8_t {
  kPlaced = 1,
  kSpread = 2,
  kFolded = 4,  // words may be equal though their bytes are not
};

struct WordsHeader {
  std::uint32_t bytes;  // with the words; a multiple of 8
  std::uint32_t words;
  std::uint32_t text_bytes;
  std::uint32_t type;  // its number, of one that has the same everywhere; 0: another
  std::uint32_t flags;
  std::uint32_t reserved;  // 0
  double distinct;         // values met, kept or not
  double others;           // of those, not kept
  double others_most;      // rows of the most frequent value that is not kept
  // Rows of values that a sample did not meet, all together: estimated, and the estimate's standard
  // error.
  double unseen, unseen_error;
  // Of one of them: rows r of which a sample meets z^2 r at least once, but for the chance that z
  // stands for.
  double unseen_one;
  // As spread, the most that any combination of values has; infinite: not known.
  double most_spread;
};
static_assert(sizeof(WordsHeader) == 24 + 7 * sizeof(double));

// The variance of a word's count over that of as many independent draws, in eighths of a power of
// two, rounded up; 0: none.
inline std::uint8_t spread_code(double variance) {
  if (!(variance > 0)) return 0;
  return static_cast<std::uint8_t>(std::clamp(std::ceil(8 * std::log2(variance)) + 65, 1.0, 255.0));
}
inline double spread_of(std::uint8_t code) { return code == 0 ? 0 : std::exp2((code - 65) / 8.0); }

inline constexpr std::size_t kMostWords = 65535;
// At a fit; in the encoding of another database it may be up to four times as long.
inline constexpr std::size_t kMostWordBytes = 1024;
inline constexpr std::size_t kMostStoredWordBytes = 4 * kMostWordBytes;
// A density's words with all that belongs to them, by default and at most.
inline constexpr std::size_t kWordsBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMostWordsBytes = std::size_t{1} << 20;

// Read access; holds pointers into the bytes.
class WordsView {
 public:
  // density: validated, 8-byte aligned, Header::words 1.
  explicit WordsView(const Header* density);

  const WordsHeader& header() const { return *header_; }
  std::uint32_t words() const { return header_->words; }
  // Values that were met and are not kept, and the rank they share.
  double others() const { return header_->others; }
  double others_rank() const { return header_->words; }
  std::string_view word(std::uint32_t rank) const {
    const std::uint32_t end = std::min(end_[rank], header_->text_bytes);
    const std::uint32_t begin = rank > 0 ? std::min(end_[rank - 1], end) : 0;
    return {text_ + begin, end - begin};
  }
  std::uint16_t place(std::uint32_t rank) const { return place_ == nullptr ? 0 : place_[rank]; }
  std::uint8_t spread_code(std::uint32_t rank) const {
    return spread_ == nullptr ? 0 : spread_[rank];
  }
  double spread(std::uint32_t rank) const { return spread_of(spread_code(rank)); }
  // The rank of the word with those bytes; -1: none. O(log words).
  std::int64_t find(std::string_view text) const;

 private:
  friend Status validate_words(const Header* density);

  const WordsHeader* header_;
  const std::uint32_t* end_;
  const std::uint16_t* order_;
  const std::uint16_t* place_;
  const std::uint8_t* spread_;
  const char* text_;
};

// Bytes of the density of a column with its words, if it has them, whose first `available` bytes
// are given; 0 where it cannot be known from them, or they do not fit together.
std::size_t column_size(const void* bytes, std::size_t available);
inline constexpr std::size_t kMostColumnBytes = kMostListBytes + kMostWordsBytes;

// The rules above, of words of unknown origin whose lengths fit, behind a valid density of ranks.
// Errors: invalid_format. May throw std::bad_alloc.
Status validate_words(const Header* density);

// What words are put together of, rank by rank.
struct WordEntry {
  std::string_view text;
  std::uint16_t place;
  std::uint8_t spread;
};

// Bytes that so many words take, of text_bytes together.
std::size_t words_bytes(std::size_t words, std::size_t text_bytes, std::uint32_t flags);

// A density of ranks, of `size` bytes, with words behind its cells, before its measures. density:
// may be *out's bytes. header: all but bytes, words and text_bytes. Errors: invalid_argument for
// two equal words, or too many; out_of_memory.
Status insert_words(const WordsHeader& header, const WordEntry* entries, std::size_t words,
                    const void* density, std::size_t size, DensityBytes* out) noexcept;

}  // namespace kde
