// See block_sample.h for the method.
#include "pg/block_sample.h"

#include <algorithm>

extern "C" {
#include "miscadmin.h"
#include "utils/memutils.h"
}

namespace kde_pg {

namespace {

uint64* allocate(uint64 count) {
  return static_cast<uint64*>(
      MemoryContextAllocHuge(CurrentMemoryContext, std::max<uint64>(count, 1) * sizeof(uint64)));
}

void draw_distinct(uint64* out, uint64 total, uint64 count, kde::Random* random) {
  uint64 have = 0;
  while (have < count) {
    CHECK_FOR_INTERRUPTS();
    for (uint64 i = have; i < count; ++i) out[i] = random->below(total);
    std::sort(out, out + count);
    have = std::unique(out, out + count) - out;
  }
}

}  // namespace

uint64* choose_blocks(uint64 total, uint64 wanted, kde::Random* random) {
  Assert(wanted >= 1 && wanted <= total);
  uint64* chosen = allocate(wanted);
  if (wanted <= total / 2) {
    draw_distinct(chosen, total, wanted, random);
    return chosen;
  }
  const uint64 omitted_count = total - wanted;
  uint64* omitted = allocate(omitted_count);
  draw_distinct(omitted, total, omitted_count, random);
  uint64 next_omitted = 0;
  uint64 count = 0;
  for (uint64 block = 0; block < total; ++block) {
    if (next_omitted < omitted_count && omitted[next_omitted] == block) {
      ++next_omitted;
    } else {
      chosen[count++] = block;
    }
  }
  pfree(omitted);
  return chosen;
}

}  // namespace kde_pg
