// Words packed: what Cap'n Proto's own page gives as an example, and whatever was packed comes back.
#include "core/grid/packed_words.h"

#include "core/random.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kde {
namespace {

std::string packed(const std::string& words) {
  std::string out(packed_size(words), '\0');
  pack_words(words, out.data());
  return out;
}

std::string unpacked(const std::string& bytes) {
  std::string out(unpacked_size(bytes), '\0');
  if (!out.empty()) unpack_words(bytes, out.data());
  return out;
}

TEST(PackedWords, AreThoseOfCapnProto) {
  const std::string words("\x08\0\0\0\x03\0\x02\0\x19\0\0\0\xaa\x01\0\0", 16);
  EXPECT_EQ(packed(words), std::string("\x51\x08\x03\x02\x31\x19\xaa\x01", 8));
  EXPECT_EQ(packed(std::string(32, '\0')), std::string("\0\x03", 2));
}

TEST(PackedWords, ComeBack) {
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    std::string words(8 * random.below(600), '\0');
    const auto zeros = 1 + random.below(20);
    for (char& c : words)
      if (random.below(zeros) == 0) c = static_cast<char>(random.below(256));
    EXPECT_EQ(unpacked(packed(words)), words);
  }
  EXPECT_EQ(unpacked(packed(std::string(8 * 4000, '\0'))).size(), 8 * 4000);
}

TEST(PackedWords, RefuseWhatIsCutOrFarTooMuch) {
  const std::string good = packed(std::string("12345678\0\0\0\0\0\0\0\0", 16));
  for (const std::size_t size : {1, 8, 10})
    EXPECT_EQ(unpacked_size(good.substr(0, size)), 0) << size;
  std::string zeros;
  for (int i = 0; i < 1000; ++i) zeros += std::string("\0\xff", 2);
  EXPECT_EQ(unpacked_size(zeros), 0);
}

}  // namespace
}  // namespace kde
