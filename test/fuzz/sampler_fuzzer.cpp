// libFuzzer target: bytes as the saved state of a sampler (src/core/sampling/sampler_save.cpp).
// What is taken must be saved as it was read, and be as good as a sampler that was never saved:
// rows are added, and its sample must hold what it says it holds.
#include "core/sampling/sampler.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// A mutation of random bytes is never a state: the input is also taken as a recipe for one, which
// is then saved and damaged where the recipe says.
std::vector<std::uint8_t> cook(const std::uint8_t* data, std::size_t size) {
  kde::Sampler::Options options;
  options.sample_rows = data[0] % 4 == 0 ? -1 : 1 + data[0] / 4;
  options.bandwidth_rows = 2 + data[1] % 32;
  options.seed = data[2];
  options.compactor_capacity = 2 + 2 * (data[3] % 16);
  kde::Sampler sampler(options);
  const std::size_t rows = 4 * std::size_t{data[4]};
  const unsigned step = 1u + data[5];
  for (std::size_t i = 0; i < rows; ++i) {
    if (data[6] > 128 && i % 16 == 0) sampler.begin_block();
    const double x = static_cast<double>(i * step % 641) - data[6];
    if (!sampler.add(x).ok()) fail("out of memory");
  }
  std::vector<std::uint8_t> bytes;
  if (!sampler.save(&bytes).ok()) fail("out of memory");
  for (std::size_t i = 7; i + 2 < size; i += 3) {
    const std::size_t at = (std::size_t{data[i]} * 256 + data[i + 1]) % bytes.size();
    bytes[at] ^= data[i + 2];
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 8) return 0;
  std::vector<std::uint8_t> bytes(data + 1, data + size);
  if (data[0] % 2 == 1) bytes = cook(data + 1, size - 1);

  kde::Sampler sampler{kde::Sampler::Options{}};
  if (!sampler.load(bytes).ok()) return 0;
  std::vector<std::uint8_t> again;
  if (!sampler.save(&again).ok()) fail("out of memory");
  if (again != bytes) fail("it was not read as it was written");
  const std::int64_t before = sampler.totals().rows();
  for (int i = 0; i < 200; ++i) {
    if (!sampler.add(i * 0.5 - 20).ok()) fail("out of memory");
  }
  if (sampler.totals().rows() != before + 200) fail("rows were lost");
  kde::Sample s;
  if (!sampler.finish(&s).ok()) fail("out of memory");
  double weights = 0;
  for (std::size_t i = 0; i < s.values.size(); ++i) {
    const kde::WeightedValue& v = s.values[i];
    if (!(v.value >= s.totals.min && v.value <= s.totals.max)) fail("a value out of range");
    if (i > 0 && v.value < s.values[i - 1].value) fail("values are out of order");
    weights += v.weight;
  }
  if (weights != static_cast<double>(s.sample_rows)) fail("weights do not add up");
  if (!(s.totals.mean >= s.totals.min && s.totals.mean <= s.totals.max))
    fail("the mean is outside");
  if (!(s.totals.variance >= 0) || !(s.design_effect >= 1)) fail("a total is none");
  return 0;
}
