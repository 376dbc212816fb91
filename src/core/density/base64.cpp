// See base64.h.
#include "core/density/base64.h"

namespace kde {

namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 64;

struct DigitValues {
  std::uint8_t of[256];
  constexpr DigitValues() : of() {
    for (std::uint8_t& value : of) value = kNoDigit;
    for (std::uint8_t i = 0; i < kNoDigit; ++i) of[static_cast<unsigned char>(kDigits[i])] = i;
  }
};
constexpr DigitValues kValues;

std::uint8_t byte_at(const std::uint32_t* numbers, std::size_t i) {
  return static_cast<std::uint8_t>(numbers[i / 4] >> (24 - i % 4 * 8));
}

}  // namespace

std::size_t base64_length(std::size_t numbers) { return (numbers * 4 + 2) / 3 * 4; }

void write_base64(const std::uint32_t* numbers, std::size_t count, std::string* out) {
  const std::size_t bytes = count * 4;
  out->reserve(out->size() + base64_length(count));
  for (std::size_t i = 0; i < bytes; i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes ? byte_at(numbers, i + j) : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      out->push_back(i + j <= bytes ? kDigits[group >> (18 - 6 * j) & 63] : '=');
  }
}

bool read_base64(std::string_view text, std::uint32_t* numbers, std::size_t count) {
  if (text.size() != base64_length(count)) return false;
  const std::size_t bytes = count * 4;
  for (std::size_t i = 0; i < count; ++i) numbers[i] = 0;
  for (std::size_t i = 0, at = 0; i < bytes; i += 3, at += 4) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const char c = text[at + j];
      std::uint8_t digit = kValues.of[static_cast<unsigned char>(c)];
      if (i + j > bytes) digit = c == '=' ? 0 : kNoDigit;
      if (digit == kNoDigit) return false;
      group = group << 6 | digit;
    }
    for (std::size_t j = 0; j < 3; ++j) {
      const std::uint32_t byte = group >> (16 - 8 * j) & 255;
      if (i + j < bytes)
        numbers[(i + j) / 4] |= byte << (24 - (i + j) % 4 * 8);
      else if (byte != 0)
        return false;
    }
  }
  return true;
}

}  // namespace kde
