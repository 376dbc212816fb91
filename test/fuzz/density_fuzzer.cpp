// libFuzzer target: bytes as a stored density. What validate() lets pass must answer sanely
// (test/unit/answers.h) and its text must read back to the same bytes.
#include "core/density/format.h"
#include "core/density/text.h"

#include "answers.h"
#include "finding.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 2 * kde::kMaxBytes) return 0;
  kde::DensityBytes bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  if (!kde::validate(bytes.data(), bytes.size()).ok()) return 0;
  // A joint density by chance: joint_fuzzer.cpp.
  if (bytes.header().kind == kde::Kind::joint) return 0;

  const kde::DensityView density(bytes.data());
  if (const char* insane = kde::fitted::insane_answer(density, 20)) kde::fuzz::fail(insane);
  if (const char* insane = kde::fitted::insane_words(density)) kde::fuzz::fail(insane);
  std::string text;
  kde::DensityBytes back;
  if (!kde::to_text(density, &text).ok() || !kde::from_text(text, &back).ok())
    kde::fuzz::fail("text does not read back");
  // PostgreSQL's length word is no part of the density.
  bytes.header().varlena = 0;
  if (back != bytes) kde::fuzz::fail("text reads back to other bytes");
  return 0;
}
