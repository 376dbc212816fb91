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
  std::vector<std::uint64_t> words((size + 7) / 8 + 1);
  if (size > 0) std::memcpy(words.data(), data, size);
  if (!kde::validate(words.data(), size).ok()) return 0;
  // A joint density by chance: joint_fuzzer.cpp.
  if (reinterpret_cast<const kde::Header*>(words.data())->kind == kde::Kind::joint) return 0;

  const kde::DensityView density(words.data());
  if (const char* insane = kde::fitted::insane_answer(density, 20)) kde::fuzz::fail(insane);
  std::string text;
  std::vector<std::uint64_t> back;
  std::size_t back_size = 0;
  if (!kde::to_text(density, &text).ok() || !kde::from_text(text, &back, &back_size).ok() ||
      back_size != size)
    kde::fuzz::fail("text does not read back");
  // PostgreSQL's length word is no part of the density.
  reinterpret_cast<kde::Header*>(words.data())->varlena = 0;
  if (std::memcmp(back.data(), words.data(), size) != 0)
    kde::fuzz::fail("text reads back to other bytes");
  return 0;
}
