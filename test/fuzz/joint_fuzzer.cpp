// libFuzzer target: a valid joint density with parts of it overwritten, as bytes no input would hit
// upon by chance. The first byte chooses the density; then as often as there is input two bytes say
// where (most of the time in the headers), one how many bytes follow, which are put there. What
// validate() lets pass must answer sanely (test/unit/joint_answers.h) and come back over the wire;
// so must what a byte changed there makes of it.
#include "core/density/format.h"
#include "core/density/wire.h"

#include "joint_answers.h"
#include "joint_fixture.h"
#include "finding.h"
#include "round_trip.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using kde::fuzz::fail;

const kde::DensityBytes& original(std::size_t choice) {
  using kde::joints::Axes;
  static const std::vector<kde::DensityBytes> all = [] {
    std::vector<kde::DensityBytes> out;
    for (const Axes axes : {Axes::normal_scores, Axes::linear, Axes::correlated}) {
      for (const int columns : {2, 4}) {
        kde::DensityBytes d;
        if (!kde::encode_joint(kde::joints::parts(columns, 70, axes), &d).ok())
          fail("no density to begin with");
        out.push_back(d);
      }
    }
    for (const int columns : {2, 4}) {
      kde::DensityBytes d;
      if (!kde::encode_joint(kde::joints::mixed_parts(columns, 70), &d).ok())
        fail("no density to begin with");
      out.push_back(d);
    }
    return out;
  }();
  return all[choice % all.size()];
}

void check(const kde::DensityBytes& d) {
  if (!kde::joint_fits(d.data(), d.size())) fail("valid bytes do not fit");
  if (const char* insane = kde::joints::insane_answer(kde::JointView(d.data()), 8)) fail(insane);
  if (const char* wrong = kde::round_trip(d)) fail(wrong);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  kde::DensityBytes d = original(data[0]);
  const std::uint8_t* next = data + 1;
  const std::uint8_t* const end = data + size;
  std::size_t where = 0;
  while (end - next >= 4) {
    where = next[0] | static_cast<std::size_t>(next[1]) << 8;
    const std::size_t at = where % d.size();
    const std::size_t wanted = next[2] % 16 + 1u;
    next += 3;
    const std::size_t n = std::min({wanted, static_cast<std::size_t>(end - next), d.size() - at});
    std::memcpy(d.data() + at, next, n);
    next += n;
  }
  if (!kde::validate(d.data(), d.size()).ok()) {
    if (kde::joint_fits(d.data(), d.size())) (void)kde::JointView(d.data()).value(0, 0, 0);
    return 0;
  }
  check(d);
  std::vector<char> wire(d.size());
  if (!kde::to_wire(d.data(), d.size(), 0, wire.data())) fail("valid bytes do not fit");
  wire[where % wire.size()] = static_cast<char>(data[size - 1]);
  std::uint8_t encoding;
  if (kde::from_wire(wire.data(), wire.size(), d.data(), &encoding).ok() &&
      d.header().kind == kde::Kind::joint)
    check(d);
  return 0;
}
