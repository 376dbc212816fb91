// How a libFuzzer target reports a broken rule: a line that says which, then an abort, upon which
// libFuzzer keeps the input.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace kde::fuzz {

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "broken rule: %s\n", what);
  std::abort();
}

}  // namespace kde::fuzz
