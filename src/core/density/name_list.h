// The names of a table as messages list them: "a, b and c".
#pragma once

#include "core/room.h"

#include <cstddef>
#include <span>

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

}  // namespace kde
