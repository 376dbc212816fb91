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
  kde::DensityBytes bytes;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!kde::from_text(text, &bytes).ok()) return 0;
  if (!kde::validate(bytes.data(), bytes.size()).ok())
    kde::fuzz::fail("text gives an invalid density");
  // A joint density by chance: joint_fuzzer.cpp.
  if (reinterpret_cast<const kde::Header*>(bytes.data())->kind == kde::Kind::joint) return 0;

  const kde::DensityView density(bytes.data());
  if (const char* insane = kde::fitted::insane_answer(density, 20)) kde::fuzz::fail(insane);
  if (const char* insane = kde::fitted::insane_words(density)) kde::fuzz::fail(insane);
  std::string again;
  kde::DensityBytes back;
  if (!kde::to_text(density, &again).ok() || !kde::from_text(again, &back).ok() || back != bytes)
    kde::fuzz::fail("text does not read back");
  return 0;
}
