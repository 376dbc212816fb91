// What the layouts of the stored forms and their validators share.
#pragma once

#include "core/status.h"

#include <algorithm>
#include <cstddef>

namespace kde {

// Bytes up to where the next part begins.
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

inline bool all_zero(const char* from, const char* to) {
  return std::all_of(from, to, [](char c) { return c == 0; });
}

inline Status invalid(const char* what) { return Status::error(Code::invalid_format, "%s", what); }

}  // namespace kde
