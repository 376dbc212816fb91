// Whether a graphics card computes the sums of this command, and what became of it.
//
// kde_aqp.device says who may. Where the card fails, the sums are computed by the processor, or by
// the card once it is back (core/sums/device_retry.h), so the same bandwidth is found either way.
// Where it does not come back and the processor would take long, the command begins anew without
// it.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

namespace kde_pg {

// Trivially destructible, as it stands on the stack where errors are raised.
struct DeviceChoice {
  bool asked = false;  // kde_aqp.device = cuda: whoever asks is told when it was not to be
  // The device failed, and near-exact sums took the place of the exact ones.
  bool near_exact = false;
  kde::DeviceUse use;
};

// The exact sums over pairs that a method needs of n values, or of n points of d coordinates;
// SumsWork::sums is 0 where it needs none, or so few values that they are soon done.
kde::SumsWork line_work(kde::Method method, bool exact, std::int64_t n);
kde::SumsWork matrix_work(kde::MatrixMethod method, std::int64_t n, int d);
// The terms of an estimate over n points, evaluated at m.
kde::SumsWork estimate_work(std::int64_t n, int d, std::int64_t m);

// Makes *engine one over the device service where that is asked for or predicted to be faster
// (precision of the work: the engine's); starts the service where it is worth it. `choice` and
// CurrentMemoryContext must outlive the sums. To be called before core work begins; waits no longer
// than seconds and can be cancelled. Errors: that of a cancel alone.
void choose_device(kde::SumsWork work, kde::Engine* engine, DeviceChoice* choice);

// Whether the work that ended with that status is to be done anew, by *engine as it then is: after
// a device that failed and did not come back, by near-exact sums where there are any (of one
// column), else by the processor. A NOTICE tells which, how long the processor would take, and how
// to stop it. Every C++ object of the work must be at rest. Errors: that of a cancel.
bool begin_anew(const kde::Status& status, const kde::SumsWork& work, kde::Engine* engine,
                DeviceChoice* choice);

// Tells the user, once a statement and again only if it got worse: WARNING where the service
// failed, NOTICE where it was asked for and absent, else DEBUG1.
void report_device(const DeviceChoice& choice);

// What computed exact sums, as chosen_engine_name(): "cuda", "cuda single", "cuda, simd avx3" where
// the processor took over, "spectral" where near-exact sums did. Palloc'ed or static.
const char* used_engine_name(const DeviceChoice& choice);

}  // namespace kde_pg
