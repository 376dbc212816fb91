// Numbers of four bytes as base64 (RFC 4648, section 4): most significant byte first, padded.
#pragma once

#include "core/room.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kde {

// Characters that `numbers` take.
std::size_t base64_length(std::size_t numbers);

// Appends them. May throw std::bad_alloc.
void write_base64(const std::uint32_t* numbers, std::size_t count, std::string* out);

// Reads exactly `count` numbers. False where the text is none, or not the one that is written: of
// another length, other characters, bits behind the end.
bool read_base64(std::string_view text, std::uint32_t* numbers, std::size_t count);

}  // namespace kde
