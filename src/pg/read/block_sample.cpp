// See block_sample.h for the method.
#include "pg/read/block_sample.h"

extern "C" {
#include "utils/memutils.h"
}

#include <algorithm>

namespace kde_pg {

namespace {

// floor(i total / wanted) without the product.
uint64 stratum_start(uint64 i, uint64 total, uint64 wanted) {
  return i * (total / wanted) + i * (total % wanted) / wanted;
}

}  // namespace

uint64* choose_blocks(uint64 total, uint64 wanted, kde::Random* random) {
  Assert(wanted >= 1 && wanted <= total && wanted <= PG_UINT32_MAX);
  uint64* chosen =
      static_cast<uint64*>(MemoryContextAllocHuge(CurrentMemoryContext, wanted * sizeof(uint64)));
  const uint64 origin = random->below(total);
  for (uint64 i = 0; i < wanted; ++i) {
    const uint64 start = stratum_start(i, total, wanted);
    const uint64 end = stratum_start(i + 1, total, wanted);
    chosen[i] = (origin + start + random->below(end - start)) % total;
  }
  // In order but for the place where the circle closes.
  std::sort(chosen, chosen + wanted);
  return chosen;
}

}  // namespace kde_pg
