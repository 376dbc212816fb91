// libFuzzer target: bytes as a stored density, and as one on the wire. What validate() lets pass
// must answer sanely (test/unit/answers.h) and come back over the wire.
#include "core/density/format.h"
#include "core/density/wire.h"

#include "answers.h"
#include "finding.h"
#include "round_trip.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

using kde::fuzz::fail;

void check(const kde::DensityBytes& bytes) {
  if (const char* wrong = kde::round_trip(bytes)) fail(wrong);
  // What a joint density answers: joint_fuzzer.cpp.
  if (bytes.header().kind == kde::Kind::joint) return;
  const kde::DensityView density(bytes.data());
  if (const char* insane = kde::fitted::insane_answer(density, 20)) fail(insane);
  if (const char* insane = kde::fitted::insane_words(density)) fail(insane);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kde::DensityBytes bytes(size);
  std::uint8_t encoding;
  if (kde::from_wire(reinterpret_cast<const char*>(data), size, bytes.data(), &encoding).ok()) {
    if (!kde::validate(bytes.data(), size).ok()) fail("the wire gives an invalid density");
    check(bytes);
  }
  if (size == 0) return 0;
  std::memcpy(bytes.data(), data, size);
  if (kde::validate(bytes.data(), size).ok()) check(bytes);
  return 0;
}
