// Which instruction sets were compiled, and which of them this processor runs.
#include <hwy/detect_targets.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <vector>

#include "core/sums/engine_parts.h"

#if HWY_ARCH_ARM_A64 && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace kde {
namespace {

std::string lower_case(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

// Best first; what the build's baseline has is there without asking the processor.
std::vector<SimdTarget> find_targets() {
  struct Candidate {
    std::int64_t target;
    bool runs;
  };
#if HWY_ARCH_X86
  __builtin_cpu_init();
  const bool sse4 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") &&
                    __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const Candidate candidates[] = {
      {HWY_AVX3, avx3}, {HWY_AVX2, avx2}, {HWY_SSE4, sse4}, {HWY_STATIC_TARGET, true}};
#elif HWY_ARCH_ARM_A64 && defined(__linux__)
  const bool sve = (getauxval(AT_HWCAP) & HWCAP_SVE) != 0;
  const bool sve2 = (getauxval(AT_HWCAP2) & HWCAP2_SVE2) != 0;
  const Candidate candidates[] = {
      {HWY_SVE2, sve2}, {HWY_SVE, sve}, {HWY_NEON, true}, {HWY_STATIC_TARGET, true}};
#else
  const Candidate candidates[] = {{HWY_STATIC_TARGET, true}};
#endif
  std::vector<SimdTarget> targets;
  for (const Candidate& c : candidates) {
    const bool compiled = (HWY_TARGETS & c.target) != 0;
    // A build for a newer processor has one of the others as its baseline.
    const bool known = !targets.empty() && targets.back().target == c.target;
    if (compiled && c.runs && !known)
      targets.push_back({c.target, lower_case(hwy::TargetName(c.target))});
  }
  return targets;
}

const std::vector<SimdTarget>& found_targets() {
  static const std::vector<SimdTarget> found = find_targets();
  return found;
}

}  // namespace

std::vector<SimdTarget> simd_targets() { return found_targets(); }

std::int64_t best_simd_target() { return found_targets().front().target; }

bool is_simd_target(std::int64_t target) {
  const std::vector<SimdTarget>& found = found_targets();
  return std::any_of(found.begin(), found.end(),
                     [&](const SimdTarget& t) { return t.target == target; });
}

}  // namespace kde
