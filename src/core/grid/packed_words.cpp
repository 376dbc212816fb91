// See packed_words.h.
#include "core/grid/packed_words.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace kde {

namespace {

constexpr std::size_t kWord = 8, kMostRun = 255;
// Words of 0 in the place of a byte: eight measures without a value are 24, in five bytes with their rows.
constexpr std::size_t kMostWordsPerByte = 16, kFewWords = 4096;

bool is_zero(const char* word) {
  std::uint64_t bits;
  std::memcpy(&bits, word, kWord);
  return bits == 0;
}

// put: of a byte.
template <typename Put>
void pack(std::span<const char> words, const Put& put) {
  for (std::size_t at = 0; at < words.size(); at += kWord) {
    const char* word = words.data() + at;
    unsigned tag = 0;
    for (std::size_t i = 0; i < kWord; ++i) tag |= word[i] != 0 ? 1U << i : 0U;
    put(static_cast<char>(tag));
    for (std::size_t i = 0; i < kWord; ++i)
      if (word[i] != 0) put(word[i]);
    if (tag != 0) continue;
    std::size_t run = 0;
    while (run < kMostRun && at + kWord < words.size() && is_zero(words.data() + at + kWord)) {
      at += kWord;
      ++run;
    }
    put(static_cast<char>(run));
  }
}

}  // namespace

std::size_t packed_size(std::span<const char> words) {
  std::size_t size = 0;
  pack(words, [&size](char) { ++size; });
  return size;
}

void pack_words(std::span<const char> words, char* out) {
  pack(words, [&out](char byte) { *out++ = byte; });
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
  for (std::size_t at = 0; at < packed.size();) {
    const auto tag = static_cast<unsigned char>(packed[at++]);
    for (std::size_t i = 0; i < kWord; ++i) *out++ = (tag & 1U << i) != 0 ? packed[at++] : '\0';
    if (tag != 0) continue;
    const std::size_t run = kWord * static_cast<unsigned char>(packed[at++]);
    std::memset(out, 0, run);
    out += run;
  }
}

}  // namespace kde
