// Tables of names: as messages list them, "a, b and c", and what is found in them.
#pragma once

#include "core/room.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace kde {

struct NameList {
  char text[240] = {};
};

// Made where it is compiled: a list that is too long is no constant.
consteval NameList name_list(std::span<const char* const> names) {
  NameList out;
  std::size_t end = 0;
  const auto append = [&](const char* s) {
    while (*s != '\0') out.text[end++] = *s++;
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) append(i + 1 < names.size() ? ", " : " and ");
    append(names[i]);
  }
  return out;
}

// Whether it is one of them; *found is then its place.
template <typename Enum>
bool find_name(std::span<const char* const> names, std::string_view name, Enum* found) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name != names[i]) continue;
    *found = static_cast<Enum>(i);
    return true;
  }
  return false;
}

}  // namespace kde
