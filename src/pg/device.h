// Whether a graphics card computes the sums of this command, and what became of it.
//
// kde_aqp.device says who may. The sums themselves fall back to the processor wherever the card
// fails (sums/device_sums.h), so the same bandwidth is found either way.
#pragma once

#include "pg/pg.h"

#include "core/device/choose.h"
#include "core/density/format.h"
#include "core/select/bandwidth_matrix.h"
#include "core/sums/pair_sums.h"

namespace kde_pg {

// Trivially destructible, as it stands on the stack where errors are raised.
struct DeviceChoice {
  bool asked = false;  // kde_aqp.device = cuda: whoever asks is told when it was not to be
  kde::DeviceUse use;
};

// The exact sums over pairs that a method needs of n values, or of n points of d coordinates;
// SumsWork::sums is 0 where it needs none, or so few values that they are soon done.
kde::SumsWork line_work(kde::Method method, kde::Kernel kernel, bool exact, std::int64_t n);
kde::SumsWork matrix_work(kde::MatrixMethod method, std::int64_t n, int d);
// The terms of an estimate over n points, evaluated at m.
kde::SumsWork estimate_work(std::int64_t n, int d, std::int64_t m);

// Makes *engine one over the device service where that is asked for or predicted to be faster
// (precision of the work: the engine's); starts the service where it is worth it. `choice` and
// CurrentMemoryContext must outlive the sums. To be called before core work begins; waits no longer
// than seconds and can be cancelled. Errors: that of a cancel alone.
void choose_device(kde::SumsWork work, kde::Engine* engine, DeviceChoice* choice);

// Tells the user, once a statement and again only if it got worse: WARNING where the service
// failed, NOTICE where it was asked for and absent, else DEBUG1.
void report_device(const DeviceChoice& choice);

// What computed exact sums, as chosen_engine_name(): "cuda", "cuda single", "cuda, simd avx3" where
// the processor took over. Palloc'ed or static.
const char* used_engine_name(const DeviceChoice& choice);

}  // namespace kde_pg
