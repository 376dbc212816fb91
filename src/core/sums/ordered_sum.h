// Work shared among threads whose sums do not depend on who did what.
#pragma once

#include <cstdint>
#include <span>

#include "core/control.h"
#include "core/function_ref.h"
#include "core/status.h"

namespace kde {

// totals[k] = sum over items 0 .. items-1 of what work(item, out) stores in out[k]; out points to
// totals.size() zeros. Items run on up to control.threads threads; what they store is kept apart
// and added in the order of the items, so that totals have the same bits for any number of threads.
// The calling thread begins alone, and has help only if it needs more than a millisecond.
// What all items together amount to (`amount`) is told as they are begun, as if each were as much.
// `work` must not throw, and must take no more than a few milliseconds: the calling thread polls
// control.should_stop at the start and before each item it takes. Errors: cancelled, out_of_memory;
// totals are then unspecified.
Status ordered_sum(const Control& control, std::int64_t items,
                   FunctionRef<void(std::int64_t item, double* out)> work, std::span<double> totals,
                   WorkAmount amount = {});

}  // namespace kde
