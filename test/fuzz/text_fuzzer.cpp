// libFuzzer target: any text as the text form of a density. It is refused, or gives a valid
// density that answers sanely (test/unit/answers.h) and whose own text reads back to the same
// bytes.
#include "core/density/format.h"
#include "core/density/text.h"

#include "answers.h"
#include "finding.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint64_t> words;
  std::size_t bytes = 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!kde::from_text(text, &words, &bytes).ok()) return 0;
  if (!kde::validate(words.data(), bytes).ok()) kde::fuzz::fail("text gives an invalid density");
  // A joint density by chance: joint_fuzzer.cpp.
  if (reinterpret_cast<const kde::Header*>(words.data())->kind == kde::Kind::joint) return 0;

  const kde::DensityView density(words.data());
  if (const char* insane = kde::fitted::insane_answer(density, 20)) kde::fuzz::fail(insane);
  std::string again;
  std::vector<std::uint64_t> back;
  std::size_t back_bytes = 0;
  if (!kde::to_text(density, &again).ok() || !kde::from_text(again, &back, &back_bytes).ok() ||
      back != words)
    kde::fuzz::fail("text does not read back");
  return 0;
}
