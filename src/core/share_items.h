// Independent pieces of work shared among threads, each done by one of them alone: what comes of a
// piece depends on nothing but the piece. (Sums over pieces: sums/ordered_sum.h.)
#pragma once

#include "core/control.h"
#include "core/function_ref.h"
#include "core/status.h"

#include <cstdint>

namespace kde {

// Calls work(i, own) for i = 0 .. items-1 on up to control.threads threads. `own` is that piece's
// control: of one thread, which it stops as `control` does, and watched by nobody. `work` must not
// throw, and must poll; what it met it keeps for the caller.
// The calling thread polls control.should_stop before each piece it takes, while it waits for the
// others, and by its own pieces, and tells how many pieces are done. Errors: cancelled; some pieces
// were then not begun, or ended early.
Status share_items(const Control& control, std::int64_t items,
                   FunctionRef<void(std::int64_t item, const Control& own)> work) noexcept;

}  // namespace kde
