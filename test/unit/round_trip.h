// A density over the wire (core/density/wire.h) and back.
#pragma once

#include "core/density/wire.h"

#include <cstring>
#include <vector>

#include "core/density/format.h"

namespace kde {

// bytes: valid. Null, or what is wrong with what comes back: all of it does, but for the length
// word.
inline const char* round_trip(const DensityBytes& bytes) {
  // Exact copies, so that a sanitizer sees what is beyond the end.
  std::vector<char> wire(bytes.size());
  if (!to_wire(bytes.data(), bytes.size(), 77, wire.data())) return "does not go onto the wire";
  DensityBytes back(bytes.size());
  std::uint8_t encoding = 0;
  static Status status;
  status = from_wire(wire.data(), wire.size(), back.data(), &encoding);
  if (!status.ok()) return status.message;
  if (encoding != 77) return "comes back in another encoding";
  constexpr std::size_t kWord = sizeof(Header::varlena);
  if (std::memcmp(back.data() + kWord, bytes.data() + kWord, bytes.size() - kWord) != 0)
    return "comes back as other bytes";
  return nullptr;
}

}  // namespace kde
