// The form of a density on the wire, of any kind: the stored form with every number in network
// order. In place of the length word are
//
//   byte 0    kFormatVersion
//   byte 1    a number that the sender gives to the encoding of its texts (words, keys of groups)
//   byte 2, 3 0
#pragma once

#include "core/control.h"
#include "core/status.h"

#include <cstddef>
#include <cstdint>

namespace kde {

// density: `size` bytes, 8-byte aligned. wire: as many, elsewhere. False: its parts do not fit.
bool to_wire(const void* density, std::size_t size, std::uint8_t encoding, char* wire) noexcept;

// density: room for `size` bytes, 8-byte aligned; may be `wire` itself. It is then valid, but for
// what only its encoding tells, and its length word is 0. Errors: invalid_format with what is
// wrong, out_of_memory, cancelled.
Status from_wire(const char* wire, std::size_t size, void* density, std::uint8_t* encoding,
                 const Control& control = {}) noexcept;

}  // namespace kde
