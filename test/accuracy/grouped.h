// A count as people read it: 12,345.
#pragma once

#include <cstddef>
#include <string>

namespace kde::accuracy {

inline std::string grouped(std::size_t n) {
  const std::string digits = std::to_string(n);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

}  // namespace kde::accuracy
