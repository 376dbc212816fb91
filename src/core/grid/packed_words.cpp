// See packed_words.h.
#include "core/grid/packed_words.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace kde {

namespace {

constexpr std::size_t kWord = 8, kMostRun = 255;
constexpr unsigned kWhole = 0xff;  // a word without a 0
// Words of 0 in the place of a byte: eight measures without a value are 24, in five bytes with their rows.
constexpr std::size_t kMostWordsPerByte = 16, kFewWords = 4096;

std::uint64_t word_at(std::span<const char> words, std::size_t at) {
  std::uint64_t word;
  std::memcpy(&word, words.data() + at, kWord);
  return word;
}

// A bit for each byte that is not 0, from the lowest on.
unsigned tag_of(std::uint64_t word) {
  constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7fU;
  const std::uint64_t high = (((word & kLow) + kLow) | word) & ~kLow;
  return static_cast<unsigned>((high >> 7) * 0x0102040810204080U >> 56);
}

// How many words of 0 follow, so that they are of one run.
std::size_t run_after(std::span<const char> words, std::size_t at) {
  std::size_t run = 0;
  while (run < kMostRun && (at += kWord) < words.size() && word_at(words, at) == 0) ++run;
  return run;
}

}  // namespace

std::size_t packed_size(std::span<const char> words) {
  std::size_t size = 0;
  for (std::size_t at = 0; at < words.size(); at += kWord) {
    const unsigned tag = tag_of(word_at(words, at));
    if (tag == 0) at += kWord * run_after(words, at);
    size += tag == 0 ? 2 : 1 + static_cast<std::size_t>(std::popcount(tag));
  }
  return size;
}

void pack_words(std::span<const char> words, char* out) {
  for (std::size_t at = 0; at < words.size(); at += kWord) {
    const std::uint64_t word = word_at(words, at);
    unsigned tag = tag_of(word);
    *out++ = static_cast<char>(tag);
    if (tag == 0) {
      const std::size_t run = run_after(words, at);
      *out++ = static_cast<char>(run);
      at += kWord * run;
    } else if (tag == kWhole) {
      std::memcpy(out, &word, kWord);
      out += kWord;
    } else {
      for (; tag != 0; tag &= tag - 1)
        *out++ = static_cast<char>(word >> kWord * static_cast<unsigned>(std::countr_zero(tag)));
    }
  }
}

std::size_t unpacked_size(std::span<const char> packed) {
  std::size_t words = 0;
  for (std::size_t at = 0; at < packed.size(); ++words) {
    const auto tag = static_cast<unsigned char>(packed[at++]);
    const auto bytes = tag != 0 ? static_cast<std::size_t>(std::popcount(tag)) : std::size_t{1};
    if (bytes > packed.size() - at) return 0;
    if (tag == 0) words += static_cast<unsigned char>(packed[at]);
    at += bytes;
  }
  return words <= kMostWordsPerByte * packed.size() + kFewWords ? kWord * words : 0;
}

void unpack_words(std::span<const char> packed, char* out) {
  for (const char* at = packed.data(); at < packed.data() + packed.size(); out += kWord) {
    unsigned tag = static_cast<unsigned char>(*at++);
    if (tag == kWhole) {
      std::memcpy(out, at, kWord);
      at += kWord;
      continue;
    }
    std::uint64_t word = 0;
    if (tag == 0) {
      const std::size_t run = kWord * static_cast<unsigned char>(*at++);
      std::memset(out, 0, run);
      out += run;
    }
    for (; tag != 0; tag &= tag - 1)
      word |= std::uint64_t{static_cast<unsigned char>(*at++)}
              << kWord * static_cast<unsigned>(std::countr_zero(tag));
    std::memcpy(out, &word, kWord);
  }
}

}  // namespace kde
